/* Channels without a communicator. The stand-in answers HCCL_E_NOT_SUPPORT to all of them: see docs/stand-in.md. */
#ifndef HCOMM_CHANNEL_H
#define HCOMM_CHANNEL_H

#include "hcomm_res_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

static const uint32_t HCOMM_CHANNEL_MAGIC_WORD = 0x0fcf0f0fU;
static const uint32_t HCOMM_CHANNEL_VERSION_ONE = 1U;
static const uint32_t HCOMM_CHANNEL_VERSION = 4U;
static const uint32_t HCOMM_CHANNEL_NAME_MAX_LEN = 191U;
static const uint32_t HCOMM_CHANNEL_DESC_RAW_MAX_LEN = 128U;

typedef struct {
    CommAbiHeader header;
    EndpointDesc remoteEndpoint;
    uint32_t notifyNum;
    bool exchangeAllMems;
    HcommMemHandle* memHandles;
    uint32_t memHandleNum;
    HcommSocket socket;
    HcommSocketRole role;
    uint16_t port;
    union {
        uint8_t raws[HCOMM_CHANNEL_DESC_RAW_MAX_LEN];
        struct {
            uint32_t queueNum;
            uint32_t retryCnt;
            uint32_t retryInterval;
            uint8_t tc;
            uint8_t sl;
            uint32_t qpThreshold;
            uint32_t cqAttrFlags;
            uint16_t* srcPortList;
        } roceAttr;
        struct {
            uint32_t qos;
        } hccsAttr;
        struct {
            uint32_t sqDepth;
        } ubAttr;
        struct {
            uint8_t pathMode;
        } ubMemAttr;
    };
    uint32_t qos;
    const char* channelName;
} HcommChannelDesc;

/* What version 1 of the structure ended at. */
#define HCOMM_CHANNEL_DESC_ABI_V1_SIZE (offsetof(HcommChannelDesc, qos))

static inline HcommResult HcommChannelDescInit(HcommChannelDesc* channelDesc, uint32_t descNum)
{
    uint32_t at;
    if (channelDesc == NULL && descNum != 0) {
        return 2;
    }
    for (at = 0; at < descNum; ++at) {
        HcommChannelDesc* desc = &channelDesc[at];
        (void)memset_s(desc, sizeof(HcommChannelDesc), 0xFF, sizeof(HcommChannelDesc));
        desc->header.version = HCOMM_CHANNEL_VERSION;
        desc->header.magicWord = HCOMM_CHANNEL_MAGIC_WORD;
        desc->header.size = sizeof(HcommChannelDesc);
        desc->header.reserved = 0;
        desc->notifyNum = 0;
        desc->exchangeAllMems = false;
        desc->memHandles = NULL;
        desc->memHandleNum = 0;
        desc->socket = NULL;
        desc->role = HCOMM_SOCKET_ROLE_RESERVED;
        desc->port = 0;
        desc->roceAttr.srcPortList = NULL;
        desc->channelName = NULL;
        if (EndpointDescInit(&desc->remoteEndpoint, 1) != 0) {
            return 4;
        }
    }
    return 0;
}

typedef void* HcommChannelConfig;

typedef enum {
    HCOMM_CHANNEL_CONFIG_TYPE_INVALID = -1,
    HCOMM_CHANNEL_CONFIG_TYPE_IS_SHARED_QUEUE = 0,
} HcommChannelConfigType;

extern HcommResult HcommChannelCreate(
    EndpointHandle endpointHandle, CommEngine engine, HcommChannelDesc* channelDescs, uint32_t channelNum,
    ChannelHandle* channels);
extern HcommResult HcommChannelConfigCreate(HcommChannelConfig* config);
extern HcommResult HcommChannelConfigDestroy(HcommChannelConfig config);
extern HcommResult HcommChannelConfigSetInt(HcommChannelConfig config, HcommChannelConfigType type, uint32_t value);
extern HcommResult HcommChannelCreateWithConfig(
    EndpointHandle endpointHandle, CommEngine engine, HcommChannelDesc* channelDescs, uint32_t channelNum,
    HcommChannelConfig config, ChannelHandle* channels);
extern HcommResult HcommChannelGetStatus(const ChannelHandle* channelList, uint32_t listNum, int32_t* statusList);
extern HcommResult HcommChannelDestroy(const ChannelHandle* channels, uint32_t channelNum);

#ifdef __cplusplus
}
#endif

#endif
