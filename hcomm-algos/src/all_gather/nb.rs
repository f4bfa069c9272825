//! All-gather by the nonuniform Bruck algorithm.

use hcomm_macros::collective;

collective! {
    /// NB all-gather: in step k every rank sends the 2^k slices that it has to the rank 2^k further.
    ///
    /// The last step sends what is missing, when p is not a power of two. Slices come from neighbours, so they are runs
    /// of chunks.
    ///
    /// Cost: ⌈log p⌉α + (p-1)/p·nβ for n bytes of output on p ranks. For many ranks and small messages.
    /// Source: HCCL's algorithms, NB; Bruck et al., Efficient algorithms for all-to-all communications in multiport
    /// message-passing systems (1997).
    pub NbAllGather: all_gather {
        copy_in { scratch[rank] = input; }
        for k in 0..log2_ceil(ranks) {
            let delta = 1 << k;
            let to = wrap(rank + delta, ranks);
            let from = wrap(rank - delta, ranks);
            pre_sync { signal from; wait to; }
            move {
                for i in 0..min(delta, ranks - delta) {
                    let chunk = wrap(rank - i, ranks);
                    to.scratch[chunk] = scratch[chunk];
                }
            }
            post_sync { signal to; wait from; }
        }
        copy_out { output = scratch; }
    }
}
