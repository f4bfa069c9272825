//! All-gather on a full mesh that is larger than the threads at hand.

use hcomm_macros::collective;

collective! {
    /// Mesh all-gather on at most eight threads: lanes work through the distances, so that pairs always meet.
    ///
    /// In step d a rank writes to rank + d and is written to by rank - d. With lanes dealt by peer instead, each rank
    /// would wait for the next one round the circle.
    ///
    /// Cost: ⌈(p-1)/8⌉(α + nβ/p) for n bytes of output on p ranks. For meshes of more ranks than threads or links.
    /// Source: HCCL's algorithms, Mesh, with the grouping that HCCL has for all-to-all.
    pub BoundedMeshAllGather: all_gather {
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
