/// The symmetric windows that a call's buffers lie in.
#ifndef HCOMM_OP_WINDOWS_H
#define HCOMM_OP_WINDOWS_H

#include <cstdint>
@TELLS@#include <string>
@TELLS@#include <vector>

@TELLS@#include "hccl/hccl_res.h"
#include "hccl/hccl_types.h"

namespace hcomm_op {

/// A window as the kernel takes it: the handle is a device address, which the host does not look behind.
struct Window {
    uint64_t handle = 0;
    uint64_t offset = 0;
};

/// The window that all of a buffer is in. HCCL_E_PARA if there is none: `name` says in the log which buffer it is.
HcclResult FindWindow(HcclComm comm, const char *name, uint64_t address, uint64_t bytes, Window &window);
@TELLS@
@TELLS@/// Keeps how the channels were described, for TellWindows.
@TELLS@HcclResult KeepDescriptions(HcclComm comm, const std::string &tag, const std::vector<HcclChannelDesc> &descriptions);
@TELLS@/// Lets peers know of windows that were registered since the last call: on the 950 they learn of them where channels are
@TELLS@/// acquired, those that are there already too. Every rank does it with every call, as none knows what is new to others.
@TELLS@HcclResult TellWindows(HcclComm comm, const std::string &tag);

} // namespace hcomm_op

#endif
