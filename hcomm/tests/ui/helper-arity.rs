use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        fn next(r, n) { wrap(r + 1, n) }
        let to = next(rank);
    }
}

fn main() {}
