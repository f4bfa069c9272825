// All ranks gather, with odd numbers of bytes, and with more than a piece of the Unified Buffer.
#include <vector>

#include "aiv_all_gather.h"
#include "ranks.h"

namespace {

int Once(HcclComm comm, aclrtStream stream, uint32_t ranks, uint32_t rank, size_t bytes)
{
    std::vector<uint8_t> host(bytes * ranks);
    for (size_t at = 0; at < bytes; ++at) {
        host[at] = static_cast<uint8_t>(rank * 31 + at % 251);
    }
    void* send = nullptr;
    void* receive = nullptr;
    TRY(static_cast<int>(aclrtMalloc(&send, bytes, ACL_MEM_MALLOC_HUGE_FIRST)));
    TRY(static_cast<int>(aclrtMalloc(&receive, bytes * ranks, ACL_MEM_MALLOC_HUGE_FIRST)));
    TRY(static_cast<int>(aclrtMemcpy(send, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE)));
    TRY(static_cast<int>(HcclAllGatherAivExample(send, receive, bytes, comm, stream)));
    TRY(static_cast<int>(aclrtSynchronizeStream(stream)));
    TRY(static_cast<int>(
        aclrtMemcpy(host.data(), host.size(), receive, host.size(), ACL_MEMCPY_DEVICE_TO_HOST)));
    for (uint32_t from = 0; from < ranks; ++from) {
        for (size_t at = 0; at < bytes; ++at) {
            if (host[from * bytes + at] != static_cast<uint8_t>(from * 31 + at % 251)) {
                std::fprintf(stderr, "rank %u: byte %zu of rank %u is wrong\n", rank, at, from);
                return 1;
            }
        }
    }
    TRY(static_cast<int>(aclrtFree(send)));
    return static_cast<int>(aclrtFree(receive));
}

} // namespace

int main()
{
    return examples::OnAllRanks([](HcclComm comm, aclrtStream stream, uint32_t ranks, uint32_t rank) {
        for (const size_t bytes : {1000, 1, 333333, 32, 5000003}) {
            TRY(Once(comm, stream, ranks, rank, bytes));
        }
        return 0;
    });
}
