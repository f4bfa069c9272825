use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        let left = rank.wrapping_sub(1);
    }
}

fn main() {}
