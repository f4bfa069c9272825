//! All-to-all on a full mesh.

use hcomm_macros::collective;

collective! {
    /// All-to-all on a full mesh: every rank writes each peer its slice, on all links at once.
    ///
    /// Cost: α + nβ/p for n bytes of input on p ranks. The one to use inside a server.
    /// Source: HCCL's algorithms, Mesh.
    pub MeshAllToAll: all_to_all {
        copy_in { scratch[rank] = input[rank]; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = input[peer]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}
