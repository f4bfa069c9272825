//! All-to-all of slices whose sizes every rank knows, on a full mesh that is larger than the threads at hand.

use hcomm_macros::collective;

collective! {
    /// Grouped full-mesh all-to-all of sizes that all know: at most 16 peers at once, paired by distance, each with one
    /// cell of scratch.
    ///
    /// Cost: ⌈(p-1)/16⌉(α + mβ) at most, for the longest slice, of m bytes. For meshes of more ranks than threads or
    /// links.
    /// Source: HCCL's grouped full mesh, with its 16 concurrent peers and scratch slots.
    pub GroupedMeshAllToAllVc: all_to_all_vc {
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
