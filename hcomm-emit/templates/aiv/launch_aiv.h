/// Loads the kernel of Vector cores and launches it.
#ifndef HCOMM_OP_LAUNCH_AIV_H
#define HCOMM_OP_LAUNCH_AIV_H

#include "acl/acl_rt.h"
#include "aiv_param.h"
#include "hccl/hccl_types.h"

namespace hcomm_op {

/// One launch, on so many blocks. The runtime copies the argument.
HcclResult LaunchOnCores(AivParam param, uint32_t blocks, aclrtStream stream);

} // namespace hcomm_op

#endif
