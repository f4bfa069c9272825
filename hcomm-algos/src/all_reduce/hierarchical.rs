//! All-reduce in two levels.

use hcomm_macros::collective;

collective! {
    /// Hierarchical all-reduce: reduce-scatter on the mesh of every node, NHR between nodes, all-gather on the mesh.
    ///
    /// Local l has the run l of a node's chunks, one chunk for every node.
    ///
    /// Cost for n bytes on N nodes of L ranks: 2α + 2n/L·β + (L-1)/L·nγ inside, and the cost of NHR all-reduce for n/L
    /// bytes on N ranks between. The one to use on several servers.
    /// Source: HCCL's algorithms, levels of all-reduce (inside, between, inside); NHR.
    pub HierarchicalAllReduce: all_reduce {
        deterministic;
        verify: layout { 4, 2 x 1, 2 x 2, 3 x 2, 5 x 1, 2 x 4, 4 x 3, 2 x 2 x 2 };
        let low = local * nodes;
        let high = low + nodes;
        let steps = log2_ceil(nodes);

        copy_in { scratch[low..high] = input[low..high]; }
        par for peer in local_peers {
            let theirs = local_of(peer) * nodes;
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[low..high] = input[theirs..theirs + nodes]; }
            post_sync { signal peer; wait peer; }
        }
        move {
            for peer in local_peers {
                let theirs = local_of(peer) * nodes;
                scratch[low..high] += scratch[theirs..theirs + nodes];
            }
        }
        for s in 0..steps {
            let delta = 1 << s;
            let to = rank_of(wrap(node - delta, nodes), local);
            let from = rank_of(wrap(node + delta, nodes), local);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..(nodes - 1 + delta) / (2 * delta) {
                    let chunk = low + wrap(node - delta - 2 * delta * i, nodes);
                    to.scratch[chunk] += scratch[chunk];
                }
            }
            post_sync { signal to; wait from; }
        }
        for s in 0..steps {
            let delta = 1 << (steps - 1 - s);
            let to = rank_of(wrap(node + delta, nodes), local);
            let from = rank_of(wrap(node - delta, nodes), local);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..(nodes - 1 + delta) / (2 * delta) {
                    let chunk = low + wrap(node - 2 * delta * i, nodes);
                    to.scratch[chunk] = scratch[chunk];
                }
            }
            post_sync { signal to; wait from; }
        }
        par for peer in local_peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[low..high] = scratch[low..high]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}
