use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        split: 2;
        copy_in { scratch[2 * rank] = input[1]; scratch[2 * rank + 1] = input[0]; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[2 * rank..2 * rank + 2] = scratch[2 * rank..2 * rank + 2]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}

fn main() {}
