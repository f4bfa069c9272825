//! All-reduce on a full mesh in symmetric windows.

use hcomm_macros::collective;

collective! {
    /// Zero-copy two-shot all-reduce on a full mesh: every rank reduces its slice out of the peers' inputs, peer after
    /// peer, and writes the sum into the peers' outputs.
    ///
    /// Cost: pα + 2(p-1)/p·nβ + (p-1)/p·nγ for n bytes on p ranks where a rank reduces from one peer at a time. For
    /// buffers in symmetric windows.
    /// Source: HCCL's symmetric memory; its two-shot mesh AllReduce.
    pub ZeroCopyMeshAllReduce: all_reduce {
        memory: symmetric;
        deterministic;
        copy_in { output[rank] = input[rank]; }
        par for peer in peers { pre_sync { signal peer; wait peer; } }
        for peer in peers {
            move { output[rank] += peer.input[rank]; }
        }
        par for peer in peers {
            move      { peer.output[rank] = output[rank]; }
            post_sync { signal peer; wait peer; }
        }
    }
}
