// What the host passes to the kernel. All addresses are the device's.
#ifndef EXAMPLES_SEND_RECV_PARAM_H
#define EXAMPLES_SEND_RECV_PARAM_H

#include <hccl/hcomm_primitives.h>

// Notifies of the channel, the same at both ends.
constexpr uint32_t READY = 0; // the data is in the sender's HCCL buffer
constexpr uint32_t TAKEN = 1; // the receiver has read it
constexpr uint32_t CHANNEL_NOTIFIES = 2;
// The start signal from the host: the one notify of the device's thread.
constexpr uint32_t START = 0;

// Faults to put in on purpose, to see them found.
enum class Fault : uint32_t {
    NONE,
    MISSING_WAIT,
    DOUBLE_RECORD,
    OUT_OF_RANGE,
    MISSING_ACKNOWLEDGEMENT,
    MISSING_BATCH_END
};

struct SendRecvParam {
    ThreadHandle thread;     // the device's
    ThreadHandle hostThread; // the stream's, for the device
    ChannelHandle channel;
    void* user;   // the send or receive buffer
    void* buffer; // the sender's HCCL buffer, as this rank reaches it
    uint64_t bufferSize;
    uint64_t bytes;
    uint32_t isSend;
    Fault fault;
};

#endif
