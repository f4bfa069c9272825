use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        copy_in { scratch[rank] = input; }
        for r in 0..ranks {
            pre_sync { signal r; wait r; }
        }
    }
}

fn main() {}
