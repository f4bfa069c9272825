/// From chunks to bytes: how a slot is cut into rounds and chunks, and where a chunk lies.
///
/// - A slot is cut into rounds, so that all cells of scratch fit the HCCL buffer and no transfer is longer than 256 MB.
///   With symmetric windows and no scratch there is one round of everything, as nothing is staged.
/// - The piece of a slot that a round works on is cut into `split` chunks. All have the same length but the last ones,
///   which take the rest and may be empty. Boundaries are multiples of 128 bytes where chunks are that large.
/// - A cell of scratch has room for the longest chunk of the round, rounded up to 128 bytes.
#ifndef HCOMM_OP_CHUNKS_H
#define HCOMM_OP_CHUNKS_H

#include <cstdint>
#include <vector>

#include "problem.h"

namespace hcomm_op {

enum class Buffer : uint8_t { INPUT, OUTPUT, SCRATCH };

/// Bytes that one operation moves: offsets in the buffers at both ends.
struct Segment {
    uint64_t dst;
    uint64_t src;
    uint64_t len;
};

class Chunks {
public:
    /// Cuts for `split` chunks a slot and `cells` cells of scratch. False if the HCCL buffer is too small.
    bool Prepare(const Problem &problem, uint64_t split, uint64_t cells, bool hasWindows = false);

    uint64_t Rounds() const
    {
        return rounds_;
    }

    void SetRound(uint64_t round);

    /// Chunks of one length class have one length. A chunk of input or output has the class of its place, a cell of
    /// scratch that of what it holds.
    uint64_t Classes() const
    {
        return classes_;
    }

    uint64_t ClassOf(Buffer buffer, uint64_t chunk) const;
    uint64_t Length(uint64_t lengthClass) const;
    uint64_t Offset(Buffer buffer, uint64_t chunk, uint64_t lengthClass) const;

private:
    struct Piece {
        uint64_t bytes;
        uint64_t chunk; ///< bytes of every chunk but the last ones
    };

    Piece PieceOf(uint64_t count) const;
    Piece PieceOfClass(uint64_t lengthClass) const;

    const Problem *problem_ = nullptr;
    uint64_t split_ = 1;
    uint64_t classes_ = 1;
    uint64_t perRound_ = 1;
    uint64_t rounds_ = 1;
    uint64_t first_ = 0; ///< the round's first element of a slot
    uint64_t cell_ = 0;
};

/// Collects the segments of a transfer: chunks that follow one another at both ends become one, of 256 MB at most.
class Segments {
public:
    void Add(const Segment &chunk);

    /// What comes next is another operation, even if it follows.
    void Cut()
    {
        cut_ = true;
    }

    const std::vector<Segment> &All() const
    {
        return all_;
    }

private:
    std::vector<Segment> all_;
    bool cut_ = false;
};

} // namespace hcomm_op

#endif
