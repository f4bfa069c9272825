use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = input; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}

fn main() {}
