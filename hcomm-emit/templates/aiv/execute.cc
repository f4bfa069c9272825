#include "execute.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "aiv_param.h"
#include "checks.h"
#include "chunks.h"
#include "hccl/hccl_channel.h"
#include "hccl/hccl_res.h"
#include "launch_aiv.h"
#include "log.h"
#include "needs.h"
#include "operator.h"
#include "topology.h"

namespace hcomm_op {
namespace {

constexpr CommEngine ENGINE = COMM_ENGINE_AIV;
constexpr CommEngine HOST = COMM_ENGINE_CPU_TS;
/// Vector cores of a device. A launch of more blocks than there are cores would wait for itself.
constexpr uint32_t MAX_BLOCKS = 48;
constexpr uint64_t MAX_FLAG_BYTES = 64ULL << 20;
constexpr uint32_t MAX_STEPS = (1U << AIV_STEP_BITS) - 1;

/// What the host keeps from call to call. It is made last: where it is, all is.
struct HostContext {
    uint64_t complete;
    uint64_t table;
    uint64_t hcclBufferSize;
    uint64_t launches; ///< so far
    uint64_t split;
    uint64_t cells;
    uint32_t blocks;
    uint32_t node;
    uint32_t nodes;
    uint32_t pods;
    uint32_t reduces;
    uint32_t reserved;
};

constexpr uint64_t COMPLETE = 0x636f6d706c657465;

/// Counts the uses of flags too.
class AivNeeds : public Needs {
public:
    void ChannelRecord(uint32_t thread, uint32_t peer, uint32_t notify) override
    {
        Needs::ChannelRecord(thread, peer, notify);
        mostUses = std::max(mostUses, ++records_[{peer, notify}]);
    }
    void ChannelWait(uint32_t thread, uint32_t peer, uint32_t notify) override
    {
        Needs::ChannelRecord(thread, peer, notify);
        mostUses = std::max(mostUses, ++waits_[{peer, notify}]);
    }

    uint32_t mostUses = 0;

private:
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> records_;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> waits_;
};

HostContext *FindContext(HcclComm comm, const std::string &tag)
{
    void *memory = nullptr;
    uint64_t size = 0;
    if (HcclEngineCtxGet(comm, tag.c_str(), HOST, &memory, &size) != HCCL_SUCCESS || memory == nullptr ||
        size < sizeof(HostContext)) {
        return nullptr;
    }
    HostContext *host = static_cast<HostContext *>(memory);
    return host->complete == COMPLETE ? host : nullptr;
}

/// A context in device memory, which may be there from an earlier call.
HcclResult DeviceContext(HcclComm comm, const std::string &tag, uint64_t bytes, void *&memory, bool &isNew)
{
    uint64_t size = 0;
    isNew = HcclEngineCtxGet(comm, tag.c_str(), ENGINE, &memory, &size) != HCCL_SUCCESS || memory == nullptr;
    if (isNew) {
        HCOMM_OP_CHECK(HcclEngineCtxCreate(comm, tag.c_str(), ENGINE, bytes, &memory));
    } else if (size < bytes) {
        HCOMM_OP_ERROR("the context %s has %llu bytes and not %llu", tag.c_str(), static_cast<unsigned long long>(size),
            static_cast<unsigned long long>(bytes));
        return HCCL_E_INTERNAL;
    }
    return HCCL_SUCCESS;
}

/// The peer's memory of a tag. Where in the list it is, is not said.
HcclResult RemoteFlags(HcclComm comm, ChannelHandle channel, const std::string &tag, uint64_t &address)
{
    uint32_t number = 0;
    CommMem *memories = nullptr;
    char **tags = nullptr;
    HCOMM_OP_CHECK(HcclChannelGetRemoteMems(comm, channel, &number, &memories, &tags));
    for (uint32_t i = 0; i < number; ++i) {
        if (tag == tags[i]) {
            address = reinterpret_cast<uintptr_t>(memories[i].addr);
            return HCCL_SUCCESS;
        }
    }
    HCOMM_OP_ERROR("a peer has no flags of %s", tag.c_str());
    return HCCL_E_NOT_FOUND;
}

/// Fills the table of addresses: HCCL buffers, flags, first ranks of nodes.
HcclResult Connect(HcclComm comm, const Problem &problem, const Needs &needs, void *buffer,
    std::vector<uint64_t> &table)
{
    const uint32_t ranks = problem.layout.Ranks();
    // A channel that is there keeps the memory that it was made with, so one area is for all roots. Each has a region.
    const uint64_t region = std::max<uint64_t>(static_cast<uint64_t>(ranks) * NOTIFIES, 1) * AIV_FLAG_BYTES;
    const uint64_t flagBytes = region * (ROOTED ? ranks : 1);
    if (flagBytes > MAX_FLAG_BYTES) {
        HCOMM_OP_ERROR("%llu bytes of flags are too many: use the engine ai-cpu", static_cast<unsigned long long>(flagBytes));
        return HCCL_E_NOT_SUPPORT;
    }
    const uint64_t own = ROOTED ? region * (problem.root + problem.src) : 0;
    void *flags = nullptr;
    bool isNew = false;
    const std::string flagTag = std::string(OPERATOR_NAME) + ".flags";
    HCOMM_OP_CHECK(DeviceContext(comm, flagTag, flagBytes, flags, isNew));
    if (isNew) { // before there are channels, so that no peer has written yet
        HCOMM_OP_CHECK_ACL(aclrtMemset(flags, flagBytes, 0, flagBytes));
    }
    table.assign(2 * static_cast<size_t>(ranks), 0);
    table[problem.rank] = reinterpret_cast<uintptr_t>(buffer);
    table[ranks + static_cast<size_t>(problem.rank)] = reinterpret_cast<uintptr_t>(flags) + own;
    table.insert(table.end(), problem.layout.firstOf.begin(), problem.layout.firstOf.end());
    if (needs.peers.empty()) {
        return HCCL_SUCCESS;
    }
    CommMem memory;
    memory.type = COMM_MEM_TYPE_DEVICE;
    memory.addr = flags;
    memory.size = flagBytes;
    HcclMemHandle handle = nullptr;
    HCOMM_OP_CHECK(HcclCommMemReg(comm, flagTag.c_str(), &memory, &handle));
    std::vector<HcclChannelDesc> descriptions(needs.peers.size());
    size_t at = 0;
    for (uint32_t peer : needs.peers) {
        HcclChannelDesc &description = descriptions[at++];
        HCOMM_OP_CHECK(DescribeChannel(comm, problem.rank, peer, 0, description));
        description.memHandles = &handle;
        description.memHandleNum = 1;
    }
    std::vector<ChannelHandle> channels(descriptions.size(), 0);
    HCOMM_OP_CHECK(HcclChannelAcquire(
        comm, ENGINE, descriptions.data(), static_cast<uint32_t>(descriptions.size()), channels.data()));
    at = 0;
    for (uint32_t peer : needs.peers) {
        void *remote = nullptr;
        uint64_t size = 0;
        HCOMM_OP_CHECK(HcclChannelGetHcclBuffer(comm, channels[at], &remote, &size));
        if (size != problem.hcclBuffer) {
            HCOMM_OP_ERROR("the HCCL buffers of ranks %u and %u differ in size", problem.rank, peer);
            return HCCL_E_PARA;
        }
        table[peer] = reinterpret_cast<uintptr_t>(remote);
        uint64_t remoteFlags = 0;
        HCOMM_OP_CHECK(RemoteFlags(comm, channels[at++], flagTag, remoteFlags));
        table[ranks + static_cast<size_t>(peer)] = remoteFlags + own;
    }
    return HCCL_SUCCESS;
}

HcclResult MakeContext(HcclComm comm, const std::string &tag, Problem &problem, HostContext *&host)
{
    void *buffer = nullptr;
    HCOMM_OP_CHECK(HcclGetHcclBuffer(comm, &buffer, &problem.hcclBuffer));
    AivNeeds needs;
    Algorithm schedule(problem);
    if (!schedule.RunOneRound(needs)) {
        HCOMM_OP_ERROR("the schedule cannot run on rank %u of %u: %s", problem.rank, problem.layout.Ranks(),
            schedule.Error().c_str());
        return HCCL_E_PARA;
    }
    HostContext made{};
    made.complete = COMPLETE;
    made.hcclBufferSize = problem.hcclBuffer;
    made.split = static_cast<uint64_t>(schedule.SplitOf());
    made.cells = static_cast<uint64_t>(schedule.CellsOf());
    // A block for what is outside of lanes, and one for each lane.
    made.blocks = HAS_LANES ? needs.threads + 1 : 1;
    made.node = problem.layout.NodeOf(problem.rank);
    made.nodes = problem.layout.Nodes();
    made.pods = problem.layout.pods;
    made.reduces = needs.reducesLocally || needs.reducesRemotely ? 1 : 0;
    const uint64_t counters = 2ULL * problem.layout.Ranks() * NOTIFIES * sizeof(int32_t);
    if (made.blocks > MAX_BLOCKS || needs.mostUses > MAX_STEPS || counters > AIV_COUNTER_BYTES) {
        HCOMM_OP_ERROR("%u ranks need %u blocks, a flag %u times and %llu bytes of counters: use the engine ai-cpu",
            problem.layout.Ranks(), made.blocks, needs.mostUses, static_cast<unsigned long long>(counters));
        return HCCL_E_NOT_SUPPORT;
    }
    std::vector<uint64_t> table;
    HCOMM_OP_CHECK(Connect(comm, problem, needs, buffer, table));
    void *device = nullptr;
    const std::string tableTag = tag + ".table";
    const uint64_t bytes = table.size() * sizeof(uint64_t);
    bool isNew = false;
    HCOMM_OP_CHECK(DeviceContext(comm, tableTag, bytes, device, isNew));
    HCOMM_OP_CHECK(HcclEngineCtxCopy(comm, ENGINE, tableTag.c_str(), table.data(), bytes, 0));
    made.table = reinterpret_cast<uintptr_t>(device);
    void *memory = nullptr;
    HCOMM_OP_CHECK(HcclEngineCtxCreate(comm, tag.c_str(), HOST, sizeof(HostContext), &memory));
    std::memcpy(memory, &made, sizeof(HostContext)); // host memory
    host = static_cast<HostContext *>(memory);
    return HCCL_SUCCESS;
}

/// Reductions are copies in an atomic mode, which there is for these.
bool IsAtomic(uint32_t dataType, uint32_t reduceOp)
{
    switch (static_cast<HcclDataType>(dataType)) {
        case HCCL_DATA_TYPE_INT8:
        case HCCL_DATA_TYPE_INT16:
        case HCCL_DATA_TYPE_INT32:
        case HCCL_DATA_TYPE_FP16:
        case HCCL_DATA_TYPE_FP32:
        case HCCL_DATA_TYPE_BFP16:
            return reduceOp != HCCL_REDUCE_PROD;
        default:
            return false;
    }
}

AivParam ParamOf(const Call &call, const Problem &problem, const HostContext &host, uint32_t ranks)
{
    AivParam param{};
    param.table = host.table;
    param.input = call.input;
    param.output = call.output;
    param.slotBytes = call.counts.largest * problem.element;
    param.split = static_cast<uint32_t>(host.split);
    param.cells = static_cast<uint32_t>(host.cells);
    param.inputSlots = problem.inputSlots;
    param.outputSlots = problem.outputSlots;
    param.notifies = NOTIFIES;
    param.rank = problem.rank;
    param.ranks = ranks;
    param.node = host.node;
    param.nodes = host.nodes;
    param.pods = host.pods;
    param.root = problem.root;
    param.src = problem.src;
    param.dst = problem.dst;
    param.dataType = call.dataType;
    param.reduceOp = call.reduceOp;
    return param;
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
    const std::string tag = ContextTag(call);
    HostContext *host = FindContext(comm, tag);
    if (host == nullptr) {
        HCOMM_OP_CHECK(LayoutOf(comm, problem.rank, ranks, problem.layout));
        HCOMM_OP_CHECK(MakeContext(comm, tag, problem, host));
    }
    if (host->reduces != 0 && !IsAtomic(call.dataType, call.reduceOp)) {
        HCOMM_OP_ERROR("data type %d with reduction %d is not offered by Vector cores", static_cast<int>(call.dataType),
            static_cast<int>(call.reduceOp));
        return HCCL_E_NOT_SUPPORT;
    }
    problem.layout.firstOf = {0, ranks}; // sizes depend on the number alone
    problem.hcclBuffer = host->hcclBufferSize;
    Chunks chunks;
    if (!chunks.Prepare(problem, host->split, host->cells)) {
        HCOMM_OP_ERROR("an HCCL buffer of %llu bytes is too small for %llu cells",
            static_cast<unsigned long long>(problem.hcclBuffer), static_cast<unsigned long long>(host->cells));
        return HCCL_E_PARA;
    }
    AivParam param = ParamOf(call, problem, *host, ranks);
    for (uint64_t round = 0; round < chunks.Rounds(); ++round) {
        chunks.SetRound(round);
        param.launch = ++host->launches;
        param.firstByte = chunks.Offset(Buffer::INPUT, 0, 0);
        param.chunkBytes = chunks.Length(0);
        param.cellBytes = chunks.Offset(Buffer::SCRATCH, 1, 0);
        param.pieceBytes = 0;
        for (uint64_t part = 0; part < host->split; ++part) {
            param.pieceBytes += chunks.Length(part);
        }
        HCOMM_OP_CHECK(LaunchOnCores(param, host->blocks, stream));
    }
    return HCCL_SUCCESS;
}

} // namespace hcomm_op
