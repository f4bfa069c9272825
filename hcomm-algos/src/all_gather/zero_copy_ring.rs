//! All-gather on a ring in symmetric windows.

use hcomm_macros::collective;

collective! {
    /// Zero-copy ring all-gather: each slice goes round from output to output.
    ///
    /// Cost: (p-1)(α + nβ/p) for n bytes of output on p ranks. For buffers in symmetric windows.
    /// Source: HCCL's algorithms, Ring; the zero-copy ring of A3.
    pub ZeroCopyRingAllGather: all_gather {
        memory: symmetric;
        let next = wrap(rank + 1, ranks);
        let prev = wrap(rank - 1, ranks);
        copy_in { output[rank] = input; }
        for step in 0..ranks - 1 {
            let chunk = wrap(rank - step, ranks);
            par {
                lane { pre_sync { wait next; } move { next.output[chunk] = output[chunk]; } post_sync { signal next; } }
                lane { pre_sync { signal prev; } post_sync { wait prev; } }
            }
        }
    }
}
