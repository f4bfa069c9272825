//! All-reduce by a ring between nodes and a mesh inside, at the same time.

use hcomm_macros::collective;

collective! {
    /// Pipeline all-reduce: the pipeline reduce-scatter, then the pipeline all-gather.
    ///
    /// Behind the chunks, scratch has a cell for the sum that goes out and one for the sum that comes in.
    ///
    /// Cost: twice that of the pipeline all-gather, + (p-1)/p·nγ for n bytes on p ranks. The one to use for large
    /// messages on several servers.
    /// Source: HCCL's algorithms, Pipeline.
    pub PipelineAllReduce: all_reduce {
        scratch: ranks + 2;
        deterministic;
        verify: layout { 4, 2 x 1, 2 x 2, 3 x 2, 5 x 1, 2 x 4, 4 x 3, 2 x 2 x 2 };
        let next = rank_of(wrap(node + 1, nodes), local);
        let prev = rank_of(wrap(node - 1, nodes), local);
        let out = ranks;
        let come = ranks + 1;
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
        move { scratch[rank] = scratch[out]; }
        for step in 0..nodes {
            let chunk = rank_of(wrap(node - step, nodes), local);
            par {
                lane {
                    if step + 1 < nodes {
                        pre_sync  { signal prev; wait next; }
                        move      { next.scratch[chunk] = scratch[chunk]; }
                        post_sync { signal next; wait prev; }
                    }
                }
                lane for peer in local_peers {
                    pre_sync  { signal peer; wait peer; }
                    move      { peer.scratch[chunk] = scratch[chunk]; }
                    post_sync { signal peer; wait peer; }
                }
            }
        }
        copy_out { output = scratch[0..ranks]; }
    }
}
