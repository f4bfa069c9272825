use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        let part = ranks / (rank - 2);
    }
}

fn main() {}
