//! Broadcast in three levels.

use hcomm_macros::collective;

collective! {
    /// Three-level broadcast: scatter in the root's node, a tree between pods, a tree in every pod, all-gather inside.
    ///
    /// Cost for n bytes on P pods of N nodes of L ranks: 2α + 2n/L·β inside a node, ⌈log P⌉(α + n/L·β) between pods and
    /// ⌈log N⌉(α + n/L·β) inside a pod, on L links at once. The one to use on several superpods.
    /// Source: HCCL's sequence for three levels.
    pub ThreeLevelBroadcast: broadcast {
        split: locals_of(0);
        verify: layout { 3, 3 x 2, 2 x 2 x 2, 3 x 1 x 2, 2 x 1 x 3, 2 x 3 x 1, 3 x 3 x 2 };
        let width = nodes / pods;
        let roots = node_of(root);
        let place = wrap(node - roots, width);
        let pod_place = wrap(pod - roots / width, pods);

        if rank == root {
            copy_in { scratch = input; }
            par for peer in local_peers {
                let chunk = local_of(peer);
                pre_sync { wait peer; } move { peer.scratch[chunk] = scratch[chunk]; } post_sync { signal peer; }
            }
        } else if node == roots {
            pre_sync { signal root; } post_sync { wait root; }
        }
        if place == 0 {
            for s in 0..log2_ceil(pods) {
                let delta = 1 << (log2_ceil(pods) - 1 - s);
                if pod_place % (2 * delta) == 0 && pod_place + delta < pods {
                    let to = wrap(rank + delta * width * locals, ranks);
                    pre_sync { wait to; } move { to.scratch[local] = scratch[local]; } post_sync { signal to; }
                } else if pod_place % (2 * delta) == delta {
                    let from = wrap(rank - delta * width * locals, ranks);
                    pre_sync { signal from; } post_sync { wait from; }
                }
            }
        }
        for s in 0..log2_ceil(width) {
            let delta = 1 << (log2_ceil(width) - 1 - s);
            if place % (2 * delta) == 0 && place + delta < width {
                let to = rank_of(pod * width + wrap(node + delta, width), local);
                pre_sync { wait to; } move { to.scratch[local] = scratch[local]; } post_sync { signal to; }
            } else if place % (2 * delta) == delta {
                let from = rank_of(pod * width + wrap(node - delta, width), local);
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
