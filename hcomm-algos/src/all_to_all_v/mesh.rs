//! All-to-all on a full mesh, of slices of different sizes.

use hcomm_macros::collective;

collective! {
    /// All-to-all on a full mesh, of slices of different sizes: every rank writes each peer its slice, on all links at
    /// once.
    ///
    /// Cost: α + mβ for the longest slice, of m bytes. The one to use inside a server.
    /// Source: HCCL's algorithms, Mesh.
    pub MeshAllToAllV: all_to_all_v {
        copy_in { scratch[rank] = input[rank]; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = input[peer]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}
