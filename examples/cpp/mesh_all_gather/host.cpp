// The host's side of the all-gather.
#include "mesh_all_gather.h"

#include <cstring>
#include <vector>

#include "channels.h"
#include "launch.h"
#include "param.h"

namespace {

constexpr const char* TAG = "mesh_all_gather_example";

uint64_t SizeOf(HcclDataType type)
{
    static const uint64_t sizes[] = {1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2, 16, 0, 1, 1, 1, 1};
    return static_cast<size_t>(type) < sizeof(sizes) / sizeof(sizes[0]) ? sizes[type] : 0;
}

// On the host: the main thread, as the host may name it, and where the device has its resources.
struct HostContext {
    ThreadHandle mainThread;
    const Resources* resources;
};

HcclResult Make(HcclComm comm, uint32_t rank, uint32_t ranks, HostContext& host)
{
    Resources made = {};
    made.rank = rank;
    made.ranks = ranks;
    const uint32_t lanes = ranks - 1;
    // The same number for each: what the main thread needs, for the others and the start.
    TRY(HcclThreadAcquire(comm, COMM_ENGINE_AICPU_TS, lanes, ranks, made.threads));
    TRY(HcclThreadExportToCommEngine(comm, 1, made.threads, COMM_ENGINE_CPU_TS, &host.mainThread));
    std::vector<uint32_t> peers;
    for (uint32_t step = 1; step < ranks; ++step) {
        peers.push_back((rank + step) % ranks);
    }
    std::vector<ChannelHandle> channels;
    TRY(examples::Acquire(comm, rank, peers, CHANNEL_NOTIFIES, channels));
    TRY(HcclGetHcclBuffer(comm, &made.buffer, &made.bufferSize));
    for (uint32_t lane = 0; lane < lanes; ++lane) {
        uint64_t size = 0;
        made.channels[lane] = channels[lane];
        TRY(HcclChannelGetHcclBuffer(comm, channels[lane], &made.peerBuffers[lane], &size));
    }
    void* device = nullptr;
    TRY(HcclEngineCtxCreate(comm, TAG, COMM_ENGINE_AICPU_TS, sizeof(made), &device));
    TRY(HcclEngineCtxCopy(comm, COMM_ENGINE_AICPU_TS, TAG, &made, sizeof(made), 0));
    host.resources = static_cast<const Resources*>(device);
    return HCCL_SUCCESS;
}

HcclResult Get(HcclComm comm, uint32_t rank, uint32_t ranks, HostContext& host)
{
    void* context = nullptr;
    uint64_t size = 0;
    if (HcclEngineCtxGet(comm, TAG, COMM_ENGINE_CPU_TS, &context, &size) != HCCL_SUCCESS) {
        HostContext made = {};
        TRY(Make(comm, rank, ranks, made));
        TRY(HcclEngineCtxCreate(comm, TAG, COMM_ENGINE_CPU_TS, sizeof(made), &context));
        std::memcpy(context, &made, sizeof(made));
    }
    std::memcpy(&host, context, sizeof(host));
    return HCCL_SUCCESS;
}

} // namespace

extern "C" HcclResult HcclAllGatherExample(
    void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm, aclrtStream stream)
{
    if (sendBuf == nullptr || recvBuf == nullptr || comm == nullptr || stream == nullptr) {
        return HCCL_E_PTR;
    }
    const uint64_t size = SizeOf(dataType);
    uint32_t rank = 0;
    uint32_t ranks = 0;
    TRY(HcclGetRankId(comm, &rank));
    TRY(HcclGetRankSize(comm, &ranks));
    if (size == 0 || ranks > MOST_RANKS || sendCount > UINT64_MAX / size) {
        return HCCL_E_PARA;
    }
    if (sendCount == 0) {
        return HCCL_SUCCESS;
    }
    const uint64_t bytes = sendCount * size;
    if (ranks == 1) {
        TRY_ACL(aclrtMemcpyAsync(recvBuf, bytes, sendBuf, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
        return HCCL_SUCCESS;
    }
    ThreadHandle hostThread = 0;
    AllGatherParam param = {};
    TRY(HcclThreadAcquireWithStream(comm, COMM_ENGINE_CPU_TS, stream, 1, &hostThread));
    TRY(HcclThreadExportToCommEngine(comm, 1, &hostThread, COMM_ENGINE_AICPU_TS, &param.hostThread));
    HostContext host = {};
    TRY(Get(comm, rank, ranks, host));
    param.resources = host.resources;
    param.input = sendBuf;
    param.output = recvBuf;
    param.bytes = bytes;
    return examples::Launch(
        "mesh_all_gather.json", "MeshAllGatherExampleKernel", param, hostThread, host.mainThread, ranks - 1, stream);
}
