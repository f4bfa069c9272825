//! Broadcast from the middle of a star.

use hcomm_macros::collective;

collective! {
    /// Star broadcast for small messages: every rank reads the whole message from the root.
    ///
    /// Cost: α + nβ for n bytes, on links of their own; one step less than the mesh.
    /// Source: HCCL's algorithms, Star.
    pub StarBroadcast: broadcast {
        split: 1;
        if rank == root {
            copy_in { scratch = input; }
            for peer in peers { pre_sync { signal peer; } }
            for peer in peers { post_sync { wait peer; } }
            copy_out { output = scratch; }
        } else {
            pre_sync { wait root; } move { output = root.scratch; } post_sync { signal root; }
        }
    }
}
