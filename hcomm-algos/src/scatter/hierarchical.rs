//! Scatter in two levels.

use hcomm_macros::collective;

collective! {
    /// Hierarchical scatter: a tree between nodes takes each node its slices, which go on over the mesh inside.
    ///
    /// The ranks of the root's place in every node lead; their scratch is in the order of nodes, counted from the
    /// root's.
    ///
    /// Cost for n bytes of input on N nodes of L ranks: ⌈log N⌉α + (N-1)/N·nβ between + α + n/(NL)·β inside.
    /// Source: HCCL's algorithms, levels of scatter (between, then inside).
    pub HierarchicalScatter: scatter {
        verify: layout { 4, 2 x 1, 2 x 2, 3 x 2, 5 x 1, 2 x 4, 4 x 3, 2 x 2 x 2 };
        let place = wrap(node - node_of(root), nodes);
        let leader = rank_of(node, local_of(root));
        let mine = place * locals;
        let steps = log2_ceil(nodes);

        if rank == root {
            let first = node * locals;
            copy_in {
                scratch[0..ranks - first] = input[first..ranks];
                scratch[ranks - first..ranks] = input[0..first];
            }
        }
        if rank == leader {
            for s in 0..steps {
                let delta = 1 << (steps - 1 - s);
                if place % (2 * delta) == 0 && place + delta < nodes {
                    let to = rank_of(wrap(node + delta, nodes), local);
                    let low = (place + delta) * locals;
                    let high = min(place + 2 * delta, nodes) * locals;
                    pre_sync { wait to; } move { to.scratch[low..high] = scratch[low..high]; } post_sync { signal to; }
                } else if place % (2 * delta) == delta {
                    let from = rank_of(wrap(node - delta, nodes), local);
                    pre_sync { signal from; } post_sync { wait from; }
                }
            }
            par for peer in local_peers {
                let slice = mine + local_of(peer);
                pre_sync { wait peer; } move { peer.scratch[slice] = scratch[slice]; } post_sync { signal peer; }
            }
        } else {
            pre_sync { signal leader; } post_sync { wait leader; }
        }
        copy_out { output = scratch[mine + local]; }
    }
}
