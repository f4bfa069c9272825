#include "fake_hcomm.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "acl/acl_rt.h"
#include "data_type.h"
#include "hccl/hccl_comm.h"
#include "hccl/hccl_rank_graph.h"
#include "hccl/hccl_res.h"
#include "hccl/hccl_res_expt.h"
#include "hccl/hccl_sym_win.h"
#include "hcomm/hcomm_primitives_expt.h"
#include "hcomm_primitives.h"
#include "op_param.h"

extern "C" unsigned int FAKE_KERNEL(hcomm_op::OpParam *param);

namespace {

// Handles say what they are of: a device thread, one exported to the host, a stream's thread, one exported to the device.
constexpr uint64_t THREAD = 0x1000;
constexpr uint64_t THREAD_ON_HOST = 0x2000;
constexpr uint64_t STREAM = 0x3000;
constexpr uint64_t STREAM_ON_DEVICE = 0x4000;
constexpr uint64_t CHANNEL = 0x100000;
/// The first window's handle, not an address; where the buffers lie in the windows.
constexpr uint64_t WINDOW = 0x77;
constexpr uint64_t OFFSETS[] = {4096, 640};
constexpr bool IS_950 = FAKE_PROTOCOL == COMM_PROTOCOL_UB_CTP;

FakeRank g_rank;
uint32_t g_threads = 0;
uint32_t g_notifies = 0;
std::map<uint32_t, uint32_t> g_channels; // notifies by peer
std::map<std::string, std::vector<uint64_t>> g_contexts;
std::vector<uint64_t> g_argument;
std::vector<CommLink> g_links;
std::vector<uint32_t> g_list;
bool g_inKernel = false;
bool g_inBatch = false;
bool g_hasComm = false;
std::string g_state; // of the handshake: "", "started", "launched"
uint32_t g_acquired = 0;
uint32_t g_timeout = 0;
uint64_t g_windows = WINDOW; // the input's, and one more is the output's
uint64_t g_known = 0;        // what g_windows was when peers were told

void Fault(const char *what)
{
    std::printf("fault %s\n", what);
}

void Expect(bool holds, const char *what)
{
    if (!holds) {
        Fault(what);
    }
}

/// The number of a thread that the kernel queues on.
uint32_t Thread(ThreadHandle thread)
{
    Expect(g_inKernel && g_inBatch && g_hasComm, "a primitive outside the kernel, the batch or the communicator");
    Expect(thread >= THREAD && thread < THREAD + g_threads, "no device thread");
    return static_cast<uint32_t>(thread - THREAD);
}

uint32_t Peer(ChannelHandle channel, uint32_t notify)
{
    const uint32_t peer = static_cast<uint32_t>(channel - CHANNEL);
    Expect(channel >= CHANNEL && g_channels.count(peer) == 1 && notify < g_channels[peer], "no such channel notify");
    return peer;
}

/// The buffer and the offset of an address, `peer` being whose HCCL buffer may be meant.
std::string Place(const void *address, int64_t peer)
{
    const uint64_t at = reinterpret_cast<uintptr_t>(address);
    const uint64_t bases[] = {FAKE_INPUT, FAKE_OUTPUT, peer < 0 ? FAKE_SCRATCH : FAKE_PEER + (static_cast<uint64_t>(peer) << 40)};
    for (int buffer = 0; buffer < 3; ++buffer) {
        if (at >= bases[buffer] && at < bases[buffer] + (uint64_t{1} << 40)) {
            const uint64_t offset = at - bases[buffer];
            Expect(buffer != 2 || offset < g_rank.hcclBuffer, "an address behind the HCCL buffer");
            Expect(buffer == 2 || peer < 0, "a peer's user buffer");
            Expect(buffer != 2 || g_rank.hasBuffer, "the HCCL buffer of a program without scratch");
            return std::to_string(buffer) + " " + std::to_string(offset);
        }
    }
    for (uint64_t buffer = 0; FAKE_WINDOWS && peer >= 0 && buffer < 2; ++buffer) {
        const uint64_t base = FAKE_PEER_WINDOW + ((2 * static_cast<uint64_t>(peer) + buffer) << 40);
        if (at >= base && at < base + (uint64_t{1} << 40)) {
            return std::to_string(buffer) + " " + std::to_string(at - base);
        }
    }
    return "nowhere " + std::to_string(at);
}

int32_t Transfer(ThreadHandle thread, const char *name, int64_t peer, const std::string &dst, const std::string &src, uint64_t len)
{
    std::printf("%u %s %u %s %s %" PRIu64 "\n", Thread(thread), name, static_cast<uint32_t>(peer < 0 ? 0 : peer), dst.c_str(),
        src.c_str(), len);
    return 0;
}

uint64_t Bytes(uint64_t count, HcommDataType type)
{
    return count * hcomm_op::ElementSize(static_cast<uint32_t>(type));
}

HcclResult GiveList(const std::vector<uint32_t> &list, uint32_t **numbers, uint32_t *number)
{
    g_list = list; // the last answer is gone
    *numbers = g_list.data();
    *number = static_cast<uint32_t>(g_list.size());
    return HCCL_SUCCESS;
}

uint32_t GroupOf(const std::vector<uint32_t> &groups, uint32_t rank)
{
    uint32_t group = 0;
    while (group < groups.size() && rank >= groups[group]) {
        rank -= groups[group++];
    }
    return group;
}

} // namespace

void FakeReset(const FakeRank &rank)
{
    g_rank = rank;
    g_threads = 0;
    g_notifies = 0;
    g_channels.clear();
    g_contexts.clear();
    g_acquired = 0;
    g_known = 0;
}

void FakeRegister()
{
    g_windows += 2;
}

HcclResult HcclCommSymWinGet(HcclComm, void *ptr, size_t size, HcclCommSymWindow *window, size_t *offset)
{
    const uint64_t at = reinterpret_cast<uintptr_t>(ptr);
    Expect(FAKE_WINDOWS && !g_inKernel && size > 0, "a search for a window");
    if (at != FAKE_INPUT && at != FAKE_OUTPUT) {
        *window = nullptr;
        return IS_950 ? HCCL_SUCCESS : HCCL_E_NOT_FOUND;
    }
    *window = reinterpret_cast<HcclCommSymWindow>(at == FAKE_INPUT ? g_windows : g_windows + 1);
    *offset = OFFSETS[at == FAKE_INPUT ? 0 : 1];
    return HCCL_SUCCESS;
}

HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow window, size_t offset, uint32_t peer, void **ptr)
{
    const uint64_t buffer = reinterpret_cast<uintptr_t>(window) - g_windows;
    Expect(g_inKernel && buffer < 2 && offset == OFFSETS[buffer < 2 ? buffer : 0], "a window of another call");
    Expect(peer < g_rank.ranks && peer != g_rank.rank, "no peer of a window");
    Expect(!IS_950 || (g_known == g_windows && g_channels.count(peer) == 1), "a window that the peer does not know of");
    *ptr = reinterpret_cast<void *>(FAKE_PEER_WINDOW + ((2 * static_cast<uint64_t>(peer) + buffer) << 40));
    return HCCL_SUCCESS;
}

void FakePrintResources()
{
    uint32_t most = 0;
    for (const auto &channel : g_channels) {
        most = channel.second > most ? channel.second : most;
    }
    std::printf("resources %u %u %zu %u %u\n", g_threads, g_notifies, g_channels.size(), most, g_acquired);
}

HcclResult HcclGetRankId(HcclComm, uint32_t *rank)
{
    *rank = g_rank.rank;
    return HCCL_SUCCESS;
}

HcclResult HcclGetRankSize(HcclComm, uint32_t *ranks)
{
    *ranks = g_rank.ranks;
    return HCCL_SUCCESS;
}

HcclResult HcclGetCommName(HcclComm, char *name)
{
    std::strcpy(name, "fake");
    return HCCL_SUCCESS;
}

HcclResult HcclGetHcclBuffer(HcclComm, void **buffer, uint64_t *size)
{
    g_rank.hasBuffer = true;
    *buffer = reinterpret_cast<void *>(FAKE_SCRATCH);
    *size = g_rank.hcclBuffer;
    return HCCL_SUCCESS;
}

HcclResult HcclThreadAcquire(HcclComm, CommEngine engine, uint32_t threads, uint32_t notifies, ThreadHandle *handles)
{
    Expect(engine == COMM_ENGINE_AICPU_TS && g_threads == 0, "threads of another engine, or acquired again");
    g_threads = threads;
    g_notifies = notifies;
    for (uint32_t i = 0; i < threads; ++i) {
        handles[i] = THREAD + i;
    }
    ++g_acquired;
    return HCCL_SUCCESS;
}

HcclResult HcclThreadAcquireWithStream(HcclComm, CommEngine engine, aclrtStream stream, uint32_t, ThreadHandle *thread)
{
    Expect(engine == COMM_ENGINE_CPU_TS && stream != nullptr, "a stream's thread");
    *thread = STREAM;
    return HCCL_SUCCESS;
}

HcclResult HcclThreadExportToCommEngine(
    HcclComm, uint32_t number, const ThreadHandle *threads, CommEngine engine, ThreadHandle *exported)
{
    for (uint32_t i = 0; i < number; ++i) {
        const bool toHost = engine == COMM_ENGINE_CPU_TS;
        Expect(toHost ? threads[i] >= THREAD && threads[i] < THREAD_ON_HOST : threads[i] == STREAM, "an export");
        exported[i] = toHost ? threads[i] - THREAD + THREAD_ON_HOST : STREAM_ON_DEVICE;
    }
    return HCCL_SUCCESS;
}

static std::string Key(const char *tag, CommEngine engine)
{
    return std::string(tag) + "@" + std::to_string(static_cast<int>(engine));
}

HcclResult HcclEngineCtxCreate(HcclComm, const char *tag, CommEngine engine, uint64_t size, void **context)
{
    const std::string key = Key(tag, engine);
    Expect(g_contexts.count(key) == 0 && size > 0, "a context that is there, or of no size");
    g_contexts[key].assign((size + 7) / 8, 0);
    *context = g_contexts[key].data();
    ++g_acquired;
    return HCCL_SUCCESS;
}

HcclResult HcclEngineCtxGet(HcclComm, const char *tag, CommEngine engine, void **context, uint64_t *size)
{
    const auto found = g_contexts.find(Key(tag, engine));
    if (found == g_contexts.end()) {
        return HCCL_E_NOT_FOUND;
    }
    *context = found->second.data();
    *size = found->second.size() * 8;
    return HCCL_SUCCESS;
}

HcclResult HcclEngineCtxCopy(
    HcclComm, CommEngine engine, const char *tag, const void *source, uint64_t size, uint64_t offset)
{
    Expect(engine == COMM_ENGINE_AICPU_TS, "a copy to host memory");
    std::vector<uint64_t> &context = g_contexts[Key(tag, engine)];
    Expect(offset + size <= context.size() * 8, "a copy behind the context");
    std::memcpy(reinterpret_cast<char *>(context.data()) + offset, source, size);
    return HCCL_SUCCESS;
}

HcclResult HcclEngineCtxDestroy(HcclComm, const char *tag, CommEngine engine)
{
    g_contexts.erase(Key(tag, engine));
    return HCCL_SUCCESS;
}

HcclResult HcclChannelAcquire(
    HcclComm, CommEngine engine, const HcclChannelDesc *descriptions, uint32_t number, ChannelHandle *channels)
{
    const bool again = FAKE_WINDOWS && IS_950 && g_known != g_windows && g_channels.size() == number;
    Expect(engine == COMM_ENGINE_AICPU_TS && number > 0 && (g_channels.empty() || again), "channels");
    g_acquired += g_channels.empty() ? 1 : 0;
    g_known = g_windows;
    for (uint32_t i = 0; i < number; ++i) {
        const HcclChannelDesc &description = descriptions[i];
        Expect(description.header.magicWord == HCCL_CHANNEL_MAGIC_WORD, "a description that was not initialised");
        Expect(description.remoteRank < g_rank.ranks && description.remoteRank != g_rank.rank, "no peer");
        Expect(description.channelProtocol == FAKE_PROTOCOL, "a protocol");
        Expect(description.localEndpoint.loc.device.devPhyId == g_rank.rank &&
                   description.remoteEndpoint.loc.device.devPhyId == description.remoteRank, "endpoints of another link");
        g_channels[description.remoteRank] = description.notifyNum;
        channels[i] = CHANNEL + description.remoteRank;
    }
    return HCCL_SUCCESS;
}

HcclResult HcclChannelGetHcclBuffer(HcclComm, ChannelHandle channel, void **buffer, uint64_t *size)
{
    *buffer = reinterpret_cast<void *>(FAKE_PEER + ((channel - CHANNEL) << 40));
    *size = g_rank.hcclBuffer;
    return HCCL_SUCCESS;
}

HcclResult HcclRankGraphGetLayers(HcclComm, uint32_t **layers, uint32_t *number)
{
    return GiveList({0, 1, 2}, layers, number);
}

HcclResult HcclRankGraphGetInstSizeListByLayer(HcclComm, uint32_t layer, uint32_t **sizes, uint32_t *number)
{
    return layer > 1 ? HCCL_E_NOT_SUPPORT : GiveList(layer == 0 ? g_rank.nodes : g_rank.pods, sizes, number);
}

HcclResult HcclRankGraphGetRanksByLayer(HcclComm, uint32_t layer, uint32_t **ranks, uint32_t *number)
{
    std::vector<uint32_t> list;
    for (uint32_t rank = 0; rank < g_rank.ranks; ++rank) {
        if (layer > 0 || GroupOf(g_rank.nodes, rank) == GroupOf(g_rank.nodes, g_rank.rank)) {
            list.push_back(rank);
        }
    }
    return GiveList(list, ranks, number);
}

HcclResult HcclRankGraphGetLinks(
    HcclComm, uint32_t layer, uint32_t from, uint32_t to, CommLink **links, uint32_t *number)
{
    g_links.clear();
    const bool sameNode = GroupOf(g_rank.nodes, from) == GroupOf(g_rank.nodes, to);
    if (layer == (sameNode ? 0U : 1U)) {
        for (CommProtocol protocol : {COMM_PROTOCOL_ROCE, FAKE_PROTOCOL}) {
            CommLink link;
            (void)CommLinkInit(&link, 1);
            link.linkAttr.linkProtocol = protocol;
            link.srcEndpointDesc.loc.device.devPhyId = protocol == FAKE_PROTOCOL ? from : 77;
            link.dstEndpointDesc.loc.device.devPhyId = to;
            g_links.push_back(link);
        }
    }
    *links = g_links.data();
    *number = static_cast<uint32_t>(g_links.size());
    return HCCL_SUCCESS;
}

aclError aclrtGetDevice(int32_t *device)
{
    *device = 0;
    return ACL_SUCCESS;
}

aclError aclrtBinaryLoadFromFile(const char *, aclrtBinaryLoadOptions *, aclrtBinHandle *binary)
{
    if (std::getenv("FAKE_NO_KERNEL") != nullptr) {
        return ACL_ERROR_INVALID_FILE;
    }
    *binary = reinterpret_cast<aclrtBinHandle>(uintptr_t{1});
    return ACL_SUCCESS;
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle, const char *, aclrtFuncHandle *function)
{
    *function = reinterpret_cast<aclrtFuncHandle>(uintptr_t{1});
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsInit(aclrtFuncHandle, aclrtArgsHandle *arguments)
{
    *arguments = reinterpret_cast<aclrtArgsHandle>(uintptr_t{1});
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsAppend(aclrtArgsHandle, void *parameter, size_t size, aclrtParamHandle *)
{
    g_argument.assign((size + 7) / 8, 0);
    std::memcpy(g_argument.data(), parameter, size);
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsFinalize(aclrtArgsHandle)
{
    return ACL_SUCCESS;
}

aclError aclrtLaunchKernelWithConfig(
    aclrtFuncHandle, uint32_t blocks, aclrtStream, aclrtLaunchKernelCfg *config, aclrtArgsHandle, void *)
{
    Expect(g_state == "started" && blocks == 1, "a launch before the start signal");
    g_state = "launched";
    auto *param = reinterpret_cast<hcomm_op::OpParam *>(g_argument.data());
    g_timeout = config->attrs[0].value.timeout;
    Expect(param->timeout < g_timeout, "the kernel ends before a wait of the device");
    g_inKernel = true;
    const unsigned int result = FAKE_KERNEL(param);
    g_inKernel = false;
    Expect(!g_inBatch && !g_hasComm, "a batch or a communicator that is left open");
    if (result != 0) {
        std::printf("fault the kernel's result is %u\n", result);
    }
    return ACL_SUCCESS;
}

int32_t HcommAcquireComm(const char *)
{
    Expect(!g_hasComm, "the communicator twice");
    g_hasComm = true;
    return 0;
}

int32_t HcommReleaseComm(const char *)
{
    g_hasComm = false;
    return 0;
}

int32_t HcommBatchModeStart(const char *)
{
    Expect(!g_inBatch, "two batches");
    g_inBatch = true;
    return 0;
}

int32_t HcommBatchModeEnd(const char *)
{
    g_inBatch = false;
    return 0;
}

int32_t HcommThreadJoin(ThreadHandle thread, uint32_t timeout)
{
    Expect(g_inKernel && !g_inBatch && g_hasComm, "a join of what was not launched");
    Expect(thread >= THREAD && thread < THREAD + g_threads && timeout < g_timeout, "a join");
    return 0;
}

int32_t HcommThreadNotifyRecordOnThread(ThreadHandle thread, ThreadHandle onThread, uint32_t notify)
{
    if (thread == STREAM) {
        Expect(onThread == THREAD_ON_HOST && notify == g_notifies - 1 && g_state.empty(), "the start signal");
        g_state = "started";
        return 0;
    }
    if (onThread == STREAM_ON_DEVICE) {
        std::printf("%u finish %u\n", Thread(thread), notify);
        return 0;
    }
    Expect(notify + 1 < g_notifies, "no such thread notify");
    std::printf("%u thread-record %u %u\n", Thread(thread), Thread(onThread), notify);
    return 0;
}

int32_t HcommThreadNotifyWaitOnThread(ThreadHandle thread, uint32_t notify, uint32_t timeout)
{
    if (thread == STREAM) {
        Expect(g_state == "launched" && notify == 0 && timeout > g_timeout, "the wait of the stream");
        g_state.clear();
        return 0;
    }
    if (notify + 1 == g_notifies) {
        std::printf("%u start\n", Thread(thread));
        return 0;
    }
    std::printf("%u thread-wait %u\n", Thread(thread), notify);
    return 0;
}

int32_t HcommChannelNotifyRecordOnThread(ThreadHandle thread, ChannelHandle channel, uint32_t notify)
{
    std::printf("%u record %u %u\n", Thread(thread), Peer(channel, notify), notify);
    return 0;
}

int32_t HcommChannelNotifyWaitOnThread(ThreadHandle thread, ChannelHandle channel, uint32_t notify, uint32_t timeout)
{
    Expect(timeout < g_timeout, "a wait that the kernel does not outlive");
    std::printf("%u wait %u %u\n", Thread(thread), Peer(channel, notify), notify);
    return 0;
}

int32_t HcommLocalCopyOnThread(ThreadHandle thread, void *dst, const void *src, uint64_t len)
{
    return Transfer(thread, "copy", -1, Place(dst, -1), Place(src, -1), len);
}

int32_t HcommLocalReduceOnThread(
    ThreadHandle thread, void *dst, const void *src, uint64_t count, HcommDataType type, HcommReduceOp)
{
    return Transfer(thread, "reduce", -1, Place(dst, -1), Place(src, -1), Bytes(count, type));
}

int32_t HcommWriteOnThread(ThreadHandle thread, ChannelHandle channel, void *dst, const void *src, uint64_t len)
{
    const uint32_t peer = Peer(channel, 0);
    return Transfer(thread, "write", peer, Place(dst, peer), Place(src, -1), len);
}

int32_t HcommWriteReduceOnThread(ThreadHandle thread, ChannelHandle channel, void *dst, const void *src, uint64_t count,
    HcommDataType type, HcommReduceOp)
{
    const uint32_t peer = Peer(channel, 0);
    return Transfer(thread, "write-reduce", peer, Place(dst, peer), Place(src, -1), Bytes(count, type));
}

int32_t HcommWriteWithNotifyOnThread(
    ThreadHandle thread, ChannelHandle channel, void *dst, const void *src, uint64_t len, uint32_t notify)
{
    const uint32_t peer = Peer(channel, notify);
    Transfer(thread, "fused-write", peer, Place(dst, peer), Place(src, -1), len);
    std::printf("%u record %u %u\n", Thread(thread), peer, notify);
    return 0;
}

int32_t HcommWriteReduceWithNotifyOnThread(ThreadHandle thread, ChannelHandle channel, void *dst, const void *src,
    uint64_t count, HcommDataType type, HcommReduceOp, uint32_t notify)
{
    const uint32_t peer = Peer(channel, notify);
    Transfer(thread, "fused-write-reduce", peer, Place(dst, peer), Place(src, -1), Bytes(count, type));
    std::printf("%u record %u %u\n", Thread(thread), peer, notify);
    return 0;
}

int32_t HcommReadOnThread(ThreadHandle thread, ChannelHandle channel, void *dst, const void *src, uint64_t len)
{
    const uint32_t peer = Peer(channel, 0);
    return Transfer(thread, "read", peer, Place(dst, -1), Place(src, peer), len);
}

int32_t HcommReadReduceOnThread(ThreadHandle thread, ChannelHandle channel, void *dst, const void *src, uint64_t count,
    HcommDataType type, HcommReduceOp)
{
    const uint32_t peer = Peer(channel, 0);
    return Transfer(thread, "read-reduce", peer, Place(dst, -1), Place(src, peer), Bytes(count, type));
}
