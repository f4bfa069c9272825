//! All-reduce on a full mesh, for large messages.

use hcomm_macros::collective;

collective! {
    /// Two-shot all-reduce for large messages: every rank adds up one chunk of everybody's, then all exchange results.
    ///
    /// Cost: 2α + 2nβ/p + (p-1)/p·nγ for n bytes on p ranks. The one to use inside a server. The result is the same
    /// bits on every rank and in every run.
    /// Source: HCCL's algorithms, Mesh; HCCL's two-shot mesh.
    pub TwoShotAllReduce: all_reduce {
        deterministic;
        copy_in { scratch[rank] = input[rank]; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = input[peer]; }
            post_sync { signal peer; wait peer; }
        }
        move { for peer in peers { scratch[rank] += scratch[peer]; } }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = scratch[rank]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}
