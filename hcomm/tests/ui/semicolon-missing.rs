use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        let next = wrap(rank + 1, ranks)
        let prev = wrap(rank - 1, ranks);
        pre_sync { signal next; wait prev; }
    }
}

fn main() {}
