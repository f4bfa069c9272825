//! Reduce-scatter on a full mesh.

use hcomm_macros::collective;

collective! {
    /// Reduce-scatter on a full mesh: every rank writes each peer its slice, and adds what it got in rank order.
    ///
    /// Cost: α + nβ/p + (p-1)/p·nγ for n bytes of input on p ranks. The one to use inside a server.
    /// Source: HCCL's algorithms, Mesh.
    pub MeshReduceScatter: reduce_scatter {
        deterministic;
        copy_in { scratch[rank] = input[rank]; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = input[peer]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch[0]; for r in 1..ranks { output += scratch[r]; } }
    }
}
