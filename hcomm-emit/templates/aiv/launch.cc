#include "launch_aiv.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "log.h"
#include "operator.h"

namespace hcomm_op {
namespace {

/// The longest time of a kernel of Vector cores, in seconds, which is also the usual one.
constexpr long MAX_TIMEOUT = 1091;

/// Where the kernel is.
std::string KernelFile()
{
    const char *folder = std::getenv("HCOMM_OP_KERNEL_DIR");
    if (folder != nullptr) {
        return std::string(folder) + "/" + HCOMM_OP_KERNEL_FILE;
    }
#ifdef HCOMM_OP_KERNEL_DIR
    return std::string(HCOMM_OP_KERNEL_DIR) + "/" + HCOMM_OP_KERNEL_FILE;
#else
    const char *home = std::getenv("ASCEND_HOME_PATH");
    const std::string cann = home != nullptr ? home : "/usr/local/Ascend/cann";
    return cann + "/opp/vendors/" + HCOMM_OP_VENDOR + "/aiv/" + HCOMM_OP_KERNEL_FILE;
#endif
}

/// The kernel's function on the current device, loaded once for each.
HcclResult KernelFunction(aclrtFuncHandle &function)
{
    static std::mutex mutex;
    static std::map<int32_t, aclrtFuncHandle> functions;
    int32_t device = 0;
    HCOMM_OP_CHECK_ACL(aclrtGetDevice(&device));
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = functions.find(device);
    if (found != functions.end()) {
        function = found->second;
        return HCCL_SUCCESS;
    }
    const std::string file = KernelFile();
    aclrtBinHandle binary = nullptr;
    const aclError loaded = aclrtBinaryLoadFromFile(file.c_str(), nullptr, &binary);
    if (loaded != ACL_SUCCESS) {
        HCOMM_OP_ERROR("the kernel %s was not loaded (%d): HCOMM_OP_KERNEL_DIR names another folder", file.c_str(),
            static_cast<int>(loaded));
        return HCCL_E_OPEN_FILE_FAILURE;
    }
    HCOMM_OP_CHECK_ACL(aclrtBinaryGetFunction(binary, KERNEL_NAME, &function));
    functions[device] = function;
    return HCCL_SUCCESS;
}

uint64_t TimeoutInMicroseconds()
{
    long seconds = MAX_TIMEOUT;
    const char *text = std::getenv("HCCL_EXEC_TIMEOUT");
    if (text != nullptr) {
        char *end = nullptr;
        const long value = std::strtol(text, &end, 10);
        if (end != text && *end == '\0' && value > 0) {
            seconds = std::min(value, MAX_TIMEOUT);
        }
    }
    return static_cast<uint64_t>(seconds) * 1000000;
}

} // namespace

HcclResult LaunchOnCores(AivParam param, uint32_t blocks, aclrtStream stream)
{
    aclrtFuncHandle function = nullptr;
    HCOMM_OP_CHECK(KernelFunction(function));
    const uint64_t timeout = TimeoutInMicroseconds();
    aclrtLaunchKernelAttr attributes[3];
    attributes[0].id = ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE;
    attributes[0].value.schemMode = 1; // all blocks at once: they wait for each other
    attributes[1].id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US;
    attributes[1].value.timeoutUs.timeoutLow = static_cast<uint32_t>(timeout);
    attributes[1].value.timeoutUs.timeoutHigh = static_cast<uint32_t>(timeout >> 32);
    attributes[2].id = ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE;
    attributes[2].value.engineType = ACL_RT_ENGINE_TYPE_AIV;
    aclrtLaunchKernelCfg config;
    config.attrs = attributes;
    config.numAttrs = 3;
    HCOMM_OP_CHECK_ACL(aclrtLaunchKernelWithHostArgs(
        function, blocks, stream, &config, &param, sizeof(param), nullptr, 0));
    return HCCL_SUCCESS;
}

} // namespace hcomm_op
