//! All-gather of slices of different sizes on a full mesh that is larger than the threads at hand.

use hcomm_macros::collective;

collective! {
    /// Mesh all-gather on at most eight threads, of slices of different sizes: lanes work through the distances.
    ///
    /// Cost: ⌈(p-1)/8⌉(α + mβ) at most, for the longest slice, of m bytes. For meshes of more ranks than threads or
    /// links.
    /// Source: HCCL's algorithms, Mesh, with the grouping that HCCL has for all-to-all.
    pub BoundedMeshAllGatherV: all_gather_v {
        verify: ranks 2..=20;
        copy_in { scratch[rank] = input; }
        par(8) for distance in 1..ranks {
            let to = wrap(rank + distance, ranks);
            let from = wrap(rank - distance, ranks);
            pre_sync  { signal from; wait to; }
            move      { to.scratch[rank] = scratch[rank]; }
            post_sync { signal to; wait from; }
        }
        copy_out { output = scratch; }
    }
}
