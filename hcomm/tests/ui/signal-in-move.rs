use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        for peer in peers {
            move { peer.scratch[rank] = input; signal peer; }
        }
    }
}

fn main() {}
