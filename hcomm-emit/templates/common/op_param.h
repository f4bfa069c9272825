/// What the host tells the kernel: the arguments of a call, and the context of all calls.
#ifndef HCOMM_OP_OP_PARAM_H
#define HCOMM_OP_OP_PARAM_H

#include <cstdint>
#include <vector>

#include "problem.h"

namespace hcomm_op {

/// The argument of the kernel. The runtime copies it, so every pointer in it is a device address. Behind it lie the
/// numbers of the counts: `numCounts`, then `numInputStarts`, then `numOutputStarts`.
struct OpParam {
    char commName[128];
    char tag[256];
    uint64_t context;
    uint64_t contextWords;
    uint64_t input;
    uint64_t output;
@WINDOWS@    /// The windows that the two lie in, and where in them. Handles are for the device alone.
@WINDOWS@    uint64_t inputWindow;
@WINDOWS@    uint64_t inputOffset;
@WINDOWS@    uint64_t outputWindow;
@WINDOWS@    uint64_t outputOffset;
    uint64_t hostThread; ///< the thread of the user's stream, as the device knows it
    uint64_t largestCount;
    uint64_t numCounts;
    uint64_t numInputStarts;
    uint64_t numOutputStarts;
    uint32_t countsBy;
    uint32_t ownCounts; ///< counts by pair are this rank's alone: what it sends, then what it receives
    uint32_t dataType;
    uint32_t reduceOp;
    uint32_t timeout; ///< of a wait, in seconds; 0 is for ever
    uint32_t reserved;
};

/// The connection to a peer.
struct Link {
    uint32_t peer;
    uint64_t channel;
@STAGED@    uint64_t buffer; ///< the peer's HCCL buffer, where this rank sees it
@UNSTAGED@    uint64_t buffer; ///< none: peers reach each other's windows
};

/// What stays from call to call.
struct Context {
    Layout layout;
    uint32_t rank = 0;
    uint32_t root = 0;
    uint32_t src = 0;
    uint32_t dst = 0;
    uint64_t hcclBuffer = 0;
    uint64_t hcclBufferSize = 0;
    uint32_t startNotify = 0; ///< of the main thread: the host sets it to start the schedule
    std::vector<uint64_t> threads;
    std::vector<Link> links;
};

std::vector<uint64_t> Pack(const Context &context);
/// False if the words are not those of a context.
bool Unpack(const uint64_t *words, uint64_t size, Context &context);

} // namespace hcomm_op

#endif
