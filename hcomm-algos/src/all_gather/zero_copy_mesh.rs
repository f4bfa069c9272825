//! All-gather on a full mesh in symmetric windows.

use hcomm_macros::collective;

collective! {
    /// Zero-copy all-gather on a full mesh: every rank writes its input straight into every peer's output.
    ///
    /// Cost: α + nβ/p for n bytes of output on p ranks, and one copy of a slice instead of p + 1. For buffers in
    /// symmetric windows.
    /// Source: HCCL's symmetric memory, AllGather on a mesh.
    pub ZeroCopyMeshAllGather: all_gather {
        memory: symmetric;
        copy_in { output[rank] = input; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.output[rank] = input; }
            post_sync { signal peer; wait peer; }
        }
    }
}
