//! Reduce-scatter by a ring between nodes and a mesh inside, at the same time.

use hcomm_macros::collective;

collective! {
    /// Pipeline reduce-scatter: while the ring between nodes takes a sum on, the mesh inside collects the next one.
    ///
    /// Scratch has a cell for what each local brings, one for the sum that goes out, and one for the sum that comes in.
    ///
    /// Cost for n bytes of input on N nodes of L ranks, p = NL: (N-1)·max(α + nβ/p between, α + nβ/p inside) + α + nβ/p
    /// inside + (p-1)/p·nγ. The one to use for large messages on several servers.
    /// Source: HCCL's algorithms, Pipeline.
    pub PipelineReduceScatter: reduce_scatter {
        scratch: locals_of(0) + 2;
        deterministic;
        verify: layout { 4, 2 x 1, 2 x 2, 3 x 2, 5 x 1, 2 x 4, 4 x 3, 2 x 2 x 2 };
        let next = rank_of(wrap(node + 1, nodes), local);
        let prev = rank_of(wrap(node - 1, nodes), local);
        let out = locals;
        let come = locals + 1;
        for step in 0..nodes {
            let block = wrap(node - 1 - step, nodes);
            par {
                lane {
                    if step > 0 {
                        pre_sync  { signal prev; wait next; }
                        move      { next.scratch[come] = scratch[out]; }
                        post_sync { signal next; wait prev; }
                    }
                }
                lane for peer in local_peers {
                    pre_sync  { signal peer; wait peer; }
                    move      { peer.scratch[local] = input[rank_of(block, local_of(peer))]; }
                    post_sync { signal peer; wait peer; }
                }
            }
            move {
                scratch[out] = input[rank_of(block, local)];
                for peer in local_peers { scratch[out] += scratch[local_of(peer)]; }
                if step > 0 { scratch[out] += scratch[come]; }
            }
        }
        copy_out { output = scratch[out]; }
    }
}
