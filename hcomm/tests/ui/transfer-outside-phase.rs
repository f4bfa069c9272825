use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        for peer in peers {
            peer.scratch[rank] = input;
        }
    }
}

fn main() {}
