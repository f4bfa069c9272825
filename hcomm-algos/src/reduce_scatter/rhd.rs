//! Reduce-scatter by recursive halving.

use hcomm_macros::collective;

collective! {
    /// Recursive halving reduce-scatter: partners exchange and add the halves that the other one's side needs.
    ///
    /// The ranks are dealt to the 2^k members of a hypercube, one or two to each; the second of a pair gives its input
    /// to the first, and gets its slice in the end.
    ///
    /// Cost for n bytes of input on p = 2^k ranks: kα + (p-1)/p·n(β+γ); between powers of two (k+2)α + (1 + 1/p +
    /// Σ⌈p/2^i⌉/p)nβ + (1 + Σ⌈p/2^i⌉/p)nγ. For powers of two.
    /// Source: HCCL's algorithms, RHD; Thakur, Rabenseifner and Gropp, Optimization of collective communication
    /// operations in MPICH (2005).
    pub RhdReduceScatter: reduce_scatter {
        deterministic;
        fn first_of(member, members, all) { member * all / members }

        let members = pow2(log2_floor(ranks));
        let member = div_ceil((rank + 1) * members, ranks) - 1;
        let first = first_of(member, members, ranks);
        let second = first + 1;
        let paired = first_of(member + 1, members, ranks) == first + 2;

        copy_in { scratch = input; }
        if rank == second {
            pre_sync { wait first; } move { first.scratch += scratch; } post_sync { signal first; }
            pre_sync { signal first; } post_sync { wait first; }
        } else {
            if paired { pre_sync { signal second; } post_sync { wait second; } }
            for s in 0..log2_floor(ranks) {
                let half = members >> (s + 1);
                let other = member ^ half;
                let partner = first_of(other, members, ranks);
                let low = first_of(other / half * half, members, ranks);
                let high = first_of(other / half * half + half, members, ranks);
                pre_sync  { signal partner; wait partner; }
                move      { partner.scratch[low..high] += scratch[low..high]; }
                post_sync { signal partner; wait partner; }
            }
            if paired {
                pre_sync  { wait second; }
                move      { second.scratch[second] = scratch[second]; }
                post_sync { signal second; }
            }
        }
        copy_out { output = scratch[rank]; }
    }
}
