use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        verify: ranks 3..=4;
        move { scratch[0..2] = scratch[1..3]; }
    }
}

fn main() {}
