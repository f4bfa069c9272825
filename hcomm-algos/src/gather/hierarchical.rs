//! Gather in two levels.

use hcomm_macros::collective;

collective! {
    /// Hierarchical gather: over the mesh to one rank of every node, then up a tree between nodes.
    ///
    /// The ranks of the root's place in every node lead; their scratch is in the order of nodes, counted from the
    /// root's.
    ///
    /// Cost for n bytes of output on N nodes of L ranks: α + n/(NL)·β inside + ⌈log N⌉α + (N-1)/N·nβ between.
    /// Source: HCCL's levels of scatter, backwards.
    pub HierarchicalGather: gather {
        verify: layout { 4, 2 x 1, 2 x 2, 3 x 2, 5 x 1, 2 x 4, 4 x 3, 2 x 2 x 2 };
        let place = wrap(node - node_of(root), nodes);
        let leader = rank_of(node, local_of(root));
        let mine = place * locals;

        if rank != leader {
            pre_sync { wait leader; } move { leader.scratch[mine + local] = input; } post_sync { signal leader; }
        } else {
            copy_in { scratch[mine + local] = input; }
            for peer in local_peers { pre_sync { signal peer; } }
            for peer in local_peers { post_sync { wait peer; } }
            for s in 0..log2_ceil(nodes) {
                let delta = 1 << s;
                if place % (2 * delta) == delta {
                    let to = rank_of(wrap(node - delta, nodes), local);
                    let high = min(place + delta, nodes) * locals;
                    pre_sync  { wait to; }
                    move      { to.scratch[mine..high] = scratch[mine..high]; }
                    post_sync { signal to; }
                } else if place % (2 * delta) == 0 && place + delta < nodes {
                    let from = rank_of(wrap(node + delta, nodes), local);
                    pre_sync { signal from; } post_sync { wait from; }
                }
            }
        }
        if rank == root {
            let first = node * locals;
            copy_out {
                output[first..ranks] = scratch[0..ranks - first];
                output[0..first] = scratch[ranks - first..ranks];
            }
        }
    }
}
