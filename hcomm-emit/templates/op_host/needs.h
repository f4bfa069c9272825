/// What a schedule needs, counted by running it once without doing anything.
#ifndef HCOMM_OP_NEEDS_H
#define HCOMM_OP_NEEDS_H

#include <cstdint>
#include <set>

#include "schedule.h"

namespace hcomm_op {

/// Threads, notifies and channels of a schedule on one rank, and the kinds of reductions in it.
class Needs : public Queue {
public:
    void ThreadRecord(uint32_t thread, uint32_t onThread, uint32_t notify) override;
    void ThreadWait(uint32_t thread, uint32_t notify) override;
    void ChannelRecord(uint32_t thread, uint32_t peer, uint32_t notify) override;
    void ChannelWait(uint32_t thread, uint32_t peer, uint32_t notify) override;
    void Move(uint32_t thread, const Transfer &transfer, const std::vector<Segment> &segments) override;

    /// The main thread included.
    uint32_t threads = 1;
    /// Notifies of the thread that has the most.
    uint32_t notifiesPerThread = 0;
    uint32_t notifiesPerChannel = 0;
    std::set<uint32_t> peers;
    bool reducesLocally = false;
    bool reducesRemotely = false;
    /// A local reduction in a lane, while others run.
    bool reducesInPar = false;

private:
    void Uses(uint32_t thread);
};

} // namespace hcomm_op

#endif
