// Memory for windows is reserved, allocated and mapped, as A3 wants it; the 950 takes that too. In the end everything is
// given back in the opposite order.
#include <cstring>
#include <vector>

#include "ranks.h"
#include "window_all_gather.h"

namespace {

int Once(HcclComm comm, aclrtStream stream, uint32_t ranks, uint32_t rank, uint8_t* output, size_t bytes)
{
    std::vector<uint8_t> host(bytes);
    for (size_t at = 0; at < bytes; ++at) {
        host[at] = static_cast<uint8_t>(rank * 37 + at % 241);
    }
    void* input = nullptr;
    TRY(static_cast<int>(aclrtMalloc(&input, bytes, ACL_MEM_MALLOC_HUGE_FIRST)));
    TRY(static_cast<int>(aclrtMemcpy(input, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE)));
    TRY(static_cast<int>(HcclAllGatherWindowExample(input, output, bytes, comm, stream)));
    TRY(static_cast<int>(aclrtSynchronizeStream(stream)));
    host.resize(bytes * ranks);
    TRY(static_cast<int>(aclrtMemcpy(host.data(), host.size(), output, host.size(), ACL_MEMCPY_DEVICE_TO_HOST)));
    for (uint32_t from = 0; from < ranks; ++from) {
        for (size_t at = 0; at < bytes; ++at) {
            if (host[from * bytes + at] != static_cast<uint8_t>(from * 37 + at % 241)) {
                std::fprintf(stderr, "rank %u: byte %zu of rank %u is wrong\n", rank, at, from);
                return 1;
            }
        }
    }
    return static_cast<int>(aclrtFree(input));
}

} // namespace

int main()
{
    return examples::OnAllRanks([](HcclComm comm, aclrtStream stream, uint32_t ranks, uint32_t rank) {
        aclrtPhysicalMemProp properties;
        std::memset(&properties, 0, sizeof(properties));
        properties.handleType = ACL_MEM_HANDLE_TYPE_NONE;
        properties.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
        properties.memAttr = ACL_HBM_MEM_HUGE;
        properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = rank;
        size_t granularity = 0;
        TRY(static_cast<int>(aclrtMemGetAllocationGranularity(
            &properties, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &granularity)));
        const size_t size = 4 * granularity;
        void* memory = nullptr;
        aclrtDrvMemHandle physical = nullptr;
        HcclCommSymWindow window = nullptr;
        TRY(static_cast<int>(aclrtReserveMemAddress(&memory, size, 0, nullptr, 0)));
        TRY(static_cast<int>(aclrtMallocPhysical(&physical, size, &properties, 0)));
        TRY(static_cast<int>(aclrtMapMem(memory, size, 0, physical, 0)));
        TRY(static_cast<int>(HcclCommSymWinRegister(comm, memory, size, &window, 1)));
        uint8_t* output = static_cast<uint8_t*>(memory);
        TRY(Once(comm, stream, ranks, rank, output, 1000));
        TRY(Once(comm, stream, ranks, rank, output + 4096, 300001));
        TRY(static_cast<int>(HcclCommSymWinDeregister(window)));
        TRY(static_cast<int>(aclrtUnmapMem(memory)));
        TRY(static_cast<int>(aclrtFreePhysical(physical)));
        return static_cast<int>(aclrtReleaseMemAddress(memory));
    });
}
