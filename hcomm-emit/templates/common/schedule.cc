#include "schedule.h"

#include <cstdlib>
#include <limits>

namespace hcomm_op {
namespace {

constexpr int64_t MAX_CHUNKS = int64_t{1} << 26;
constexpr uint64_t MAX_STEPS = uint64_t{1} << 24;

uint64_t Magnitude(int64_t value)
{
    return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

uint64_t CommonDivisor(int64_t a, int64_t b)
{
    uint64_t x = Magnitude(a);
    uint64_t y = Magnitude(b);
    while (y != 0) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

} // namespace

Schedule::Schedule(const Problem &problem)
    : problem_(problem), ranks_(problem.layout.Ranks()), node_(problem.layout.NodeOf(problem.rank))
{}

bool Schedule::Prepare(Queue &queue)
{
    queue_ = &queue;
    split_ = Split();
    cells_ = Cells();
    if (Ok() && (split_ < 1 || split_ > MAX_CHUNKS)) {
        Fail("the number of chunks a slot", split_);
    } else if (Ok() && (cells_ < 0 || cells_ > MAX_CHUNKS)) {
        Fail("the number of cells of scratch", cells_);
    } else if (Ok() && !chunks_.Prepare(problem_, split_, cells_, HasWindows())) {
        Fail("the HCCL buffer is too small: cells of 128 bytes", cells_);
    }
    held_.assign(Ok() ? cells_ : 0, 0);
    return Ok();
}

bool Schedule::Run(Queue &queue)
{
    if (!Prepare(queue)) {
        return false;
    }
    for (uint64_t round = 0; Ok() && round < chunks_.Rounds(); ++round) {
        chunks_.SetRound(round);
        steps_ = 0;
        Round();
    }
    return Ok();
}

bool Schedule::RunOneRound(Queue &queue)
{
    if (Prepare(queue)) {
        Round();
    }
    return Ok();
}

int64_t Schedule::Fail(const char *what, int64_t value)
{
    if (error_.empty()) {
        error_ = std::string(what) + ": " + std::to_string(value);
    }
    return 0;
}

bool Schedule::Goes()
{
    if (++steps_ > MAX_STEPS) {
        Fail("a loop does not end: turns", static_cast<int64_t>(steps_));
    }
    return Ok();
}

std::vector<int64_t> Schedule::Peers() const
{
    std::vector<int64_t> peers;
    for (int64_t i = 1; i < ranks_; ++i) {
        peers.push_back((problem_.rank + i) % ranks_);
    }
    return peers;
}

std::vector<int64_t> Schedule::LocalPeers() const
{
    std::vector<int64_t> peers;
    const int64_t first = problem_.layout.firstOf[node_];
    for (int64_t i = 1; i < Locals(); ++i) {
        peers.push_back(first + (Local() + i) % Locals());
    }
    return peers;
}

std::vector<int64_t> Schedule::NodePeers() const
{
    std::vector<int64_t> peers;
    for (int64_t i = 1; i < Nodes(); ++i) {
        const uint32_t node = static_cast<uint32_t>((node_ + i) % Nodes());
        if (Local() < problem_.layout.LocalsOf(node)) {
            peers.push_back(problem_.layout.firstOf[node] + Local());
        }
    }
    return peers;
}

int64_t Schedule::LocalsOf(int64_t node)
{
    if (node < 0 || node >= Nodes()) {
        Fail("there is no node", node);
        return 1;
    }
    return problem_.layout.LocalsOf(static_cast<uint32_t>(node));
}

int64_t Schedule::RankOf(int64_t node, int64_t local)
{
    const int64_t locals = LocalsOf(node);
    if (!Ok()) {
        return 0;
    }
    if (local < 0 || local >= locals) {
        return Fail("the node has no place", local);
    }
    return problem_.layout.firstOf[node] + local;
}

int64_t Schedule::NodeOf(int64_t rank)
{
    if (rank < 0 || rank >= ranks_) {
        return Fail("there is no rank", rank);
    }
    return problem_.layout.NodeOf(static_cast<uint32_t>(rank));
}

int64_t Schedule::LocalOf(int64_t rank)
{
    const int64_t node = NodeOf(rank);
    return Ok() ? rank - problem_.layout.firstOf[node] : 0;
}

int64_t Schedule::PodOf(int64_t rank)
{
    return problem_.layout.PodOf(static_cast<uint32_t>(NodeOf(rank)));
}

int64_t Schedule::Add(int64_t a, int64_t b)
{
    int64_t value = 0;
    return __builtin_add_overflow(a, b, &value) ? Fail("an overflow: adding", b) : value;
}

int64_t Schedule::Sub(int64_t a, int64_t b)
{
    int64_t value = 0;
    return __builtin_sub_overflow(a, b, &value) ? Fail("an overflow: subtracting", b) : value;
}

int64_t Schedule::Mul(int64_t a, int64_t b)
{
    int64_t value = 0;
    return __builtin_mul_overflow(a, b, &value) ? Fail("an overflow: multiplying by", b) : value;
}

int64_t Schedule::Div(int64_t a, int64_t b)
{
    if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) {
        return Fail("a division by", b);
    }
    return a / b;
}

int64_t Schedule::Rem(int64_t a, int64_t b)
{
    if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) {
        return Fail("a division by", b);
    }
    return a % b;
}

int64_t Schedule::Neg(int64_t a)
{
    return Sub(0, a);
}

int64_t Schedule::Shl(int64_t a, int64_t b)
{
    if (b < 0 || b > 63) {
        return Fail("a shift by", b);
    }
    const int64_t value = static_cast<int64_t>(static_cast<uint64_t>(a) << b);
    return value >> b == a ? value : Fail("an overflow: shifting by", b);
}

int64_t Schedule::Shr(int64_t a, int64_t b)
{
    return b < 0 || b > 63 ? Fail("a shift by", b) : a >> b;
}

int64_t Schedule::Abs(int64_t a)
{
    return a < 0 ? Neg(a) : a;
}

int64_t Schedule::Gcd(int64_t a, int64_t b)
{
    const uint64_t value = CommonDivisor(a, b);
    return value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ? Fail("an overflow: gcd", b) :
                                                                                static_cast<int64_t>(value);
}

int64_t Schedule::Lcm(int64_t a, int64_t b)
{
    const uint64_t divisor = CommonDivisor(a, b);
    int64_t value = 0;
    if (divisor != 0 && __builtin_mul_overflow(Magnitude(a) / divisor, Magnitude(b), &value)) {
        return Fail("an overflow: lcm", b);
    }
    return value;
}

int64_t Schedule::Log2Floor(int64_t a)
{
    return a < 1 ? Fail("a logarithm of", a) : 63 - __builtin_clzll(static_cast<uint64_t>(a));
}

int64_t Schedule::Log2Ceil(int64_t a)
{
    return a == 1 ? 0 : a < 1 ? Fail("a logarithm of", a) : Log2Floor(a - 1) + 1;
}

int64_t Schedule::Pow2(int64_t a)
{
    if (a < 0 || a > 62) {
        Fail("a power of two to", a);
        return 1;
    }
    return int64_t{1} << a;
}

int64_t Schedule::DivCeil(int64_t a, int64_t b)
{
    if (b < 1) {
        return Fail("a division by", b);
    }
    return a / b + (a % b > 0 ? 1 : 0);
}

int64_t Schedule::Wrap(int64_t a, int64_t n)
{
    if (n < 1) {
        return Fail("wrapping at", n);
    }
    const int64_t rest = a % n;
    return rest < 0 ? rest + n : rest;
}

uint64_t Schedule::ChunksOf(Buffer buffer) const
{
    switch (buffer) {
        case Buffer::INPUT:
            return static_cast<uint64_t>(problem_.inputSlots) * split_;
        case Buffer::OUTPUT:
            return static_cast<uint64_t>(problem_.outputSlots) * split_;
        default:
            return cells_;
    }
}

Schedule::Place Schedule::Whole(Buffer buffer)
{
    const int64_t chunks = static_cast<int64_t>(ChunksOf(buffer));
    if (chunks == 0) {
        Fail("this rank has no such buffer", static_cast<int64_t>(buffer));
    }
    return {buffer, 0, chunks};
}

Schedule::Place Schedule::Input()
{
    return Whole(Buffer::INPUT);
}

Schedule::Place Schedule::Input(int64_t chunk)
{
    return {Buffer::INPUT, chunk, Add(chunk, 1)};
}

Schedule::Place Schedule::Input(int64_t first, int64_t end)
{
    return {Buffer::INPUT, first, end};
}

Schedule::Place Schedule::Output()
{
    return Whole(Buffer::OUTPUT);
}

Schedule::Place Schedule::Output(int64_t chunk)
{
    return {Buffer::OUTPUT, chunk, Add(chunk, 1)};
}

Schedule::Place Schedule::Output(int64_t first, int64_t end)
{
    return {Buffer::OUTPUT, first, end};
}

Schedule::Place Schedule::Scratch()
{
    return Whole(Buffer::SCRATCH);
}

Schedule::Place Schedule::Scratch(int64_t cell)
{
    return {Buffer::SCRATCH, cell, Add(cell, 1)};
}

Schedule::Place Schedule::Scratch(int64_t first, int64_t end)
{
    return {Buffer::SCRATCH, first, end};
}

void Schedule::Copy(Place dst, Place src, Lengths lengths)
{
    Move(Kind::COPY, -1, dst, src, lengths, nullptr);
}

void Schedule::Copy(Place dst, Place src, const SlotOf &slotOf)
{
    Move(Kind::COPY, -1, dst, src, Lengths::OF_SOURCE, &slotOf);
}

void Schedule::Reduce(Place dst, Place src, Lengths lengths)
{
    Move(Kind::REDUCE, -1, dst, src, lengths, nullptr);
}

void Schedule::Reduce(Place dst, Place src, const SlotOf &slotOf)
{
    Move(Kind::REDUCE, -1, dst, src, Lengths::OF_SOURCE, &slotOf);
}

void Schedule::Write(int64_t peer, Place dst, Place src, Lengths lengths)
{
    Move(Kind::WRITE, peer, dst, src, lengths, nullptr);
}

void Schedule::Write(int64_t peer, Place dst, Place src, const SlotOf &slotOf)
{
    Move(Kind::WRITE, peer, dst, src, Lengths::OF_SOURCE, &slotOf);
}

void Schedule::WriteReduce(int64_t peer, Place dst, Place src, Lengths lengths)
{
    Move(Kind::WRITE_REDUCE, peer, dst, src, lengths, nullptr);
}

void Schedule::WriteReduce(int64_t peer, Place dst, Place src, const SlotOf &slotOf)
{
    Move(Kind::WRITE_REDUCE, peer, dst, src, Lengths::OF_SOURCE, &slotOf);
}

void Schedule::Read(Place dst, int64_t peer, Place src, Lengths lengths)
{
    Move(Kind::READ, peer, dst, src, lengths, nullptr);
}

void Schedule::Read(Place dst, int64_t peer, Place src, const SlotOf &slotOf)
{
    Move(Kind::READ, peer, dst, src, Lengths::OF_SOURCE, &slotOf);
}

void Schedule::ReadReduce(Place dst, int64_t peer, Place src, Lengths lengths)
{
    Move(Kind::READ_REDUCE, peer, dst, src, lengths, nullptr);
}

void Schedule::ReadReduce(Place dst, int64_t peer, Place src, const SlotOf &slotOf)
{
    Move(Kind::READ_REDUCE, peer, dst, src, Lengths::OF_SOURCE, &slotOf);
}

bool Schedule::IsPeer(int64_t peer)
{
    if (Ok() && (peer < 0 || peer >= ranks_ || peer == Rank())) {
        Fail("this is no peer: rank", peer);
    }
    return Ok();
}

bool Schedule::Fits(const Place &place)
{
    if (Ok() && (place.first < 0 || place.end < place.first || place.end > static_cast<int64_t>(ChunksOf(place.buffer)))) {
        Fail("chunks outside their buffer: up to", place.end);
    }
    return Ok();
}

uint64_t Schedule::ClassOf(
    const Place &dst, const Place &src, int64_t chunk, Lengths lengths, const SlotOf *slotOf)
{
    const int64_t to = dst.first + chunk;
    const int64_t from = src.first + chunk;
    if (src.buffer != Buffer::SCRATCH) {
        return chunks_.ClassOf(src.buffer, from);
    }
    if (dst.buffer != Buffer::SCRATCH) {
        return chunks_.ClassOf(dst.buffer, to);
    }
    if (slotOf != nullptr) {
        const Slot slot = (*slotOf)(to / split_ % ranks_, from / split_ % ranks_);
        const int64_t owner = slot.to < 0 ? slot.from : slot.from * ranks_ + slot.to;
        return owner * split_ + from % split_;
    }
    switch (lengths) {
        case Lengths::OF_DESTINATION:
            return to % chunks_.Classes();
        case Lengths::HELD_BY_SOURCE:
            return held_[from];
        case Lengths::HELD_BY_DESTINATION:
            return held_[to];
        default:
            return from % chunks_.Classes();
    }
}

void Schedule::Move(Kind kind, int64_t peer, Place dst, Place src, Lengths lengths, const SlotOf *slotOf)
{
    const bool local = kind == Kind::COPY || kind == Kind::REDUCE;
    if ((!local && !IsPeer(peer)) || !Fits(dst) || !Fits(src)) {
        return;
    }
    const int64_t chunks = src.end - src.first;
    if (dst.end - dst.first != chunks) {
        Fail("the two sides of a transfer differ in length: chunks", chunks);
        return;
    }
    if (local && dst.buffer == src.buffer && dst.first < src.end && src.first < dst.end) {
        Fail("the two sides of a transfer overlap at chunk", dst.first);
        return;
    }
    if (chunks == 0 || Probes()) {
        return;
    }
    Segments segments;
    uint64_t before = 0;
    for (int64_t i = 0; i < chunks; ++i) {
        const uint64_t lengthClass = ClassOf(dst, src, i, lengths, slotOf);
        // Chunks of one slot follow one another. What follows by chance is another operation.
        if (i > 0 && lengthClass != (before + 1) % chunks_.Classes()) {
            segments.Cut();
        }
        before = lengthClass;
        const uint64_t len = chunks_.Length(lengthClass);
        if (len > 0) {
            segments.Add({chunks_.Offset(dst.buffer, dst.first + i, lengthClass),
                chunks_.Offset(src.buffer, src.first + i, lengthClass), len});
        }
        if (kind == Kind::COPY || kind == Kind::READ) {
            if (dst.buffer == Buffer::SCRATCH) {
                held_[dst.first + i] = lengthClass;
            }
        }
    }
    queue_->Move(lane_, {kind, static_cast<uint32_t>(local ? 0 : peer), dst.buffer, src.buffer, inPar_}, segments.All());
}

void Schedule::Signal(int64_t peer, uint32_t notify)
{
    if (IsPeer(peer) && !Probes()) {
        queue_->ChannelRecord(lane_, static_cast<uint32_t>(peer), notify);
    }
}

void Schedule::Wait(int64_t peer, uint32_t notify)
{
    if (IsPeer(peer) && !Probes()) {
        queue_->ChannelWait(lane_, static_cast<uint32_t>(peer), notify);
    }
}

bool Schedule::Probes()
{
    if (probes_) {
        if (busy_.size() <= lane_) {
            busy_.resize(lane_ + 1, false);
        }
        busy_[lane_] = true;
    }
    return probes_;
}

void Schedule::Par(const std::function<void()> &lanes)
{
    Par(std::numeric_limits<uint32_t>::max(), lanes);
}

void Schedule::Par(int64_t bound, const std::function<void()> &lanes)
{
    if (bound < 1) {
        Fail("lanes of a par", bound);
    }
    if (!Ok()) {
        return;
    }
    bound_ = bound;
    dealt_ = 0;
    busy_.clear();
    probes_ = true;
    lanes();
    probes_ = false;

    // Every other lane that has something to do begins with a wait for the main thread, which waits for it in the end.
    for (uint32_t lane = 1; Ok() && lane < busy_.size(); ++lane) {
        if (busy_[lane]) {
            queue_->ThreadRecord(0, lane, 0);
            queue_->ThreadWait(lane, 0);
        }
    }
    inPar_ = true;
    dealt_ = 0;
    if (Ok()) {
        lanes();
    }
    inPar_ = false;
    lane_ = 0;
    for (uint32_t lane = 1; Ok() && lane < busy_.size(); ++lane) {
        if (busy_[lane]) {
            queue_->ThreadRecord(lane, 0, lane - 1);
            queue_->ThreadWait(0, lane - 1);
        }
    }
}

void Schedule::Lane()
{
    lane_ = static_cast<uint32_t>(dealt_++ % bound_);
}

} // namespace hcomm_op
