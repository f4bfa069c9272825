// All ranks gather, several times: small, odd, and with a buffer so small that there are many rounds.
#include <vector>

#include "mesh_all_gather.h"
#include "ranks.h"

namespace {

int Once(HcclComm comm, aclrtStream stream, uint32_t ranks, uint32_t rank, uint64_t count)
{
    const size_t part = count * sizeof(float);
    std::vector<float> input(count);
    std::vector<float> output(count * ranks, -1.0f);
    for (uint64_t at = 0; at < count; ++at) {
        input[at] = static_cast<float>(rank * 1000 + at % 997);
    }
    void* send = nullptr;
    void* receive = nullptr;
    TRY(static_cast<int>(aclrtMalloc(&send, part, ACL_MEM_MALLOC_HUGE_FIRST)));
    TRY(static_cast<int>(aclrtMalloc(&receive, part * ranks, ACL_MEM_MALLOC_HUGE_FIRST)));
    TRY(static_cast<int>(aclrtMemcpy(send, part, input.data(), part, ACL_MEMCPY_HOST_TO_DEVICE)));
    TRY(static_cast<int>(HcclAllGatherExample(send, receive, count, HCCL_DATA_TYPE_FP32, comm, stream)));
    TRY(static_cast<int>(aclrtSynchronizeStream(stream)));
    TRY(static_cast<int>(
        aclrtMemcpy(output.data(), part * ranks, receive, part * ranks, ACL_MEMCPY_DEVICE_TO_HOST)));
    for (uint32_t from = 0; from < ranks; ++from) {
        for (uint64_t at = 0; at < count; ++at) {
            if (output[from * count + at] != static_cast<float>(from * 1000 + at % 997)) {
                std::fprintf(stderr, "rank %u: element %zu of rank %u is wrong\n", rank, static_cast<size_t>(at), from);
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
        for (const uint64_t count : {1000ull, 1ull, 333ull, 300001ull}) {
            TRY(Once(comm, stream, ranks, rank, count));
        }
        return 0;
    });
}
