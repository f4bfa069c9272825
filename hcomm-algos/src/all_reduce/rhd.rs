//! All-reduce by recursive halving and doubling.

use hcomm_macros::collective;

collective! {
    /// Recursive halving-doubling all-reduce: a reduce-scatter by halving, then an all-gather by doubling.
    ///
    /// With p between powers of two, the first 2(p-q) ranks are pairs: the second of a pair gives its data to the
    /// first, and gets the result in the end.
    ///
    /// Cost for n bytes on p = 2^k ranks: 2kα + 2(p-1)/p·nβ + (p-1)/p·nγ; between powers of two, with q = 2^k < p,
    /// (2k+2)α + (2(q-1)/q + 2)nβ + ((q-1)/q + 1)nγ. For powers of two.
    /// Source: HCCL's algorithms, RHD; Rabenseifner, Optimization of collective reduction operations (2004).
    pub RhdAllReduce: all_reduce {
        split: pow2(log2_floor(ranks));
        deterministic;
        fn rank_of_member(member, pairs) { if member < pairs { 2 * member } else { member + pairs } }

        let members = pow2(log2_floor(ranks));
        let pairs = ranks - members;
        let member = if rank < 2 * pairs { rank / 2 } else { rank - pairs };
        let first = rank_of_member(member, pairs);
        let second = first + 1;

        copy_in { scratch = input; }
        if rank == second {
            pre_sync { wait first; } move { first.scratch += scratch; } post_sync { signal first; }
            pre_sync { signal first; } post_sync { wait first; }
        } else {
            if member < pairs { pre_sync { signal second; } post_sync { wait second; } }
            for s in 0..log2_floor(ranks) {
                let half = members >> (s + 1);
                let partner = rank_of_member(member ^ half, pairs);
                let low = (member ^ half) / half * half;
                pre_sync  { signal partner; wait partner; }
                move      { partner.scratch[low..low + half] += scratch[low..low + half]; }
                post_sync { signal partner; wait partner; }
            }
            for s in 0..log2_floor(ranks) {
                let have = 1 << s;
                let partner = rank_of_member(member ^ have, pairs);
                let low = member / have * have;
                pre_sync  { signal partner; wait partner; }
                move      { partner.scratch[low..low + have] = scratch[low..low + have]; }
                post_sync { signal partner; wait partner; }
            }
            if member < pairs {
                pre_sync { wait second; } move { second.scratch = scratch; } post_sync { signal second; }
            }
        }
        copy_out { output = scratch; }
    }
}
