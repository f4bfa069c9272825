/// Loads the kernel and launches it.
#ifndef HCOMM_OP_LAUNCH_H
#define HCOMM_OP_LAUNCH_H

#include <vector>

#include "acl/acl_rt.h"
#include "hccl/hccl_types.h"

namespace hcomm_op {

/// Timeouts in seconds, the outer ones longer than the inner ones: otherwise the host would end the kernel before the
/// device can say which notify did not come. 0 is for ever.
struct Timeouts {
    uint32_t wait;   ///< a wait on the device
    uint16_t kernel; ///< the kernel
    uint32_t host;   ///< the wait of the user's stream
};

/// From the environment variable HCCL_EXEC_TIMEOUT, as HCCL's operators do.
Timeouts ReadTimeouts();

/// The kernel's function on the current device, loaded once for each.
HcclResult KernelFunction(aclrtFuncHandle &function);

/// Launches the kernel on a stream. The runtime copies the argument.
HcclResult LaunchKernel(
    aclrtFuncHandle function, const std::vector<uint64_t> &argument, uint16_t timeout, aclrtStream stream);

} // namespace hcomm_op

#endif
