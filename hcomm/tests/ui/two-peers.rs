use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        let next = wrap(rank + 1, ranks);
        let prev = wrap(rank - 1, ranks);
        move { next.scratch[rank] = prev.scratch[rank]; }
    }
}

fn main() {}
