//! Barrier on a full mesh.

use hcomm_macros::collective;

collective! {
    /// Barrier on a full mesh: everybody tells everybody.
    ///
    /// A notify is one bit, so the next barrier may not signal before this one's was taken: hence the answers.
    ///
    /// Cost: 2α. The one to use inside a server.
    /// Source: HCCL's Barrier, mesh.
    pub MeshBarrier: barrier {
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            post_sync { signal peer; wait peer; }
        }
    }
}
