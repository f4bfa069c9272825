use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        par {
            copy_in { scratch[rank] = input; }
        }
    }
}

fn main() {}
