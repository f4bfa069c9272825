/// The AI CPU kernel: it fills the queues of this rank's threads and ends, while they run.
#include <memory>

#include "data_type.h"
#include "hcomm_primitives.h"
#include "hcomm_queue.h"
#include "op_param.h"
#include "operator.h"

namespace hcomm_op {
namespace {

enum : unsigned int { DONE = 0, BAD_PARAMETER = 1, BAD_SCHEDULE = 2, COMM_BUSY = 3, QUEUE_FAILED = 4 };

Problem ProblemOf(const OpParam &param, const Context &context)
{
    Problem problem;
    problem.layout = context.layout;
    problem.rank = context.rank;
    problem.root = context.root;
    problem.src = context.src;
    problem.dst = context.dst;
    problem.element = ElementSize(param.dataType);
    problem.hcclBuffer = context.hcclBufferSize;
    SetSlots(problem, context.layout.Ranks());

    Counts &counts = problem.counts;
    counts.by = static_cast<CountsBy>(param.countsBy);
    counts.largest = param.largestCount;
    const uint64_t *numbers = reinterpret_cast<const uint64_t *>(&param + 1);
    counts.of.assign(numbers, numbers + param.numCounts);
    numbers += param.numCounts;
    counts.inputStart.assign(numbers, numbers + param.numInputStarts);
    numbers += param.numInputStarts;
    counts.outputStart.assign(numbers, numbers + param.numOutputStarts);
    if (param.ownCounts != 0) {
        // Of the counts of all pairs, those of this rank's: what it sends, and what it receives.
        const uint64_t ranks = context.layout.Ranks();
        std::vector<uint64_t> own(ranks * ranks, 0);
        for (uint64_t other = 0; other < ranks && 2 * ranks <= counts.of.size(); ++other) {
            own[context.rank * ranks + other] = counts.of[other];
            own[other * ranks + context.rank] = counts.of[ranks + other];
        }
        counts.of.swap(own);
    }
    return problem;
}

bool IsComplete(const Problem &problem)
{
    const uint64_t ranks = problem.layout.Ranks();
    switch (problem.counts.by) {
        case CountsBy::RANK:
            return problem.counts.of.size() == ranks;
        case CountsBy::PAIR:
            return problem.counts.of.size() == ranks * ranks;
        default:
            return true;
    }
}

unsigned int FillQueues(const OpParam &param, const Context &context)
{
    const Problem problem = ProblemOf(param, context);
    if (problem.element == 0 || !IsComplete(problem)) {
        return BAD_PARAMETER;
    }
    Algorithm schedule(problem);
    HcommQueue queue(context, param);
    if (HcommThreadNotifyWaitOnThread(context.threads[0], context.startNotify, param.timeout) != 0) {
        return QUEUE_FAILED;
    }
    if (!schedule.Run(queue)) {
        return BAD_SCHEDULE;
    }
    const bool queued = queue.Finish();
    return queued && HcommThreadNotifyRecordOnThread(context.threads[0], param.hostThread, 0) == 0 ? DONE :
                                                                                                      QUEUE_FAILED;
}

} // namespace

static unsigned int Run(const OpParam &param)
{
    Context context;
    if (!Unpack(reinterpret_cast<const uint64_t *>(static_cast<uintptr_t>(param.context)), param.contextWords, context)) {
        return BAD_PARAMETER;
    }
    if (HcommAcquireComm(param.commName) != 0) {
        return COMM_BUSY;
    }
    unsigned int result = QUEUE_FAILED;
    if (HcommBatchModeStart(param.tag) == 0) {
        result = FillQueues(param, context);
        // Even after an error: the batch belongs to this CPU thread.
        if (HcommBatchModeEnd(param.tag) != 0 && result == DONE) {
            result = QUEUE_FAILED;
        }
    }
    if (HcommReleaseComm(param.commName) != 0 && result == DONE) {
        result = COMM_BUSY;
    }
    return result;
}

} // namespace hcomm_op

extern "C" __attribute__((visibility("default"))) unsigned int @KERNEL@(hcomm_op::OpParam *param);

extern "C" unsigned int @KERNEL@(hcomm_op::OpParam *param)
{
    return param == nullptr ? 1 : hcomm_op::Run(*param);
}
