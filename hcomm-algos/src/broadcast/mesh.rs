//! Broadcast on a full mesh.

use hcomm_macros::collective;

collective! {
    /// Broadcast on a full mesh: the root scatters chunks, then all ranks exchange them, on all links at once.
    ///
    /// Cost: 2α + 2nβ/p for n bytes on p ranks. The one to use inside a server.
    /// Source: HCCL's algorithms, Mesh; HCCL's two-shot mesh.
    pub MeshBroadcast: broadcast {
        if rank == root {
            copy_in { scratch = input; }
            par for peer in peers {
                pre_sync  { wait peer; }
                move      { peer.scratch[peer] = scratch[peer]; }
                post_sync { signal peer; }
            }
        } else {
            pre_sync { signal root; } post_sync { wait root; }
        }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { if peer != root { peer.scratch[rank] = scratch[rank]; } }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}
