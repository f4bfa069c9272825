// aiv_main KERNELS NAME BLOCKS TIMEOUT_US: runs a kernel of aiv_kernels.cpp on 64 bytes of zeros, and prints what came of it: the
// runtime's code, and the bytes as integers.
#include <acl/acl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define TRY(call)                                                \
    do {                                                         \
        const int tried = (call);                                \
        if (tried != 0) {                                        \
            std::fprintf(stderr, "%s: %d\n", #call, tried);      \
            return tried;                                        \
        }                                                        \
    } while (0)

int main(int count, char** arguments)
{
    if (count != 5) {
        return 2;
    }
    const size_t bytes = 64;
    aclrtStream stream = nullptr;
    void* buffer = nullptr;
    aclrtBinHandle binary = nullptr;
    aclrtFuncHandle function = nullptr;
    TRY(aclInit(nullptr));
    TRY(aclrtSetDevice(0));
    TRY(aclrtCreateStream(&stream));
    TRY(aclrtMalloc(&buffer, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    TRY(aclrtMemset(buffer, bytes, 0, bytes));
    TRY(aclrtBinaryLoadFromFile(arguments[1], nullptr, &binary));
    TRY(aclrtBinaryGetFunction(binary, arguments[2], &function));
    aclrtLaunchKernelAttr attribute;
    attribute.id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US;
    attribute.value.timeoutUs.timeoutLow = static_cast<uint32_t>(std::atoi(arguments[4]));
    attribute.value.timeoutUs.timeoutHigh = 0;
    aclrtLaunchKernelCfg config;
    config.attrs = &attribute;
    config.numAttrs = 1;
    const uint32_t blocks = static_cast<uint32_t>(std::atoi(arguments[3]));
    if (std::strcmp(arguments[2], "Scalars") == 0) {
        struct {
            void* buffer;
            uint32_t index;
            uint32_t gap;
            float value;
            uint32_t gap2;
            uint8_t times;
        } args = {buffer, 3, 0, 1.5f, 0, 2};
        TRY(aclrtLaunchKernelWithHostArgs(function, blocks, stream, &config, &args, sizeof(args), nullptr, 0));
    } else {
        uint64_t args[8] = {reinterpret_cast<uint64_t>(buffer), bytes};
        TRY(aclrtLaunchKernelWithHostArgs(function, blocks, stream, &config, args, sizeof(args), nullptr, 0));
    }
    const int result = aclrtSynchronizeStream(stream);
    std::printf("%d\n", result);
    if (result != 0) {
        std::printf("%s\n", aclGetRecentErrMsg());
    }
    uint32_t words[bytes / 4];
    TRY(aclrtMemcpy(words, bytes, buffer, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    for (const uint32_t word : words) {
        std::printf("%x ", word);
    }
    std::printf("\n");
    return 0;
}
