use hcomm::collective;

const FLAGS: u32 = 6;

collective! {
    Mesh: all_gather {
        budget: { flags: FLAGS };
        copy_in { scratch[rank] = input; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = scratch[rank]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}

fn main() {}
