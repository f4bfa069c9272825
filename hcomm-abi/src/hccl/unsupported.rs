//! Functions that the headers have and the stand-in does not offer: they say so, and return HCCL_E_NOT_SUPPORT, or the
//! runtime's code for it.

use crate::ffi::{AclError, code};
use hcomm_sim::comm::{Code, CommError};

/// C passes arguments where a function that has none does not look.
macro_rules! not_offered {
    (hccl: $($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> i32 {
                crate::ffi::hccl(stringify!($name), || Err(CommError::new(Code::NotSupport, NOT_OFFERED)))
            }
        )*
    };
    (acl: $($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> i32 {
                crate::ffi::acl(stringify!($name), || Err(AclError::new(code::API_NOT_SUPPORT, NOT_OFFERED)))
            }
        )*
    };
}

const NOT_OFFERED: &str = "the stand-in does not offer this call: docs/stand-in.md has the table";

not_offered! { hccl:
    HcclAllReduce HcclBroadcast HcclReduceScatter HcclReduceScatterV HcclScatter HcclAllGather HcclAllGatherV
    HcclSend HcclRecv HcclAlltoAllVC HcclAlltoAllV HcclAlltoAll HcclReduce HcclBatchSendRecv
    HcclCommInitClusterInfo HcclCommInitClusterInfoConfig HcclSetConfig HcclGetConfig
    HcclCommSetMemoryRange HcclCommUnsetMemoryRange HcclCommActivateCommMemory HcclCommDeactivateCommMemory
    HcclCommWorkingDevNicSet HcclGroupStart HcclGroupEnd HcclGroupStatusGet
    HcclChannelConfigCreate HcclChannelConfigDestroy HcclChannelConfigSetInt HcclChannelConfigSetStr
    HcclChannelAcquireWithConfig HcclAicpuKernelLaunch
    HcclRankGraphGetEndpointNum HcclRankGraphGetEndpointDesc HcclRankGraphGetEndpointInfo
    HcclGetRemoteIpcHcclBuf HcclDevMemAcquire HcclTaskRegister HcclTaskUnRegister
    HcclCommGetExchangeInfo HcclCommResetExchangeInfo
    HcommEndpointCreate HcommEndpointDestroy HcommEndpointGetDescNum HcommEndpointGetDescs
    HcommMemReg HcommMemUnreg HcommMemExport HcommMemImport HcommMemUnimport
    HcommThreadAlloc HcommThreadFree HcommEndpointGetListenPort HcommThreadResGetInfo HcommEndpointCheckFeature
    HcommMemAlloc HcommMemFree
    HcommChannelCreate HcommChannelConfigCreate HcommChannelConfigDestroy HcommChannelConfigSetInt
    HcommChannelCreateWithConfig HcommChannelGetStatus HcommChannelDestroy
    HcommAclrtNotifyRecordOnThread HcommAclrtNotifyWaitOnThread HcommChannelDrainOnThread
    HcommWriteNbiOnThread HcommWriteNbi HcommWriteWithNotifyNbiOnThread HcommWriteWithNotifyNbi
    HcommReadNbiOnThread HcommReadNbi HcommChannelNotifyRecord HcommChannelNotifyWait HcommFenceOnThread
    HcommChannelFence
    HcommAicpuTsTaskCacheLookup HcommAicpuTsTaskCacheStart HcommAicpuTsTaskCacheEnd HcommAicpuTsTaskCacheExecute
    HcommAicpuTsTaskCacheClear
}

not_offered! { acl:
    aclrtSetDeviceResLimit aclrtStreamAbort aclrtResetEvent aclrtQueryEventWaitStatus
    aclrtCreateNotify aclrtDestroyNotify aclrtRecordNotify aclrtWaitAndResetNotify aclrtGetNotifyId


}
