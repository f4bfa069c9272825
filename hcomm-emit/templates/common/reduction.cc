#include "reduction.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "hccl/hccl_types.h"
#include "operator.h"

namespace hcomm_op {
namespace {

float HalfToFloat(uint16_t half)
{
    const int exponent = (half >> 10) & 0x1f;
    const float fraction = static_cast<float>(half & 0x3ff);
    float value = 0;
    if (exponent == 0x1f) {
        value = fraction == 0 ? INFINITY : NAN;
    } else if (exponent == 0) {
        value = std::ldexp(fraction, -24);
    } else {
        value = std::ldexp(fraction + 1024, exponent - 25);
    }
    return (half & 0x8000) != 0 ? -value : value;
}

/// To the nearest, ties to even.
uint16_t FloatToHalf(float value)
{
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) {
        return sign | 0x7e00; // not a number
    }
    if (magnitude >= 0x477ff000) {
        return sign | 0x7c00; // too large
    }
    if (magnitude < 0x38800000) { // subnormal: units of 2^-24
        return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(std::fabs(value), 24)));
    }
    const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    return sign | static_cast<uint16_t>((rounded - 0x38000000) >> 13);
}

template <typename T>
T Combine(T a, T b, uint32_t reduceOp)
{
    switch (static_cast<HcclReduceOp>(reduceOp)) {
        case HCCL_REDUCE_PROD:
            return static_cast<T>(a * b);
        case HCCL_REDUCE_MAX:
            return std::max(a, b);
        case HCCL_REDUCE_MIN:
            return std::min(a, b);
        default:
            return static_cast<T>(a + b);
    }
}

/// Integers wrap around, which in C++ only unsigned ones may.
template <typename T>
T Wrapping(T a, T b, uint32_t reduceOp)
{
    using Unsigned = typename std::make_unsigned<T>::type;
    if (reduceOp == HCCL_REDUCE_MAX || reduceOp == HCCL_REDUCE_MIN) {
        return Combine(a, b, reduceOp);
    }
    return static_cast<T>(Combine(static_cast<Unsigned>(a), static_cast<Unsigned>(b), reduceOp));
}

template <typename T, typename Op>
void Loop(void *dst, const void *src, uint64_t count, Op op)
{
    T *to = static_cast<T *>(dst);
    const T *from = static_cast<const T *>(src);
    for (uint64_t i = 0; i < count; ++i) {
        to[i] = op(to[i], from[i]);
    }
}

template <typename T>
void Integers(void *dst, const void *src, uint64_t count, uint32_t reduceOp)
{
    Loop<T>(dst, src, count, [reduceOp](T a, T b) { return Wrapping(a, b, reduceOp); });
}

template <typename T>
void Floats(void *dst, const void *src, uint64_t count, uint32_t reduceOp)
{
    Loop<T>(dst, src, count, [reduceOp](T a, T b) { return Combine(a, b, reduceOp); });
}

} // namespace

Reduction ReductionOf(bool local, uint32_t dataType, uint32_t reduceOp)
{
    bool hardware = false;
    bool scalar = false;
    const bool prod = reduceOp == HCCL_REDUCE_PROD;
    switch (static_cast<HcclDataType>(dataType)) {
        case HCCL_DATA_TYPE_INT8:
        case HCCL_DATA_TYPE_INT32:
        case HCCL_DATA_TYPE_FP16:
        case HCCL_DATA_TYPE_FP32:
            hardware = !prod;
            scalar = prod;
            break;
        case HCCL_DATA_TYPE_INT16:
        case HCCL_DATA_TYPE_BFP16:
            hardware = !prod;
            break;
        case HCCL_DATA_TYPE_UINT8:
        case HCCL_DATA_TYPE_UINT16:
        case HCCL_DATA_TYPE_UINT32:
            hardware = !prod && !local && PRODUCT_IS_950;
            break;
        case HCCL_DATA_TYPE_INT64:
        case HCCL_DATA_TYPE_UINT64:
        case HCCL_DATA_TYPE_FP64:
            scalar = true;
            break;
        default:
            break;
    }
    if (hardware) {
        return Reduction::INLINE;
    }
    // The AI CPU has to see that the threads are done, which HcommThreadJoin is for: it is on the 950 only.
    return scalar && local && PRODUCT_IS_950 ? Reduction::ON_AI_CPU : Reduction::NONE;
}

void ReduceOnAiCpu(void *dst, const void *src, uint64_t count, uint32_t dataType, uint32_t reduceOp)
{
    switch (static_cast<HcclDataType>(dataType)) {
        case HCCL_DATA_TYPE_INT8:
            return Integers<int8_t>(dst, src, count, reduceOp);
        case HCCL_DATA_TYPE_INT32:
            return Integers<int32_t>(dst, src, count, reduceOp);
        case HCCL_DATA_TYPE_INT64:
            return Integers<int64_t>(dst, src, count, reduceOp);
        case HCCL_DATA_TYPE_UINT64:
            return Integers<uint64_t>(dst, src, count, reduceOp);
        case HCCL_DATA_TYPE_FP32:
            return Floats<float>(dst, src, count, reduceOp);
        case HCCL_DATA_TYPE_FP64:
            return Floats<double>(dst, src, count, reduceOp);
        case HCCL_DATA_TYPE_FP16:
            return Loop<uint16_t>(dst, src, count, [reduceOp](uint16_t a, uint16_t b) {
                return FloatToHalf(Combine(HalfToFloat(a), HalfToFloat(b), reduceOp));
            });
        default:
            return;
    }
}

} // namespace hcomm_op
