use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        let chunk = rank as i64;
    }
}

fn main() {}
