/* Experimental. */
#ifndef HCOMM_PRIMITIVES_EXPT_H
#define HCOMM_PRIMITIVES_EXPT_H

#include "hcomm_primitives.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Blocks the kernel until what is queued on the thread has finished. Seconds. */
extern int32_t HcommThreadJoin(ThreadHandle thread, uint32_t timeout);

#ifdef __cplusplus
}
#endif

#endif
