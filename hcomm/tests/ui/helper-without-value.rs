use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        fn sign(x) {
            if x > 0 { return 1; }
            if x < 0 { return -1; }
        }
        let s = sign(rank);
    }
}

fn main() {}
