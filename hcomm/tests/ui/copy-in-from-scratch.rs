use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        copy_in { output = scratch; }
    }
}

fn main() {}
