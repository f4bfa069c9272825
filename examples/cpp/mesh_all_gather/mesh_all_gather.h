// All-gather on a full mesh: every rank writes its part to every other, all at once.
#ifndef EXAMPLES_MESH_ALL_GATHER_H
#define EXAMPLES_MESH_ALL_GATHER_H

#include <hccl/hccl_comm.h>

extern "C" HcclResult HcclAllGatherExample(
    void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm, aclrtStream stream);

#endif
