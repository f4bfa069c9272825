// The AI CPU kernel. In every round each rank puts a slice into its own slot of its HCCL buffer, writes it to its slot of
// everybody's, and copies all slots out.
#include <hccl/hcomm_primitives.h>

#include "launch.h"
#include "param.h"

namespace {

constexpr uint64_t MOST = 256ull << 20;

char* At(void* base, uint64_t offset) { return static_cast<char*>(base) + offset; }
const char* At(const void* base, uint64_t offset) { return static_cast<const char*>(base) + offset; }

// The first error ends the rest.
struct Steps {
    int32_t result = 0;
    void operator()(int32_t returned)
    {
        if (result == 0) {
            result = returned;
        }
    }
};

// A peer's lane: tell it that it may write, wait for the same from it, write, tell, wait.
void Exchange(const Resources& res, uint32_t lane, uint64_t slot, uint64_t bytes, Steps& step)
{
    const ThreadHandle thread = res.threads[lane];
    const ChannelHandle channel = res.channels[lane];
    step(HcommChannelNotifyRecordOnThread(thread, channel, READY));
    step(HcommChannelNotifyWaitOnThread(thread, channel, READY, examples::DEVICE_TIMEOUT));
    step(HcommWriteOnThread(
        thread, channel, At(res.peerBuffers[lane], res.rank * slot), At(res.buffer, res.rank * slot), bytes));
    step(HcommChannelNotifyRecordOnThread(thread, channel, DONE));
    step(HcommChannelNotifyWaitOnThread(thread, channel, DONE, examples::DEVICE_TIMEOUT));
}

void Round(const AllGatherParam& param, const Resources& res, uint64_t slot, uint64_t done, uint64_t bytes, Steps& step)
{
    const uint32_t lanes = res.ranks - 1;
    step(HcommLocalCopyOnThread(res.threads[0], At(res.buffer, res.rank * slot), At(param.input, done), bytes));
    for (uint32_t lane = 1; lane < lanes; ++lane) {
        step(HcommThreadNotifyRecordOnThread(res.threads[0], res.threads[lane], 0));
        step(HcommThreadNotifyWaitOnThread(res.threads[lane], 0, examples::DEVICE_TIMEOUT));
    }
    for (uint32_t lane = 0; lane < lanes; ++lane) {
        Exchange(res, lane, slot, bytes, step);
    }
    for (uint32_t lane = 1; lane < lanes; ++lane) {
        step(HcommThreadNotifyRecordOnThread(res.threads[lane], res.threads[0], lane - 1));
        step(HcommThreadNotifyWaitOnThread(res.threads[0], lane - 1, examples::DEVICE_TIMEOUT));
    }
    for (uint32_t rank = 0; rank < res.ranks; ++rank) {
        // The distance in the output is that of whole parts, not of slices.
        step(HcommLocalCopyOnThread(
            res.threads[0], At(param.output, rank * param.bytes + done), At(res.buffer, rank * slot), bytes));
    }
}

int32_t Run(const AllGatherParam& param)
{
    const Resources& res = *param.resources;
    const uint64_t room = res.bufferSize / res.ranks / 128 * 128;
    const uint64_t slot = room < MOST ? room : MOST;
    const uint32_t start = res.ranks - 1;
    Steps step;
    step(HcommThreadNotifyWaitOnThread(res.threads[0], start, examples::DEVICE_TIMEOUT));
    for (uint64_t done = 0; done < param.bytes; done += slot) {
        Round(param, res, slot, done, param.bytes - done < slot ? param.bytes - done : slot, step);
    }
    step(HcommThreadNotifyRecordOnThread(res.threads[0], param.hostThread, 0));
    return step.result;
}

} // namespace

extern "C" unsigned int MeshAllGatherExampleKernel(AllGatherParam* param)
{
    if (param == nullptr || HcommBatchModeStart("mesh_all_gather") != 0) {
        return 1;
    }
    const int32_t result = Run(*param);
    const int32_t ended = HcommBatchModeEnd("mesh_all_gather");
    return result != 0 ? static_cast<unsigned int>(result) : static_cast<unsigned int>(ended);
}
