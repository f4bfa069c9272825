// What hosts and tests share: ending on the first error.
#ifndef EXAMPLES_CHECK_H
#define EXAMPLES_CHECK_H

#include <cstdio>

// Returns what a call returned, if it failed.
#define TRY(call)                                                                       \
    do {                                                                                \
        const int tried = static_cast<int>(call);                                       \
        if (tried != 0) {                                                               \
            std::fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, tried); \
            return static_cast<decltype(call)>(tried);                                  \
        }                                                                               \
    } while (0)

// The same in a function that returns HcclResult, for calls of the runtime.
#define TRY_ACL(call)                                                                  \
    do {                                                                               \
        const int tried = static_cast<int>(call);                                      \
        if (tried != 0) {                                                              \
            std::fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, tried); \
            return HCCL_E_RUNTIME;                                                     \
        }                                                                              \
    } while (0)

#endif
