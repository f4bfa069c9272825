#include "chunks.h"

#include <algorithm>

namespace hcomm_op {
namespace {

constexpr uint64_t ALIGN = 128;
constexpr uint64_t MAX_TRANSFER = 256ULL << 20;

uint64_t RoundUp(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

} // namespace

bool Chunks::Prepare(const Problem &problem, uint64_t split, uint64_t cells, bool hasWindows)
{
    problem_ = &problem;
    split_ = split;
    const uint64_t ranks = problem.layout.Ranks();
    const CountsBy by = problem.counts.by;
    classes_ = split * (by == CountsBy::ALL ? 1 : ranks) * (by == CountsBy::PAIR ? ranks : 1);

    uint64_t piece = MAX_TRANSFER;
    if (cells == 0 && hasWindows) {
        piece = std::max(piece, problem.counts.largest * problem.element);
    } else if (cells != 0) {
        const uint64_t cell = problem.hcclBuffer / cells / ALIGN * ALIGN;
        if (cell == 0) {
            return false;
        }
        piece = std::min(piece, cell * split);
    }
    perRound_ = std::max<uint64_t>(piece / problem.element, 1);
    const uint64_t count = problem.counts.largest;
    // A count of zero is one round of nothing, so that handshakes stay.
    rounds_ = std::max<uint64_t>((count + perRound_ - 1) / perRound_, 1);
    SetRound(0);
    return true;
}

void Chunks::SetRound(uint64_t round)
{
    first_ = round * perRound_;
    cell_ = RoundUp(PieceOf(problem_->counts.largest).chunk, ALIGN);
}

Chunks::Piece Chunks::PieceOf(uint64_t count) const
{
    const uint64_t element = problem_->element;
    const uint64_t bytes = std::min(perRound_, count - std::min(count, first_)) * element;
    const uint64_t unit = bytes >= split_ * ALIGN ? ALIGN : element;
    return {bytes, RoundUp((bytes + split_ - 1) / split_, unit)};
}

Chunks::Piece Chunks::PieceOfClass(uint64_t lengthClass) const
{
    const Counts &counts = problem_->counts;
    return PieceOf(counts.by == CountsBy::ALL ? counts.largest : counts.of[lengthClass / split_]);
}

uint64_t Chunks::ClassOf(Buffer buffer, uint64_t chunk) const
{
    const uint64_t slot = chunk / split_;
    const uint64_t rank = problem_->rank;
    const uint64_t ranks = problem_->layout.Ranks();
    uint64_t owner = 0;
    switch (problem_->counts.by) {
        case CountsBy::ALL:
            break;
        case CountsBy::RANK: // a buffer of one slot holds the rank's own
            owner = (buffer == Buffer::INPUT ? problem_->inputSlots : problem_->outputSlots) == 1 ? rank : slot;
            break;
        case CountsBy::PAIR: // what this rank sends to the slot's, or receives from it
            owner = buffer == Buffer::INPUT ? rank * ranks + slot : slot * ranks + rank;
            break;
    }
    return owner * split_ + chunk % split_;
}

uint64_t Chunks::Length(uint64_t lengthClass) const
{
    const Piece piece = PieceOfClass(lengthClass);
    const uint64_t start = std::min(lengthClass % split_ * piece.chunk, piece.bytes);
    return std::min(piece.chunk, piece.bytes - start);
}

uint64_t Chunks::Offset(Buffer buffer, uint64_t chunk, uint64_t lengthClass) const
{
    if (buffer == Buffer::SCRATCH) {
        return chunk * cell_;
    }
    const Counts &counts = problem_->counts;
    const std::vector<uint64_t> &starts = buffer == Buffer::INPUT ? counts.inputStart : counts.outputStart;
    const uint64_t slot = chunk / split_;
    const uint64_t start = starts.empty() ? slot * counts.largest : starts[slot];
    const Piece piece = PieceOfClass(lengthClass);
    return (start + first_) * problem_->element + lengthClass % split_ * piece.chunk;
}

void Segments::Add(const Segment &chunk)
{
    const bool follows = !cut_ && !all_.empty() && all_.back().len < MAX_TRANSFER &&
                         all_.back().dst + all_.back().len == chunk.dst && all_.back().src + all_.back().len == chunk.src;
    cut_ = false;
    if (follows) {
        all_.back().len += chunk.len;
    } else {
        all_.push_back(chunk);
    }
    while (all_.back().len > MAX_TRANSFER) {
        const Segment last = all_.back();
        all_.back().len = MAX_TRANSFER;
        all_.push_back({last.dst + MAX_TRANSFER, last.src + MAX_TRANSFER, last.len - MAX_TRANSFER});
    }
}

} // namespace hcomm_op
