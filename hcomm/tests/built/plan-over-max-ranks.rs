use hcomm::collective;

collective! {
    pub Wrong: all_gather {
        max_ranks: 16;
        copy_in { scratch[rank] = input; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = scratch[rank]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }
}

fn main() {
    let plan = hcomm::plan_for!(Wrong, 64);
    assert_eq!(plan.ranks, 64);
}
