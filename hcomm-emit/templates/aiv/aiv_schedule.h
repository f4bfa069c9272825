/// What the kernel's schedule is written in. Every block walks the whole schedule and does its own part: block 0 what is
/// outside of lanes, block 1 + i lane i. The host has walked it before, and found it without fault.
///
/// - A copy goes from global memory to global memory through the Unified Buffer, in two pieces that are under way at once.
/// - A reduction is a copy in an atomic mode.
/// - A flag is 32 bytes in the waiter's memory with a value of 64 bits that it has had never before: the number of the
///   launch, and which use of the flag it is in it. The waiter polls for exactly that value.
#ifndef HCOMM_OP_AIV_SCHEDULE_H
#define HCOMM_OP_AIV_SCHEDULE_H

#include "aiv_param.h"
#include "kernel_operator.h"

namespace hcomm_op {

class AivSchedule {
protected:
    enum Buffer : uint8_t { INPUT, OUTPUT, SCRATCH };

    /// A run of chunks of a buffer.
    struct Place {
        Buffer buffer;
        int64_t first;
        int64_t end;
    };

    /// How long the chunks are that go from scratch to scratch: as long as what the cell holds.
    enum class Lengths : uint8_t { OF_SOURCE, OF_DESTINATION };

    __aicore__ inline explicit AivSchedule(const AivParam &param) : param_(param)
    {
        pipe_.InitBuffer(queue_, 2, AIV_PIECE_BYTES);
        pipe_.InitBuffer(flag_, AIV_FLAG_BYTES);
        pipe_.InitBuffer(counters_, AIV_COUNTER_BYTES);
        table_ = reinterpret_cast<__gm__ uint64_t *>(param.table);
        block_ = AscendC::GetBlockIdx();
        AscendC::LocalTensor<int32_t> counters = counters_.Get<int32_t>();
        AscendC::Duplicate(counters, static_cast<int32_t>(0), static_cast<int32_t>(AIV_COUNTER_BYTES / sizeof(int32_t)));
        AscendC::PipeBarrier<PIPE_ALL>();
    }

    __aicore__ inline int64_t Rank() const
    {
        return param_.rank;
    }
    __aicore__ inline int64_t Ranks() const
    {
        return param_.ranks;
    }
    __aicore__ inline int64_t Root() const
    {
        return param_.root;
    }
    __aicore__ inline int64_t Src() const
    {
        return param_.src;
    }
    __aicore__ inline int64_t Dst() const
    {
        return param_.dst;
    }
    __aicore__ inline int64_t Node() const
    {
        return param_.node;
    }
    __aicore__ inline int64_t Nodes() const
    {
        return param_.nodes;
    }
    __aicore__ inline int64_t Local() const
    {
        return Rank() - FirstOf(Node());
    }
    __aicore__ inline int64_t Locals() const
    {
        return LocalsOf(Node());
    }
    __aicore__ inline int64_t Pod() const
    {
        return Node() / (Nodes() / Pods());
    }
    __aicore__ inline int64_t Pods() const
    {
        return param_.pods;
    }

    __aicore__ inline int64_t NumPeers() const
    {
        return Ranks() - 1;
    }
    __aicore__ inline int64_t Peer(int64_t at) const
    {
        return (Rank() + 1 + at) % Ranks();
    }
    __aicore__ inline int64_t NumLocalPeers() const
    {
        return Locals() - 1;
    }
    __aicore__ inline int64_t LocalPeer(int64_t at) const
    {
        return FirstOf(Node()) + (Local() + 1 + at) % Locals();
    }
    __aicore__ inline int64_t NumNodePeers() const
    {
        return Nodes() - 1;
    }
    /// -1 where that node has no such place.
    __aicore__ inline int64_t NodePeer(int64_t at) const
    {
        const int64_t node = (Node() + 1 + at) % Nodes();
        return Local() < LocalsOf(node) ? FirstOf(node) + Local() : -1;
    }

    __aicore__ inline int64_t LocalsOf(int64_t node) const
    {
        return FirstOf(node + 1) - FirstOf(node);
    }
    __aicore__ inline int64_t RankOf(int64_t node, int64_t local) const
    {
        return FirstOf(node) + local;
    }
    __aicore__ inline int64_t NodeOf(int64_t rank) const
    {
        int64_t node = 0;
        while (FirstOf(node + 1) <= rank) {
            ++node;
        }
        return node;
    }
    __aicore__ inline int64_t LocalOf(int64_t rank) const
    {
        return rank - FirstOf(NodeOf(rank));
    }
    __aicore__ inline int64_t PodOf(int64_t rank) const
    {
        return NodeOf(rank) / (Nodes() / Pods());
    }

    // Arithmetic that the host has seen to have a value.
    __aicore__ inline int64_t Add(int64_t a, int64_t b) const
    {
        return a + b;
    }
    __aicore__ inline int64_t Sub(int64_t a, int64_t b) const
    {
        return a - b;
    }
    __aicore__ inline int64_t Mul(int64_t a, int64_t b) const
    {
        return a * b;
    }
    __aicore__ inline int64_t Div(int64_t a, int64_t b) const
    {
        return a / b;
    }
    __aicore__ inline int64_t Rem(int64_t a, int64_t b) const
    {
        return a % b;
    }
    __aicore__ inline int64_t Neg(int64_t a) const
    {
        return -a;
    }
    __aicore__ inline int64_t Shl(int64_t a, int64_t b) const
    {
        return static_cast<int64_t>(static_cast<uint64_t>(a) << b);
    }
    __aicore__ inline int64_t Shr(int64_t a, int64_t b) const
    {
        return a >> b;
    }
    __aicore__ inline int64_t Abs(int64_t a) const
    {
        return a < 0 ? -a : a;
    }
    __aicore__ inline int64_t Min(int64_t a, int64_t b) const
    {
        return a < b ? a : b;
    }
    __aicore__ inline int64_t Max(int64_t a, int64_t b) const
    {
        return a > b ? a : b;
    }
    __aicore__ inline int64_t Gcd(int64_t a, int64_t b) const
    {
        a = Abs(a);
        b = Abs(b);
        while (b != 0) {
            const int64_t rest = a % b;
            a = b;
            b = rest;
        }
        return a;
    }
    __aicore__ inline int64_t Lcm(int64_t a, int64_t b) const
    {
        const int64_t divisor = Gcd(a, b);
        return divisor == 0 ? 0 : Abs(a) / divisor * Abs(b);
    }
    __aicore__ inline int64_t Log2Floor(int64_t a) const
    {
        int64_t log = 0;
        while (a > 1) {
            a >>= 1;
            ++log;
        }
        return log;
    }
    __aicore__ inline int64_t Log2Ceil(int64_t a) const
    {
        return a <= 1 ? 0 : Log2Floor(a - 1) + 1;
    }
    __aicore__ inline int64_t Pow2(int64_t a) const
    {
        return static_cast<int64_t>(1) << a;
    }
    __aicore__ inline int64_t DivCeil(int64_t a, int64_t b) const
    {
        return a / b + (a % b > 0 ? 1 : 0);
    }
    __aicore__ inline int64_t Wrap(int64_t a, int64_t n) const
    {
        const int64_t rest = a % n;
        return rest < 0 ? rest + n : rest;
    }
    __aicore__ inline bool IsPow2(int64_t a) const
    {
        return a > 0 && (a & (a - 1)) == 0;
    }
    __aicore__ inline bool Goes() const
    {
        return true;
    }
    __aicore__ inline int64_t Fail(const char *, int64_t) const
    {
        return 0;
    }

    __aicore__ inline Place Input() const
    {
        return {INPUT, 0, static_cast<int64_t>(param_.inputSlots) * param_.split};
    }
    __aicore__ inline Place Input(int64_t chunk) const
    {
        return {INPUT, chunk, chunk + 1};
    }
    __aicore__ inline Place Input(int64_t first, int64_t end) const
    {
        return {INPUT, first, end};
    }
    __aicore__ inline Place Output() const
    {
        return {OUTPUT, 0, static_cast<int64_t>(param_.outputSlots) * param_.split};
    }
    __aicore__ inline Place Output(int64_t chunk) const
    {
        return {OUTPUT, chunk, chunk + 1};
    }
    __aicore__ inline Place Output(int64_t first, int64_t end) const
    {
        return {OUTPUT, first, end};
    }
    __aicore__ inline Place Scratch() const
    {
        return {SCRATCH, 0, static_cast<int64_t>(param_.cells)};
    }
    __aicore__ inline Place Scratch(int64_t cell) const
    {
        return {SCRATCH, cell, cell + 1};
    }
    __aicore__ inline Place Scratch(int64_t first, int64_t end) const
    {
        return {SCRATCH, first, end};
    }

    __aicore__ inline void Copy(Place dst, Place src, Lengths lengths = Lengths::OF_SOURCE)
    {
        Move(Rank(), dst, Rank(), src, lengths, false);
    }
    __aicore__ inline void Reduce(Place dst, Place src, Lengths lengths = Lengths::OF_SOURCE)
    {
        Move(Rank(), dst, Rank(), src, lengths, true);
    }
    __aicore__ inline void Write(int64_t peer, Place dst, Place src, Lengths lengths = Lengths::OF_SOURCE)
    {
        Move(peer, dst, Rank(), src, lengths, false);
    }
    __aicore__ inline void WriteReduce(int64_t peer, Place dst, Place src, Lengths lengths = Lengths::OF_SOURCE)
    {
        Move(peer, dst, Rank(), src, lengths, true);
    }
    __aicore__ inline void Read(Place dst, int64_t peer, Place src, Lengths lengths = Lengths::OF_SOURCE)
    {
        Move(Rank(), dst, peer, src, lengths, false);
    }
    __aicore__ inline void ReadReduce(Place dst, int64_t peer, Place src, Lengths lengths = Lengths::OF_SOURCE)
    {
        Move(Rank(), dst, peer, src, lengths, true);
    }

    /// Writes the next value of a flag into the peer's memory.
    __aicore__ inline void Signal(int64_t peer, uint32_t notify)
    {
        const uint32_t step = NextStep(peer, notify, 0);
        if (!IsMine()) {
            return;
        }
        AscendC::PipeBarrier<PIPE_ALL>(); // what was copied is there before the flag is
        AscendC::LocalTensor<int32_t> value = flag_.Get<int32_t>();
        value.SetValue(0, LowValue(step));
        value.SetValue(1, HighValue());
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::DataCopy(FlagOf(peer, Rank(), notify), value, AIV_FLAG_BYTES / sizeof(int32_t));
        AscendC::PipeBarrier<PIPE_ALL>();
    }

    /// Polls a flag of this rank until it has its next value.
    __aicore__ inline void Wait(int64_t peer, uint32_t notify)
    {
        const uint32_t step = NextStep(peer, notify, 1);
        if (!IsMine()) {
            return;
        }
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::LocalTensor<int32_t> value = flag_.Get<int32_t>();
        do {
            AscendC::DataCopy(value, FlagOf(Rank(), peer, notify), AIV_FLAG_BYTES / sizeof(int32_t));
            AscendC::PipeBarrier<PIPE_ALL>();
        } while (value.GetValue(0) != LowValue(step) || value.GetValue(1) != HighValue());
    }

    /// Lanes begin, on at most `bound` blocks, when all blocks are here; and end so.
    __aicore__ inline void Fork(int64_t bound = 1 << 30)
    {
        Meet();
        inPar_ = true;
        bound_ = bound;
        dealt_ = 0;
    }
    __aicore__ inline void Lane()
    {
        lane_ = dealt_++ % bound_;
    }
    __aicore__ inline void Join()
    {
        inPar_ = false;
        Meet();
    }

private:
    __aicore__ inline int64_t FirstOf(int64_t node) const
    {
        return static_cast<int64_t>(table_[2 * static_cast<uint64_t>(param_.ranks) + static_cast<uint64_t>(node)]);
    }

    __aicore__ inline bool IsMine() const
    {
        return block_ == (inPar_ ? 1 + lane_ : 0);
    }

    __aicore__ inline void Meet()
    {
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::SyncAll<true>();
    }

    /// Which use of a flag comes next in this launch: all blocks count the uses of all.
    __aicore__ inline uint32_t NextStep(int64_t peer, uint32_t notify, uint32_t waits)
    {
        AscendC::LocalTensor<int32_t> counters = counters_.Get<int32_t>();
        const uint32_t at = static_cast<uint32_t>((static_cast<uint64_t>(peer) * param_.notifies + notify) * 2 + waits);
        const int32_t step = counters.GetValue(at) + 1;
        counters.SetValue(at, step);
        return static_cast<uint32_t>(step);
    }

    __aicore__ inline int32_t LowValue(uint32_t step) const
    {
        return static_cast<int32_t>(static_cast<uint32_t>(param_.launch << AIV_STEP_BITS) | step);
    }
    __aicore__ inline int32_t HighValue() const
    {
        return static_cast<int32_t>(static_cast<uint32_t>(param_.launch >> (32 - AIV_STEP_BITS)));
    }

    __aicore__ inline AscendC::GlobalTensor<int32_t> FlagOf(int64_t waiter, int64_t recorder, uint32_t notify) const
    {
        const uint64_t area = table_[static_cast<uint64_t>(param_.ranks) + static_cast<uint64_t>(waiter)];
        const uint64_t index = static_cast<uint64_t>(recorder) * param_.notifies + notify;
        AscendC::GlobalTensor<int32_t> flag;
        flag.SetGlobalBuffer(
            reinterpret_cast<__gm__ int32_t *>(area + index * AIV_FLAG_BYTES), AIV_FLAG_BYTES / sizeof(int32_t));
        return flag;
    }

    __aicore__ inline uint64_t Length(uint64_t part) const
    {
        const uint64_t start = part * param_.chunkBytes;
        if (start >= param_.pieceBytes) {
            return 0;
        }
        const uint64_t left = param_.pieceBytes - start;
        return left < param_.chunkBytes ? left : param_.chunkBytes;
    }

    __aicore__ inline uint64_t Address(int64_t rank, Buffer buffer, uint64_t chunk) const
    {
        if (buffer == SCRATCH) {
            return table_[rank] + chunk * param_.cellBytes;
        }
        const uint64_t base = buffer == INPUT ? param_.input : param_.output;
        return base + chunk / param_.split * param_.slotBytes + param_.firstByte + chunk % param_.split * param_.chunkBytes;
    }

    /// Chunks that follow one another at both ends are one copy.
    __aicore__ inline void Move(int64_t to, Place dst, int64_t from, Place src, Lengths lengths, bool reduces)
    {
        if (!IsMine()) {
            return;
        }
        AscendC::PipeBarrier<PIPE_ALL>(); // it may read what was written before
        uint64_t dstAt = 0;
        uint64_t srcAt = 0;
        uint64_t bytes = 0;
        for (int64_t i = 0; i < src.end - src.first; ++i) {
            const uint64_t read = static_cast<uint64_t>(src.first + i);
            const uint64_t written = static_cast<uint64_t>(dst.first + i);
            const bool byWritten = src.buffer == SCRATCH && (dst.buffer != SCRATCH || lengths == Lengths::OF_DESTINATION);
            const uint64_t len = Length((byWritten ? written : read) % param_.split);
            if (len == 0) {
                continue;
            }
            const uint64_t dstNext = Address(to, dst.buffer, written);
            const uint64_t srcNext = Address(from, src.buffer, read);
            if (bytes > 0 && dstAt + bytes == dstNext && srcAt + bytes == srcNext) {
                bytes += len;
                continue;
            }
            Transfer(dstAt, srcAt, bytes, reduces);
            dstAt = dstNext;
            srcAt = srcNext;
            bytes = len;
        }
        Transfer(dstAt, srcAt, bytes, reduces);
    }

    __aicore__ inline void Transfer(uint64_t dst, uint64_t src, uint64_t bytes, bool reduces)
    {
        if (bytes == 0 || (!reduces && dst == src)) {
            return;
        }
        if (!reduces) {
            return CopyBytes<uint8_t>(dst, src, bytes);
        }
        switch (param_.dataType) { // HcclDataType
            case 0:
                return ReduceBytes<int8_t>(dst, src, bytes);
            case 1:
                return ReduceBytes<int16_t>(dst, src, bytes);
            case 2:
                return ReduceBytes<int32_t>(dst, src, bytes);
            case 3:
                return ReduceBytes<half>(dst, src, bytes);
            case 4:
                return ReduceBytes<float>(dst, src, bytes);
            case 11:
                return ReduceBytes<bfloat16_t>(dst, src, bytes);
            default:
                return; // the host has refused it
        }
    }

    template <typename T>
    __aicore__ inline void ReduceBytes(uint64_t dst, uint64_t src, uint64_t bytes)
    {
        switch (param_.reduceOp) { // HcclReduceOp
            case 2:
                AscendC::SetAtomicMax<T>();
                break;
            case 3:
                AscendC::SetAtomicMin<T>();
                break;
            default:
                AscendC::SetAtomicAdd<T>();
                break;
        }
        CopyBytes<T>(dst, src, bytes);
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::SetAtomicNone(); // it is a mode: the next copy is a plain one again
    }

    /// Any number of bytes from any address on, which a plain DataCopy does not take.
    template <typename T>
    __aicore__ inline void CopyBytes(uint64_t dst, uint64_t src, uint64_t bytes)
    {
        for (uint64_t done = 0; done < bytes; done += AIV_PIECE_BYTES) {
            const uint32_t piece = static_cast<uint32_t>(bytes - done < AIV_PIECE_BYTES ? bytes - done : AIV_PIECE_BYTES);
            AscendC::GlobalTensor<T> from;
            AscendC::GlobalTensor<T> to;
            from.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(src + done), piece / sizeof(T));
            to.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(dst + done), piece / sizeof(T));
            AscendC::LocalTensor<T> in = queue_.AllocTensor<T>();
            const AscendC::DataCopyExtParams params(1, piece, 0, 0, 0);
            AscendC::DataCopyPad(in, from, params, AscendC::DataCopyPadExtParams<T>(false, 0, 0, static_cast<T>(0)));
            queue_.EnQue(in);
            AscendC::LocalTensor<T> out = queue_.DeQue<T>();
            AscendC::DataCopyPad(to, out, params);
            queue_.FreeTensor(out);
        }
    }

    AivParam param_;
    __gm__ uint64_t *table_ = nullptr;
    int64_t block_ = 0;
    AscendC::TPipe pipe_;
    AscendC::TQueBind<AscendC::TPosition::VECIN, AscendC::TPosition::VECOUT, 1> queue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> flag_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> counters_;
    bool inPar_ = false;
    int64_t bound_ = 1;
    int64_t dealt_ = 0;
    int64_t lane_ = 0;
};

} // namespace hcomm_op

#endif
