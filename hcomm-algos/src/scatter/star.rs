//! Scatter from the middle of a star.

use hcomm_macros::collective;

collective! {
    /// Star scatter: the root stages everything, and every rank reads its slice straight into its output.
    ///
    /// Cost: α + nβ/p for n bytes of input on p ranks, on links of their own. One thread at the root, where the mesh
    /// has p-1.
    /// Source: HCCL's algorithms, Star.
    pub StarScatter: scatter {
        if rank == root {
            copy_in { scratch = input; }
            for peer in peers { pre_sync { signal peer; } }
            for peer in peers { post_sync { wait peer; } }
            copy_out { output = scratch[rank]; }
        } else {
            pre_sync { wait root; } move { output = root.scratch[rank]; } post_sync { signal root; }
        }
    }
}
