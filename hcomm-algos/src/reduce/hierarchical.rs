//! Reduce in two levels.

use hcomm_macros::collective;

collective! {
    /// Hierarchical reduce: reduce-scatter inside every node, a tree between nodes for every chunk, gather at the root.
    ///
    /// Cost for n bytes on N nodes of L ranks: 2α + 2n/L·β + (L-1)/L·nγ inside, and ⌈log N⌉(α + n/L·(β+γ)) between, on
    /// L links at once.
    /// Source: HCCL's algorithms, levels of reduce (inside, between, inside).
    pub HierarchicalReduce: reduce {
        split: locals_of(0);
        deterministic;
        verify: layout { 4, 2 x 1, 2 x 2, 3 x 2, 5 x 1, 2 x 4, 4 x 3, 2 x 2 x 2 };
        let place = wrap(node - node_of(root), nodes);

        copy_in { scratch[local] = input[local]; }
        par for peer in local_peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[local] = input[local_of(peer)]; }
            post_sync { signal peer; wait peer; }
        }
        move { for peer in local_peers { scratch[local] += scratch[local_of(peer)]; } }
        for s in 0..log2_ceil(nodes) {
            let delta = 1 << s;
            if place % (2 * delta) == delta {
                let to = rank_of(wrap(node - delta, nodes), local);
                pre_sync { wait to; } move { to.scratch[local] += scratch[local]; } post_sync { signal to; }
            } else if place % (2 * delta) == 0 && place + delta < nodes {
                let from = rank_of(wrap(node + delta, nodes), local);
                pre_sync { signal from; } post_sync { wait from; }
            }
        }
        if rank == root {
            for peer in local_peers { pre_sync { signal peer; } }
            for peer in local_peers { post_sync { wait peer; } }
            copy_out { output = scratch; }
        } else if place == 0 {
            pre_sync { wait root; } move { root.scratch[local] = scratch[local]; } post_sync { signal root; }
        }
    }
}
