//! Reduce in three levels.

use hcomm_macros::collective;

collective! {
    /// Three-level reduce: reduce-scatter inside every node, a tree in every pod, a tree between pods, gather at the
    /// root.
    ///
    /// Cost for n bytes on P pods of N nodes of L ranks: 2α + 2n/L·β + (L-1)/L·nγ inside a node, ⌈log N⌉(α + n/L·(β+γ))
    /// inside a pod and ⌈log P⌉(α + n/L·(β+γ)) between pods, on L links at once. The one to use on several superpods.
    /// Source: HCCL's sequence for three levels.
    pub ThreeLevelReduce: reduce {
        split: locals_of(0);
        deterministic;
        verify: layout { 3, 3 x 2, 2 x 2 x 2, 3 x 1 x 2, 2 x 1 x 3, 2 x 3 x 1, 3 x 3 x 2 };
        let width = nodes / pods;
        let roots = node_of(root);
        let place = wrap(node - roots, width);
        let pod_place = wrap(pod - roots / width, pods);

        copy_in { scratch[local] = input[local]; }
        par for peer in local_peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[local] = input[local_of(peer)]; }
            post_sync { signal peer; wait peer; }
        }
        move { for peer in local_peers { scratch[local] += scratch[local_of(peer)]; } }
        for s in 0..log2_ceil(width) {
            let delta = 1 << s;
            if place % (2 * delta) == delta {
                let to = rank_of(pod * width + wrap(node - delta, width), local);
                pre_sync { wait to; } move { to.scratch[local] += scratch[local]; } post_sync { signal to; }
            } else if place % (2 * delta) == 0 && place + delta < width {
                let from = rank_of(pod * width + wrap(node + delta, width), local);
                pre_sync { signal from; } post_sync { wait from; }
            }
        }
        if place == 0 {
            for s in 0..log2_ceil(pods) {
                let delta = 1 << s;
                if pod_place % (2 * delta) == delta {
                    let to = wrap(rank - delta * width * locals, ranks);
                    pre_sync { wait to; } move { to.scratch[local] += scratch[local]; } post_sync { signal to; }
                } else if pod_place % (2 * delta) == 0 && pod_place + delta < pods {
                    let from = wrap(rank + delta * width * locals, ranks);
                    pre_sync { signal from; } post_sync { wait from; }
                }
            }
        }
        if rank == root {
            for peer in local_peers { pre_sync { signal peer; } }
            for peer in local_peers { post_sync { wait peer; } }
            copy_out { output = scratch; }
        } else if node == roots {
            pre_sync { wait root; } move { root.scratch[local] = scratch[local]; } post_sync { signal root; }
        }
    }
}
