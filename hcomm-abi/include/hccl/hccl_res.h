/* Resources of a communicator: buffer, threads, contexts, registered memory. */
#ifndef HCCL_RES_H
#define HCCL_RES_H

#include <stdint.h>

#include "acl/acl_rt.h"
#include "hccl_channel.h"
#include "hccl_types.h"
#include "hcomm_res_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

const uint32_t HCCL_RES_TAG_MAX_LEN = 255;

extern HcclResult HcclGetHcclBuffer(HcclComm comm, void** buffer, uint64_t* size);
extern HcclResult HcclGetHcclBufferCleared(HcclComm comm, void** buffer, uint64_t* size);
extern HcclResult HcclThreadAcquire(
    HcclComm comm, CommEngine engine, uint32_t threadNum, uint32_t notifyNumPerThread, ThreadHandle* threads);
extern HcclResult HcclThreadAcquireWithConfig(
    HcclComm comm, CommEngine engine, uint32_t threadNum, ThreadType type, const ThreadConfig* config,
    ThreadHandle* threads);
extern HcclResult HcclThreadAcquireWithStream(
    HcclComm comm, CommEngine engine, aclrtStream stream, uint32_t notifyNum, ThreadHandle* thread);

typedef enum {
    HCCL_DED_THREAD_TYPE_INVALID = -1,
    HCCL_DED_THREAD_TYPE_AICPU_LAUNCH = 0,
    HCCL_DED_THREAD_TYPE_AICPU_LAUNCH_GE = 1,
    HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_OPBASE = 2,
    HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_ACLGRAPH = 3,
    HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_GE = 4,
    HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_DEVICE = 5
} HcclDedicatedThreadType;

extern HcclResult HcclDedicatedThreadAcquire(
    HcclComm comm, HcclDedicatedThreadType useType, uint32_t notifyNumPerThread, ThreadHandle* thread);
extern HcclResult HcclEngineCtxCreate(
    HcclComm comm, const char* ctxTag, CommEngine engine, uint64_t size, void** ctx);
extern HcclResult HcclEngineCtxGet(HcclComm comm, const char* ctxTag, CommEngine engine, void** ctx, uint64_t* size);
extern HcclResult HcclEngineCtxCopy(
    HcclComm comm, CommEngine engine, const char* ctxTag, const void* srcCtx, uint64_t size, uint64_t dstCtxOffset);
extern HcclResult HcclEngineCtxDestroy(HcclComm comm, const char* ctxTag, CommEngine engine);
extern HcclResult HcclCommMemReg(
    HcclComm comm, const char* memTag, const CommMem* mem, HcclMemHandle* memHandle);

typedef aclrtStream ThreadResTypeStream;

extern HcclResult HcclThreadResGetInfo(
    HcclComm comm, ThreadHandle thread, ThreadResType resType, uint32_t infoLen, void** info);

#ifdef __cplusplus
}
#endif

#endif
