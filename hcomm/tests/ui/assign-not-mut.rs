use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        let step = 0;
        while step < ranks { step += 1; }
    }
}

fn main() {}
