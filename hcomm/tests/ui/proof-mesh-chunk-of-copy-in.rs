use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        copy_in { scratch[wrap(rank + 1, ranks)] = input; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = scratch[rank]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}

fn main() {}
