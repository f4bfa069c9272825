/// Puts the operations of a schedule into the queues of HCOMM threads.
#ifndef HCOMM_OP_HCOMM_QUEUE_H
#define HCOMM_OP_HCOMM_QUEUE_H

#include <vector>

#include "hcomm_primitives.h"
#include "op_param.h"
#include "schedule.h"

namespace hcomm_op {

class HcommQueue : public Queue {
public:
    HcommQueue(const Context &context, const OpParam &param);

    void ThreadRecord(uint32_t thread, uint32_t onThread, uint32_t notify) override;
    void ThreadWait(uint32_t thread, uint32_t notify) override;
    void ChannelRecord(uint32_t thread, uint32_t peer, uint32_t notify) override;
    void ChannelWait(uint32_t thread, uint32_t peer, uint32_t notify) override;
    void Move(uint32_t thread, const Transfer &transfer, const std::vector<Segment> &segments) override;

    /// Puts what was kept back into the queues. False if something could not be queued.
    bool Finish();

private:
    /// The last write of a thread, which may carry a record (950).
    struct Kept {
        bool is = false;
        bool reduce = false;
        uint32_t peer = 0;
        void *dst = nullptr;
        const void *src = nullptr;
        uint64_t len = 0;
    };

    bool HasThread(uint32_t thread);
    const Link *LinkTo(uint32_t peer);
    void Check(int32_t result);
    void Flush(uint32_t thread);
    void Local(uint32_t thread, bool reduce, void *dst, const void *src, uint64_t len);
    void Reduce(uint32_t thread, void *dst, const void *src, uint64_t len);
@WINDOWS@    /// Where a peer has the buffer of that window: asked for once.
@WINDOWS@    uint64_t PeerAddress(std::vector<uint64_t> &known, uint64_t window, uint64_t offset, uint32_t peer);
@WINDOWS@    char *Address(const Transfer &transfer, const Link *link, bool dst, uint64_t offset);
@PLAIN@    char *Address(const Transfer &transfer, const Link *link, bool dst, uint64_t offset) const;

    const Context &context_;
    const OpParam &param_;
    uint64_t element_;
    HcommDataType dataType_;
    HcommReduceOp reduceOp_;
    std::vector<Kept> kept_;
    std::vector<const Link *> links_; ///< by rank
@WINDOWS@    std::vector<uint64_t> inputs_;    ///< of peers, by rank; 0 where it was not asked for
@WINDOWS@    std::vector<uint64_t> outputs_;
    bool good_ = true;
};

} // namespace hcomm_op

#endif
