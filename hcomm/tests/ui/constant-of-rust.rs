use hcomm::collective;

const CHUNK: u32 = 0;

collective! {
    pub Wrong: all_gather {
        copy_in { scratch[CHUNK] = input; }
    }
}

fn main() {}
