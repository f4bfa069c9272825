#include "execute.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "checks.h"
#include "hccl/hccl_channel.h"
#include "hccl/hccl_comm.h"
#include "hccl/hccl_res.h"
#include "hccl/hccl_res_expt.h"
#include "hcomm_primitives.h"
#include "launch.h"
#include "log.h"
#include "needs.h"
#include "op_param.h"
#include "operator.h"
#include "reduction.h"
#include "topology.h"
@WINDOWS@#include "windows.h"

namespace hcomm_op {
namespace {

constexpr CommEngine ENGINE = COMM_ENGINE_AICPU_TS;
constexpr CommEngine HOST = COMM_ENGINE_CPU_TS;
/// Notifies of the user's stream: the kernel sets the first when all is done.
constexpr uint32_t STREAM_NOTIFIES = 1;
constexpr uint32_t FINISHED = 0;
/// A channel that is there already keeps its number of notifies, so every operator asks for as many as HCCL's do.
constexpr uint32_t CHANNEL_NOTIFIES = 3;
/// The counts of a call travel in the kernel's argument.
constexpr uint64_t MAX_NUMBERS = 4096;

/// What the host keeps from call to call, in a context of its own. It is made last: where it is, all is.
struct HostContext {
    uint64_t complete;
    uint64_t deviceContext;
    uint64_t deviceWords;
    uint64_t mainThread; ///< as the host knows it
    uint32_t startNotify;
    uint32_t reducesLocally;
    uint32_t reducesRemotely;
    uint32_t reducesInPar;
};

constexpr uint64_t COMPLETE = 0x636f6d706c657465;

HcclResult FindContext(HcclComm comm, const std::string &tag, HostContext &host)
{
    void *memory = nullptr;
    uint64_t size = 0;
    if (HcclEngineCtxGet(comm, tag.c_str(), HOST, &memory, &size) != HCCL_SUCCESS || memory == nullptr ||
        size < sizeof(HostContext)) {
        return HCCL_E_NOT_FOUND;
    }
    std::memcpy(&host, memory, sizeof(HostContext));
    return host.complete == COMPLETE ? HCCL_SUCCESS : HCCL_E_NOT_FOUND;
}

/// Threads are for all roots: A2 and A3 make new ones with every call, out of few. The host keeps how many there are, how
/// many notifies each has, and their handles.
bool FindThreads(HcclComm comm, const std::string &tag, const Needs &needs, std::vector<uint64_t> &kept)
{
    void *memory = nullptr;
    uint64_t size = 0;
    if (HcclEngineCtxGet(comm, tag.c_str(), HOST, &memory, &size) != HCCL_SUCCESS || memory == nullptr) {
        return false;
    }
    const uint64_t *words = static_cast<const uint64_t *>(memory);
    kept.assign(words, words + size / sizeof(uint64_t));
    return kept.size() >= 2 && kept[0] >= needs.threads && kept[1] > needs.notifiesPerThread &&
           kept.size() >= 2 + kept[0];
}

HcclResult AcquireThreads(HcclComm comm, const Needs &needs, Context &context, HostContext &host)
{
    const std::string tag = std::string(OPERATOR_NAME) + ".threads";
    std::vector<uint64_t> kept;
    if (!FindThreads(comm, tag, needs, kept)) {
        // One notify more, behind those of the schedule, is the host's start signal.
        std::vector<ThreadHandle> threads(needs.threads, 0);
        HCOMM_OP_CHECK(HcclThreadAcquire(comm, ENGINE, needs.threads, needs.notifiesPerThread + 1, threads.data()));
        if (!kept.empty()) { // fewer than are needed now
            HCOMM_OP_CHECK(HcclEngineCtxDestroy(comm, tag.c_str(), HOST));
        }
        kept = {needs.threads, needs.notifiesPerThread + 1};
        kept.insert(kept.end(), threads.begin(), threads.end());
        void *memory = nullptr;
        HCOMM_OP_CHECK(HcclEngineCtxCreate(comm, tag.c_str(), HOST, kept.size() * sizeof(uint64_t), &memory));
        std::memcpy(memory, kept.data(), kept.size() * sizeof(uint64_t)); // host memory
    }
    context.startNotify = static_cast<uint32_t>(kept[1] - 1);
    context.threads.assign(kept.begin() + 2, kept.begin() + 2 + needs.threads);
    const ThreadHandle first = context.threads[0];
    ThreadHandle main = 0;
    HCOMM_OP_CHECK(HcclThreadExportToCommEngine(comm, 1, &first, HOST, &main));
    host.mainThread = main;
    host.startNotify = context.startNotify;
    return HCCL_SUCCESS;
}

@TELLS@HcclResult AcquireChannels(HcclComm comm, const std::string &tag, const Needs &needs, Context &context)
@ONCE@HcclResult AcquireChannels(HcclComm comm, const Needs &needs, Context &context)
{
    if (needs.peers.empty()) {
        return HCCL_SUCCESS;
    }
    const uint32_t notifies = std::max(needs.notifiesPerChannel, CHANNEL_NOTIFIES);
    std::vector<HcclChannelDesc> descriptions(needs.peers.size());
    size_t at = 0;
    for (uint32_t peer : needs.peers) {
        HCOMM_OP_CHECK(DescribeChannel(comm, context.rank, peer, notifies, descriptions[at++]));
    }
    // One call for all peers: it waits for their calls.
    std::vector<ChannelHandle> channels(descriptions.size(), 0);
    HCOMM_OP_CHECK(HcclChannelAcquire(
        comm, ENGINE, descriptions.data(), static_cast<uint32_t>(descriptions.size()), channels.data()));
@TELLS@    HCOMM_OP_CHECK(KeepDescriptions(comm, tag, descriptions));
    at = 0;
    for (uint32_t peer : needs.peers) {
@STAGED@        void *buffer = nullptr;
@STAGED@        uint64_t size = 0;
@STAGED@        HCOMM_OP_CHECK(HcclChannelGetHcclBuffer(comm, channels[at], &buffer, &size));
@STAGED@        if (size != context.hcclBufferSize) {
@STAGED@            HCOMM_OP_ERROR("the HCCL buffer of rank %u has %llu bytes, that of rank %u has %llu: all must be alike",
@STAGED@                peer, static_cast<unsigned long long>(size), context.rank,
@STAGED@                static_cast<unsigned long long>(context.hcclBufferSize));
@STAGED@            return HCCL_E_PARA;
@STAGED@        }
@STAGED@        context.links.push_back({peer, channels[at++], reinterpret_cast<uintptr_t>(buffer)});
@UNSTAGED@        context.links.push_back({peer, channels[at++], 0});
    }
    return HCCL_SUCCESS;
}

/// Stores the contexts: the kernel's in device memory, then the host's.
HcclResult StoreContexts(HcclComm comm, const std::string &tag, const Context &context, HostContext &host)
{
    const std::vector<uint64_t> words = Pack(context);
    const uint64_t bytes = words.size() * sizeof(uint64_t);
    void *device = nullptr;
    uint64_t had = 0;
    // What an earlier call left behind that failed further down.
    if (HcclEngineCtxGet(comm, tag.c_str(), ENGINE, &device, &had) == HCCL_SUCCESS && device != nullptr) {
        HCOMM_OP_CHECK(HcclEngineCtxDestroy(comm, tag.c_str(), ENGINE));
        device = nullptr;
    }
    HCOMM_OP_CHECK(HcclEngineCtxCreate(comm, tag.c_str(), ENGINE, bytes, &device));
    HCOMM_OP_CHECK(HcclEngineCtxCopy(comm, ENGINE, tag.c_str(), words.data(), bytes, 0));
    host.deviceContext = reinterpret_cast<uintptr_t>(device);
    host.deviceWords = words.size();
    host.complete = COMPLETE;
    void *memory = nullptr;
    HCOMM_OP_CHECK(HcclEngineCtxCreate(comm, tag.c_str(), HOST, sizeof(HostContext), &memory));
    std::memcpy(memory, &host, sizeof(HostContext)); // host memory
    return HCCL_SUCCESS;
}

HcclResult MakeContext(HcclComm comm, const std::string &tag, Problem &problem, HostContext &host)
{
    Context context;
    context.rank = problem.rank;
    context.root = problem.root;
    context.src = problem.src;
    context.dst = problem.dst;
    context.layout = problem.layout;
@STAGED@    void *buffer = nullptr;
@STAGED@    HCOMM_OP_CHECK(HcclGetHcclBuffer(comm, &buffer, &context.hcclBufferSize));
@STAGED@    context.hcclBuffer = reinterpret_cast<uintptr_t>(buffer);
@STAGED@    problem.hcclBuffer = context.hcclBufferSize;

    // The schedule itself says what it needs, and whether it has a fault here.
    Needs needs;
    Algorithm schedule(problem);
    if (!schedule.RunOneRound(needs)) {
        HCOMM_OP_ERROR("the schedule cannot run on rank %u of %u: %s", problem.rank, problem.layout.Ranks(),
            schedule.Error().c_str());
        return HCCL_E_PARA;
    }
    host = {};
    host.reducesLocally = needs.reducesLocally ? 1 : 0;
    host.reducesRemotely = needs.reducesRemotely ? 1 : 0;
    host.reducesInPar = needs.reducesInPar ? 1 : 0;
    HCOMM_OP_CHECK(AcquireThreads(comm, needs, context, host));
@TELLS@    HCOMM_OP_CHECK(AcquireChannels(comm, tag, needs, context));
@ONCE@    HCOMM_OP_CHECK(AcquireChannels(comm, needs, context));
    return StoreContexts(comm, tag, context, host);
}

HcclResult CheckReduction(const Call &call, const HostContext &host)
{
    if (host.reducesRemotely != 0 && ReductionOf(false, call.dataType, call.reduceOp) != Reduction::INLINE) {
        HCOMM_OP_ERROR("data type %d with reduction %d: the hardware does not reduce it in a transfer",
            static_cast<int>(call.dataType), static_cast<int>(call.reduceOp));
        return HCCL_E_NOT_SUPPORT;
    }
    if (host.reducesLocally != 0) {
        const Reduction reduction = ReductionOf(true, call.dataType, call.reduceOp);
        if (reduction == Reduction::NONE || (reduction == Reduction::ON_AI_CPU && host.reducesInPar != 0)) {
            HCOMM_OP_ERROR("data type %d with reduction %d is not offered", static_cast<int>(call.dataType),
                static_cast<int>(call.reduceOp));
            return HCCL_E_NOT_SUPPORT;
        }
    }
    return HCCL_SUCCESS;
}

/// Counts as the kernel takes them: of pairs, a schedule that hands nothing on needs this rank's alone.
std::vector<uint64_t> Numbers(const Call &call, uint32_t rank, uint64_t ranks, OpParam &param)
{
    const Counts &counts = call.counts;
    std::vector<uint64_t> numbers;
    if (counts.by == CountsBy::PAIR && !NEEDS_ALL_COUNTS) {
        param.ownCounts = 1;
        for (uint64_t other = 0; other < ranks; ++other) {
            numbers.push_back(counts.of[rank * ranks + other]);
        }
        for (uint64_t other = 0; other < ranks; ++other) {
            numbers.push_back(counts.of[other * ranks + rank]);
        }
    } else {
        numbers = counts.of;
    }
    param.countsBy = static_cast<uint32_t>(counts.by);
    param.largestCount = counts.largest;
    param.numCounts = numbers.size();
    param.numInputStarts = counts.inputStart.size();
    param.numOutputStarts = counts.outputStart.size();
    numbers.insert(numbers.end(), counts.inputStart.begin(), counts.inputStart.end());
    numbers.insert(numbers.end(), counts.outputStart.begin(), counts.outputStart.end());
    return numbers;
}

} // namespace

HcclResult Execute(const Call &call, HcclComm comm, aclrtStream stream)
{
    Problem problem;
    uint32_t ranks = 0;
    HCOMM_OP_CHECK(CheckCall(call, comm, stream, problem, ranks));
    if (MOVES_DATA && call.counts.largest == 0) {
        return HCCL_SUCCESS;
    }
@WINDOWS@    // With every call: the buffers may be others, or not be registered any more.
@WINDOWS@    const uint64_t slot = call.counts.largest * problem.element;
@WINDOWS@    Window input;
@WINDOWS@    Window output;
@WINDOWS@    HCOMM_OP_CHECK(FindWindow(comm, "input", call.input, problem.inputSlots * slot, input));
@WINDOWS@    HCOMM_OP_CHECK(FindWindow(comm, "output", call.output, problem.outputSlots * slot, output));
    // Before anything is queued: a start signal without a kernel would start the next call's too early.
    aclrtFuncHandle kernel = nullptr;
    HCOMM_OP_CHECK(KernelFunction(kernel));
    const std::string tag = ContextTag(call);
    HostContext host{};
    if (FindContext(comm, tag, host) != HCCL_SUCCESS) {
        HCOMM_OP_CHECK(LayoutOf(comm, problem.rank, ranks, problem.layout));
        HCOMM_OP_CHECK(MakeContext(comm, tag, problem, host));
@TELLS@    } else {
@TELLS@        HCOMM_OP_CHECK(TellWindows(comm, tag));
    }
    HCOMM_OP_CHECK(CheckReduction(call, host));

    // The stream may be another one than the last time.
    ThreadHandle streamThread = 0;
    ThreadHandle streamOnDevice = 0;
    HCOMM_OP_CHECK(HcclThreadAcquireWithStream(comm, HOST, stream, STREAM_NOTIFIES, &streamThread));
    HCOMM_OP_CHECK(HcclThreadExportToCommEngine(comm, 1, &streamThread, ENGINE, &streamOnDevice));

    const Timeouts timeouts = ReadTimeouts();
    OpParam param{};
    HCOMM_OP_CHECK(HcclGetCommName(comm, param.commName));
    std::strncpy(param.tag, tag.c_str(), sizeof(param.tag) - 1);
    param.context = host.deviceContext;
    param.contextWords = host.deviceWords;
    param.input = call.input;
    param.output = call.output;
@WINDOWS@    param.inputWindow = input.handle;
@WINDOWS@    param.inputOffset = input.offset;
@WINDOWS@    param.outputWindow = output.handle;
@WINDOWS@    param.outputOffset = output.offset;
    param.hostThread = streamOnDevice;
    param.dataType = call.dataType;
    param.reduceOp = call.reduceOp;
    param.timeout = timeouts.wait;
    const std::vector<uint64_t> numbers = Numbers(call, problem.rank, ranks, param);
    if (numbers.size() > MAX_NUMBERS) {
        HCOMM_OP_ERROR("%zu counts and displacements are too many for the argument of a kernel", numbers.size());
        return HCCL_E_NOT_SUPPORT;
    }
    static_assert(sizeof(OpParam) % sizeof(uint64_t) == 0, "numbers lie behind it");
    std::vector<uint64_t> argument(sizeof(OpParam) / sizeof(uint64_t));
    std::memcpy(argument.data(), &param, sizeof(OpParam));
    argument.insert(argument.end(), numbers.begin(), numbers.end());

    // On the user's stream: start the main thread, fill the queues, wait until the main thread is done.
    HCOMM_OP_CHECK(HcommThreadNotifyRecordOnThread(streamThread, host.mainThread, host.startNotify));
    HCOMM_OP_CHECK(LaunchKernel(kernel, argument, timeouts.kernel, stream));
    HCOMM_OP_CHECK(HcommThreadNotifyWaitOnThread(streamThread, FINISHED, timeouts.host));
    return HCCL_SUCCESS;
}

} // namespace hcomm_op
