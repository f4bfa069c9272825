use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        let mut step = 1;
        while step < ranks { step = step * 1; }
    }
}

fn main() {}
