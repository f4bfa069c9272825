// Channels to some ranks, over the first link that the rank graph has for each.
#ifndef EXAMPLES_CHANNELS_H
#define EXAMPLES_CHANNELS_H

#include <hccl/hccl_channel.h>
#include <hccl/hccl_rank_graph.h>

#include <vector>

#include "check.h"

namespace examples {

inline HcclResult Describe(HcclComm comm, uint32_t rank, uint32_t peer, uint32_t notifies, HcclChannelDesc& desc)
{
    uint32_t* layers = nullptr;
    uint32_t count = 0;
    TRY(HcclRankGraphGetLayers(comm, &layers, &count));
    // What a query gives out is the library's until the next one.
    const std::vector<uint32_t> known(layers, layers + count);
    for (const uint32_t layer : known) {
        CommLink* links = nullptr;
        uint32_t found = 0;
        TRY(HcclRankGraphGetLinks(comm, layer, rank, peer, &links, &found));
        if (found == 0) {
            continue;
        }
        TRY(HcclChannelDescInit(&desc, 1));
        desc.remoteRank = peer;
        desc.notifyNum = notifies;
        desc.channelProtocol = links[0].linkAttr.linkProtocol;
        desc.localEndpoint = links[0].srcEndpointDesc;
        desc.remoteEndpoint = links[0].dstEndpointDesc;
        return HCCL_SUCCESS;
    }
    return HCCL_E_NOT_FOUND;
}

inline HcclResult Acquire(
    HcclComm comm, uint32_t rank, const std::vector<uint32_t>& peers, uint32_t notifies,
    std::vector<ChannelHandle>& channels)
{
    std::vector<HcclChannelDesc> descs(peers.size());
    for (size_t at = 0; at < peers.size(); ++at) {
        TRY(Describe(comm, rank, peers[at], notifies, descs[at]));
    }
    channels.resize(peers.size());
    return HcclChannelAcquire(
        comm, COMM_ENGINE_AICPU_TS, descs.data(), static_cast<uint32_t>(descs.size()), channels.data());
}

} // namespace examples

#endif
