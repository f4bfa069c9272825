use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        if rank & 1 {
            copy_in { scratch[rank] = input; }
        }
    }
}

fn main() {}
