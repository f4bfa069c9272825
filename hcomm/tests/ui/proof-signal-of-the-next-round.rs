use hcomm::collective;

collective! {
    pub Wrong: barrier {
        par for peer in peers { pre_sync { signal peer; wait peer; } }
    }
}

fn main() {}
