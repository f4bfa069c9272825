/* Experimental, but needed by every AI CPU operator: HcclThreadExportToCommEngine. */
#ifndef HCCL_RES_EXPT_H
#define HCCL_RES_EXPT_H

#include <stdbool.h>
#include <stdint.h>

#include "hccl_res.h"

#ifdef __cplusplus
extern "C" {
#endif

extern HcclResult HcclGetRemoteIpcHcclBuf(HcclComm comm, uint64_t remoteRank, void** addr, uint64_t* size);
extern HcclResult HcclDevMemAcquire(
    HcclComm comm, const char* memTag, uint64_t* size, void** addr, bool* newCreated);

/* Handles by which another engine of the same rank may name the threads. */
extern HcclResult HcclThreadExportToCommEngine(
    HcclComm comm, uint32_t threadNum, const ThreadHandle* threads, CommEngine dstCommEngine,
    ThreadHandle* exportedThreads);

typedef int32_t(Callback)(uint64_t, int32_t);

extern int32_t HcclTaskRegister(HcclComm comm, const char* msgTag, Callback cb);
extern int32_t HcclTaskUnRegister(HcclComm comm, const char* msgTag);
extern HcclResult HcclCommAddExchangeInfo(HcclComm comm, const void* data, uint32_t length);
extern HcclResult HcclCommGetExchangeInfo(
    HcclComm comm, uint32_t remoteRank, uint32_t length, void* data, uint32_t* actualLength);
extern HcclResult HcclCommResetExchangeInfo(HcclComm comm);

#ifdef __cplusplus
}
#endif

#endif
