use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        let next = rank + 1;
        pre_sync { signal next; }
    }
}

fn main() {}
