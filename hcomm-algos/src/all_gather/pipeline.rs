//! All-gather by a ring between nodes and a mesh inside, at the same time.

use hcomm_macros::collective;

collective! {
    /// Pipeline all-gather: while the ring between nodes brings a slice, the mesh inside hands on the one before it.
    ///
    /// Cost for n bytes of output on N nodes of L ranks, p = NL: (N-1)·max(α + nβ/p between, α + nβ/p inside) + α +
    /// nβ/p inside. The one to use for large messages on several servers.
    /// Source: HCCL's algorithms, Pipeline.
    pub PipelineAllGather: all_gather {
        verify: layout { 4, 2 x 1, 2 x 2, 3 x 2, 5 x 1, 2 x 4, 4 x 3, 2 x 2 x 2 };
        let next = rank_of(wrap(node + 1, nodes), local);
        let prev = rank_of(wrap(node - 1, nodes), local);
        copy_in { scratch[rank] = input; }
        for step in 0..nodes {
            let slice = rank_of(wrap(node - step, nodes), local);
            par {
                lane {
                    if step + 1 < nodes {
                        pre_sync  { signal prev; wait next; }
                        move      { next.scratch[slice] = scratch[slice]; }
                        post_sync { signal next; wait prev; }
                    }
                }
                lane for peer in local_peers {
                    pre_sync  { signal peer; wait peer; }
                    move      { peer.scratch[slice] = scratch[slice]; }
                    post_sync { signal peer; wait peer; }
                }
            }
        }
        copy_out { output = scratch; }
    }
}
