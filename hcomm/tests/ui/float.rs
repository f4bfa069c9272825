use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        let half = 0.5 * ranks;
    }
}

fn main() {}
