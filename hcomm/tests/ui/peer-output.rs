use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        for peer in peers {
            move { peer.output[rank] = input; }
        }
    }
}

fn main() {}
