#include "windows.h"

@TELLS@#include <cstring>
@TELLS@
#include "hccl/hccl_comm.h"
#include "log.h"

namespace hcomm_op {
@TELLS@namespace {
@TELLS@
@TELLS@std::string DescriptionsTag(const std::string &tag)
@TELLS@{
@TELLS@    return tag + ".channels";
@TELLS@}
@TELLS@
@TELLS@} // namespace

HcclResult FindWindow(HcclComm comm, const char *name, uint64_t address, uint64_t bytes, Window &window)
{
    HcclCommSymWindow handle = nullptr;
    size_t offset = 0;
    void *buffer = reinterpret_cast<void *>(static_cast<uintptr_t>(address));
    const HcclResult found = HcclCommSymWinGet(comm, buffer, bytes, &handle, &offset);
    if (found != HCCL_SUCCESS && found != HCCL_E_NOT_FOUND) {
        HCOMM_OP_ERROR("HcclCommSymWinGet for the %s: %d", name, static_cast<int>(found));
        return found;
    }
    if (found == HCCL_E_NOT_FOUND || handle == nullptr) {
        HCOMM_OP_ERROR("the %s, %llu bytes from %p on, is in no symmetric window: register it with HcclCommSymWinRegister "
                       "on all ranks of this communicator, all of it in one window",
            name, static_cast<unsigned long long>(bytes), buffer);
        return HCCL_E_PARA;
    }
    window.handle = reinterpret_cast<uintptr_t>(handle);
    window.offset = offset;
    return HCCL_SUCCESS;
}
@TELLS@
@TELLS@HcclResult KeepDescriptions(HcclComm comm, const std::string &tag, const std::vector<HcclChannelDesc> &descriptions)
@TELLS@{
@TELLS@    const std::string at = DescriptionsTag(tag);
@TELLS@    const uint64_t bytes = descriptions.size() * sizeof(HcclChannelDesc);
@TELLS@    void *memory = nullptr;
@TELLS@    uint64_t had = 0;
@TELLS@    // What an earlier call left behind that failed further down.
@TELLS@    if (HcclEngineCtxGet(comm, at.c_str(), COMM_ENGINE_CPU_TS, &memory, &had) == HCCL_SUCCESS && memory != nullptr) {
@TELLS@        HCOMM_OP_CHECK(HcclEngineCtxDestroy(comm, at.c_str(), COMM_ENGINE_CPU_TS));
@TELLS@    }
@TELLS@    HCOMM_OP_CHECK(HcclEngineCtxCreate(comm, at.c_str(), COMM_ENGINE_CPU_TS, bytes, &memory));
@TELLS@    std::memcpy(memory, descriptions.data(), bytes); // host memory
@TELLS@    return HCCL_SUCCESS;
@TELLS@}
@TELLS@
@TELLS@HcclResult TellWindows(HcclComm comm, const std::string &tag)
@TELLS@{
@TELLS@    void *memory = nullptr;
@TELLS@    uint64_t size = 0;
@TELLS@    const std::string at = DescriptionsTag(tag);
@TELLS@    if (HcclEngineCtxGet(comm, at.c_str(), COMM_ENGINE_CPU_TS, &memory, &size) != HCCL_SUCCESS || memory == nullptr) {
@TELLS@        return HCCL_SUCCESS; // a rank without peers
@TELLS@    }
@TELLS@    std::vector<HcclChannelDesc> descriptions(size / sizeof(HcclChannelDesc));
@TELLS@    std::memcpy(descriptions.data(), memory, descriptions.size() * sizeof(HcclChannelDesc));
@TELLS@    std::vector<ChannelHandle> channels(descriptions.size(), 0);
@TELLS@    HCOMM_OP_CHECK(HcclChannelAcquire(comm, COMM_ENGINE_AICPU_TS, descriptions.data(),
@TELLS@        static_cast<uint32_t>(descriptions.size()), channels.data()));
@TELLS@    return HCCL_SUCCESS;
@TELLS@}

} // namespace hcomm_op
