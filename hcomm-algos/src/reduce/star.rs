//! Reduce into the middle of a star.

use hcomm_macros::collective;

collective! {
    /// Star reduce for small messages: every rank writes its whole input to the root, which adds in rank order.
    ///
    /// Cost: α + nβ + (p-1)nγ for n bytes on p ranks, on links of their own; one step less than the mesh.
    /// Source: HCCL's algorithms, Star.
    pub StarReduce: reduce {
        split: 1;
        scratch: ranks;
        deterministic;
        if rank == root {
            copy_in { scratch[rank] = input; }
            for peer in peers { pre_sync { signal peer; } }
            for peer in peers { post_sync { wait peer; } }
            copy_out { output = scratch[0]; for r in 1..ranks { output += scratch[r]; } }
        } else {
            pre_sync { wait root; } move { root.scratch[rank] = input; } post_sync { signal root; }
        }
    }
}
