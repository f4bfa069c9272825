/// What every operator of the package does with a call: checks, resources, launch.
#ifndef HCOMM_OP_EXECUTE_H
#define HCOMM_OP_EXECUTE_H

#include "acl/acl_rt.h"
#include "hccl/hccl_types.h"
#include "problem.h"

namespace hcomm_op {

/// A call of the operator, with its buffers as addresses.
struct Call {
    uint64_t input = 0;
    uint64_t output = 0;
    HcclDataType dataType = HCCL_DATA_TYPE_RESERVED;
    HcclReduceOp reduceOp = HCCL_REDUCE_SUM;
    uint32_t root = 0;
    uint32_t src = 0;
    uint32_t dst = 0;
    Counts counts;
};

/// This rank and all of them.
HcclResult WhoAmI(HcclComm comm, uint32_t &rank, uint32_t &ranks);

HcclResult Execute(const Call &call, HcclComm comm, aclrtStream stream);

} // namespace hcomm_op

#endif
