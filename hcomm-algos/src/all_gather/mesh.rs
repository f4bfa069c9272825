//! All-gather on a full mesh.

use hcomm_macros::collective;

collective! {
    /// All-gather on a full mesh: every rank writes its slice into every peer, on all links at once.
    ///
    /// Cost: α + nβ/p for n bytes of output on p ranks. The one to use inside a server.
    /// Source: HCCL's algorithms, Mesh.
    pub MeshAllGather: all_gather {
        copy_in { scratch[rank] = input; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = scratch[rank]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}
