// All-gather by the Vector cores of a 950: a block a rank.
#ifndef EXAMPLES_AIV_ALL_GATHER_H
#define EXAMPLES_AIV_ALL_GATHER_H

#include <hccl/hccl_comm.h>

extern "C" HcclResult HcclAllGatherAivExample(
    void* sendBuf, void* recvBuf, uint64_t bytes, HcclComm comm, aclrtStream stream);

#endif
