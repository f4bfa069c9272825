/// Messages for the user: what is wrong, and the numbers that matter.
#ifndef HCOMM_OP_LOG_H
#define HCOMM_OP_LOG_H

#include <cstdio>

#include "operator.h"

#define HCOMM_OP_ERROR(...)                                 \
    do {                                                    \
        std::fprintf(stderr, "[%s] ", OPERATOR_NAME);       \
        std::fprintf(stderr, __VA_ARGS__);                  \
        std::fprintf(stderr, "\n");                         \
    } while (0)

/// Returns what a call returns, if it is not success.
#define HCOMM_OP_CHECK(call)                                                       \
    do {                                                                           \
        const HcclResult checked = static_cast<HcclResult>(call);                  \
        if (checked != HCCL_SUCCESS) {                                             \
            HCOMM_OP_ERROR("%s failed: %d", #call, static_cast<int>(checked));     \
            return checked;                                                        \
        }                                                                          \
    } while (0)

#define HCOMM_OP_CHECK_ACL(call)                                                   \
    do {                                                                           \
        const aclError checked = (call);                                           \
        if (checked != ACL_SUCCESS) {                                              \
            HCOMM_OP_ERROR("%s failed: %d", #call, static_cast<int>(checked));     \
            return HCCL_E_RUNTIME;                                                 \
        }                                                                          \
    } while (0)

#endif
