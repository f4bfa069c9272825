use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        fn next(by) { wrap(rank + by, ranks) }
        let to = next(1);
    }
}

fn main() {}
