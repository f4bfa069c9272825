use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        memory: symmetric;
        copy_in { scratch[rank] = input; }
    }
}

fn main() {}
