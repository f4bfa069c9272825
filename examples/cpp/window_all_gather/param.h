// What the host passes to the kernel.
#ifndef EXAMPLES_WINDOW_ALL_GATHER_PARAM_H
#define EXAMPLES_WINDOW_ALL_GATHER_PARAM_H

#include <hccl/hcomm_primitives.h>

constexpr uint32_t MOST_RANKS = 64;
constexpr uint32_t READY = 0; // the peer may write into this rank's output
constexpr uint32_t DONE = 1;  // it has
constexpr uint32_t CHANNEL_NOTIFIES = 2;

struct Resources {
    ThreadHandle threads[MOST_RANKS];
    ChannelHandle channels[MOST_RANKS];
    uint32_t peers[MOST_RANKS];
    uint32_t rank;
    uint32_t ranks;
};

struct WindowAllGatherParam {
    const Resources* resources; // in a context of the device
    ThreadHandle hostThread;
    void* input;
    void* output;
    void* window;
    uint64_t offset; // of the output in the window
    uint64_t bytes;
};

#endif
