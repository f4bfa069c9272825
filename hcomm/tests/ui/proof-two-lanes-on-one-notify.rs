use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        split: 2;
        verify: ranks 2..=2;
        let peer = 1 - rank;
        copy_in { scratch[2 * rank..2 * rank + 2] = input; }
        par {
            lane for half in 0..2 {
                pre_sync  { signal peer; wait peer; }
                move      { peer.scratch[2 * rank + half] = scratch[2 * rank + half]; }
                post_sync { signal peer; wait peer; }
            }
        }
        copy_out { output = scratch; }
    }
}

fn main() {}
