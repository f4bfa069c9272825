/// What one call of the operator is about: who takes part, how much data, and where its slots are.
#ifndef HCOMM_OP_PROBLEM_H
#define HCOMM_OP_PROBLEM_H

#include <cstdint>
#include <vector>

namespace hcomm_op {

/// Pods of nodes (servers) of ranks. Ranks are numbered node by node.
struct Layout {
    uint32_t pods = 1;
    /// The first rank of each node, and behind them the number of ranks.
    std::vector<uint32_t> firstOf;

    uint32_t Ranks() const
    {
        return firstOf.empty() ? 0 : firstOf.back();
    }

    uint32_t Nodes() const
    {
        return firstOf.empty() ? 0 : static_cast<uint32_t>(firstOf.size() - 1);
    }

    uint32_t LocalsOf(uint32_t node) const
    {
        return firstOf[node + 1] - firstOf[node];
    }

    uint32_t NodeOf(uint32_t rank) const
    {
        uint32_t node = 0;
        while (firstOf[node + 1] <= rank) {
            ++node;
        }
        return node;
    }

    uint32_t PodOf(uint32_t node) const
    {
        return node / (Nodes() / pods);
    }
};

/// Whose counts the slots of the operator have.
enum class CountsBy : uint32_t {
    ALL,  ///< every slot has the same
    RANK, ///< a slot has that of a rank
    PAIR, ///< a slot has that of a sender and a receiver
};

/// Elements of the slots, and where they lie in this rank's buffers.
struct Counts {
    CountsBy by = CountsBy::ALL;
    /// Elements of the largest slot of all ranks: every rank must give the same, as it sets the number of rounds.
    uint64_t largest = 0;
    /// By rank, or by sender * ranks + receiver.
    std::vector<uint64_t> of;
    /// The first element of each slot of this rank's input and output. Empty where slots lie one behind the other.
    std::vector<uint64_t> inputStart;
    std::vector<uint64_t> outputStart;
};

struct Problem {
    Layout layout;
    uint32_t rank = 0;
    uint32_t root = 0;
    uint32_t src = 0;
    uint32_t dst = 0;
    /// Bytes of an element, and of the HCCL buffer.
    uint64_t element = 1;
    uint64_t hcclBuffer = 0;
    /// Slots of this rank's input and output.
    uint32_t inputSlots = 0;
    uint32_t outputSlots = 0;
    Counts counts;
};

} // namespace hcomm_op

#endif
