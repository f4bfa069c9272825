// What the host passes to the kernel.
#ifndef EXAMPLES_MESH_ALL_GATHER_PARAM_H
#define EXAMPLES_MESH_ALL_GATHER_PARAM_H

#include <hccl/hcomm_primitives.h>

constexpr uint32_t MOST_RANKS = 64;
// Notifies of the channels.
constexpr uint32_t READY = 0; // this rank's buffer may be written
constexpr uint32_t DONE = 1;  // it has been
constexpr uint32_t CHANNEL_NOTIFIES = 2;

// Everything of the device that is made once. A thread a peer; thread 0 is the main thread, and has a notify for each
// of the others to end by, and one more for the start.
struct Resources {
    ThreadHandle threads[MOST_RANKS];
    ChannelHandle channels[MOST_RANKS];
    void* peerBuffers[MOST_RANKS];
    void* buffer;
    uint64_t bufferSize;
    uint32_t rank;
    uint32_t ranks;
};

struct AllGatherParam {
    const Resources* resources; // in a context of the device
    ThreadHandle hostThread;
    const void* input;
    void* output;
    uint64_t bytes; // of a rank's part
};

#endif
