//! Gather on a full mesh.

use hcomm_macros::collective;

collective! {
    /// Gather on a full mesh: the root reads every rank's slice straight into its output, on all links at once.
    ///
    /// Cost: α + nβ/p for n bytes of output on p ranks. The one to use inside a server.
    /// Source: HCCL's algorithms, Mesh.
    pub MeshGather: gather {
        scratch: 1;
        if rank == root {
            copy_out { output[rank] = input; }
            par for peer in peers {
                pre_sync  { wait peer; }
                move      { output[peer] = peer.scratch; }
                post_sync { signal peer; }
            }
        } else {
            copy_in { scratch = input; }
            pre_sync { signal root; } post_sync { wait root; }
        }
    }
}
