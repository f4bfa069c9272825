// The host's side: flags in a context that peers may reach, channels, addresses, launch.
#include "aiv_all_gather.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "channels.h"
#include "param.h"

namespace {

constexpr const char* TAG = "aiv_all_gather_example";
constexpr uint64_t AREA = FLAGS * FLAG_BYTES;
constexpr uint64_t TIMEOUT_US = 1091ull * 1000000;

// What is made once, in a context of the host: what every call passes, and the next tag.
HcclResult Make(HcclComm comm, uint32_t rank, uint32_t ranks, AivAllGatherParam& made)
{
    made.rank = rank;
    made.ranks = ranks;
    made.tag = 1;
    void* flags = nullptr;
    TRY(HcclEngineCtxCreate(comm, TAG, COMM_ENGINE_AIV, AREA, &flags));
    TRY_ACL(aclrtMemset(flags, AREA, 0, AREA));
    made.flags[rank] = reinterpret_cast<uint64_t>(flags);
    CommMem memory;
    memory.type = COMM_MEM_TYPE_DEVICE;
    memory.addr = flags;
    memory.size = AREA;
    HcclMemHandle handle = nullptr;
    TRY(HcclCommMemReg(comm, TAG, &memory, &handle));
    void* buffer = nullptr;
    TRY(HcclGetHcclBuffer(comm, &buffer, &made.bufferSize));
    made.buffers[rank] = reinterpret_cast<uint64_t>(buffer);

    std::vector<HcclChannelDesc> descs;
    for (uint32_t step = 1; step < ranks; ++step) {
        HcclChannelDesc desc;
        TRY(examples::Describe(comm, rank, (rank + step) % ranks, 0, desc));
        desc.memHandles = &handle;
        desc.memHandleNum = 1;
        descs.push_back(desc);
    }
    std::vector<ChannelHandle> channels(descs.size());
    TRY(HcclChannelAcquire(
        comm, COMM_ENGINE_AIV, descs.data(), static_cast<uint32_t>(descs.size()), channels.data()));
    for (size_t at = 0; at < channels.size(); ++at) {
        const uint32_t peer = descs[at].remoteRank;
        uint64_t size = 0;
        TRY(HcclChannelGetHcclBuffer(comm, channels[at], &buffer, &size));
        made.buffers[peer] = reinterpret_cast<uint64_t>(buffer);
        uint32_t count = 0;
        CommMem* memories = nullptr;
        char** tags = nullptr;
        TRY(HcclChannelGetRemoteMems(comm, channels[at], &count, &memories, &tags));
        for (uint32_t which = 0; which < count; ++which) {
            if (std::strcmp(tags[which], TAG) == 0) {
                made.flags[peer] = reinterpret_cast<uint64_t>(memories[which].addr);
            }
        }
        if (made.flags[peer] == 0) {
            return HCCL_E_NOT_FOUND;
        }
    }
    return HCCL_SUCCESS;
}

HcclResult LoadKernel(aclrtFuncHandle& function)
{
    thread_local aclrtFuncHandle loaded = nullptr;
    if (loaded == nullptr) {
        const char* folder = std::getenv("OPERATOR_KERNELS");
        const std::string path = std::string(folder == nullptr ? "." : folder) + "/libaiv_all_gather_kernel.so";
        aclrtBinHandle binary = nullptr;
        TRY_ACL(aclrtBinaryLoadFromFile(path.c_str(), nullptr, &binary));
        TRY_ACL(aclrtBinaryGetFunction(binary, "AivAllGatherExampleKernel", &loaded));
    }
    function = loaded;
    return HCCL_SUCCESS;
}

} // namespace

extern "C" HcclResult HcclAllGatherAivExample(
    void* sendBuf, void* recvBuf, uint64_t bytes, HcclComm comm, aclrtStream stream)
{
    if (sendBuf == nullptr || recvBuf == nullptr || comm == nullptr || stream == nullptr) {
        return HCCL_E_PTR;
    }
    uint32_t rank = 0;
    uint32_t ranks = 0;
    TRY(HcclGetRankId(comm, &rank));
    TRY(HcclGetRankSize(comm, &ranks));
    if (ranks > MOST_RANKS) {
        return HCCL_E_PARA;
    }
    void* context = nullptr;
    uint64_t size = 0;
    if (HcclEngineCtxGet(comm, TAG, COMM_ENGINE_CPU, &context, &size) != HCCL_SUCCESS) {
        AivAllGatherParam made = {};
        TRY(Make(comm, rank, ranks, made));
        TRY(HcclEngineCtxCreate(comm, TAG, COMM_ENGINE_CPU, sizeof(made), &context));
        std::memcpy(context, &made, sizeof(made));
    }
    AivAllGatherParam* kept = static_cast<AivAllGatherParam*>(context);
    AivAllGatherParam param = *kept;
    param.input = reinterpret_cast<uint64_t>(sendBuf);
    param.output = reinterpret_cast<uint64_t>(recvBuf);
    param.bytes = bytes;
    kept->tag += static_cast<int32_t>(bytes / (param.bufferSize / FLAG_BYTES * FLAG_BYTES)) + 1;

    aclrtFuncHandle function = nullptr;
    TRY(LoadKernel(function));
    aclrtLaunchKernelAttr attributes[3];
    attributes[0].id = ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE;
    attributes[0].value.schemMode = 1;
    attributes[1].id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US;
    attributes[1].value.timeoutUs.timeoutLow = static_cast<uint32_t>(TIMEOUT_US);
    attributes[1].value.timeoutUs.timeoutHigh = static_cast<uint32_t>(TIMEOUT_US >> 32);
    attributes[2].id = ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE;
    attributes[2].value.engineType = ACL_RT_ENGINE_TYPE_AIV;
    aclrtLaunchKernelCfg config;
    config.attrs = attributes;
    config.numAttrs = 3;
    TRY_ACL(aclrtLaunchKernelWithHostArgs(function, ranks, stream, &config, &param, sizeof(param), nullptr, 0));
    return HCCL_SUCCESS;
}
