//! Broadcast in two levels.

use hcomm_macros::collective;

collective! {
    /// Hierarchical broadcast: scatter in the root's node, a tree between nodes for every chunk, all-gather inside.
    ///
    /// Cost for n bytes on N nodes of L ranks: 2α + 2n/L·β inside, and ⌈log N⌉(α + n/L·β) between, on L links at once.
    /// Source: HCCL's algorithms, levels of broadcast (inside, between, inside).
    pub HierarchicalBroadcast: broadcast {
        split: locals_of(0);
        verify: layout { 4, 2 x 1, 2 x 2, 3 x 2, 5 x 1, 2 x 4, 4 x 3, 2 x 2 x 2 };
        let place = wrap(node - node_of(root), nodes);
        let steps = log2_ceil(nodes);

        if rank == root {
            copy_in { scratch = input; }
            par for peer in local_peers {
                let chunk = local_of(peer);
                pre_sync { wait peer; } move { peer.scratch[chunk] = scratch[chunk]; } post_sync { signal peer; }
            }
        } else if place == 0 {
            pre_sync { signal root; } post_sync { wait root; }
        }
        for s in 0..steps {
            let delta = 1 << (steps - 1 - s);
            if place % (2 * delta) == 0 && place + delta < nodes {
                let to = rank_of(wrap(node + delta, nodes), local);
                pre_sync { wait to; } move { to.scratch[local] = scratch[local]; } post_sync { signal to; }
            } else if place % (2 * delta) == delta {
                let from = rank_of(wrap(node - delta, nodes), local);
                pre_sync { signal from; } post_sync { wait from; }
            }
        }
        par for peer in local_peers {
            pre_sync  { signal peer; wait peer; }
            move      { if peer != root { peer.scratch[local] = scratch[local]; } }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}
