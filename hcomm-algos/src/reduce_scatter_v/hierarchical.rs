//! Reduce-scatter of slices of different sizes in two levels.

use hcomm_macros::collective;

collective! {
    /// Hierarchical reduce-scatter of slices of different sizes: NHR between nodes, then a mesh inside every node.
    ///
    /// Cost for slices of at most m bytes on N nodes of L ranks: (1 + ⌈log N⌉)α + (N-1)Lm(β+γ) between + mβ + (L-1)mγ
    /// inside. Few steps over the slow links.
    /// Source: HCCL's algorithms, levels of reduce-scatter (between, then inside); NHR.
    pub HierarchicalReduceScatterV: reduce_scatter_v {
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
