use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        if 0 < rank < ranks {
            copy_in { scratch[rank] = input; }
        }
    }
}

fn main() {}
