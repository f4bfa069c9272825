// Runs an AI CPU kernel on a stream: the start signal, the kernel, and the wait for its end. The device's main thread
// waits for notify `start`, and sets notify 0 of the stream's thread when it is done.
#ifndef EXAMPLES_LAUNCH_H
#define EXAMPLES_LAUNCH_H

#include <acl/acl_rt.h>
#include <hccl/hccl_res.h>
#include <hccl/hccl_res_expt.h>
#include <hccl/hcomm_primitives.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "check.h"

namespace examples {

// Seconds. The device gives up first and says which notify it waited for, then the kernel, then the host.
constexpr uint32_t DEVICE_TIMEOUT = 1836;
constexpr uint16_t KERNEL_TIMEOUT = DEVICE_TIMEOUT + 30;
constexpr uint32_t HOST_TIMEOUT = DEVICE_TIMEOUT + 50;

// A kernel by the name of its operator, loaded once a thread.
inline HcclResult LoadKernel(const char* file, const char* kernel, aclrtFuncHandle& function)
{
    thread_local std::string loaded;
    thread_local aclrtFuncHandle handle = nullptr;
    const std::string wanted = std::string(file) + ":" + kernel;
    if (loaded != wanted) {
        const char* folder = std::getenv("OPERATOR_KERNELS");
        const std::string path = std::string(folder == nullptr ? "." : folder) + "/" + file;
        aclrtBinaryLoadOption option;
        option.type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE;
        option.value.cpuKernelMode = 0;
        aclrtBinaryLoadOptions options;
        options.options = &option;
        options.numOpt = 1;
        aclrtBinHandle binary = nullptr;
        TRY_ACL(aclrtBinaryLoadFromFile(path.c_str(), &options, &binary));
        TRY_ACL(aclrtBinaryGetFunction(binary, kernel, &handle));
        loaded = wanted;
    }
    function = handle;
    return HCCL_SUCCESS;
}

template <typename Param>
HcclResult Launch(
    const char* file, const char* kernel, Param& param, ThreadHandle hostThread, ThreadHandle deviceThread,
    uint32_t start, aclrtStream stream)
{
    aclrtFuncHandle function = nullptr;
    TRY(LoadKernel(file, kernel, function));
    if (HcommThreadNotifyRecordOnThread(hostThread, deviceThread, start) != 0) {
        return HCCL_E_INTERNAL;
    }
    aclrtArgsHandle arguments = nullptr;
    aclrtParamHandle handle = nullptr;
    TRY_ACL(aclrtKernelArgsInit(function, &arguments));
    TRY_ACL(aclrtKernelArgsAppend(arguments, &param, sizeof(Param), &handle));
    TRY_ACL(aclrtKernelArgsFinalize(arguments));
    aclrtLaunchKernelAttr attribute;
    attribute.id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT;
    attribute.value.timeout = KERNEL_TIMEOUT;
    aclrtLaunchKernelCfg config;
    config.attrs = &attribute;
    config.numAttrs = 1;
    TRY_ACL(aclrtLaunchKernelWithConfig(function, 1, stream, &config, arguments, nullptr));
    if (HcommThreadNotifyWaitOnThread(hostThread, 0, HOST_TIMEOUT) != 0) {
        return HCCL_E_INTERNAL;
    }
    return HCCL_SUCCESS;
}

} // namespace examples

#endif
