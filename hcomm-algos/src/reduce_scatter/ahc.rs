//! Reduce-scatter over groups of different sizes.

use hcomm_macros::collective;

collective! {
    /// AHC reduce-scatter for groups of different sizes: NB inside every group, NB between groups, a mesh inside.
    ///
    /// Every slot is cut into chunks that each group can deal out evenly to its ranks. A rank adds up its run of every
    /// slot in its group; between groups a run goes from the rank that has it in one to the rank that has it in the
    /// next; in the end the runs of a slot go to its owner.
    ///
    /// Cost for n bytes of input on G groups of m to m+d ranks, p in all: (⌈log(m+d)⌉ + ⌈log G⌉ + 1)α, of bytes
    /// (m+d-1)/(m+d)·n and n/(mp) inside and (p-m)/(pm)·n between. The one to use where servers differ.
    /// Source: HCCL's algorithms, AHC (asymmetric hierarchical concatenation); NB.
    pub AhcReduceScatter: reduce_scatter {
        split: slices(nodes);
        deterministic;
        verify: layout { [3, 5], [1, 2], [2, 3, 1], [4, 2, 2, 3], 2 x 2, 3 x 2, 4 };
        fn slices(groups) { let mut all = 1; for g in 0..groups { all = lcm(all, locals_of(g)); } all }

        let slot = slices(nodes);
        let width = slot / locals;
        let first = local * width;
        let last = first + width;
        let group = rank - local;
        copy_in { scratch = input; }
        for k in 0..log2_ceil(locals) {
            let delta = 1 << k;
            let to = group + wrap(local + delta, locals);
            let from = group + wrap(local - delta, locals);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..(locals - 1 + delta) / (2 * delta) {
                    for r in 0..ranks {
                        let low = r * slot + wrap(local + delta + 2 * delta * i, locals) * width;
                        to.scratch[low..low + width] += scratch[low..low + width];
                    }
                }
            }
            post_sync { signal to; wait from; }
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
                        for i in 0..(nodes - 1 + delta) / (2 * delta) {
                            let block = wrap(to + 2 * delta * i, nodes);
                            for r in rank_of(block, 0)..rank_of(block, 0) + locals_of(block) {
                                let chunk = r * slot + low;
                                let end = r * slot + high;
                                peer.scratch[chunk..end] += scratch[chunk..end];
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
        par for peer in local_peers {
            let low = peer * slot + first;
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[low..low + width] = scratch[low..low + width]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch[rank * slot..(rank + 1) * slot]; }
    }
}
