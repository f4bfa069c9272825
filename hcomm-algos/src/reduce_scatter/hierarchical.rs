//! Reduce-scatter in two levels.

use hcomm_macros::collective;

collective! {
    /// Hierarchical reduce-scatter: NHR between nodes with all of a node's slices, then a mesh inside every node.
    ///
    /// Cost for n bytes of input on N nodes of L ranks: (1 + ⌈log N⌉)α + (N-1)/N·n(β+γ) between + n/(NL)·β +
    /// (L-1)/(NL)·nγ inside. Few steps over the slow links; the pipeline sends fewer bytes over them.
    /// Source: HCCL's algorithms, levels of reduce-scatter (between, then inside); NHR.
    pub HierarchicalReduceScatter: reduce_scatter {
        scratch: ranks + locals_of(0);
        deterministic;
        verify: layout { 4, 2 x 1, 2 x 2, 3 x 2, 5 x 1, 2 x 4, 4 x 3, 2 x 2 x 2 };
        copy_in { scratch[0..ranks] = input; }
        for s in 0..log2_ceil(nodes) {
            let delta = 1 << s;
            let to = rank_of(wrap(node - delta, nodes), local);
            let from = rank_of(wrap(node + delta, nodes), local);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..(nodes - 1 + delta) / (2 * delta) {
                    let low = wrap(node - delta - 2 * delta * i, nodes) * locals;
                    to.scratch[low..low + locals] += scratch[low..low + locals];
                }
            }
            post_sync { signal to; wait from; }
        }
        par for peer in local_peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[ranks + local] = scratch[peer]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out {
            output = scratch[rank];
            for other in 0..locals { if other != local { output += scratch[ranks + other]; } }
        }
    }
}
