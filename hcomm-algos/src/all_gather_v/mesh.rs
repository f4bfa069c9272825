//! All-gather of slices of different sizes on a full mesh.

use hcomm_macros::collective;

collective! {
    /// All-gather on a full mesh, of slices of different sizes: every rank writes its slice into every peer at once.
    ///
    /// Cost: α + mβ for the longest slice, of m bytes. The one to use inside a server.
    /// Source: HCCL's algorithms, Mesh.
    pub MeshAllGatherV: all_gather_v {
        copy_in { scratch[rank] = input; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = scratch[rank]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}
