use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        move { input = scratch[rank]; }
    }
}

fn main() {}
