use hcomm::collective;

// Right on AI CPU, where a notify is a bit. A flag of AIV holds a value, another one in every use.
collective! {
    Drip: all_gather {
        verify: ranks 2..=2;
        copy_in { scratch[rank] = input; }
        let peer = 1 - rank;
        for step in 0..33000 {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = scratch[rank]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}

fn main() {}
