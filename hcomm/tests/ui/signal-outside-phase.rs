use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        for peer in peers {
            signal peer;
        }
    }
}

fn main() {}
