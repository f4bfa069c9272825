use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        let next = wrap(rank + 1, rnaks);
        copy_in { scratch[rank] = inputs; }
        move { next.input = scratch[rank]; }
        let last = next.rank;
    }
}

fn main() {}
