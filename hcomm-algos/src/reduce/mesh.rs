//! Reduce on a full mesh.

use hcomm_macros::collective;

collective! {
    /// Reduce on a full mesh: every rank adds up one chunk of everybody's, then the root gathers the results.
    ///
    /// Cost: 2α + 2nβ/p + (p-1)/p·nγ for n bytes on p ranks. The one to use inside a server.
    /// Source: HCCL's algorithms, Mesh; HCCL's two-shot mesh.
    pub MeshReduce: reduce {
        deterministic;
        copy_in { scratch[rank] = input[rank]; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = input[peer]; }
            post_sync { signal peer; wait peer; }
        }
        move { for peer in peers { scratch[rank] += scratch[peer]; } }
        if rank == root {
            for peer in peers { pre_sync { signal peer; } }
            for peer in peers { post_sync { wait peer; } }
            copy_out { output = scratch; }
        } else {
            pre_sync { wait root; } move { root.scratch[rank] = scratch[rank]; } post_sync { signal root; }
        }
    }
}
