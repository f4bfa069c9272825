//! All-gather of slices of different sizes in two levels.

use hcomm_macros::collective;

collective! {
    /// Hierarchical all-gather of slices of different sizes: a mesh inside every node, then NHR between nodes.
    ///
    /// Cost for slices of at most m bytes on N nodes of L ranks: (1 + ⌈log N⌉)α + mβ inside + (N-1)Lmβ between. Few
    /// steps over the slow links.
    /// Source: HCCL's algorithms, levels of all-gather (inside, then between); NHR.
    pub HierarchicalAllGatherV: all_gather_v {
        verify: layout { 4, 2 x 1, 2 x 2, 3 x 2, 5 x 1, 2 x 4, 4 x 3, 2 x 2 x 2 };
        copy_in { scratch[rank] = input; }
        par for peer in local_peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = scratch[rank]; }
            post_sync { signal peer; wait peer; }
        }
        let steps = log2_ceil(nodes);
        for s in 0..steps {
            let delta = 1 << (steps - 1 - s);
            let to = rank_of(wrap(node + delta, nodes), local);
            let from = rank_of(wrap(node - delta, nodes), local);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..(nodes - 1 + delta) / (2 * delta) {
                    let low = wrap(node - 2 * delta * i, nodes) * locals;
                    to.scratch[low..low + locals] = scratch[low..low + locals];
                }
            }
            post_sync { signal to; wait from; }
        }
        copy_out { output = scratch; }
    }
}
