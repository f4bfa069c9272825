use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        fn next(n) { wrap(rank + 1, n) }
        let to = next(ranks);
    }
}

fn main() {}
