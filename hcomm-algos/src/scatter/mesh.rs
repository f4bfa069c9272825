//! Scatter on a full mesh.

use hcomm_macros::collective;

collective! {
    /// Scatter on a full mesh: the root writes each rank its slice, on all links at once.
    ///
    /// Cost: α + nβ/p for n bytes of input on p ranks. The one to use inside a server.
    /// Source: HCCL's algorithms, Mesh.
    pub MeshScatter: scatter {
        scratch: 1;
        if rank == root {
            par for peer in peers {
                pre_sync  { wait peer; }
                move      { peer.scratch = input[peer]; }
                post_sync { signal peer; }
            }
            copy_out { output = input[rank]; }
        } else {
            pre_sync { signal root; } post_sync { wait root; }
            copy_out { output = scratch; }
        }
    }
}
