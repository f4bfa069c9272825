//! All-to-all on a full mesh in symmetric windows.

use hcomm_macros::collective;

collective! {
    /// Zero-copy all-to-all on a full mesh: every rank writes the slices of its input straight into the peers' outputs.
    ///
    /// Cost: α + nβ/p for n bytes of input on p ranks. For buffers in symmetric windows.
    /// Source: HCCL's symmetric memory, AlltoAll on a mesh.
    pub ZeroCopyMeshAllToAll: all_to_all {
        memory: symmetric;
        copy_in { output[rank] = input[rank]; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.output[rank] = input[peer]; }
            post_sync { signal peer; wait peer; }
        }
    }
}
