#include "needs.h"

#include <algorithm>

namespace hcomm_op {

void Needs::Uses(uint32_t thread)
{
    threads = std::max(threads, thread + 1);
}

void Needs::ThreadRecord(uint32_t thread, uint32_t onThread, uint32_t notify)
{
    Uses(thread);
    Uses(onThread);
    notifiesPerThread = std::max(notifiesPerThread, notify + 1);
}

void Needs::ThreadWait(uint32_t thread, uint32_t notify)
{
    Uses(thread);
    notifiesPerThread = std::max(notifiesPerThread, notify + 1);
}

void Needs::ChannelRecord(uint32_t thread, uint32_t peer, uint32_t notify)
{
    Uses(thread);
    peers.insert(peer);
    notifiesPerChannel = std::max(notifiesPerChannel, notify + 1);
}

void Needs::ChannelWait(uint32_t thread, uint32_t peer, uint32_t notify)
{
    ChannelRecord(thread, peer, notify);
}

void Needs::Move(uint32_t thread, const Transfer &transfer, const std::vector<Segment> &)
{
    Uses(thread);
    switch (transfer.kind) {
        case Kind::COPY:
            return;
        case Kind::REDUCE:
            reducesLocally = true;
            reducesInPar = reducesInPar || transfer.inPar;
            return;
        case Kind::WRITE_REDUCE:
        case Kind::READ_REDUCE:
            reducesRemotely = true;
            break;
        default:
            break;
    }
    peers.insert(transfer.peer);
}

} // namespace hcomm_op
