//! Reduce-scatter of slices of different sizes on a full mesh.

use hcomm_macros::collective;

collective! {
    /// Reduce-scatter on a full mesh, of slices of different sizes: every rank writes each peer its slice, and adds
    /// what it got in rank order.
    ///
    /// Cost: α + mβ + (p-1)mγ for the longest slice, of m bytes. The one to use inside a server.
    /// Source: HCCL's algorithms, Mesh.
    pub MeshReduceScatterV: reduce_scatter_v {
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
