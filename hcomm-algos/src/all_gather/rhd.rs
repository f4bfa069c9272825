//! All-gather by recursive doubling.

use hcomm_macros::collective;

collective! {
    /// Recursive doubling all-gather: partners exchange all they have, which doubles it in every step.
    ///
    /// The ranks are dealt to the 2^k members of a hypercube, one or two to each; the second of a pair gives its slice
    /// to the first, and gets everything in the end.
    ///
    /// Cost for n bytes of output on p = 2^k ranks: kα + (p-1)/p·nβ; between powers of two (k+2)α + (1 + 1/p +
    /// Σ⌈p/2^i⌉/p)nβ. For powers of two.
    /// Source: HCCL's algorithms, RHD; Thakur, Rabenseifner and Gropp, Optimization of collective communication
    /// operations in MPICH (2005).
    pub RhdAllGather: all_gather {
        fn first_of(member, members, all) { member * all / members }

        let members = pow2(log2_floor(ranks));
        let member = div_ceil((rank + 1) * members, ranks) - 1;
        let first = first_of(member, members, ranks);
        let second = first + 1;
        let paired = first_of(member + 1, members, ranks) == first + 2;

        copy_in { scratch[rank] = input; }
        if rank == second {
            pre_sync { wait first; } move { first.scratch[rank] = scratch[rank]; } post_sync { signal first; }
            pre_sync { signal first; } post_sync { wait first; }
        } else {
            if paired { pre_sync { signal second; } post_sync { wait second; } }
            for s in 0..log2_floor(ranks) {
                let have = 1 << s;
                let partner = first_of(member ^ have, members, ranks);
                let low = first_of(member / have * have, members, ranks);
                let high = first_of(member / have * have + have, members, ranks);
                pre_sync  { signal partner; wait partner; }
                move      { partner.scratch[low..high] = scratch[low..high]; }
                post_sync { signal partner; wait partner; }
            }
            if paired { pre_sync { wait second; } move { second.scratch = scratch; } post_sync { signal second; } }
        }
        copy_out { output = scratch; }
    }
}
