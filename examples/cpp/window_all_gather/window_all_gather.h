// All-gather through a symmetric window: every rank writes its part straight into everybody's output.
#ifndef EXAMPLES_WINDOW_ALL_GATHER_H
#define EXAMPLES_WINDOW_ALL_GATHER_H

#include <hccl/hccl_comm.h>

// `recvBuf` lies in a window that all ranks have registered, at the same place in it.
extern "C" HcclResult HcclAllGatherWindowExample(
    void* sendBuf, void* recvBuf, uint64_t bytes, HcclComm comm, aclrtStream stream);

#endif
