// The AI CPU kernel: no HCCL buffer, no rounds. The handshake is the same as with them.
#include <hccl/hccl_sym_win.h>
#include <hccl/hcomm_primitives.h>

#include "launch.h"
#include "param.h"

namespace {

struct Steps {
    int32_t result = 0;
    void operator()(int32_t returned)
    {
        if (result == 0) {
            result = returned;
        }
    }
};

void Exchange(const WindowAllGatherParam& param, uint32_t lane, Steps& step)
{
    const Resources& res = *param.resources;
    const ThreadHandle thread = res.threads[lane];
    const ChannelHandle channel = res.channels[lane];
    void* there = nullptr;
    step(HcclSymWinGetPeerPointer(
        param.window, param.offset + res.rank * param.bytes, res.peers[lane], &there));
    if (step.result != 0) {
        return;
    }
    step(HcommChannelNotifyRecordOnThread(thread, channel, READY));
    step(HcommChannelNotifyWaitOnThread(thread, channel, READY, examples::DEVICE_TIMEOUT));
    step(HcommWriteOnThread(thread, channel, there, param.input, param.bytes));
    step(HcommChannelNotifyRecordOnThread(thread, channel, DONE));
    step(HcommChannelNotifyWaitOnThread(thread, channel, DONE, examples::DEVICE_TIMEOUT));
}

int32_t Run(const WindowAllGatherParam& param)
{
    const Resources& res = *param.resources;
    const uint32_t lanes = res.ranks - 1;
    const uint32_t start = res.ranks - 1;
    Steps step;
    step(HcommThreadNotifyWaitOnThread(res.threads[0], start, examples::DEVICE_TIMEOUT));
    for (uint32_t lane = 1; lane < lanes; ++lane) {
        step(HcommThreadNotifyRecordOnThread(res.threads[0], res.threads[lane], 0));
        step(HcommThreadNotifyWaitOnThread(res.threads[lane], 0, examples::DEVICE_TIMEOUT));
    }
    char* own = static_cast<char*>(param.output) + res.rank * param.bytes;
    step(HcommLocalCopyOnThread(res.threads[0], own, param.input, param.bytes));
    for (uint32_t lane = 0; lane < lanes; ++lane) {
        Exchange(param, lane, step);
    }
    for (uint32_t lane = 1; lane < lanes; ++lane) {
        step(HcommThreadNotifyRecordOnThread(res.threads[lane], res.threads[0], lane - 1));
        step(HcommThreadNotifyWaitOnThread(res.threads[0], lane - 1, examples::DEVICE_TIMEOUT));
    }
    step(HcommThreadNotifyRecordOnThread(res.threads[0], param.hostThread, 0));
    return step.result;
}

} // namespace

extern "C" unsigned int WindowAllGatherExampleKernel(WindowAllGatherParam* param)
{
    if (param == nullptr || HcommBatchModeStart("window_all_gather") != 0) {
        return 1;
    }
    const int32_t result = Run(*param);
    const int32_t ended = HcommBatchModeEnd("window_all_gather");
    return result != 0 ? static_cast<unsigned int>(result) : static_cast<unsigned int>(ended);
}
