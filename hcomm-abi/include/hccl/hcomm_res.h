/* Endpoints, threads and memory without a communicator. */
#ifndef HCOMM_RES_H
#define HCOMM_RES_H

#include "hcomm_channel.h"
#include "hcomm_res_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

extern HcommResult HcommEndpointCreate(const EndpointDesc* endpoint, EndpointHandle* endpointHandle);
extern HcommResult HcommEndpointDestroy(EndpointHandle endpointHandle);
extern HcommResult HcommEndpointGetDescNum(int32_t deviceLogicId, uint32_t* descNum);
extern HcommResult HcommEndpointGetDescs(int32_t deviceLogicId, uint32_t* descNum, EndpointDesc* endpointDescs);
extern HcommResult HcommMemReg(
    EndpointHandle endpointHandle, const char* memTag, const CommMem* mem, HcommMemHandle* memHandle);
extern HcommResult HcommMemUnreg(EndpointHandle endpointHandle, HcommMemHandle memHandle);
extern HcommResult HcommMemExport(
    EndpointHandle endpointHandle, HcommMemHandle memHandle, void** memDesc, uint32_t* memDescLen);
extern HcommResult HcommMemImport(
    EndpointHandle endpointHandle, const void* memDesc, uint32_t descLen, CommMem* outMem);
extern HcommResult HcommMemUnimport(EndpointHandle endpointHandle, const void* memDesc, uint32_t descLen);
extern HcommResult HcommThreadAlloc(
    CommEngine engine, uint32_t threadNum, const uint32_t* notifyNumPerThread, ThreadHandle* threads);
extern HcommResult HcommThreadFree(const ThreadHandle* threads, uint32_t threadNum);
extern HcommResult HcommEndpointGetListenPort(EndpointHandle endpointHandle, uint32_t* port);
extern HcommResult HcommThreadResGetInfo(ThreadHandle thread, ThreadResType resType, uint32_t infoLen, void** info);
extern HcommResult HcommEndpointCheckFeature(
    HcommEndpointFeatureType featureType, const EndpointDesc* endpointDesc, bool* value);
extern HcommResult HcommMemAlloc(void** ptr, size_t size);
extern HcommResult HcommMemFree(void* ptr);

#ifdef __cplusplus
}
#endif

#endif
