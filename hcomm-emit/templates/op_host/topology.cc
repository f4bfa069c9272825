#include "topology.h"

#include <algorithm>
#include <vector>

#include "hccl/hccl_rank_graph.h"
#include "hccl/hccl_res.h"
#include "log.h"
#include "operator.h"
#include "protocols.h"

namespace hcomm_op {
namespace {

/// The sizes of the groups of a layer. The library overwrites its array with the next query, so this is a copy.
std::vector<uint32_t> GroupSizes(HcclComm comm, uint32_t layer)
{
    uint32_t *sizes = nullptr;
    uint32_t number = 0;
    if (HcclRankGraphGetInstSizeListByLayer(comm, layer, &sizes, &number) != HCCL_SUCCESS || sizes == nullptr) {
        return {};
    }
    return {sizes, sizes + number};
}

std::vector<uint32_t> Layers(HcclComm comm)
{
    uint32_t *layers = nullptr;
    uint32_t number = 0;
    if (HcclRankGraphGetLayers(comm, &layers, &number) != HCCL_SUCCESS || layers == nullptr) {
        return {};
    }
    return {layers, layers + number};
}

uint64_t Sum(const std::vector<uint32_t> &sizes)
{
    uint64_t sum = 0;
    for (uint32_t size : sizes) {
        sum += size;
    }
    return sum;
}

/// Whether pods of these sizes hold the same number of whole nodes of one size.
bool AreEven(const std::vector<uint32_t> &pods, const std::vector<uint32_t> &nodes)
{
    for (uint32_t node : nodes) {
        if (node != nodes[0]) {
            return false;
        }
    }
    for (uint32_t pod : pods) {
        if (pod != pods[0]) {
            return false;
        }
    }
    return nodes.size() % pods.size() == 0;
}

} // namespace

HcclResult LayoutOf(HcclComm comm, uint32_t rank, uint32_t ranks, Layout &layout)
{
    layout.pods = 1;
    layout.firstOf = {0};
    const std::vector<uint32_t> nodes = USES_LAYOUT ? GroupSizes(comm, 0) : std::vector<uint32_t>{ranks};
    if (nodes.empty() || Sum(nodes) != ranks) {
        HCOMM_OP_ERROR("the rank graph does not say how %u ranks lie in servers", ranks);
        return HCCL_E_NOT_SUPPORT;
    }
    for (uint32_t size : nodes) {
        if (EQUAL_NODES && size != nodes[0]) {
            HCOMM_OP_ERROR("servers of %u and of %u ranks: this operator is for servers of one size", nodes[0], size);
            return HCCL_E_NOT_SUPPORT;
        }
        layout.firstOf.push_back(layout.firstOf.back() + size);
    }
    if (!USES_LAYOUT) {
        return HCCL_SUCCESS;
    }
    // The ranks of a server follow one another: this one's have to be those that the sizes say.
    uint32_t *mine = nullptr;
    uint32_t number = 0;
    if (HcclRankGraphGetRanksByLayer(comm, 0, &mine, &number) == HCCL_SUCCESS && mine != nullptr) {
        const uint32_t node = layout.NodeOf(rank);
        bool same = number == layout.LocalsOf(node);
        for (uint32_t i = 0; same && i < number; ++i) {
            same = layout.NodeOf(mine[i]) == node;
        }
        if (!same) {
            HCOMM_OP_ERROR("the ranks of the server of rank %u do not follow one another", rank);
            return HCCL_E_NOT_SUPPORT;
        }
    }
    const std::vector<uint32_t> layers = Layers(comm);
    const bool hasPods = std::find(layers.begin(), layers.end(), 1U) != layers.end();
    const std::vector<uint32_t> pods = hasPods ? GroupSizes(comm, 1) : std::vector<uint32_t>{};
    if (!pods.empty() && Sum(pods) == ranks && AreEven(pods, nodes)) {
        layout.pods = static_cast<uint32_t>(pods.size());
    }
    return HCCL_SUCCESS;
}

HcclResult DescribeChannel(
    HcclComm comm, uint32_t rank, uint32_t peer, uint32_t notifyNum, HcclChannelDesc &description)
{
    for (uint32_t layer : Layers(comm)) {
        CommLink *links = nullptr;
        uint32_t number = 0;
        if (HcclRankGraphGetLinks(comm, layer, rank, peer, &links, &number) != HCCL_SUCCESS || links == nullptr) {
            continue;
        }
        for (CommProtocol protocol : PROTOCOLS) {
            for (uint32_t i = 0; i < number; ++i) {
                const CommLink &link = links[i];
                if (link.linkAttr.linkProtocol != protocol) {
                    continue;
                }
                HCOMM_OP_CHECK(HcclChannelDescInit(&description, 1));
                description.remoteRank = peer;
                description.channelProtocol = protocol;
                description.notifyNum = notifyNum;
                description.localEndpoint = link.srcEndpointDesc;
                description.remoteEndpoint = link.dstEndpointDesc;
                return HCCL_SUCCESS;
            }
        }
    }
    HCOMM_OP_ERROR("no link that the engine can use joins rank %u to rank %u", rank, peer);
    return HCCL_E_NOT_FOUND;
}

} // namespace hcomm_op
