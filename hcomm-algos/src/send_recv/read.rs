//! Send and receive by read.

use hcomm_macros::collective;

collective! {
    /// The sender stages; the receiver reads straight into its output.
    ///
    /// Cost: α + nβ for n bytes. One copy less than by write, where the link can read.
    /// Source: HCCL's point-to-point example of a custom operator.
    pub ReadSendRecv: send_recv {
        if rank == src { copy_in { scratch = input; } pre_sync { signal dst; } post_sync { wait dst; } }
        if rank == dst { pre_sync { wait src; } move { output = src.scratch; } post_sync { signal src; } }
    }
}
