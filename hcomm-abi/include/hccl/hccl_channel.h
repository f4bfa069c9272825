/* Channels of a communicator. */
#ifndef HCCL_CHANNEL_H
#define HCCL_CHANNEL_H

#include <stdint.h>

#include "hccl_types.h"
#include "hcomm_channel.h"
#include "hcomm_res_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void* HcclMemHandle;

static const uint32_t HCCL_CHANNEL_MAGIC_WORD = 0x0f0f0f0fU;
static const uint32_t HCCL_CHANNEL_VERSION = 1U;
static const uint32_t HCCL_CHANNEL_DESC_RAW_MAX_LEN = 128U;

/* To be filled by HcclChannelDescInit first: 0xFF, not 0, is "default" in an attribute. */
typedef struct {
    CommAbiHeader header;
    uint32_t remoteRank;
    CommProtocol channelProtocol;
    EndpointDesc localEndpoint;
    EndpointDesc remoteEndpoint;
    uint32_t notifyNum;
    HcclMemHandle* memHandles;
    uint32_t memHandleNum;
    union {
        uint8_t raws[HCCL_CHANNEL_DESC_RAW_MAX_LEN];
        struct {
            uint32_t queueNum;
            uint32_t retryCnt;
            uint32_t retryInterval;
            uint8_t tc;
            uint8_t sl;
        } roceAttr;
        struct {
            uint8_t pathMode;
        } ubMemAttr;
    };
} HcclChannelDesc;

#ifndef LIKELY
#define LIKELY(x) (__builtin_expect(!!(x), 1))
#define UNLIKELY(x) (__builtin_expect(!!(x), 0))
#endif

static inline HcclResult HcclChannelDescInit(HcclChannelDesc* channelDesc, uint32_t descNum)
{
    uint32_t at;
    if (channelDesc == NULL && descNum != 0) {
        return HCCL_E_PTR;
    }
    for (at = 0; at < descNum; ++at) {
        HcclChannelDesc* desc = &channelDesc[at];
        (void)memset_s(desc, sizeof(HcclChannelDesc), 0xFF, sizeof(HcclChannelDesc));
        desc->header.version = HCCL_CHANNEL_VERSION;
        desc->header.magicWord = HCCL_CHANNEL_MAGIC_WORD;
        desc->header.size = sizeof(HcclChannelDesc);
        desc->header.reserved = 0;
        desc->remoteRank = ~0U;
        desc->channelProtocol = COMM_PROTOCOL_RESERVED;
        desc->notifyNum = 0;
        desc->memHandles = NULL;
        desc->memHandleNum = 0;
        if (EndpointDescInit(&desc->localEndpoint, 1) != 0 || EndpointDescInit(&desc->remoteEndpoint, 1) != 0) {
            return HCCL_E_INTERNAL;
        }
    }
    return HCCL_SUCCESS;
}

/* Collective: both ends call it at about the same time. */
extern HcclResult HcclChannelAcquire(
    HcclComm comm, CommEngine engine, const HcclChannelDesc* channelDescs, uint32_t channelNum,
    ChannelHandle* channels);

typedef void* HcclChannelConfig;

static const uint32_t HCCL_CHANNEL_CONFIG_SHARED_QUEUE_TAG_MAX_LEN = 255U;

typedef enum {
    HCCL_CHANNEL_CONFIG_TYPE_INVALID = -1,
    HCCL_CHANNEL_CONFIG_TYPE_IS_SHARED_QUEUE = 0,
    HCCL_CHANNEL_CONFIG_TYPE_SHARED_QUEUE_TAG = 1,
} HcclChannelConfigType;

extern HcclResult HcclChannelConfigCreate(HcclChannelConfig* config);
extern HcclResult HcclChannelConfigDestroy(HcclChannelConfig config);
extern HcclResult HcclChannelConfigSetInt(HcclChannelConfig config, HcclChannelConfigType type, uint32_t value);
extern HcclResult HcclChannelConfigSetStr(HcclChannelConfig config, HcclChannelConfigType type, const char* value);
extern HcclResult HcclChannelAcquireWithConfig(
    HcclComm comm, CommEngine engine, const HcclChannelDesc* channelDescs, uint32_t channelNum,
    HcclChannelConfig config, ChannelHandle* channels);
extern HcclResult HcclChannelQuery(
    HcclComm comm, CommEngine engine, const HcclChannelDesc* channelDescs, uint32_t channelNum,
    ChannelHandle* channels);
extern HcclResult HcclChannelDestroy(HcclComm comm, const ChannelHandle* channels, uint32_t channelNum);

/* The peer's HCCL buffer, as an address of this device. */
extern HcclResult HcclChannelGetHcclBuffer(HcclComm comm, ChannelHandle channel, void** buffer, uint64_t* size);
extern HcclResult HcclChannelGetRemoteMems(
    HcclComm comm, ChannelHandle channel, uint32_t* memNum, CommMem** remoteMems, char*** memTags);

#ifdef __cplusplus
}
#endif

#endif
