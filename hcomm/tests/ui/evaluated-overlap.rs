use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        verify: ranks 3..=4;
        copy_in { scratch[rank] = input; }
        move { scratch[0..2] = scratch[1..3]; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = scratch[rank]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}

fn main() {}
