use hcomm::collective;

// For AIV alone: what is said is of blocks.
collective! {
    Mesh: all_gather {
        engines: aiv;
        copy_in { scratch[rank] = input; }
        par for peer in peers {
            pre_sync  { wait peer; signal peer; }
            move      { peer.scratch[rank] = scratch[rank]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}

fn main() {}
