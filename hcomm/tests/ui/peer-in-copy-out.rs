use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        for peer in peers {
            copy_out { output[peer] = peer.scratch[peer]; }
        }
    }
}

fn main() {}
