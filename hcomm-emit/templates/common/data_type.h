/// Element types of HCCL.
#ifndef HCOMM_OP_DATA_TYPE_H
#define HCOMM_OP_DATA_TYPE_H

#include <cstdint>

namespace hcomm_op {

/// Bytes of an element; 0 for what is not a data type.
uint64_t ElementSize(uint32_t dataType);

} // namespace hcomm_op

#endif
