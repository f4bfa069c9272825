// Point to point: HcclSendExample on one rank and HcclRecvExample on the other make one transfer.
#ifndef EXAMPLES_SEND_RECV_H
#define EXAMPLES_SEND_RECV_H

#include <hccl/hccl_comm.h>

extern "C" {
HcclResult HcclSendExample(
    void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm, aclrtStream stream);
HcclResult HcclRecvExample(
    void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm, aclrtStream stream);
}

#endif
