//! Send and receive by write.

use hcomm_macros::collective;

collective! {
    /// The sender writes straight from its input; the receiver copies out.
    ///
    /// Cost: α + nβ for n bytes. The one to use between servers, where links do not read.
    /// Source: HCCL's Send and Recv.
    pub WriteSendRecv: send_recv {
        if rank == src { pre_sync { wait dst; } move { dst.scratch = input; } post_sync { signal dst; } }
        if rank == dst { pre_sync { signal src; } post_sync { wait src; } copy_out { output = scratch; } }
    }
}
