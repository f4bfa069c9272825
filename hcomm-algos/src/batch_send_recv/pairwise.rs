//! Sends and receives at once, in pairs.

use hcomm_macros::collective;

collective! {
    /// Batch send-recv in pairs: in step k every rank sends its item to the rank k further.
    ///
    /// Pairs without an item shake hands and move nothing.
    ///
    /// Cost: (p-1)α + β·Σ_k max_i n(i, i+k) for n(i, j) bytes from rank i to rank j. The one to use between servers.
    /// Source: HCCL's BatchSendRecv; HCCL's algorithms, Pairwise.
    pub PairwiseBatchSendRecv: batch_send_recv {
        copy_in { scratch[rank] = input[rank]; }
        for k in 1..ranks {
            let to = wrap(rank + k, ranks);
            let from = wrap(rank - k, ranks);
            pre_sync  { signal from; wait to; }
            move      { to.scratch[rank] = input[to]; }
            post_sync { signal to; wait from; }
        }
        copy_out { output = scratch; }
    }
}
