// Even ranks send to the next one, twice, with another count the second time.
#include <vector>

#include "ranks.h"
#include "send_recv.h"

namespace {

int Once(HcclComm comm, aclrtStream stream, uint32_t ranks, uint32_t rank, uint64_t count)
{
    const size_t bytes = count * sizeof(int32_t);
    const uint32_t peer = rank % 2 == 0 ? rank + 1 : rank - 1;
    if (peer >= ranks) {
        return 0;
    }
    std::vector<int32_t> host(count, -1);
    void* buffer = nullptr;
    TRY(static_cast<int>(aclrtMalloc(&buffer, bytes, ACL_MEM_MALLOC_HUGE_FIRST)));
    if (rank % 2 == 0) {
        for (uint64_t at = 0; at < count; ++at) {
            host[at] = static_cast<int32_t>(rank * 1000 + at);
        }
        TRY(static_cast<int>(aclrtMemcpy(buffer, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE)));
        TRY(static_cast<int>(HcclSendExample(buffer, count, HCCL_DATA_TYPE_INT32, peer, comm, stream)));
    } else {
        TRY(static_cast<int>(HcclRecvExample(buffer, count, HCCL_DATA_TYPE_INT32, peer, comm, stream)));
    }
    TRY(static_cast<int>(aclrtSynchronizeStream(stream)));
    if (rank % 2 == 1) {
        TRY(static_cast<int>(aclrtMemcpy(host.data(), bytes, buffer, bytes, ACL_MEMCPY_DEVICE_TO_HOST)));
        for (uint64_t at = 0; at < count; ++at) {
            if (host[at] != static_cast<int32_t>(peer * 1000 + at)) {
                std::fprintf(stderr, "rank %u: element %zu is %d\n", rank, static_cast<size_t>(at), host[at]);
                return 1;
            }
        }
    }
    return static_cast<int>(aclrtFree(buffer));
}

} // namespace

int main()
{
    return examples::OnAllRanks([](HcclComm comm, aclrtStream stream, uint32_t ranks, uint32_t rank) {
        // The second one too where the first is wrong: the peer counts on it.
        const int first = Once(comm, stream, ranks, rank, 1000);
        const int second = Once(comm, stream, ranks, rank, 333);
        return first != 0 ? first : second;
    });
}
