/* Ascend C on a CPU: as much of it as communication kernels use, with the names of Ascend C. A block is a thread, the
 * Unified Buffer of a block has 192 KB and is given out by TPipe, and what reaches outside a buffer, or outside what is
 * allocated in global memory, ends the kernel with a sentence.
 *
 * Every operation is done when it returns, so that pipe barriers and event flags have nothing to wait for: a kernel that
 * lacks one runs here and may not on hardware. */
#ifndef HCOMM_STANDIN_KERNEL_OPERATOR_H
#define HCOMM_STANDIN_KERNEL_OPERATOR_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__
#define __aicore__
#define __gm__
#define __ubuf__
#ifndef __inline__
#define __inline__ inline
#endif

using GM_ADDR = uint8_t*;

namespace hcomm_standin {

inline float float_of(uint32_t bits)
{
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

inline uint32_t bits_of(float value)
{
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* The upper bits, rounded to nearest with ties to even. */
inline uint16_t bfloat16_bits(float value)
{
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return static_cast<uint16_t>(bits >> 16 | 0x40u);
    }
    return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

inline uint16_t half_bits(float value)
{
    const uint32_t bits = bits_of(value);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) {
        return static_cast<uint16_t>(sign | 0x7e00u);
    }
    if (rest >= 0x47800000u) {
        return static_cast<uint16_t>(sign | 0x7c00u); /* 65536 and more */
    }
    if (rest < 0x38800000u) { /* a subnormal number of 2^-24 each: adding 0.5 rounds it into the lowest bits */
        return static_cast<uint16_t>(sign | (bits_of(float_of(rest) + 0.5f) - bits_of(0.5f)));
    }
    return static_cast<uint16_t>(sign | ((rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13));
}

inline float half_value(uint16_t bits)
{
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t rest = bits & 0x7fffu;
    if (rest >= 0x7c00u) {
        return float_of(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    }
    if (rest < 0x400u) {
        const float size = static_cast<float>(rest) / 16777216.0f;
        return sign != 0 ? -size : size;
    }
    return float_of(sign | ((rest << 13) + 0x38000000u));
}

} // namespace hcomm_standin

struct half {
    uint16_t bits;
    half() = default;
    half(float value) : bits(hcomm_standin::half_bits(value)) {}
    operator float() const { return hcomm_standin::half_value(bits); }
};
struct bfloat16_t {
    uint16_t bits;
    bfloat16_t() = default;
    bfloat16_t(float value) : bits(hcomm_standin::bfloat16_bits(value)) {}
    operator float() const { return hcomm_standin::float_of(static_cast<uint32_t>(bits) << 16); }
};
/* 8-bit floats are only carried. */
struct hifloat8_t {
    uint8_t bits;
};
struct fp8_e4m3fn_t {
    uint8_t bits;
};
struct fp8_e5m2_t {
    uint8_t bits;
};
struct fp8_e8m0_t {
    uint8_t bits;
};

extern "C" {
/* What the library does for a block. Not zero: the kernel is to end, and the library knows why. */
uint32_t hcomm_standin_block_idx(void);
uint32_t hcomm_standin_block_num(void);
int hcomm_standin_sync_all(void);
int hcomm_standin_gm(const void* address, uint64_t bytes, int writes);
int hcomm_standin_atomic(void* dst, const void* src, uint64_t count, int dataType, int reduceOp);
int hcomm_standin_combine(void* dst, const void* a, const void* b, uint64_t count, int dataType, int reduceOp);
void hcomm_standin_fault(const char* sentence);
}

#define block_idx (static_cast<int64_t>(hcomm_standin_block_idx()))
#define block_num (static_cast<int64_t>(hcomm_standin_block_num()))

typedef enum { PIPE_S = 0, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL } pipe_t;

static inline void pipe_barrier(pipe_t) { std::atomic_thread_fence(std::memory_order_seq_cst); }

/* What kernels say about themselves in a section of their binary. */
enum { F_TYPE_KTYPE = 1 };
enum { K_TYPE_AICORE = 1, K_TYPE_AIC = 2, K_TYPE_AIV = 3 };
struct KernelTypeTlv {
    unsigned short type;
    unsigned short len;
    unsigned int ktype;
};
struct FunLevelKType {
    struct KernelTypeTlv kernel;
};

namespace hcomm_standin {

/* Ends a block. */
struct Stop {};

[[noreturn]] inline void fault(const char* format, unsigned long long a = 0, unsigned long long b = 0)
{
    char sentence[256];
    std::snprintf(sentence, sizeof(sentence), format, a, b);
    hcomm_standin_fault(sentence);
    throw Stop();
}

inline void go_on(int result)
{
    if (result != 0) {
        throw Stop();
    }
}

constexpr uint64_t UB_BYTES = 192 * 1024;
constexpr uint64_t UB_BLOCK = 32;

/* The Unified Buffer of a block. */
struct UnifiedBuffer {
    std::unique_ptr<uint8_t[]> bytes{new uint8_t[UB_BYTES + UB_BLOCK]};
    uint64_t used = 0;

    uint8_t* take(uint64_t wanted)
    {
        uint64_t size = (wanted + UB_BLOCK - 1) / UB_BLOCK * UB_BLOCK;
        if (size > UB_BYTES - used) {
            fault("the Unified Buffer has 196608 bytes, %llu are in use, and %llu more are asked for", used, wanted);
        }
        uint8_t* start = bytes.get();
        start += (UB_BLOCK - reinterpret_cast<uintptr_t>(start) % UB_BLOCK) % UB_BLOCK;
        uint8_t* at = start + used;
        used += size;
        return at;
    }
};

inline UnifiedBuffer& ub()
{
    static thread_local UnifiedBuffer buffer;
    return buffer;
}

/* The reduction that UB to GM copies of this block do; -1 for none. */
inline int& atomic_mode()
{
    static thread_local int mode = -1;
    return mode;
}

/* HCCL's number of an element type; -1 for none. */
template <typename T>
constexpr int data_type()
{
    return std::is_same<T, int8_t>::value       ? 0
           : std::is_same<T, int16_t>::value    ? 1
           : std::is_same<T, int32_t>::value    ? 2
           : std::is_same<T, half>::value       ? 3
           : std::is_same<T, float>::value      ? 4
           : std::is_same<T, int64_t>::value    ? 5
           : std::is_same<T, uint64_t>::value   ? 6
           : std::is_same<T, uint8_t>::value    ? 7
           : std::is_same<T, uint16_t>::value   ? 8
           : std::is_same<T, uint32_t>::value   ? 9
           : std::is_same<T, double>::value     ? 10
           : std::is_same<T, bfloat16_t>::value ? 11
                                                : -1;
}

/* Whole words for what may be a flag that another block polls. */
inline void move(void* dst, const void* src, uint64_t bytes)
{
    constexpr uint64_t words = 64;
    bool aligned = (reinterpret_cast<uintptr_t>(dst) | reinterpret_cast<uintptr_t>(src) | bytes) % 4 == 0;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (bytes <= words && aligned) {
        volatile uint32_t* to = static_cast<uint32_t*>(dst);
        const volatile uint32_t* from = static_cast<const uint32_t*>(src);
        for (uint64_t at = 0; at < bytes / 4; ++at) {
            to[at] = from[at];
        }
    } else {
        std::memcpy(dst, src, bytes);
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

/* Arguments as a launch lays them out: one after the other, each from a multiple of 8 bytes or of its alignment on. */
template <typename T>
T argument(const uint8_t*& at)
{
    constexpr uintptr_t align = alignof(T) > 8 ? alignof(T) : 8;
    at += (align - reinterpret_cast<uintptr_t>(at) % align) % align;
    T value;
    std::memcpy(&value, at, sizeof(T));
    at += sizeof(T);
    return value;
}

template <typename... Args, size_t... I>
void apply(
    void (*kernel)(Args...), std::tuple<typename std::decay<Args>::type...>& values, std::index_sequence<I...>)
{
    (void)values;
    kernel(std::get<I>(values)...);
}

template <typename... Args>
void call(void (*kernel)(Args...), const void* args)
{
    const uint8_t* at = static_cast<const uint8_t*>(args);
    (void)at;
    std::tuple<typename std::decay<Args>::type...> values{argument<typename std::decay<Args>::type>(at)...};
    ub().used = 0;
    atomic_mode() = -1;
    try {
        apply(kernel, values, std::index_sequence_for<Args...>());
    } catch (const Stop&) {
        return;
    }
    if (atomic_mode() >= 0) {
        hcomm_standin_fault("the kernel ended with an atomic mode set: SetAtomicNone is missing");
    }
}

/* The largest argument structure of a kernel without HCOMM_STANDIN_KERNEL. */
struct Blob {
    uint8_t bytes[4096];
};

} // namespace hcomm_standin

/* How the library calls a kernel that takes one structure of more than 16 bytes. */
extern "C" __attribute__((weak, used, visibility("default"))) void hcomm_standin_enter(void* kernel, const void* args)
{
    hcomm_standin::Blob blob;
    std::memcpy(&blob, args, sizeof(blob));
    hcomm_standin::call(reinterpret_cast<void (*)(hcomm_standin::Blob)>(kernel), &blob);
}

/* How the library calls a kernel with any other arguments: to be written after the kernel, under #ifdef. */
#define HCOMM_STANDIN_KERNEL(name)                                                                                     \
    extern "C" __attribute__((used, visibility("default"))) void name##__standin(const void* args)                    \
    {                                                                                                                  \
        hcomm_standin::call(&name, args);                                                                              \
    }

namespace AscendC {

enum class TPosition : uint8_t {
    GM,
    A1,
    A2,
    B1,
    B2,
    C1,
    C2,
    CO1,
    CO2,
    VECIN,
    VECOUT,
    VECCALC,
    LCM = VECCALC,
    MAX
};
using QuePosition = TPosition;

enum class HardEvent : uint8_t {
    MTE2_V,
    V_MTE2,
    MTE3_V,
    V_MTE3,
    MTE2_MTE3,
    MTE3_MTE2,
    MTE2_S,
    S_MTE2,
    MTE3_S,
    S_MTE3,
    S_V,
    V_S,
    V_V
};

using TEventID = int8_t;

/* Ascend C has names of its own for these; so has HCCL outside the namespace. */
enum HcclReduceOp : uint8_t { HCCL_REDUCE_SUM = 0, HCCL_REDUCE_PROD = 1, HCCL_REDUCE_MAX = 2, HCCL_REDUCE_MIN = 3 };

enum HcclDataType : uint8_t {
    HCCL_DATA_TYPE_INT8 = 0,
    HCCL_DATA_TYPE_INT16 = 1,
    HCCL_DATA_TYPE_INT32 = 2,
    HCCL_DATA_TYPE_FP16 = 3,
    HCCL_DATA_TYPE_FP32 = 4,
    HCCL_DATA_TYPE_INT64 = 5,
    HCCL_DATA_TYPE_UINT64 = 6,
    HCCL_DATA_TYPE_UINT8 = 7,
    HCCL_DATA_TYPE_UINT16 = 8,
    HCCL_DATA_TYPE_UINT32 = 9,
    HCCL_DATA_TYPE_FP64 = 10,
    HCCL_DATA_TYPE_BFP16 = 11
};

inline int64_t GetBlockIdx() { return hcomm_standin_block_idx(); }
inline int64_t GetBlockNum() { return hcomm_standin_block_num(); }

template <pipe_t pipe>
inline void PipeBarrier()
{
    pipe_barrier(pipe);
}

template <HardEvent event>
inline void SetFlag(int32_t)
{
}

template <HardEvent event>
inline void WaitFlag(int32_t)
{
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

/* All blocks of the launch meet. */
template <bool isAIVOnly = true>
inline void SyncAll()
{
    hcomm_standin::go_on(hcomm_standin_sync_all());
}

template <typename T>
class GlobalTensor {
public:
    using PrimType = T;

    void SetGlobalBuffer(__gm__ T* buffer) { SetGlobalBuffer(buffer, UINT64_MAX / sizeof(T)); }
    void SetGlobalBuffer(__gm__ T* buffer, uint64_t bufferSize)
    {
        address_ = buffer;
        size_ = bufferSize;
    }
    __gm__ T* GetPhyAddr() const { return address_; }
    __gm__ T* GetPhyAddr(uint64_t offset) const { return address_ + offset; }
    uint64_t GetSize() const { return size_; }

    GlobalTensor operator[](uint64_t offset) const
    {
        GlobalTensor part;
        part.SetGlobalBuffer(address_ + offset, offset > size_ ? 0 : size_ - offset);
        return part;
    }

    T GetValue(uint64_t offset) const
    {
        Check(offset, 1, false);
        T value;
        hcomm_standin::move(&value, address_ + offset, sizeof(T));
        return value;
    }

    void SetValue(uint64_t offset, T value) const
    {
        Check(offset, 1, true);
        hcomm_standin::move(address_ + offset, &value, sizeof(T));
    }

    void Check(uint64_t offset, uint64_t count, bool writes) const
    {
        if (offset > size_ || count > size_ - offset) {
            hcomm_standin::fault(
                "%llu elements reach outside a GlobalTensor of %llu", offset + count, size_);
        }
        hcomm_standin::go_on(hcomm_standin_gm(address_ + offset, count * sizeof(T), writes ? 1 : 0));
    }

private:
    __gm__ T* address_ = nullptr;
    uint64_t size_ = 0;
};

template <typename T>
class LocalTensor {
public:
    using PrimType = T;

    LocalTensor() = default;
    LocalTensor(uint8_t* address, uint64_t bytes) : address_(address), bytes_(bytes) {}

    uint32_t GetSize() const { return static_cast<uint32_t>(bytes_ / sizeof(T)); }
    uint64_t Bytes() const { return bytes_; }
    uint8_t* Raw() const { return address_; }
    T* GetPhyAddr() const { return reinterpret_cast<T*>(address_); }

    LocalTensor operator[](uint32_t offset) const
    {
        Check(offset, 0);
        return LocalTensor(address_ + offset * sizeof(T), bytes_ - offset * sizeof(T));
    }

    T GetValue(uint32_t offset) const
    {
        Check(offset, 1);
        T value;
        std::memcpy(&value, address_ + offset * sizeof(T), sizeof(T));
        return value;
    }

    void SetValue(uint32_t offset, T value) const
    {
        Check(offset, 1);
        std::memcpy(address_ + offset * sizeof(T), &value, sizeof(T));
    }

    template <typename U>
    LocalTensor<U> ReinterpretCast() const
    {
        return LocalTensor<U>(address_, bytes_);
    }

    void Check(uint64_t offset, uint64_t count) const
    {
        if ((offset + count) * sizeof(T) > bytes_) {
            hcomm_standin::fault(
                "%llu bytes reach outside a LocalTensor of %llu bytes", (offset + count) * sizeof(T), bytes_);
        }
    }

private:
    uint8_t* address_ = nullptr;
    uint64_t bytes_ = 0;
};

template <TPosition pos = TPosition::VECCALC>
class TBuf {
public:
    void Give(uint8_t* address, uint64_t bytes)
    {
        address_ = address;
        bytes_ = bytes;
    }

    template <typename T>
    LocalTensor<T> Get() const
    {
        return LocalTensor<T>(address_, bytes_);
    }

    template <typename T>
    LocalTensor<T> Get(uint32_t count) const
    {
        return GetWithOffset<T>(count, 0);
    }

    template <typename T>
    LocalTensor<T> GetWithOffset(uint32_t count, uint32_t offset) const
    {
        if (offset + static_cast<uint64_t>(count) * sizeof(T) > bytes_) {
            hcomm_standin::fault(
                "%llu bytes reach outside a TBuf of %llu bytes", offset + static_cast<uint64_t>(count) * sizeof(T),
                bytes_);
        }
        return LocalTensor<T>(address_ + offset, static_cast<uint64_t>(count) * sizeof(T));
    }

private:
    uint8_t* address_ = nullptr;
    uint64_t bytes_ = 0;
};

/* A queue of buffers: allocated, filled, put in, taken out, given back. */
template <TPosition src, TPosition dst, int32_t depth>
class TQueBind {
public:
    void Give(uint8_t* address, uint32_t number, uint64_t bytes)
    {
        bytes_ = bytes;
        free_.clear();
        filled_.clear();
        for (uint32_t at = 0; at < number; ++at) {
            free_.push_back(address + at * bytes);
        }
    }

    template <typename T>
    LocalTensor<T> AllocTensor()
    {
        if (free_.empty()) {
            hcomm_standin::fault("AllocTensor on a queue whose buffers are all in use: FreeTensor is missing");
        }
        uint8_t* address = free_.front();
        free_.pop_front();
        return LocalTensor<T>(address, bytes_);
    }

    template <typename T>
    bool EnQue(const LocalTensor<T>& tensor)
    {
        filled_.push_back(tensor.Raw());
        return true;
    }

    template <typename T>
    LocalTensor<T> DeQue()
    {
        if (filled_.empty()) {
            hcomm_standin::fault("DeQue on an empty queue: EnQue is missing");
        }
        uint8_t* address = filled_.front();
        filled_.pop_front();
        return LocalTensor<T>(address, bytes_);
    }

    template <typename T>
    void FreeTensor(const LocalTensor<T>& tensor)
    {
        free_.push_back(tensor.Raw());
    }

    bool HasTensorInQue() const { return !filled_.empty(); }
    bool HasIdleBuffer() const { return !free_.empty(); }

private:
    uint64_t bytes_ = 0;
    std::deque<uint8_t*> free_;
    std::deque<uint8_t*> filled_;
};

template <TPosition pos, int32_t depth>
using TQue = TQueBind<pos, pos, depth>;

class TPipe {
public:
    template <TPosition src, TPosition dst, int32_t depth>
    bool InitBuffer(TQueBind<src, dst, depth>& queue, uint8_t num, uint32_t len)
    {
        uint64_t each = (len + hcomm_standin::UB_BLOCK - 1) / hcomm_standin::UB_BLOCK * hcomm_standin::UB_BLOCK;
        queue.Give(hcomm_standin::ub().take(num * each), num, each);
        return true;
    }

    template <TPosition pos>
    bool InitBuffer(TBuf<pos>& buffer, uint32_t len)
    {
        uint64_t bytes = (len + hcomm_standin::UB_BLOCK - 1) / hcomm_standin::UB_BLOCK * hcomm_standin::UB_BLOCK;
        buffer.Give(hcomm_standin::ub().take(bytes), bytes);
        return true;
    }

    void Reset() { hcomm_standin::ub().used = 0; }

    template <HardEvent event>
    TEventID AllocEventID()
    {
        return 0;
    }

    template <HardEvent event>
    void ReleaseEventID(TEventID)
    {
    }

    TEventID FetchEventID(HardEvent) { return 0; }
};

/* Reductions of the copies from UB to GM that follow, until SetAtomicNone. */
template <typename T>
inline void SetAtomicAdd()
{
    static_assert(hcomm_standin::data_type<T>() >= 0, "no atomic addition of this type");
    hcomm_standin::atomic_mode() = 0;
}

template <typename T>
inline void SetAtomicMax()
{
    static_assert(hcomm_standin::data_type<T>() >= 0, "no atomic maximum of this type");
    hcomm_standin::atomic_mode() = 2;
}

template <typename T>
inline void SetAtomicMin()
{
    static_assert(hcomm_standin::data_type<T>() >= 0, "no atomic minimum of this type");
    hcomm_standin::atomic_mode() = 3;
}

inline void SetAtomicNone() { hcomm_standin::atomic_mode() = -1; }

struct DataCopyParams {
    uint16_t blockCount = 1;
    uint16_t blockLen = 0; /* blocks of 32 bytes */
    uint16_t srcStride = 0;
    uint16_t dstStride = 0;
    DataCopyParams() = default;
    DataCopyParams(uint16_t count, uint16_t len, uint16_t srcGap, uint16_t dstGap)
        : blockCount(count), blockLen(len), srcStride(srcGap), dstStride(dstGap)
    {
    }
};

struct DataCopyExtParams {
    uint16_t blockCount = 1;
    uint32_t blockLen = 0; /* bytes */
    int64_t srcStride = 0;
    int64_t dstStride = 0;
    uint32_t rsv = 0;
    DataCopyExtParams() = default;
    DataCopyExtParams(uint16_t count, uint32_t len, int64_t srcGap, int64_t dstGap, uint32_t reserved)
        : blockCount(count), blockLen(len), srcStride(srcGap), dstStride(dstGap), rsv(reserved)
    {
    }
};

template <typename T>
struct DataCopyPadExtParams {
    bool isPad = false;
    uint8_t leftPadding = 0;
    uint8_t rightPadding = 0;
    T paddingValue = T();
    DataCopyPadExtParams() = default;
    DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, T value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value)
    {
    }
};

struct DataCopyPadParams {
    bool isPad = false;
    uint8_t leftPadding = 0;
    uint8_t rightPadding = 0;
    uint64_t paddingValue = 0;
    DataCopyPadParams() = default;
    DataCopyPadParams(bool pad, uint8_t left, uint8_t right, uint64_t value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value)
    {
    }
};

} // namespace AscendC

namespace hcomm_standin {

inline void whole_blocks(uint64_t bytes)
{
    if (bytes % UB_BLOCK != 0) {
        fault("DataCopy of %llu bytes: it moves blocks of 32, for the rest there is DataCopyPad", bytes);
    }
}

template <typename T>
void load(const AscendC::LocalTensor<T>& dst, const AscendC::GlobalTensor<T>& src, uint64_t from, uint64_t to,
          uint64_t bytes)
{
    dst.template ReinterpretCast<uint8_t>().Check(to, bytes);
    const uint8_t* address = reinterpret_cast<const uint8_t*>(src.GetPhyAddr()) + from;
    go_on(hcomm_standin_gm(address, bytes, 0));
    move(dst.Raw() + to, address, bytes);
}

template <typename T>
void store(const AscendC::GlobalTensor<T>& dst, const AscendC::LocalTensor<T>& src, uint64_t to, uint64_t from,
           uint64_t bytes)
{
    src.template ReinterpretCast<uint8_t>().Check(from, bytes);
    uint8_t* address = reinterpret_cast<uint8_t*>(dst.GetPhyAddr()) + to;
    if (atomic_mode() < 0) {
        go_on(hcomm_standin_gm(address, bytes, 1));
        move(address, src.Raw() + from, bytes);
        return;
    }
    if (data_type<T>() < 0) {
        fault("an atomic mode is set, and the copy is of elements that are not reduced");
    }
    go_on(hcomm_standin_atomic(address, src.Raw() + from, bytes / sizeof(T), data_type<T>(), atomic_mode()));
}

} // namespace hcomm_standin

namespace AscendC {

template <typename T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count)
{
    hcomm_standin::whole_blocks(static_cast<uint64_t>(count) * sizeof(T));
    hcomm_standin::load(dst, src, 0, 0, static_cast<uint64_t>(count) * sizeof(T));
}

template <typename T>
inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count)
{
    hcomm_standin::whole_blocks(static_cast<uint64_t>(count) * sizeof(T));
    hcomm_standin::store(dst, src, 0, 0, static_cast<uint64_t>(count) * sizeof(T));
}

template <typename T>
inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count)
{
    hcomm_standin::whole_blocks(static_cast<uint64_t>(count) * sizeof(T));
    dst.Check(0, count);
    src.Check(0, count);
    std::memmove(dst.Raw(), src.Raw(), static_cast<uint64_t>(count) * sizeof(T));
}

template <typename T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params)
{
    const uint64_t unit = hcomm_standin::UB_BLOCK;
    for (uint64_t at = 0; at < params.blockCount; ++at) {
        hcomm_standin::load(
            dst, src, at * (params.blockLen + params.srcStride) * unit, at * (params.blockLen + params.dstStride) * unit,
            params.blockLen * unit);
    }
}

template <typename T>
inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params)
{
    const uint64_t unit = hcomm_standin::UB_BLOCK;
    for (uint64_t at = 0; at < params.blockCount; ++at) {
        hcomm_standin::store(
            dst, src, at * (params.blockLen + params.dstStride) * unit, at * (params.blockLen + params.srcStride) * unit,
            params.blockLen * unit);
    }
}

/* Blocks of any number of bytes. In GM they are apart by stride bytes; in UB each starts at a multiple of 32 bytes and
 * they are apart by stride blocks of 32. */
template <typename T>
inline void DataCopyPad(
    const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& params,
    const DataCopyPadExtParams<T>& pad)
{
    const uint64_t unit = hcomm_standin::UB_BLOCK;
    const uint64_t left = pad.isPad ? pad.leftPadding * sizeof(T) : 0;
    const uint64_t right = pad.isPad ? pad.rightPadding * sizeof(T) : 0;
    const uint64_t row = (left + params.blockLen + right + unit - 1) / unit * unit;
    for (uint64_t at = 0; at < params.blockCount; ++at) {
        const uint64_t to = at * (row + static_cast<uint64_t>(params.dstStride) * unit);
        for (uint64_t byte = 0; byte < left; byte += sizeof(T)) {
            dst.SetValue(static_cast<uint32_t>((to + byte) / sizeof(T)), pad.paddingValue);
        }
        hcomm_standin::load(
            dst, src, at * (params.blockLen + static_cast<uint64_t>(params.srcStride)), to + left, params.blockLen);
        for (uint64_t byte = 0; byte < right; byte += sizeof(T)) {
            dst.SetValue(
                static_cast<uint32_t>((to + left + params.blockLen + byte) / sizeof(T)), pad.paddingValue);
        }
    }
}

template <typename T>
inline void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& params)
{
    const uint64_t unit = hcomm_standin::UB_BLOCK;
    const uint64_t row = (params.blockLen + unit - 1) / unit * unit;
    for (uint64_t at = 0; at < params.blockCount; ++at) {
        hcomm_standin::store(
            dst, src, at * (params.blockLen + static_cast<uint64_t>(params.dstStride)),
            at * (row + static_cast<uint64_t>(params.srcStride) * unit), params.blockLen);
    }
}

template <typename T>
inline void DataCopyPad(
    const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params, const DataCopyPadParams& pad)
{
    DataCopyPadExtParams<T> value(pad.isPad, pad.leftPadding, pad.rightPadding, T());
    std::memcpy(&value.paddingValue, &pad.paddingValue, sizeof(T) < 8 ? sizeof(T) : 8);
    DataCopyPad(
        dst, src, DataCopyExtParams(params.blockCount, params.blockLen, params.srcStride, params.dstStride, 0), value);
}

template <typename T>
inline void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params)
{
    DataCopyPad(dst, src, DataCopyExtParams(params.blockCount, params.blockLen, params.srcStride, params.dstStride, 0));
}

template <typename T>
inline void Duplicate(const LocalTensor<T>& dst, const T& value, const int32_t count)
{
    dst.Check(0, static_cast<uint64_t>(count));
    for (int32_t at = 0; at < count; ++at) {
        std::memcpy(dst.Raw() + at * sizeof(T), &value, sizeof(T));
    }
}

#define HCOMM_STANDIN_COMBINE(name, op)                                                                                \
    template <typename T>                                                                                              \
    inline void name(                                                                                                  \
        const LocalTensor<T>& dst, const LocalTensor<T>& a, const LocalTensor<T>& b, const int32_t count)              \
    {                                                                                                                  \
        static_assert(hcomm_standin::data_type<T>() >= 0, "no arithmetic on this type");                              \
        dst.Check(0, static_cast<uint64_t>(count));                                                                    \
        a.Check(0, static_cast<uint64_t>(count));                                                                      \
        b.Check(0, static_cast<uint64_t>(count));                                                                      \
        hcomm_standin::go_on(hcomm_standin_combine(                                                                    \
            dst.Raw(), a.Raw(), b.Raw(), static_cast<uint64_t>(count), hcomm_standin::data_type<T>(), op));            \
    }

HCOMM_STANDIN_COMBINE(Add, 0)
HCOMM_STANDIN_COMBINE(Mul, 1)
HCOMM_STANDIN_COMBINE(Max, 2)
HCOMM_STANDIN_COMBINE(Min, 3)

#undef HCOMM_STANDIN_COMBINE

} // namespace AscendC

#endif
