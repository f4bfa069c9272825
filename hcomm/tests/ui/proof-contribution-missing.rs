use hcomm::collective;

collective! {
    pub Wrong: all_reduce {
        split: 1;
        scratch: ranks;
        copy_in { scratch[rank] = input; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = scratch[rank]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch[0]; for r in 1..ranks - 1 { output += scratch[r]; } }
    }
}

fn main() {}
