use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        for step in ranks - 1 {
            copy_in { scratch[rank] = input; }
        }
    }
}

fn main() {}
