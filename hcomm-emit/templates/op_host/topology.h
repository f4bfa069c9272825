/// What the rank graph says: how ranks lie in servers and superpods, and what links join two of them.
#ifndef HCOMM_OP_TOPOLOGY_H
#define HCOMM_OP_TOPOLOGY_H

#include "hccl/hccl_channel.h"
#include "hccl/hccl_types.h"
#include "problem.h"

namespace hcomm_op {

/// The layout of the communicator's ranks.
HcclResult LayoutOf(HcclComm comm, uint32_t rank, uint32_t ranks, Layout &layout);

/// Describes the channel to a peer over the nearest link of a protocol that the engine can use.
HcclResult DescribeChannel(
    HcclComm comm, uint32_t rank, uint32_t peer, uint32_t notifyNum, HcclChannelDesc &description);

} // namespace hcomm_op

#endif
