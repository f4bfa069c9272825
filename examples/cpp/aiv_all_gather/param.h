// What the host passes to the kernel, by value.
#ifndef EXAMPLES_AIV_ALL_GATHER_PARAM_H
#define EXAMPLES_AIV_ALL_GATHER_PARAM_H

#include <cstdint>

constexpr uint32_t MOST_RANKS = 16;
constexpr uint64_t FLAG_BYTES = 32;
// A rank's flags: that its data is there, and for each rank that it has taken it.
constexpr uint64_t FLAGS = 1 + MOST_RANKS;

struct AivAllGatherParam {
    uint64_t buffers[MOST_RANKS]; // HCCL buffers
    uint64_t flags[MOST_RANKS];
    uint64_t input;
    uint64_t output;
    uint64_t bytes;
    uint64_t bufferSize;
    uint32_t rank;
    uint32_t ranks;
    int32_t tag; // of the first round; no other call has it or the ones that follow it
};

#endif
