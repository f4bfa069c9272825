// Kernels for Vector cores that do one thing each, right or wrong. Run by aiv_main.cpp.
#include "kernel_operator.h"

using namespace AscendC;

struct Args {
    uint64_t buffer;
    uint64_t bytes;
    uint64_t unused[6];
};

#define KERNEL(name) extern "C" __global__ __aicore__ void name(Args args)

namespace {

GlobalTensor<int32_t> Ints(const Args& args)
{
    GlobalTensor<int32_t> ints;
    ints.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(args.buffer), args.bytes / sizeof(int32_t));
    return ints;
}

struct Local {
    TPipe pipe;
    TBuf<QuePosition::VECCALC> buffer;
    Local() { pipe.InitBuffer(buffer, 1024); }
    LocalTensor<int32_t> ints() { return buffer.Get<int32_t>(); }
};

} // namespace

// Every block adds its number plus one to eight integers; then all blocks meet, and block 0 doubles them.
KERNEL(Adds)
{
    Local local;
    LocalTensor<int32_t> ints = local.ints();
    Duplicate(ints, static_cast<int32_t>(GetBlockIdx() + 1), 8);
    SetAtomicAdd<int32_t>();
    DataCopy(Ints(args), ints, 8);
    SetAtomicNone();
    SyncAll<true>();
    if (GetBlockIdx() == 0) {
        DataCopy(ints, Ints(args), 8);
        Add(ints, ints, ints, 8);
        DataCopy(Ints(args), ints, 8);
    }
}

// 16-bit floats: 1 from every block.
KERNEL(AddsHalves)
{
    TPipe pipe;
    TBuf<QuePosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 64);
    LocalTensor<half> halves = buffer.Get<half>();
    Duplicate(halves, half(1.0f), 16);
    GlobalTensor<half> global;
    global.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(args.buffer), 16);
    SetAtomicAdd<half>();
    DataCopy(global, halves, 16);
    SetAtomicNone();
}

KERNEL(UnalignedCopy)
{
    Local local;
    DataCopy(Ints(args), local.ints(), 7);
}

KERNEL(OverTheEnd)
{
    Local local;
    GlobalTensor<int32_t> ints;
    ints.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(args.buffer));
    DataCopy(ints[args.bytes / sizeof(int32_t) - 4], local.ints(), 8);
}

KERNEL(OutsideTheTensor)
{
    Local local;
    local.ints()[250].SetValue(6, static_cast<int32_t>(args.bytes));
}

KERNEL(TooMuchUnifiedBuffer)
{
    TPipe pipe;
    TQueBind<QuePosition::VECIN, QuePosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 2, static_cast<uint32_t>(args.bytes > 0 ? 97 * 1024 : 0));
}

KERNEL(AllInUse)
{
    TPipe pipe;
    TQueBind<QuePosition::VECIN, QuePosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, 1024);
    (void)queue.AllocTensor<int32_t>();
    (void)queue.AllocTensor<int32_t>();
    (void)args;
}

KERNEL(AtomicStays)
{
    SetAtomicMax<float>();
    (void)args;
}

// Polls a flag that nobody sets.
KERNEL(Polls)
{
    Local local;
    do {
        DataCopy(local.ints(), Ints(args), 8);
    } while (local.ints().GetValue(0) != 12345);
}

// One block does not come.
KERNEL(Misses)
{
    (void)args;
    if (GetBlockIdx() != 0) {
        SyncAll<true>();
    }
}

extern "C" __global__ __aicore__ void Scalars(GM_ADDR buffer, uint32_t index, float value, uint8_t times)
{
    GlobalTensor<float> floats;
    floats.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(buffer));
    floats.SetValue(index, value * times);
}
#ifdef HCOMM_STANDIN_KERNEL
HCOMM_STANDIN_KERNEL(Scalars)
#endif
