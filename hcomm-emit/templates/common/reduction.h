/// How elements are reduced: by the hardware as part of a transfer, by a loop on the AI CPU, or not at all.
#ifndef HCOMM_OP_REDUCTION_H
#define HCOMM_OP_REDUCTION_H

#include <cstdint>

namespace hcomm_op {

enum class Reduction : uint8_t { INLINE, ON_AI_CPU, NONE };

/// `local` is whether both sides are this rank's.
Reduction ReductionOf(bool local, uint32_t dataType, uint32_t reduceOp);

/// dst = dst op src, for what is reduced ON_AI_CPU.
void ReduceOnAiCpu(void *dst, const void *src, uint64_t count, uint32_t dataType, uint32_t reduceOp);

} // namespace hcomm_op

#endif
