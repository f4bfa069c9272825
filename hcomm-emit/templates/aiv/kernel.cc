/// The kernel of Vector cores: one round, in one launch.
#include "@SNAKE@_kernel.h"

extern "C" __global__ __aicore__ void @KERNEL@(hcomm_op::AivParam param)
{
    hcomm_op::@CLASS@Kernel schedule(param);
    schedule.Round();
}

/// Says that the kernel is for Vector cores.
static const struct FunLevelKType @KERNEL@_kernel_type
    __attribute__((used, section(".ascend.meta.@KERNEL@"))) = {{F_TYPE_KTYPE, sizeof(unsigned int), K_TYPE_AIV}};
