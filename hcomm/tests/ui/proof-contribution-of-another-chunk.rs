use hcomm::collective;

collective! {
    pub Wrong: reduce_scatter {
        copy_in { scratch[rank] = input[wrap(rank + 1, ranks)]; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = input[peer]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch[0]; for r in 1..ranks { output += scratch[r]; } }
    }
}

fn main() {}
