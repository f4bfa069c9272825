use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        par for peer in peers {
            par for other in peers {
                pre_sync { signal other; wait other; }
            }
        }
    }
}

fn main() {}
