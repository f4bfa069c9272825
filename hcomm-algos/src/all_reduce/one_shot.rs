//! All-reduce for small messages.

use hcomm_macros::collective;

collective! {
    /// One-shot all-reduce for small messages: fetch everything, then add in rank order on every rank.
    ///
    /// Cost: α + nβ + (p-1)nγ for n bytes on p ranks. The result is the same bits on every rank and in every run.
    /// Source: HCCL's one-shot mesh.
    pub OneShotAllReduce: all_reduce {
        split: 1;
        scratch: ranks;
        deterministic;
        copy_in { scratch[rank] = input; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = scratch[rank]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch[0]; for r in 1..ranks { output += scratch[r]; } }
    }
}
