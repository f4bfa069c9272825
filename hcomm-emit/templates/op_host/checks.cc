#include "checks.h"

#include "data_type.h"
#include "hccl/hccl_comm.h"
#include "log.h"
#include "operator.h"

namespace hcomm_op {
namespace {

constexpr uint64_t MAX_COUNT = 0x7ffffffffULL;

HcclResult CheckParameters(const Call &call, HcclComm comm, aclrtStream stream)
{
    if (comm == nullptr || stream == nullptr) {
        HCOMM_OP_ERROR("no communicator or no stream");
        return HCCL_E_PTR;
    }
    const uint64_t element = ElementSize(call.dataType);
    if (element == 0 || (!PRODUCT_IS_950 && call.dataType >= HCCL_DATA_TYPE_HIF8)) {
        HCOMM_OP_ERROR("data type %d is not offered", static_cast<int>(call.dataType));
        return HCCL_E_NOT_SUPPORT;
    }
    if (REDUCES && call.reduceOp != HCCL_REDUCE_SUM && call.reduceOp != HCCL_REDUCE_PROD &&
        call.reduceOp != HCCL_REDUCE_MAX && call.reduceOp != HCCL_REDUCE_MIN) {
        HCOMM_OP_ERROR("there is no reduction %d", static_cast<int>(call.reduceOp));
        return HCCL_E_PARA;
    }
    if (call.counts.largest > MAX_COUNT) {
        HCOMM_OP_ERROR("%llu elements are too many: an operator takes at most %llu",
            static_cast<unsigned long long>(call.counts.largest), static_cast<unsigned long long>(MAX_COUNT));
        return HCCL_E_PARA;
    }
    return HCCL_SUCCESS;
}

/// Input and output may overlap where the schedule was proven so: the smaller in the larger, at the rank's own slot.
HcclResult CheckOverlap(const Call &call, const Problem &problem)
{
    if (call.counts.by != CountsBy::ALL || !MOVES_DATA) {
        return HCCL_SUCCESS; // entries check that the buffers are not the same
    }
    const uint64_t slot = call.counts.largest * problem.element;
    const uint64_t inputBytes = problem.inputSlots * slot;
    const uint64_t outputBytes = problem.outputSlots * slot;
    if (call.input + inputBytes <= call.output || call.output + outputBytes <= call.input || inputBytes == 0 ||
        outputBytes == 0) {
        return HCCL_SUCCESS;
    }
    const uint64_t own = problem.rank * slot;
    const uint64_t inputOwn = problem.inputSlots > problem.outputSlots ? own : 0;
    const uint64_t outputOwn = problem.outputSlots > problem.inputSlots ? own : 0;
    if (IN_PLACE && call.input + inputOwn == call.output + outputOwn) {
        return HCCL_SUCCESS;
    }
    HCOMM_OP_ERROR("the buffers overlap%s", IN_PLACE ? ", and not at this rank's slot" : "");
    return HCCL_E_PARA;
}

} // namespace

std::string ContextTag(const Call &call)
{
    return std::string(OPERATOR_NAME) + "." + std::to_string(call.root) + "." + std::to_string(call.src) + "." +
           std::to_string(call.dst);
}

HcclResult WhoAmI(HcclComm comm, uint32_t &rank, uint32_t &ranks)
{
    if (comm == nullptr) {
        HCOMM_OP_ERROR("no communicator");
        return HCCL_E_PTR;
    }
    HCOMM_OP_CHECK(HcclGetRankId(comm, &rank));
    HCOMM_OP_CHECK(HcclGetRankSize(comm, &ranks));
    if (ranks == 0 || ranks > MAX_RANKS || rank >= ranks) {
        HCOMM_OP_ERROR("rank %u of %u: this operator is for at most %u ranks", rank, ranks, MAX_RANKS);
        return HCCL_E_NOT_SUPPORT;
    }
    return HCCL_SUCCESS;
}

HcclResult CheckCall(const Call &call, HcclComm comm, aclrtStream stream, Problem &problem, uint32_t &ranks)
{
    HCOMM_OP_CHECK(CheckParameters(call, comm, stream));
    HCOMM_OP_CHECK(WhoAmI(comm, problem.rank, ranks));
    if (call.root >= ranks || call.src >= ranks || call.dst >= ranks) {
        HCOMM_OP_ERROR("root %u, source %u, destination %u: ranks are 0 to %u", call.root, call.src, call.dst, ranks - 1);
        return HCCL_E_PARA;
    }
    problem.root = call.root;
    problem.src = call.src;
    problem.dst = call.dst;
    problem.element = ElementSize(call.dataType);
    problem.counts = call.counts;
    SetSlots(problem, ranks);
    return CheckOverlap(call, problem);
}

} // namespace hcomm_op
