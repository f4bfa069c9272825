use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        move {
            copy_in { scratch[rank] = input; }
        }
    }
}

fn main() {}
