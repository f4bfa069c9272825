#include "launch.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "log.h"
#include "operator.h"

namespace hcomm_op {
namespace {

constexpr long DEFAULT_TIMEOUT = 27 * 68;
constexpr long MAX_TIMEOUT = 0x7fffffff - 50;

/// Where the registration of the kernel is.
std::string KernelFile()
{
    const char *folder = std::getenv("HCOMM_OP_KERNEL_DIR");
    if (folder != nullptr) {
        return std::string(folder) + "/" + KERNEL_JSON;
    }
#ifdef HCOMM_OP_KERNEL_DIR
    return std::string(HCOMM_OP_KERNEL_DIR) + "/" + KERNEL_JSON;
#else
    const char *home = std::getenv("ASCEND_HOME_PATH");
    const std::string cann = home != nullptr ? home : "/usr/local/Ascend/cann";
    return cann + "/opp/vendors/" + HCOMM_OP_VENDOR + "/aicpu/config/" + KERNEL_JSON;
#endif
}

} // namespace

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
    aclrtBinaryLoadOption option;
    option.type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE;
    option.value.cpuKernelMode = 0;
    aclrtBinaryLoadOptions options;
    options.options = &option;
    options.numOpt = 1;
    aclrtBinHandle binary = nullptr;
    const aclError loaded = aclrtBinaryLoadFromFile(file.c_str(), &options, &binary);
    if (loaded != ACL_SUCCESS) {
        HCOMM_OP_ERROR("the kernel of %s was not loaded (%d): is the package installed under this vendor name, in the "
                       "white list, and the signature check off? HCOMM_OP_KERNEL_DIR names another folder",
            file.c_str(), static_cast<int>(loaded));
        return HCCL_E_OPEN_FILE_FAILURE;
    }
    HCOMM_OP_CHECK_ACL(aclrtBinaryGetFunction(binary, KERNEL_NAME, &function));
    functions[device] = function;
    return HCCL_SUCCESS;
}

Timeouts ReadTimeouts()
{
    long seconds = DEFAULT_TIMEOUT;
    const char *text = std::getenv("HCCL_EXEC_TIMEOUT");
    if (text != nullptr) {
        char *end = nullptr;
        const long value = std::strtol(text, &end, 10);
        if (end != text && *end == '\0' && value >= 0) {
            seconds = std::min(value, MAX_TIMEOUT);
        }
    }
    if (seconds == 0) {
        return {0, 0, 0};
    }
    return {static_cast<uint32_t>(seconds), static_cast<uint16_t>(std::min(seconds + 30, 0xffffL)),
        static_cast<uint32_t>(seconds + 50)};
}

HcclResult LaunchKernel(
    aclrtFuncHandle function, const std::vector<uint64_t> &argument, uint16_t timeout, aclrtStream stream)
{
    aclrtArgsHandle arguments = nullptr;
    HCOMM_OP_CHECK_ACL(aclrtKernelArgsInit(function, &arguments));
    aclrtParamHandle parameter = nullptr;
    std::vector<uint64_t> copy = argument; // the runtime takes what is not const
    HCOMM_OP_CHECK_ACL(
        aclrtKernelArgsAppend(arguments, copy.data(), copy.size() * sizeof(uint64_t), &parameter));
    HCOMM_OP_CHECK_ACL(aclrtKernelArgsFinalize(arguments));
    aclrtLaunchKernelAttr attribute;
    attribute.id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT;
    attribute.value.timeout = timeout;
    aclrtLaunchKernelCfg config;
    config.attrs = &attribute;
    config.numAttrs = 1;
    HCOMM_OP_CHECK_ACL(aclrtLaunchKernelWithConfig(function, 1, stream, &config, arguments, nullptr));
    return HCCL_SUCCESS;
}

} // namespace hcomm_op
