/// What the host tells the kernel of Vector cores, by value.
#ifndef HCOMM_OP_AIV_PARAM_H
#define HCOMM_OP_AIV_PARAM_H

#include <cstdint>

namespace hcomm_op {

constexpr uint32_t AIV_FLAG_BYTES = 32;
/// Uses of a flag in a launch, the first being 1: the lower bits of its value.
constexpr uint32_t AIV_STEP_BITS = 12;
/// Two pieces of this size are under way at once. What is left of the Unified Buffer is for flags and counters.
constexpr uint32_t AIV_PIECE_BYTES = 88 * 1024;
constexpr uint32_t AIV_COUNTER_BYTES = 14 * 1024;

/// Words of the table that the kernel reads: HCCL buffers by rank, flags by rank, first ranks of nodes and the end.
struct AivParam {
    uint64_t table;
    uint64_t input;
    uint64_t output;
    uint64_t launch;    ///< another one for every launch, the same on all ranks
    uint64_t slotBytes; ///< of a slot of the user's buffers
    uint64_t firstByte; ///< of a slot, where the round begins
    uint64_t pieceBytes; ///< of the slot's piece that the round works on
    uint64_t chunkBytes; ///< of every chunk of the piece but the last ones
    uint64_t cellBytes;  ///< of a cell of scratch
    uint32_t split;      ///< chunks a slot
    uint32_t cells;
    uint32_t inputSlots;
    uint32_t outputSlots;
    uint32_t notifies; ///< flags for each peer
    uint32_t rank;
    uint32_t ranks;
    uint32_t node;
    uint32_t nodes;
    uint32_t pods;
    uint32_t root;
    uint32_t src;
    uint32_t dst;
    uint32_t dataType;
    uint32_t reduceOp;
    uint32_t reserved;
};

} // namespace hcomm_op

#endif
