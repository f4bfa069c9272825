use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        let mut sent = 0;
        par for peer in peers {
            pre_sync { signal peer; wait peer; }
            sent = sent + peer;
        }
    }
}

fn main() {}
