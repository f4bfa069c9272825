//! Reduce by recursive halving.

use hcomm_macros::collective;

collective! {
    /// Recursive halving reduce: a reduce-scatter by halving, then the root gathers along the same edges.
    ///
    /// Places count from the root. With p between powers of two, the first 2(p-q) places are pairs, and the second of a
    /// pair gives its data to the first.
    ///
    /// Cost for n bytes on p = 2^k ranks: 2kα + 2(p-1)/p·nβ + (p-1)/p·nγ; between powers of two, with q = 2^k < p,
    /// (2k+1)α + (2(q-1)/q + 1)nβ + ((q-1)/q + 1)nγ. For powers of two and large messages.
    /// Source: HCCL's algorithms, RHD; Rabenseifner, Optimization of collective reduction operations (2004).
    pub RhdReduce: reduce {
        split: pow2(log2_floor(ranks));
        deterministic;
        fn place_of(member, pairs) { if member < pairs { 2 * member } else { member + pairs } }

        let members = pow2(log2_floor(ranks));
        let pairs = ranks - members;
        let place = wrap(rank - root, ranks);
        let member = if place < 2 * pairs { place / 2 } else { place - pairs };
        let is_second = place != place_of(member, pairs);

        copy_in { scratch = input; }
        if is_second {
            let first = wrap(rank - 1, ranks);
            pre_sync { wait first; } move { first.scratch += scratch; } post_sync { signal first; }
        } else {
            if member < pairs {
                let second = wrap(rank + 1, ranks);
                pre_sync { signal second; } post_sync { wait second; }
            }
            for s in 0..log2_floor(ranks) {
                let half = members >> (s + 1);
                let partner = wrap(root + place_of(member ^ half, pairs), ranks);
                let low = (member ^ half) / half * half;
                pre_sync  { signal partner; wait partner; }
                move      { partner.scratch[low..low + half] += scratch[low..low + half]; }
                post_sync { signal partner; wait partner; }
            }
            for s in 0..log2_floor(ranks) {
                let have = 1 << s;
                let partner = wrap(root + place_of(member ^ have, pairs), ranks);
                if member % (2 * have) == have {
                    pre_sync  { wait partner; }
                    move      { partner.scratch[member..member + have] = scratch[member..member + have]; }
                    post_sync { signal partner; }
                } else if member % (2 * have) == 0 {
                    pre_sync { signal partner; } post_sync { wait partner; }
                }
            }
        }
        if rank == root { copy_out { output = scratch; } }
    }
}
