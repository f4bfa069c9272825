//! Reduce-scatter in three levels.

use hcomm_macros::collective;

collective! {
    /// Three-level reduce-scatter: NHR between pods, NHR between the nodes of a pod, a mesh inside every node.
    ///
    /// Cost for n bytes of input on P pods of N nodes of L ranks: (1 + ⌈log N⌉ + ⌈log P⌉)α + (P-1)/P·n(β+γ) between
    /// pods + (N-1)/(PN)·n(β+γ) inside a pod + n/(PNL)·β + (L-1)/(PNL)·nγ inside a node. The one to use on several
    /// superpods.
    /// Source: HCCL's sequence of NHR, NHR and mesh for three levels.
    pub ThreeLevelReduceScatter: reduce_scatter {
        scratch: ranks + locals_of(0);
        deterministic;
        verify: layout { 3, 3 x 2, 2 x 2 x 2, 3 x 1 x 2, 2 x 1 x 3, 2 x 3 x 1, 3 x 3 x 2 };
        let width = nodes / pods;
        let place = node % width;
        copy_in { scratch[0..ranks] = input; }
        for s in 0..log2_ceil(pods) {
            let delta = 1 << s;
            let to = rank_of(wrap(pod - delta, pods) * width + place, local);
            let from = rank_of(wrap(pod + delta, pods) * width + place, local);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..(pods - 1 + delta) / (2 * delta) {
                    let low = rank_of(wrap(pod - delta - 2 * delta * i, pods) * width, 0);
                    to.scratch[low..low + width * locals] += scratch[low..low + width * locals];
                }
            }
            post_sync { signal to; wait from; }
        }
        for s in 0..log2_ceil(width) {
            let delta = 1 << s;
            let to = rank_of(pod * width + wrap(place - delta, width), local);
            let from = rank_of(pod * width + wrap(place + delta, width), local);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..(width - 1 + delta) / (2 * delta) {
                    let low = rank_of(pod * width + wrap(place - delta - 2 * delta * i, width), 0);
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
