//! Gather into the middle of a star.

use hcomm_macros::collective;

collective! {
    /// Star gather: every rank writes its slice into the root's scratch.
    ///
    /// Cost: α + nβ/p for n bytes of output on p ranks, on links of their own. One thread at the root, where the mesh
    /// has p-1.
    /// Source: HCCL's algorithms, Star.
    pub StarGather: gather {
        if rank == root {
            copy_in { scratch[rank] = input; }
            for peer in peers { pre_sync { signal peer; } }
            for peer in peers { post_sync { wait peer; } }
            copy_out { output = scratch; }
        } else {
            pre_sync { wait root; } move { root.scratch[rank] = input; } post_sync { signal root; }
        }
    }
}
