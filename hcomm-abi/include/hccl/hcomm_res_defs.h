/* HCOMM's types: handles, engines, protocols, endpoints, memory. */
#ifndef HCOMM_RES_DEFS_H
#define HCOMM_RES_DEFS_H

#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "securec.h"

#ifdef __cplusplus
extern "C" {
#endif

static const uint32_t COMM_ADDR_EID_LEN = 16U;

typedef int32_t HcommResult;
typedef void* EndpointHandle;
typedef void* HcommMemHandle;
typedef void* HcommSocket;

#ifndef CHANNEL_HANDLE_DEFINED
#define CHANNEL_HANDLE_DEFINED
typedef uint64_t ChannelHandle;
#endif

#ifndef THREAD_HANDLE_DEFINED
#define THREAD_HANDLE_DEFINED
typedef uint64_t ThreadHandle;
#endif

typedef enum { THREAD_TYPE_INVALID = -1, THREAD_TYPE_TS = 0 } ThreadType;

static const uint32_t HCOMM_THREAD_CONFIG_MAGIC_WORD = 0x0f0f0f2f;
static const uint32_t HCOMM_THREAD_CONFIG_VERSION = 1;

/* Starts every structure that may grow. */
typedef struct {
    uint32_t version;
    uint32_t magicWord;
    uint32_t size;
    uint32_t reserved;
} CommAbiHeader;

typedef struct {
    CommAbiHeader header;
    uint16_t notifyNumPerThread;
    uint8_t reserved[14];
} ThreadConfig;

/* HcclThreadAcquireWithConfig refuses a configuration that has not been through this. */
static inline HcommResult ThreadConfigInit(ThreadConfig* config, uint32_t num)
{
    uint32_t at;
    if (config == NULL) {
        return 2;
    }
    for (at = 0; at < num; ++at) {
        if (memset_s(&config[at], sizeof(ThreadConfig), 0, sizeof(ThreadConfig)) != EOK) {
            return 4;
        }
        config[at].header.version = HCOMM_THREAD_CONFIG_VERSION;
        config[at].header.magicWord = HCOMM_THREAD_CONFIG_MAGIC_WORD;
        config[at].header.size = sizeof(ThreadConfig);
    }
    return 0;
}

/* Who carries the operations out. */
typedef enum {
    COMM_ENGINE_RESERVED = -1,
    COMM_ENGINE_CPU = 0,
    COMM_ENGINE_CPU_TS = 1,
    COMM_ENGINE_AICPU = 2,
    COMM_ENGINE_AICPU_TS = 3,
    COMM_ENGINE_AIV = 4,
    COMM_ENGINE_CCU = 5,
} CommEngine;

typedef enum {
    COMM_PROTOCOL_RESERVED = -1,
    COMM_PROTOCOL_HCCS = 0,
    COMM_PROTOCOL_ROCE = 1,
    COMM_PROTOCOL_PCIE = 2,
    COMM_PROTOCOL_SIO = 3,
    COMM_PROTOCOL_UB_CTP = 4,
    COMM_PROTOCOL_UBC_CTP = 4, /* the older name */
    COMM_PROTOCOL_UBC_TP = 5,
    COMM_PROTOCOL_UB_MEM = 6,
    COMM_PROTOCOL_UBOE = 7,
    COMM_PROTOCOL_HCCS_ONLY = 8,
    COMM_PROTOCOL_UB_RTP = 9,
    COMM_PROTOCOL_UBG = 9, /* the older name */
} CommProtocol;

typedef enum {
    COMM_ADDR_TYPE_RESERVED = -1,
    COMM_ADDR_TYPE_IP_V4 = 0,
    COMM_ADDR_TYPE_IP_V6 = 1,
    COMM_ADDR_TYPE_ID = 2,
    COMM_ADDR_TYPE_EID = 3,
} CommAddrType;

typedef struct {
    CommAddrType type;
    union {
        uint8_t raws[36];
        struct in_addr addr;
        struct in6_addr addr6;
        uint32_t id;
        uint8_t eid[COMM_ADDR_EID_LEN];
    };
} CommAddr;

typedef enum {
    ENDPOINT_LOC_TYPE_RESERVED = -1,
    ENDPOINT_LOC_TYPE_DEVICE = 0,
    ENDPOINT_LOC_TYPE_HOST = 1,
} EndpointLocType;

typedef struct {
    EndpointLocType locType;
    union {
        uint8_t raws[60];
        struct {
            uint32_t devPhyId;
            uint32_t superDevId;
            uint32_t serverIdx;
            uint32_t superPodIdx;
        } device;
        struct {
            uint32_t id;
        } host;
    };
} EndpointLoc;

typedef struct {
    CommProtocol protocol;
    CommAddr commAddr;
    EndpointLoc loc;
    union {
        uint8_t raws[52];
    };
} EndpointDesc;

typedef enum { COMM_MEM_TYPE_INVALID = -1, COMM_MEM_TYPE_DEVICE = 0, COMM_MEM_TYPE_HOST = 1 } CommMemType;

typedef struct {
    CommMemType type;
    void* addr;
    uint64_t size;
} CommMem;

typedef enum {
    HCOMM_SOCKET_ROLE_RESERVED = -1,
    HCOMM_SOCKET_ROLE_CLIENT = 0,
    HCOMM_SOCKET_ROLE_SERVER = 1,
} HcommSocketRole;

/* An endpoint of which nothing is known: all ones, which means "default" in an attribute. */
static inline HcommResult EndpointDescInit(EndpointDesc* endpoint, uint32_t num)
{
    uint32_t at;
    if (endpoint == NULL && num != 0) {
        return 2;
    }
    for (at = 0; at < num; ++at) {
        (void)memset_s(&endpoint[at], sizeof(EndpointDesc), 0xFF, sizeof(EndpointDesc));
        endpoint[at].protocol = COMM_PROTOCOL_RESERVED;
        endpoint[at].commAddr.type = COMM_ADDR_TYPE_RESERVED;
        endpoint[at].loc.locType = ENDPOINT_LOC_TYPE_RESERVED;
    }
    return 0;
}

typedef enum { HCOMM_ENDPOINT_FEATURE_INVALID = -1, HCOMM_ENDPOINT_FEATURE_NDA = 0 } HcommEndpointFeatureType;

typedef enum { THREAD_RES_TYPE_INVALID = -1, THREAD_RES_TYPE_STREAM = 0 } ThreadResType;

#ifdef __cplusplus
}
#endif

#endif
