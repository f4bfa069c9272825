//! All-reduce in three levels.

use hcomm_macros::collective;

collective! {
    /// Three-level all-reduce: reduce-scatter on the mesh and by NHR in the pod, NHR between pods, and back.
    ///
    /// A local has a run of chunks, of which every node of the pod has a run, of which every pod has one. Of the steps,
    /// the first half reduces and the second half gathers, in the opposite order.
    ///
    /// Cost for n bytes on P pods of N nodes of L ranks: 2(1 + ⌈log N⌉ + ⌈log P⌉)α + 2n/L·β inside a node +
    /// 2(N-1)/(NL)·nβ inside a pod + 2(P-1)/(PNL)·nβ between pods + (PNL-1)/(PNL)·nγ. The one to use on several
    /// superpods.
    /// Source: HCCL's sequence of mesh, NHR and NHR for three levels.
    pub ThreeLevelAllReduce: all_reduce {
        deterministic;
        verify: layout { 3, 3 x 2, 2 x 2 x 2, 3 x 1 x 2, 2 x 1 x 3, 2 x 3 x 1, 3 x 3 x 2 };
        let width = nodes / pods;
        let place = node % width;
        let low = local * nodes;
        let high = low + nodes;
        let in_pod = log2_ceil(width);
        let steps = in_pod + log2_ceil(pods);

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
        for turn in 0..2 * steps {
            let reduces = turn < steps;
            let s = if reduces { turn } else { 2 * steps - 1 - turn };
            let between_pods = s >= in_pod;
            // Members of this level, which of them this rank is, and the run of chunks that each has.
            let members = if between_pods { pods } else { width };
            let member = if between_pods { pod } else { place };
            let run = if between_pods { 1 } else { pods };
            let base = if between_pods { low + place * pods } else { low };
            let delta = 1 << if between_pods { s - in_pod } else { s };
            let before = wrap(member - delta, members);
            let after = wrap(member + delta, members);
            let to = rank_of(if between_pods { before * width + place } else { pod * width + before }, local);
            let from = rank_of(if between_pods { after * width + place } else { pod * width + after }, local);
            if reduces {
                pre_sync { signal from; wait to; }
                move {
                    for i in 0..(members - 1 + delta) / (2 * delta) {
                        let chunk = base + wrap(before - 2 * delta * i, members) * run;
                        to.scratch[chunk..chunk + run] += scratch[chunk..chunk + run];
                    }
                }
                post_sync { signal to; wait from; }
            } else {
                pre_sync { signal to; wait from; }
                move {
                    for i in 0..(members - 1 + delta) / (2 * delta) {
                        let chunk = base + wrap(member - 2 * delta * i, members) * run;
                        from.scratch[chunk..chunk + run] = scratch[chunk..chunk + run];
                    }
                }
                post_sync { signal from; wait to; }
            }
        }
        par for peer in local_peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[low..high] = scratch[low..high]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}
