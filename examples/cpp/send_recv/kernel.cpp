// The AI CPU kernel: the sender stages its data in its HCCL buffer, and the receiver reads it from there, round by round.
#include <hccl/hcomm_primitives.h>

#include "launch.h"
#include "param.h"

namespace {

constexpr uint64_t MOST = 256ull << 20; // what one transfer over UB may move

char* At(void* base, uint64_t offset) { return static_cast<char*>(base) + offset; }

int32_t Send(const SendRecvParam& param, uint64_t done, uint64_t bytes)
{
    int32_t result = HcommLocalCopyOnThread(param.thread, param.buffer, At(param.user, done), bytes);
    if (result == 0) {
        result = HcommChannelNotifyRecordOnThread(param.thread, param.channel, READY);
    }
    if (result == 0 && param.fault == Fault::DOUBLE_RECORD) {
        result = HcommChannelNotifyRecordOnThread(param.thread, param.channel, READY);
    }
    // The buffer may be filled again when the receiver has what is in it.
    if (result == 0 && param.fault != Fault::MISSING_ACKNOWLEDGEMENT) {
        result = HcommChannelNotifyWaitOnThread(param.thread, param.channel, TAKEN, examples::DEVICE_TIMEOUT);
    }
    return result;
}

int32_t Receive(const SendRecvParam& param, uint64_t done, uint64_t bytes)
{
    int32_t result = 0;
    if (param.fault != Fault::MISSING_WAIT) {
        result = HcommChannelNotifyWaitOnThread(param.thread, param.channel, READY, examples::DEVICE_TIMEOUT);
    }
    if (result == 0) {
        result = HcommReadOnThread(param.thread, param.channel, At(param.user, done), param.buffer, bytes);
    }
    if (result == 0 && param.fault == Fault::OUT_OF_RANGE) {
        // The last bytes do not fit behind the end of the peer's buffer.
        void* behind = At(param.buffer, param.bufferSize - bytes / 2);
        result = HcommWriteOnThread(param.thread, param.channel, behind, At(param.user, done), bytes);
    }
    if (result == 0 && param.fault != Fault::MISSING_ACKNOWLEDGEMENT) {
        result = HcommChannelNotifyRecordOnThread(param.thread, param.channel, TAKEN);
    }
    return result;
}

int32_t Run(const SendRecvParam& param)
{
    const uint64_t room = param.bufferSize / 128 * 128;
    const uint64_t most = room < MOST ? room : MOST;
    int32_t result = HcommThreadNotifyWaitOnThread(param.thread, START, examples::DEVICE_TIMEOUT);
    for (uint64_t done = 0; result == 0 && done < param.bytes;) {
        const uint64_t bytes = param.bytes - done < most ? param.bytes - done : most;
        result = param.isSend != 0 ? Send(param, done, bytes) : Receive(param, done, bytes);
        done += bytes;
    }
    if (result == 0) {
        result = HcommThreadNotifyRecordOnThread(param.thread, param.hostThread, 0);
    }
    return result;
}

} // namespace

extern "C" unsigned int SendRecvExampleKernel(SendRecvParam* param)
{
    if (param == nullptr || HcommBatchModeStart("send_recv") != 0) {
        return 1;
    }
    const int32_t result = Run(*param);
    if (param->fault == Fault::MISSING_BATCH_END) {
        return 0;
    }
    // What has been called is launched even after an error: it ends with a timeout that says where.
    const int32_t ended = HcommBatchModeEnd("send_recv");
    return result != 0 ? static_cast<unsigned int>(result) : static_cast<unsigned int>(ended);
}
