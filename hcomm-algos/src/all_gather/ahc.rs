//! All-gather over groups of different sizes.

use hcomm_macros::collective;

collective! {
    /// AHC all-gather for groups of different sizes: a mesh inside every group, NB between groups, NB inside.
    ///
    /// Every slot is cut into chunks that each group can deal out evenly to its ranks. A rank takes its run of the
    /// slots of its group; between groups a run goes from the rank that has it in one to the rank that has it in the
    /// next; in the end the runs of all slots are gathered inside.
    ///
    /// Cost for n bytes of output on G groups of m to m+d ranks, p in all: (⌈log(m+d)⌉ + ⌈log G⌉ + 1)α, of bytes n/(mp)
    /// and (m+d-1)/(m+d)·n inside and (p-m)/(pm)·n between. The one to use where servers differ.
    /// Source: HCCL's algorithms, AHC (asymmetric hierarchical concatenation); NB.
    pub AhcAllGather: all_gather {
        split: slices(nodes);
        verify: layout { [3, 5], [1, 2], [2, 3, 1], [4, 2, 2, 3], 2 x 2, 3 x 2, 4 };
        fn slices(groups) { let mut all = 1; for g in 0..groups { all = lcm(all, locals_of(g)); } all }

        let slot = slices(nodes);
        let width = slot / locals;
        let first = local * width;
        let last = first + width;
        let group = rank - local;
        copy_in { scratch[rank * slot..(rank + 1) * slot] = input; }
        par for peer in local_peers {
            let low = rank * slot + (peer - group) * width;
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[low..low + width] = scratch[low..low + width]; }
            post_sync { signal peer; wait peer; }
        }
        for k in 0..log2_ceil(nodes) {
            let delta = 1 << k;
            let to = wrap(node + delta, nodes);
            let from = wrap(node - delta, nodes);
            let theirs = slot / locals_of(to);
            let before = slot / locals_of(from);
            par {
                lane for place in first / theirs..div_ceil(last, theirs) {
                    let peer = rank_of(to, place);
                    let low = max(first, place * theirs);
                    let high = min(last, (place + 1) * theirs);
                    pre_sync { wait peer; }
                    move {
                        for i in 0..min(delta, nodes - delta) {
                            let block = wrap(node - i, nodes);
                            for r in rank_of(block, 0)..rank_of(block, 0) + locals_of(block) {
                                let chunk = r * slot + low;
                                let end = r * slot + high;
                                peer.scratch[chunk..end] = scratch[chunk..end];
                            }
                        }
                    }
                    post_sync { signal peer; }
                }
                lane for place in first / before..div_ceil(last, before) {
                    let peer = rank_of(from, place);
                    pre_sync { signal peer; } post_sync { wait peer; }
                }
            }
        }
        for k in 0..log2_ceil(locals) {
            let delta = 1 << k;
            let to = group + wrap(local + delta, locals);
            let from = group + wrap(local - delta, locals);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..min(delta, locals - delta) {
                    for r in 0..ranks {
                        let low = r * slot + wrap(local - i, locals) * width;
                        to.scratch[low..low + width] = scratch[low..low + width];
                    }
                }
            }
            post_sync { signal to; wait from; }
        }
        copy_out { output = scratch; }
    }
}
