//! All-gather in three levels.

use hcomm_macros::collective;

collective! {
    /// Three-level all-gather: a mesh inside every node, NHR between the nodes of a pod, NHR between pods.
    ///
    /// Cost for n bytes of output on P pods of N nodes of L ranks: (1 + ⌈log N⌉ + ⌈log P⌉)α + n/(PNL)·β inside a node +
    /// (N-1)/(PN)·nβ inside a pod + (P-1)/P·nβ between pods. The one to use on several superpods.
    /// Source: HCCL's sequence of mesh, NHR and NHR for three levels.
    pub ThreeLevelAllGather: all_gather {
        verify: layout { 3, 3 x 2, 2 x 2 x 2, 3 x 1 x 2, 2 x 1 x 3, 2 x 3 x 1, 3 x 3 x 2 };
        let width = nodes / pods;
        let place = node % width;
        copy_in { scratch[rank] = input; }
        par for peer in local_peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = scratch[rank]; }
            post_sync { signal peer; wait peer; }
        }
        for s in 0..log2_ceil(width) {
            let delta = 1 << (log2_ceil(width) - 1 - s);
            let to = rank_of(pod * width + wrap(place + delta, width), local);
            let from = rank_of(pod * width + wrap(place - delta, width), local);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..(width - 1 + delta) / (2 * delta) {
                    let low = rank_of(pod * width + wrap(place - 2 * delta * i, width), 0);
                    to.scratch[low..low + locals] = scratch[low..low + locals];
                }
            }
            post_sync { signal to; wait from; }
        }
        for s in 0..log2_ceil(pods) {
            let delta = 1 << (log2_ceil(pods) - 1 - s);
            let to = rank_of(wrap(pod + delta, pods) * width + place, local);
            let from = rank_of(wrap(pod - delta, pods) * width + place, local);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..(pods - 1 + delta) / (2 * delta) {
                    let low = rank_of(wrap(pod - 2 * delta * i, pods) * width, 0);
                    to.scratch[low..low + width * locals] = scratch[low..low + width * locals];
                }
            }
            post_sync { signal to; wait from; }
        }
        copy_out { output = scratch; }
    }
}
