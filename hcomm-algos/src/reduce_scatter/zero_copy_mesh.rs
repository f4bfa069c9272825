//! Reduce-scatter on a full mesh in symmetric windows.

use hcomm_macros::collective;

collective! {
    /// Zero-copy reduce-scatter on a full mesh: every rank reduces its slice out of the peers' inputs, and in a step each
    /// peer gives another part of it, so that all links are busy and the order of the reduction is fixed.
    ///
    /// Cost: (p-1)α + nβ/p + nγ/p for n bytes of input on p ranks. For buffers in symmetric windows.
    /// Source: HCCL's symmetric memory; its chunked mesh ReduceScatter.
    pub ZeroCopyMeshReduceScatter: reduce_scatter {
        memory: symmetric;
        split: max(1, ranks - 1);
        deterministic;
        let parts = max(1, ranks - 1);
        copy_in { output = input[rank * parts..(rank + 1) * parts]; }
        par for peer in peers { pre_sync { signal peer; wait peer; } }
        for step in 0..ranks - 1 {
            par for i in 0..ranks - 1 {
                let peer = wrap(rank + 1 + i, ranks);
                let part = wrap(i + step, ranks - 1);
                move { output[part] += peer.input[rank * parts + part]; }
            }
        }
        par for peer in peers { post_sync { signal peer; wait peer; } }
    }
}
