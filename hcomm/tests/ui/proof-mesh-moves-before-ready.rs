use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        copy_in { scratch[rank] = input; }
        par for peer in peers {
            move      { peer.scratch[rank] = scratch[rank]; }
            pre_sync  { signal peer; wait peer; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}

fn main() {}
