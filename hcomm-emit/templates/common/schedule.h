/// What an operator's schedule is written in: transfers between chunks, signals and waits, lanes that run at once.
///
/// A schedule says what to do; a Queue does it. On the device that is the queue of HCOMM operations, on the host one
/// that counts what the schedule needs. What is wrong is remembered and stops the schedule: see Error().
#ifndef HCOMM_OP_SCHEDULE_H
#define HCOMM_OP_SCHEDULE_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "chunks.h"
#include "problem.h"

namespace hcomm_op {

enum class Kind : uint8_t { COPY, REDUCE, WRITE, WRITE_REDUCE, READ, READ_REDUCE };

/// A run of chunks that moves.
struct Transfer {
    Kind kind;
    uint32_t peer; ///< of all kinds but COPY and REDUCE
    Buffer dst;
    Buffer src;
    bool inPar; ///< whether other lanes run at the same time
};

/// Takes the operations of a schedule. Thread 0 is the main thread.
class Queue {
public:
    virtual ~Queue() = default;
    /// Sets a flag of another thread of this rank.
    virtual void ThreadRecord(uint32_t thread, uint32_t onThread, uint32_t notify) = 0;
    virtual void ThreadWait(uint32_t thread, uint32_t notify) = 0;
    /// Sets a flag at the peer's end of the channel.
    virtual void ChannelRecord(uint32_t thread, uint32_t peer, uint32_t notify) = 0;
    virtual void ChannelWait(uint32_t thread, uint32_t peer, uint32_t notify) = 0;
    /// Moves bytes. There may be no segments: all chunks are empty.
    virtual void Move(uint32_t thread, const Transfer &transfer, const std::vector<Segment> &segments) = 0;
};

class Schedule {
public:
    explicit Schedule(const Problem &problem);
    virtual ~Schedule() = default;
    Schedule(const Schedule &) = delete;
    Schedule &operator=(const Schedule &) = delete;

    /// The whole schedule, round by round.
    bool Run(Queue &queue);
    /// One round: every round uses the same threads, channels and notifies.
    bool RunOneRound(Queue &queue);

    /// Chunks a slot and cells of scratch, once it has run.
    int64_t SplitOf() const
    {
        return split_;
    }
    int64_t CellsOf() const
    {
        return cells_;
    }

    /// What is wrong, or empty.
    const std::string &Error() const
    {
        return error_;
    }

protected:
    /// A run of chunks of a buffer.
    struct Place {
        Buffer buffer;
        int64_t first;
        int64_t end;
    };

    /// How long the chunks are that go from scratch to scratch: as long as what the cell holds.
    enum class Lengths : uint8_t {
        OF_SOURCE,           ///< the cell that is read holds the chunk of its number
        OF_DESTINATION,      ///< the cell that is written holds the chunk of its number
        HELD_BY_SOURCE,      ///< what this rank last copied into the cell that is read
        HELD_BY_DESTINATION, ///< what this rank last copied into the cell that is written
    };

    /// The slot that a chunk is of, where slots have counts of their own: of a rank, or from one rank to another.
    struct Slot {
        int64_t from;
        int64_t to; ///< -1 where counts are by rank
    };
    /// By the numbers of the cells that are written and read.
    using SlotOf = std::function<Slot(int64_t dst, int64_t src)>;

    virtual void Round() = 0;
    /// Chunks a slot, and cells of scratch.
    virtual int64_t Split() = 0;
    virtual int64_t Cells() = 0;
    /// Whether input and output are in symmetric windows, where peers reach them.
    virtual bool HasWindows() const
    {
        return false;
    }

    int64_t Rank() const
    {
        return problem_.rank;
    }
    int64_t Ranks() const
    {
        return ranks_;
    }
    int64_t Root() const
    {
        return problem_.root;
    }
    int64_t Src() const
    {
        return problem_.src;
    }
    int64_t Dst() const
    {
        return problem_.dst;
    }
    int64_t Node() const
    {
        return node_;
    }
    int64_t Nodes() const
    {
        return problem_.layout.Nodes();
    }
    int64_t Local() const
    {
        return problem_.rank - problem_.layout.firstOf[node_];
    }
    int64_t Locals() const
    {
        return problem_.layout.LocalsOf(node_);
    }
    int64_t Pod() const
    {
        return problem_.layout.PodOf(node_);
    }
    int64_t Pods() const
    {
        return problem_.layout.pods;
    }

    /// Every other rank, from the next one upwards and round; those of this node; those of this place in other nodes.
    std::vector<int64_t> Peers() const;
    std::vector<int64_t> LocalPeers() const;
    std::vector<int64_t> NodePeers() const;

    int64_t RankOf(int64_t node, int64_t local);
    int64_t LocalsOf(int64_t node);
    int64_t NodeOf(int64_t rank);
    int64_t LocalOf(int64_t rank);
    int64_t PodOf(int64_t rank);

    // Arithmetic. What has no value is an error.
    int64_t Add(int64_t a, int64_t b);
    int64_t Sub(int64_t a, int64_t b);
    int64_t Mul(int64_t a, int64_t b);
    int64_t Div(int64_t a, int64_t b);
    int64_t Rem(int64_t a, int64_t b);
    int64_t Neg(int64_t a);
    int64_t Shl(int64_t a, int64_t b);
    int64_t Shr(int64_t a, int64_t b);
    int64_t Abs(int64_t a);
    int64_t Gcd(int64_t a, int64_t b);
    int64_t Lcm(int64_t a, int64_t b);
    int64_t Log2Floor(int64_t a);
    int64_t Log2Ceil(int64_t a);
    int64_t Pow2(int64_t a);
    int64_t DivCeil(int64_t a, int64_t b);
    /// `a` modulo `n`, never negative.
    int64_t Wrap(int64_t a, int64_t n);
    static bool IsPow2(int64_t a)
    {
        return a > 0 && (a & (a - 1)) == 0;
    }

    Place Input();
    Place Input(int64_t chunk);
    Place Input(int64_t first, int64_t end);
    Place Output();
    Place Output(int64_t chunk);
    Place Output(int64_t first, int64_t end);
    Place Scratch();
    Place Scratch(int64_t cell);
    Place Scratch(int64_t first, int64_t end);

    void Copy(Place dst, Place src, Lengths lengths = Lengths::OF_SOURCE);
    void Copy(Place dst, Place src, const SlotOf &slotOf);
    void Reduce(Place dst, Place src, Lengths lengths = Lengths::OF_SOURCE);
    void Reduce(Place dst, Place src, const SlotOf &slotOf);
    /// To a place of the peer.
    void Write(int64_t peer, Place dst, Place src, Lengths lengths = Lengths::OF_SOURCE);
    void Write(int64_t peer, Place dst, Place src, const SlotOf &slotOf);
    void WriteReduce(int64_t peer, Place dst, Place src, Lengths lengths = Lengths::OF_SOURCE);
    void WriteReduce(int64_t peer, Place dst, Place src, const SlotOf &slotOf);
    /// From a place of the peer.
    void Read(Place dst, int64_t peer, Place src, Lengths lengths = Lengths::OF_SOURCE);
    void Read(Place dst, int64_t peer, Place src, const SlotOf &slotOf);
    void ReadReduce(Place dst, int64_t peer, Place src, Lengths lengths = Lengths::OF_SOURCE);
    void ReadReduce(Place dst, int64_t peer, Place src, const SlotOf &slotOf);

    void Signal(int64_t peer, uint32_t notify);
    void Wait(int64_t peer, uint32_t notify);

    /// Runs lanes at once, on at most `bound` threads. `lanes` says Lane() where a lane begins. It runs twice: first to
    /// see which lanes have something to do.
    void Par(const std::function<void()> &lanes);
    void Par(int64_t bound, const std::function<void()> &lanes);
    void Lane();

    bool Ok() const
    {
        return error_.empty();
    }
    /// False once a loop has run for too long, which is an error.
    bool Goes();
    int64_t Fail(const char *what, int64_t value);

private:
    bool Prepare(Queue &queue);
    bool IsPeer(int64_t peer);
    bool Fits(const Place &place);
    uint64_t ChunksOf(Buffer buffer) const;
    Place Whole(Buffer buffer);
    void Move(Kind kind, int64_t peer, Place dst, Place src, Lengths lengths, const SlotOf *slotOf);
    uint64_t ClassOf(const Place &dst, const Place &src, int64_t chunk, Lengths lengths, const SlotOf *slotOf);
    bool Probes();

    const Problem &problem_;
    Queue *queue_ = nullptr;
    Chunks chunks_;
    int64_t ranks_;
    uint32_t node_;
    int64_t split_ = 1;
    int64_t cells_ = 0;
    /// The class that this rank last copied into each of its cells.
    std::vector<uint64_t> held_;
    bool inPar_ = false;
    bool probes_ = false;
    std::vector<bool> busy_;
    uint32_t lane_ = 0;
    int64_t dealt_ = 0;
    int64_t bound_ = 0;
    uint64_t steps_ = 0;
    std::string error_;
};

} // namespace hcomm_op

#endif
