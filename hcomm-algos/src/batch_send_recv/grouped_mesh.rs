//! Sends and receives at once, on a full mesh.

use hcomm_macros::collective;

collective! {
    /// Batch send-recv with at most 16 peers at once: they are paired by distance, so that no item blocks another.
    ///
    /// Pairs without an item shake hands and move nothing.
    ///
    /// Cost: ⌈(p-1)/16⌉(α + mβ) at most, for the longest item, of m bytes. The one to use inside a server.
    /// Source: HCCL's BatchSendRecv; its grouped full mesh.
    pub GroupedMeshBatchSendRecv: batch_send_recv {
        scratch: min(16, ranks - 1);
        verify: ranks 2..=20;
        copy_out { output[rank] = input[rank]; }
        par(16) for distance in 1..ranks {
            let to = wrap(rank + distance, ranks);
            let from = wrap(rank - distance, ranks);
            let slot = (distance - 1) % 16;
            pre_sync  { signal from; wait to; }
            move      { to.scratch[slot] = input[to]; }
            post_sync { signal to; wait from; }
            copy_out  { output[from] = scratch[slot]; }
        }
    }
}
