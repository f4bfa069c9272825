use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        for peer in peers {
            pre_sync { signal peer; peer.scratch[rank] = input; wait peer; }
        }
    }
}

fn main() {}
