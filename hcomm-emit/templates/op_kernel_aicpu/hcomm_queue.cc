#include "hcomm_queue.h"

#include "data_type.h"
@WINDOWS@#include "hccl/hccl_sym_win.h"
#include "hcomm/hcomm_primitives_expt.h"
#include "operator.h"
#include "reduction.h"

namespace hcomm_op {

HcommQueue::HcommQueue(const Context &context, const OpParam &param)
    : context_(context),
      param_(param),
      element_(ElementSize(param.dataType)),
      dataType_(static_cast<HcommDataType>(param.dataType)),
      reduceOp_(static_cast<HcommReduceOp>(param.reduceOp)),
      kept_(context.threads.size()),
@PLAIN@      links_(context.layout.Ranks(), nullptr)
@WINDOWS@      links_(context.layout.Ranks(), nullptr),
@WINDOWS@      inputs_(context.layout.Ranks(), 0),
@WINDOWS@      outputs_(context.layout.Ranks(), 0)
{
    for (const Link &link : context.links) {
        if (link.peer < links_.size()) {
            links_[link.peer] = &link;
        }
    }
}

void HcommQueue::Check(int32_t result)
{
    good_ = good_ && result == 0;
}

bool HcommQueue::HasThread(uint32_t thread)
{
    good_ = good_ && thread < context_.threads.size();
    return good_;
}

const Link *HcommQueue::LinkTo(uint32_t peer)
{
    const Link *link = peer < links_.size() ? links_[peer] : nullptr;
    good_ = good_ && link != nullptr;
    return link;
}

void HcommQueue::ThreadRecord(uint32_t thread, uint32_t onThread, uint32_t notify)
{
    if (HasThread(thread) && HasThread(onThread)) {
        Flush(thread);
        Check(HcommThreadNotifyRecordOnThread(context_.threads[thread], context_.threads[onThread], notify));
    }
}

void HcommQueue::ThreadWait(uint32_t thread, uint32_t notify)
{
    if (HasThread(thread)) {
        Flush(thread);
        Check(HcommThreadNotifyWaitOnThread(context_.threads[thread], notify, param_.timeout));
    }
}

void HcommQueue::ChannelRecord(uint32_t thread, uint32_t peer, uint32_t notify)
{
    const Link *link = LinkTo(peer);
    if (!HasThread(thread) || link == nullptr) {
        return;
    }
    Kept &kept = kept_[thread];
    if (!kept.is || kept.peer != peer) {
        Flush(thread);
        Check(HcommChannelNotifyRecordOnThread(context_.threads[thread], link->channel, notify));
        return;
    }
    // One operation writes and sets the flag behind what it wrote.
    kept.is = false;
    if (kept.reduce) {
        Check(HcommWriteReduceWithNotifyOnThread(context_.threads[thread], link->channel, kept.dst, kept.src,
            kept.len / element_, dataType_, reduceOp_, notify));
    } else {
        Check(HcommWriteWithNotifyOnThread(
            context_.threads[thread], link->channel, kept.dst, kept.src, kept.len, notify));
    }
}

void HcommQueue::ChannelWait(uint32_t thread, uint32_t peer, uint32_t notify)
{
    const Link *link = LinkTo(peer);
    if (HasThread(thread) && link != nullptr) {
        Flush(thread);
        Check(HcommChannelNotifyWaitOnThread(context_.threads[thread], link->channel, notify, param_.timeout));
    }
}

@WINDOWS@uint64_t HcommQueue::PeerAddress(std::vector<uint64_t> &known, uint64_t window, uint64_t offset, uint32_t peer)
@WINDOWS@{
@WINDOWS@    if (known[peer] == 0) {
@WINDOWS@        void *address = nullptr;
@WINDOWS@        Check(HcclSymWinGetPeerPointer(
@WINDOWS@            reinterpret_cast<HcclCommSymWindow>(static_cast<uintptr_t>(window)), offset, peer, &address));
@WINDOWS@        good_ = good_ && address != nullptr;
@WINDOWS@        known[peer] = reinterpret_cast<uintptr_t>(address);
@WINDOWS@    }
@WINDOWS@    return known[peer];
@WINDOWS@}
@WINDOWS@
@PLAIN@char *HcommQueue::Address(const Transfer &transfer, const Link *link, bool dst, uint64_t offset) const
@WINDOWS@char *HcommQueue::Address(const Transfer &transfer, const Link *link, bool dst, uint64_t offset)
{
    const bool writes = transfer.kind == Kind::WRITE || transfer.kind == Kind::WRITE_REDUCE;
@WINDOWS@    const bool remote = link != nullptr && writes == dst;
    uint64_t base = 0;
    switch (dst ? transfer.dst : transfer.src) {
        case Buffer::INPUT:
@PLAIN@            base = param_.input;
@WINDOWS@            base = remote ? PeerAddress(inputs_, param_.inputWindow, param_.inputOffset, transfer.peer) : param_.input;
            break;
        case Buffer::OUTPUT:
@PLAIN@            base = param_.output;
@WINDOWS@            base = remote ? PeerAddress(outputs_, param_.outputWindow, param_.outputOffset, transfer.peer) : param_.output;
            break;
        default:
            // A peer's memory is its HCCL buffer, where its channel shows it.
@PLAIN@            base = link != nullptr && writes == dst ? link->buffer : context_.hcclBuffer;
@WINDOWS@            base = remote ? link->buffer : context_.hcclBuffer;
            break;
    }
    return reinterpret_cast<char *>(static_cast<uintptr_t>(base + offset));
}

void HcommQueue::Move(uint32_t thread, const Transfer &transfer, const std::vector<Segment> &segments)
{
    const bool local = transfer.kind == Kind::COPY || transfer.kind == Kind::REDUCE;
    const Link *link = local ? nullptr : LinkTo(transfer.peer);
    if (!HasThread(thread)) {
        return;
    }
    for (const Segment &segment : segments) {
        char *dst = Address(transfer, link, true, segment.dst);
        const char *src = Address(transfer, link, false, segment.src);
@WINDOWS@        if (!good_) {
@WINDOWS@            return; // a peer's window is not known: nothing may go there
@WINDOWS@        }
        Flush(thread);
        switch (transfer.kind) {
            case Kind::COPY:
            case Kind::REDUCE:
                Local(thread, transfer.kind == Kind::REDUCE, dst, src, segment.len);
                break;
            case Kind::WRITE:
            case Kind::WRITE_REDUCE:
                kept_[thread] = {true, transfer.kind == Kind::WRITE_REDUCE, transfer.peer, dst, src, segment.len};
                if (!FUSES_NOTIFY) {
                    Flush(thread);
                }
                break;
            case Kind::READ:
                Check(HcommReadOnThread(context_.threads[thread], link->channel, dst, src, segment.len));
                break;
            case Kind::READ_REDUCE:
                Check(HcommReadReduceOnThread(context_.threads[thread], link->channel, dst, src,
                    segment.len / element_, dataType_, reduceOp_));
                break;
        }
    }
}

void HcommQueue::Local(uint32_t thread, bool reduce, void *dst, const void *src, uint64_t len)
{
    if (reduce) {
        Reduce(thread, dst, src, len);
    } else if (dst != src) { // in place, a slot may be where it belongs
        Check(HcommLocalCopyOnThread(context_.threads[thread], dst, src, len));
    }
}

void HcommQueue::Reduce(uint32_t thread, void *dst, const void *src, uint64_t len)
{
    const uint64_t count = len / element_;
    if (ReductionOf(true, param_.dataType, param_.reduceOp) == Reduction::INLINE) {
        Check(HcommLocalReduceOnThread(context_.threads[thread], dst, src, count, dataType_, reduceOp_));
        return;
    }
    // What was queued has to be done before the AI CPU looks at the data, so the batch is launched and waited for. The host
    // has seen to it that no other lane runs meanwhile: its peers would wait for what is not queued yet.
    (void)Finish();
    Check(HcommBatchModeEnd(param_.tag));
    Check(HcommThreadJoin(context_.threads[thread], param_.timeout));
    if (good_) {
        ReduceOnAiCpu(dst, src, count, param_.dataType, param_.reduceOp);
    }
    Check(HcommBatchModeStart(param_.tag));
}

void HcommQueue::Flush(uint32_t thread)
{
    const Kept write = kept_[thread];
    kept_[thread].is = false;
    const Link *link = write.is ? LinkTo(write.peer) : nullptr;
    if (link == nullptr) {
        return;
    }
    if (write.reduce) {
        Check(HcommWriteReduceOnThread(context_.threads[thread], link->channel, write.dst, write.src,
            write.len / element_, dataType_, reduceOp_));
    } else {
        Check(HcommWriteOnThread(context_.threads[thread], link->channel, write.dst, write.src, write.len));
    }
}

bool HcommQueue::Finish()
{
    for (uint32_t thread = 0; thread < kept_.size(); ++thread) {
        Flush(thread);
    }
    return good_;
}

} // namespace hcomm_op
