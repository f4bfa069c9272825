//! All-reduce on a full mesh in symmetric windows.

use hcomm_macros::collective;

collective! {
    /// Zero-copy two-shot all-reduce on a full mesh: every rank reduces its slice out of the peers' inputs, in a step
    /// another part of it from each peer, and writes the sum into the peers' outputs.
    ///
    /// Cost: pα + 2nβ/p + nγ/p for n bytes on p ranks, on all links at once, in a fixed order. For buffers in symmetric
    /// windows.
    /// Source: HCCL's symmetric memory; its chunked two-shot mesh AllReduce.
    pub ZeroCopyMeshAllReduce: all_reduce {
        memory: symmetric;
        split: ranks * max(1, ranks - 1);
        deterministic;
        let parts = max(1, ranks - 1);
        let mine = rank * parts;
        copy_in { output[mine..mine + parts] = input[mine..mine + parts]; }
        par for peer in peers { pre_sync { signal peer; wait peer; } }
        for step in 0..ranks - 1 {
            par for i in 0..ranks - 1 {
                let peer = wrap(rank + 1 + i, ranks);
                let chunk = mine + wrap(i + step, ranks - 1);
                move { output[chunk] += peer.input[chunk]; }
            }
        }
        par for peer in peers {
            move      { peer.output[mine..mine + parts] = output[mine..mine + parts]; }
            post_sync { signal peer; wait peer; }
        }
    }
}
