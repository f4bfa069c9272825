/* Symmetric windows on the device. */
#ifndef HCCL_SYM_WIN_H
#define HCCL_SYM_WIN_H

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_rt.h"
#include "hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where `offset` of the window is on `peerRank`, which may be this rank. */
extern HcclResult HcclSymWinGetPeerPointer(
    HcclCommSymWindow winHandle, size_t offset, uint32_t peerRank, void** ptr);

#ifdef __cplusplus
}
#endif

#endif
