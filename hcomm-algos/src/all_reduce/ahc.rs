//! All-reduce over groups of different sizes.

use hcomm_macros::collective;

collective! {
    /// AHC all-reduce for groups of different sizes: NB inside every group, and NB between groups for every slice.
    ///
    /// The data is cut into slices that every group can deal out evenly to its ranks, and a slice into a chunk for
    /// every group. Between groups, a slice goes from the rank that has it in one to the rank that has it in the next.
    ///
    /// Cost for n bytes on G groups of m to m+d ranks: 2(⌈log(m+d)⌉ + ⌈log G⌉)α + 2(m+d-1)/(m+d)·nβ inside +
    /// 2(G-1)/(Gm)·nβ between + ((m+d-1)/(m+d) + (G-1)/(Gm))nγ. The one to use where servers differ.
    /// Source: HCCL's algorithms, AHC (asymmetric hierarchical concatenation); NB.
    pub AhcAllReduce: all_reduce {
        split: slices(nodes) * nodes;
        deterministic;
        verify: layout { [3, 5], [1, 2], [2, 3, 1], [4, 2, 2, 3], 2 x 2, 3 x 2, 4 };
        fn slices(groups) { let mut all = 1; for g in 0..groups { all = lcm(all, locals_of(g)); } all }

        let width = slices(nodes) / locals;
        let run = width * nodes;
        let first = local * width;
        let group = rank - local;
        copy_in { scratch = input; }
        for k in 0..log2_ceil(locals) {
            let delta = 1 << k;
            let to = group + wrap(local + delta, locals);
            let from = group + wrap(local - delta, locals);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..(locals - 1 + delta) / (2 * delta) {
                    let low = wrap(local + delta + 2 * delta * i, locals) * run;
                    to.scratch[low..low + run] += scratch[low..low + run];
                }
            }
            post_sync { signal to; wait from; }
        }
        for step in 0..2 * log2_ceil(nodes) {
            let gathers = step >= log2_ceil(nodes);
            let delta = 1 << step % log2_ceil(nodes);
            let to = wrap(node + delta, nodes);
            let from = wrap(node - delta, nodes);
            let theirs = slices(nodes) / locals_of(to);
            let before = slices(nodes) / locals_of(from);
            par {
                lane for place in first / theirs..div_ceil(first + width, theirs) {
                    let peer = rank_of(to, place);
                    pre_sync { wait peer; }
                    move {
                        for slice in max(first, place * theirs)..min(first + width, (place + 1) * theirs) {
                            if gathers {
                                for i in 0..min(delta, nodes - delta) {
                                    let chunk = slice * nodes + wrap(node - i, nodes);
                                    peer.scratch[chunk] = scratch[chunk];
                                }
                            } else {
                                for i in 0..(nodes - 1 + delta) / (2 * delta) {
                                    let chunk = slice * nodes + wrap(to + 2 * delta * i, nodes);
                                    peer.scratch[chunk] += scratch[chunk];
                                }
                            }
                        }
                    }
                    post_sync { signal peer; }
                }
                lane for place in first / before..div_ceil(first + width, before) {
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
                    let low = wrap(local - i, locals) * run;
                    to.scratch[low..low + run] = scratch[low..low + run];
                }
            }
            post_sync { signal to; wait from; }
        }
        copy_out { output = scratch; }
    }
}
