// The host's side: parameters, resources on the first call of a peer, launch.
#include "send_recv.h"

#include <cstring>
#include <string>

#include "channels.h"
#include "launch.h"
#include "param.h"

namespace {

uint64_t SizeOf(HcclDataType type)
{
    switch (type) {
        case HCCL_DATA_TYPE_INT8:
        case HCCL_DATA_TYPE_UINT8:
            return 1;
        case HCCL_DATA_TYPE_INT16:
        case HCCL_DATA_TYPE_UINT16:
        case HCCL_DATA_TYPE_FP16:
        case HCCL_DATA_TYPE_BFP16:
            return 2;
        case HCCL_DATA_TYPE_INT32:
        case HCCL_DATA_TYPE_UINT32:
        case HCCL_DATA_TYPE_FP32:
            return 4;
        case HCCL_DATA_TYPE_INT64:
        case HCCL_DATA_TYPE_UINT64:
        case HCCL_DATA_TYPE_FP64:
            return 8;
        default:
            return 0;
    }
}

Fault FaultOf(const char* name)
{
    const std::string wanted = name == nullptr ? "" : name;
    return wanted == "missing_wait"              ? Fault::MISSING_WAIT
           : wanted == "double_record"           ? Fault::DOUBLE_RECORD
           : wanted == "out_of_range"            ? Fault::OUT_OF_RANGE
           : wanted == "missing_acknowledgement" ? Fault::MISSING_ACKNOWLEDGEMENT
           : wanted == "missing_batch_end"       ? Fault::MISSING_BATCH_END
                                                 : Fault::NONE;
}

// What is made once for a peer and a direction, and kept in a context of the host.
struct Resources {
    ThreadHandle thread;
    ThreadHandle threadOnHost;
    ChannelHandle channel;
    void* buffer;
    uint64_t bufferSize;
};

HcclResult Make(HcclComm comm, uint32_t peer, bool isSend, Resources& made)
{
    uint32_t rank = 0;
    TRY(HcclGetRankId(comm, &rank));
    TRY(HcclThreadAcquire(comm, COMM_ENGINE_AICPU_TS, 1, START + 1, &made.thread));
    TRY(HcclThreadExportToCommEngine(comm, 1, &made.thread, COMM_ENGINE_CPU_TS, &made.threadOnHost));
    std::vector<ChannelHandle> channels;
    TRY(examples::Acquire(comm, rank, {peer}, CHANNEL_NOTIFIES, channels));
    made.channel = channels[0];
    return isSend ? HcclGetHcclBuffer(comm, &made.buffer, &made.bufferSize)
                  : HcclChannelGetHcclBuffer(comm, made.channel, &made.buffer, &made.bufferSize);
}

// The context is made last, so that a call that fails half-way leaves none behind.
HcclResult Get(HcclComm comm, uint32_t peer, bool isSend, Resources& resources)
{
    const std::string tag = std::string("send_recv_example_") + (isSend ? "to_" : "from_") + std::to_string(peer);
    void* context = nullptr;
    uint64_t size = 0;
    if (HcclEngineCtxGet(comm, tag.c_str(), COMM_ENGINE_CPU_TS, &context, &size) != HCCL_SUCCESS) {
        Resources made = {};
        TRY(Make(comm, peer, isSend, made));
        TRY(HcclEngineCtxCreate(comm, tag.c_str(), COMM_ENGINE_CPU_TS, sizeof(made), &context));
        std::memcpy(context, &made, sizeof(made));
    }
    std::memcpy(&resources, context, sizeof(resources));
    return HCCL_SUCCESS;
}

HcclResult Transfer(
    void* user, uint64_t count, HcclDataType dataType, uint32_t peer, bool isSend, HcclComm comm, aclrtStream stream)
{
    if (user == nullptr || comm == nullptr || stream == nullptr) {
        return HCCL_E_PTR;
    }
    const uint64_t size = SizeOf(dataType);
    uint32_t rank = 0;
    uint32_t ranks = 0;
    TRY(HcclGetRankId(comm, &rank));
    TRY(HcclGetRankSize(comm, &ranks));
    if (size == 0 || peer >= ranks || peer == rank || count > UINT64_MAX / size) {
        return HCCL_E_PARA;
    }
    if (count == 0) {
        return HCCL_SUCCESS;
    }
    // The stream may be another with every call.
    ThreadHandle hostThread = 0;
    ThreadHandle hostThreadOnDevice = 0;
    TRY(HcclThreadAcquireWithStream(comm, COMM_ENGINE_CPU_TS, stream, 1, &hostThread));
    TRY(HcclThreadExportToCommEngine(comm, 1, &hostThread, COMM_ENGINE_AICPU_TS, &hostThreadOnDevice));
    Resources resources = {};
    TRY(Get(comm, peer, isSend, resources));

    SendRecvParam param = {};
    param.thread = resources.thread;
    param.hostThread = hostThreadOnDevice;
    param.channel = resources.channel;
    param.user = user;
    param.buffer = resources.buffer;
    param.bufferSize = resources.bufferSize;
    param.bytes = count * size;
    param.isSend = isSend ? 1 : 0;
    param.fault = FaultOf(std::getenv("SEND_RECV_FAULT"));
    return examples::Launch(
        "send_recv.json", "SendRecvExampleKernel", param, hostThread, resources.threadOnHost, START, stream);
}

} // namespace

extern "C" HcclResult HcclSendExample(
    void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm, aclrtStream stream)
{
    return Transfer(sendBuf, count, dataType, destRank, true, comm, stream);
}

extern "C" HcclResult HcclRecvExample(
    void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm, aclrtStream stream)
{
    return Transfer(recvBuf, count, dataType, srcRank, false, comm, stream);
}
