// The host's side.
#include "window_all_gather.h"

#include <cstring>
#include <vector>

#include "channels.h"
#include "launch.h"
#include "param.h"

namespace {

constexpr const char* TAG = "window_all_gather_example";

struct HostContext {
    ThreadHandle mainThread;
    const Resources* resources;
};

HcclResult Make(HcclComm comm, uint32_t rank, uint32_t ranks, HostContext& host)
{
    Resources made = {};
    made.rank = rank;
    made.ranks = ranks;
    TRY(HcclThreadAcquire(comm, COMM_ENGINE_AICPU_TS, ranks - 1, ranks, made.threads));
    TRY(HcclThreadExportToCommEngine(comm, 1, made.threads, COMM_ENGINE_CPU_TS, &host.mainThread));
    std::vector<uint32_t> peers;
    for (uint32_t step = 1; step < ranks; ++step) {
        made.peers[step - 1] = (rank + step) % ranks;
        peers.push_back((rank + step) % ranks);
    }
    // On the 950 this is also where the ranks learn of each other's windows.
    std::vector<ChannelHandle> channels;
    TRY(examples::Acquire(comm, rank, peers, CHANNEL_NOTIFIES, channels));
    std::memcpy(made.channels, channels.data(), channels.size() * sizeof(ChannelHandle));
    void* device = nullptr;
    TRY(HcclEngineCtxCreate(comm, TAG, COMM_ENGINE_AICPU_TS, sizeof(made), &device));
    TRY(HcclEngineCtxCopy(comm, COMM_ENGINE_AICPU_TS, TAG, &made, sizeof(made), 0));
    host.resources = static_cast<const Resources*>(device);
    return HCCL_SUCCESS;
}

} // namespace

extern "C" HcclResult HcclAllGatherWindowExample(
    void* sendBuf, void* recvBuf, uint64_t bytes, HcclComm comm, aclrtStream stream)
{
    if (sendBuf == nullptr || recvBuf == nullptr || comm == nullptr || stream == nullptr) {
        return HCCL_E_PTR;
    }
    uint32_t rank = 0;
    uint32_t ranks = 0;
    TRY(HcclGetRankId(comm, &rank));
    TRY(HcclGetRankSize(comm, &ranks));
    if (ranks < 2 || ranks > MOST_RANKS) {
        return HCCL_E_PARA;
    }
    WindowAllGatherParam param = {};
    size_t offset = 0;
    TRY(HcclCommSymWinGet(comm, recvBuf, bytes * ranks, &param.window, &offset));
    if (param.window == nullptr) {
        return HCCL_E_NOT_FOUND;
    }
    ThreadHandle hostThread = 0;
    TRY(HcclThreadAcquireWithStream(comm, COMM_ENGINE_CPU_TS, stream, 1, &hostThread));
    TRY(HcclThreadExportToCommEngine(comm, 1, &hostThread, COMM_ENGINE_AICPU_TS, &param.hostThread));
    void* context = nullptr;
    uint64_t size = 0;
    if (HcclEngineCtxGet(comm, TAG, COMM_ENGINE_CPU_TS, &context, &size) != HCCL_SUCCESS) {
        HostContext made = {};
        TRY(Make(comm, rank, ranks, made));
        TRY(HcclEngineCtxCreate(comm, TAG, COMM_ENGINE_CPU_TS, sizeof(made), &context));
        std::memcpy(context, &made, sizeof(made));
    }
    HostContext host;
    std::memcpy(&host, context, sizeof(host));
    param.resources = host.resources;
    param.input = sendBuf;
    param.output = recvBuf;
    param.offset = offset;
    param.bytes = bytes;
    return examples::Launch(
        "window_all_gather.json", "WindowAllGatherExampleKernel", param, hostThread, host.mainThread, ranks - 1,
        stream);
}
