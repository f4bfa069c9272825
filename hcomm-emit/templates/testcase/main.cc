/// Runs the operator on every device, a thread each, and compares every element with the operator's definition.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_rt.h"
#include "hccl/hccl_comm.h"
#include "hccl/hccl_types.h"
#include "@HEADER@"

namespace {

/// A call, as one rank sees it.
struct Case {
    uint32_t rank;
    uint32_t ranks;
    uint32_t root;
    uint64_t count;
    HcclDataType type;
    HcclComm comm;
    aclrtStream stream;
};

/// What rank `rank` gives as its element `i`: small, so that sums are exact in every type.
int Value(uint32_t rank, uint64_t i)
{
    return static_cast<int>((rank * 7 + i * 3 + i / 5) % 4);
}

@OPERATOR@
uint64_t ElementSize(HcclDataType type)
{
    switch (type) {
        case HCCL_DATA_TYPE_INT8:
            return 1;
        case HCCL_DATA_TYPE_FP16:
            return 2;
        case HCCL_DATA_TYPE_INT64:
            return 8;
        default:
            return 4;
    }
}

/// A small number as an element.
void Put(std::vector<char> &bytes, uint64_t i, int value, HcclDataType type)
{
    const float number = static_cast<float>(value);
    const int32_t integer = value;
    const int64_t longer = value;
    char *at = bytes.data() + i * ElementSize(type);
    if (type == HCCL_DATA_TYPE_INT8) {
        *at = static_cast<char>(value);
    } else if (type == HCCL_DATA_TYPE_INT32) {
        std::memcpy(at, &integer, sizeof(integer));
    } else if (type == HCCL_DATA_TYPE_INT64) {
        std::memcpy(at, &longer, sizeof(longer));
    } else if (type == HCCL_DATA_TYPE_FP32) {
        std::memcpy(at, &number, sizeof(number));
    } else { // the upper half of a float has enough bits of its fraction
        uint32_t bits = 0;
        std::memcpy(&bits, &number, sizeof(bits));
        const uint16_t half = value == 0 ? 0 : static_cast<uint16_t>((bits - 0x38000000) >> 13);
        std::memcpy(at, &half, sizeof(half));
    }
}

/// Only a few small cases: with all checks on what is called, more take too long.
bool g_short = false;

#define CHECK(call)                                                                \
    do {                                                                           \
        const int result = static_cast<int>(call);                                 \
        if (result != 0) {                                                         \
            std::printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, result);     \
            return false;                                                          \
        }                                                                          \
    } while (0)

@WINDOWS@/// Memory that is registered as a part of a symmetric window.
@WINDOWS@struct WindowMemory {
@WINDOWS@    void *address = nullptr;
@MAPPED@    aclrtDrvMemHandle physical = nullptr;
@WINDOWS@    HcclCommSymWindow window = nullptr;
@WINDOWS@};
@WINDOWS@
@WINDOWS@/// Device memory, registered by all ranks. 0 if it worked.
@WINDOWS@int Make(const Case &c, uint64_t bytes, WindowMemory &memory)
@WINDOWS@{
@WINDOWS@    const auto make = [&] {
@TELLS@        CHECK(aclrtMalloc(&memory.address, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
@MAPPED@        // Reserved addresses, with physical memory behind them.
@MAPPED@        aclrtPhysicalMemProp properties;
@MAPPED@        std::memset(&properties, 0, sizeof(properties));
@MAPPED@        properties.handleType = ACL_MEM_HANDLE_TYPE_NONE;
@MAPPED@        properties.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
@MAPPED@        properties.memAttr = ACL_HBM_MEM_HUGE;
@MAPPED@        properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
@MAPPED@        properties.location.id = c.rank;
@MAPPED@        size_t unit = 0;
@MAPPED@        CHECK(aclrtMemGetAllocationGranularity(&properties, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &unit));
@MAPPED@        const size_t size = (bytes + unit - 1) / unit * unit;
@MAPPED@        CHECK(aclrtReserveMemAddress(&memory.address, size, 0, nullptr, 1));
@MAPPED@        CHECK(aclrtMallocPhysical(&memory.physical, size, &properties, 0));
@MAPPED@        CHECK(aclrtMapMem(memory.address, size, 0, memory.physical, 0));
@WINDOWS@        CHECK(HcclCommSymWinRegister(c.comm, memory.address, bytes, &memory.window, 1));
@WINDOWS@        return true;
@WINDOWS@    };
@WINDOWS@    return make() ? 0 : 1;
@WINDOWS@}
@WINDOWS@
@WINDOWS@int Free(const WindowMemory &memory)
@WINDOWS@{
@WINDOWS@    const auto free = [&] {
@WINDOWS@        CHECK(HcclCommSymWinDeregister(memory.window));
@TELLS@        CHECK(aclrtFree(memory.address));
@MAPPED@        CHECK(aclrtUnmapMem(memory.address));
@MAPPED@        CHECK(aclrtFreePhysical(memory.physical));
@MAPPED@        CHECK(aclrtReleaseMemAddress(memory.address));
@WINDOWS@        return true;
@WINDOWS@    };
@WINDOWS@    return free() ? 0 : 1;
@WINDOWS@}
@WINDOWS@
bool RunCase(const Case &c)
{
    const uint64_t element = ElementSize(c.type);
    std::vector<char> input(std::max<uint64_t>(InputElements(c) * element, 1));
    std::vector<char> output(std::max<uint64_t>(OutputElements(c) * element, 1), 0x5a);
    for (uint64_t i = 0; i < InputElements(c); ++i) {
        Put(input, i, Value(c.rank, i), c.type);
    }
    std::vector<char> want = output;
    for (uint64_t i = 0; i < OutputElements(c); ++i) {
        const int value = Want(c, i);
        if (value >= 0) { // a gap is left as it was
            Put(want, i, value, c.type);
        }
    }
    if (IN_PLACE_ONLY) {
        std::copy_n(input.begin(), InputElements(c) * element, output.begin());
    }
@PLAIN@    void *send = nullptr;
@PLAIN@    void *recv = nullptr;
@PLAIN@    CHECK(aclrtMalloc(&send, input.size(), ACL_MEM_MALLOC_HUGE_FIRST));
@PLAIN@    CHECK(aclrtMalloc(&recv, output.size(), ACL_MEM_MALLOC_HUGE_FIRST));
@WINDOWS@    // New windows with every case: the operator finds them each time.
@WINDOWS@    WindowMemory sendMemory;
@WINDOWS@    WindowMemory recvMemory;
@WINDOWS@    CHECK(Make(c, input.size(), sendMemory));
@WINDOWS@    CHECK(Make(c, output.size(), recvMemory));
@WINDOWS@    void *send = sendMemory.address;
@WINDOWS@    void *recv = recvMemory.address;
    CHECK(aclrtMemcpy(send, input.size(), input.data(), input.size(), ACL_MEMCPY_HOST_TO_DEVICE));
    bool good = true;
    // The second call finds the resources of the first.
    for (int call = 0; good && call < 2; ++call) {
        CHECK(aclrtMemcpy(recv, output.size(), output.data(), output.size(), ACL_MEMCPY_HOST_TO_DEVICE));
        CHECK(Call(c, send, recv));
        CHECK(aclrtSynchronizeStream(c.stream));
        std::vector<char> have(output.size());
        CHECK(aclrtMemcpy(have.data(), have.size(), recv, have.size(), ACL_MEMCPY_DEVICE_TO_HOST));
        const auto differ = std::mismatch(have.begin(), have.end(), want.begin());
        if (differ.first != have.end()) {
            std::printf("rank %u of %u, root %u, %llu elements of type %d, call %d: byte %lld is wrong\n", c.rank, c.ranks,
                c.root, static_cast<unsigned long long>(c.count), static_cast<int>(c.type), call,
                static_cast<long long>(differ.first - have.begin()));
            good = false;
        }
    }
@PLAIN@    CHECK(aclrtFree(send));
@PLAIN@    CHECK(aclrtFree(recv));
@WINDOWS@    CHECK(Free(recvMemory));
@WINDOWS@    CHECK(Free(sendMemory));
    return good;
}
@WINDOWS@
@WINDOWS@/// A call with a buffer that is in no window has to be refused, whichever it is.
@WINDOWS@bool RunRefused(Case c)
@WINDOWS@{
@WINDOWS@    c.type = HCCL_DATA_TYPE_FP32;
@WINDOWS@    c.count = 10;
@WINDOWS@    const uint64_t bytes = std::max(InputElements(c), OutputElements(c)) * ElementSize(c.type);
@WINDOWS@    WindowMemory memory;
@WINDOWS@    CHECK(Make(c, bytes, memory));
@WINDOWS@    void *other = nullptr;
@WINDOWS@    CHECK(aclrtMalloc(&other, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
@WINDOWS@    const bool good = Call(c, memory.address, other) == HCCL_E_PARA && Call(c, other, memory.address) == HCCL_E_PARA;
@WINDOWS@    if (!good) {
@WINDOWS@        std::printf("rank %u: a buffer in no symmetric window was taken\n", c.rank);
@WINDOWS@    }
@WINDOWS@    CHECK(aclrtFree(other));
@WINDOWS@    CHECK(Free(memory));
@WINDOWS@    return good;
@WINDOWS@}

bool RunRank(uint32_t rank, uint32_t ranks, const HcclRootInfo &root)
{
    CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
    Case c{};
    c.rank = rank;
    c.ranks = ranks;
    CHECK(HcclCommInitRootInfo(ranks, &root, rank, &c.comm));
    CHECK(aclrtCreateStream(&c.stream));
    bool good = true;
    for (uint32_t atRoot : {ranks - 1, 0U}) {
        if (!HAS_ROOT && atRoot != 0) {
            continue;
        }
        for (HcclDataType type :
            {HCCL_DATA_TYPE_INT8, HCCL_DATA_TYPE_INT32, HCCL_DATA_TYPE_INT64, HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_FP32}) {
            if (type == HCCL_DATA_TYPE_INT64 && !HAS_INT64) {
                continue;
            }
            if (g_short && type != HCCL_DATA_TYPE_FP32) {
                continue;
            }
            for (uint64_t count : {0ULL, 1ULL, 3ULL, 1000ULL, 20011ULL}) {
                if (g_short && count > 1000) {
                    continue;
                }
                c.root = atRoot;
                c.type = type;
                c.count = count;
                good = RunCase(c) && good;
            }
        }
    }
@WINDOWS@    good = RunRefused(c) && good;
    if (ranks <= 4 && !g_short) { // several rounds, if the HCCL buffer is as small as the tests make it
        c.count = 300007;
        good = RunCase(c) && good;
    }
    CHECK(HcclCommDestroy(c.comm));
    CHECK(aclrtDestroyStream(c.stream));
    CHECK(aclrtResetDevice(static_cast<int32_t>(rank)));
    return good;
}

bool RunAll(uint32_t ranks)
{
    CHECK(aclrtSetDevice(0));
    HcclRootInfo root;
    CHECK(HcclGetRootInfo(&root));
    std::atomic<uint32_t> good{0};
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&good, &root, rank, ranks] { good += RunRank(rank, ranks, root) ? 1 : 0; });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    std::printf("%u ranks: %s\n", ranks, good == ranks ? "ok" : "WRONG");
    return good == ranks;
}

bool RunFor(int argc, char **argv)
{
    CHECK(aclInit(nullptr));
    uint32_t devices = 0;
    CHECK(aclrtGetDeviceCount(&devices));
    bool good = true;
    if (argc > 1 && std::strcmp(argv[1], "--short") == 0) {
        g_short = true;
        --argc;
        ++argv;
    }
    // How many ranks, or as many as there are devices.
    for (int i = 1; i < std::max(argc, 2); ++i) {
        const uint32_t ranks = i < argc ? static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10)) : devices;
        if (ranks == 0 || ranks > devices) {
            std::printf("%u ranks on %u devices\n", ranks, devices);
            return false;
        }
        good = RunAll(ranks) && good;
    }
    CHECK(aclFinalize());
    return good;
}

} // namespace

int main(int argc, char **argv)
{
    return RunFor(argc, argv) ? 0 : 1;
}
