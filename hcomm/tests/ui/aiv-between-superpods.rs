use hcomm::collective;

collective! {
    Mesh: all_gather {
        engines: aiv;
        verify: layout { 2 x 2, 2 x 1 x 2 };
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
