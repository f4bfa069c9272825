// The kernel. The block of the own rank puts the data into the HCCL buffer and says so; the others each take a peer's and
// tell the peer. A flag holds a tag that is another in every round of every call, so that an old one is never taken for
// a new one.
#include "kernel_operator.h"
#include "param.h"

using namespace AscendC;

namespace {

constexpr uint64_t PIECE = 95 * 1024; // two of them in the Unified Buffer
constexpr uint32_t FLAG_INTS = FLAG_BYTES / sizeof(int32_t);

class Gather {
public:
    __aicore__ explicit Gather(const AivAllGatherParam& param) : param_(param)
    {
        pipe_.InitBuffer(queue_, 2, PIECE);
        pipe_.InitBuffer(flag_, FLAG_BYTES);
    }

    __aicore__ void Run()
    {
        const uint32_t peer = static_cast<uint32_t>(GetBlockIdx());
        const uint64_t room = param_.bufferSize / FLAG_BYTES * FLAG_BYTES;
        int32_t tag = param_.tag;
        for (uint64_t done = 0; done < param_.bytes; done += room, ++tag) {
            const uint64_t bytes = param_.bytes - done < room ? param_.bytes - done : room;
            const uint64_t out = param_.output + peer * param_.bytes + done;
            if (peer == param_.rank) {
                Copy(param_.buffers[peer], param_.input + done, bytes);
                Record(param_.flags[peer], 0, tag);
                Copy(out, param_.input + done, bytes);
            } else {
                Wait(param_.flags[peer], 0, tag);
                Copy(out, param_.buffers[peer], bytes);
                Record(param_.flags[peer], 1 + param_.rank, tag);
                Wait(param_.flags[param_.rank], 1 + peer, tag);
            }
            // The own buffer may be filled again when everybody has taken what is in it.
            SyncAll<true>();
        }
    }

private:
    __aicore__ void Copy(uint64_t to, uint64_t from, uint64_t bytes)
    {
        GlobalTensor<uint8_t> source;
        GlobalTensor<uint8_t> target;
        for (uint64_t done = 0; done < bytes; done += PIECE) {
            const uint32_t piece = static_cast<uint32_t>(bytes - done < PIECE ? bytes - done : PIECE);
            source.SetGlobalBuffer(reinterpret_cast<__gm__ uint8_t*>(from + done), piece);
            target.SetGlobalBuffer(reinterpret_cast<__gm__ uint8_t*>(to + done), piece);
            LocalTensor<uint8_t> in = queue_.AllocTensor<uint8_t>();
            DataCopyPad(in, source, DataCopyExtParams(1, piece, 0, 0, 0), DataCopyPadExtParams<uint8_t>(false, 0, 0, 0));
            queue_.EnQue(in);
            LocalTensor<uint8_t> out = queue_.DeQue<uint8_t>();
            DataCopyPad(target, out, DataCopyExtParams(1, piece, 0, 0, 0));
            queue_.FreeTensor(out);
        }
        PipeBarrier<PIPE_ALL>();
    }

    __aicore__ GlobalTensor<int32_t> Flag(uint64_t area, uint32_t which)
    {
        GlobalTensor<int32_t> flag;
        flag.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(area + which * FLAG_BYTES), FLAG_INTS);
        return flag;
    }

    __aicore__ void Record(uint64_t area, uint32_t which, int32_t tag)
    {
        LocalTensor<int32_t> value = flag_.Get<int32_t>();
        Duplicate(value, tag, static_cast<int32_t>(FLAG_INTS));
        PipeBarrier<PIPE_ALL>();
        DataCopy(Flag(area, which), value, FLAG_INTS);
        PipeBarrier<PIPE_ALL>();
    }

    __aicore__ void Wait(uint64_t area, uint32_t which, int32_t tag)
    {
        LocalTensor<int32_t> value = flag_.Get<int32_t>();
        do {
            DataCopy(value, Flag(area, which), FLAG_INTS);
            PipeBarrier<PIPE_ALL>();
        } while (value.GetValue(0) != tag);
    }

    const AivAllGatherParam& param_;
    TPipe pipe_;
    TQueBind<QuePosition::VECIN, QuePosition::VECOUT, 1> queue_;
    TBuf<QuePosition::VECCALC> flag_;
};

} // namespace

extern "C" __global__ __aicore__ void AivAllGatherExampleKernel(AivAllGatherParam param)
{
    Gather(param).Run();
}
