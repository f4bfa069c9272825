//! Correct programs: no diagnostics.

use hcomm_core::check::check;
use hcomm_core::program::Program;

use crate::builders::*;

fn accepts(program: &Program) {
    let found = check(program);
    assert!(found.is_empty(), "{} at {} ranks: {found:#?}", program.operator, program.num_ranks());
}

#[test]
fn correct_programs_have_no_faults() {
    for ranks in 2..=17 {
        accepts(&mesh_all_gather(ranks));
        accepts(&one_shot_all_reduce(ranks));
        accepts(&all_pairs_all_reduce(ranks));
        accepts(&ring_all_gather(ranks));
        accepts(&ring_all_reduce(ranks));
        accepts(&nhr_all_gather(ranks));
        accepts(&gather_reduce(ranks));
        accepts(&tree_broadcast(ranks));
        accepts(&dissemination_barrier(ranks));
    }
    accepts(&read_send_recv());
}
