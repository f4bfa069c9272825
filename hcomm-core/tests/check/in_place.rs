//! Programs whose input and output overlap as the operator defines it.

use hcomm_core::check::{in_place, report};
use hcomm_core::diag::Code;
use hcomm_core::operator::Operator;
use hcomm_core::program::Program;

use crate::builders::*;
use crate::reject::told;

fn faults(program: &Program) -> Vec<(Code, u32)> {
    let found = in_place(program);
    found.iter().map(|fault| (fault.code, fault.at.map_or(0, |at| at.line))).collect()
}

#[test]
fn programs_that_stage_their_input_hold_in_place() {
    for ranks in [2, 3, 8] {
        for program in [
            mesh_all_gather(ranks),
            one_shot_all_reduce(ranks),
            all_pairs_all_reduce(ranks),
            ring_all_gather(ranks),
            ring_all_reduce(ranks),
            nhr_all_gather(ranks),
            gather_reduce(ranks),
            tree_broadcast(ranks),
            dissemination_barrier(ranks),
        ] {
            assert_eq!(faults(&program), []);
        }
    }
}

/// One rank adds its peer's contribution to what it has put into its output, which is its input.
fn reduces_into_output() -> Program {
    let mut p = program(Operator::AllReduce, 2, 1, 1);
    for rank in 0..2 {
        let peer = 1 - rank;
        on(&mut p, rank, 0)
            .signal(1, peer, READY)
            .wait(2, peer, READY)
            .write(3, peer, one(scratch(0), input(0)))
            .signal(4, peer, DONE)
            .wait(5, peer, DONE)
            .copy(6, one(output(0), scratch(0)))
            .reduce(7, one(output(0), input(0)));
    }
    p
}

#[test]
fn an_input_that_is_read_after_the_output_is_written_breaks() {
    let p = reduces_into_output();
    let both = report(&p);
    assert_eq!(both.diagnostics, []);
    assert_eq!(faults(&p), [(Code::H303, 7)]);
    insta::assert_snapshot!(told(&both.in_place));
}

#[test]
fn the_last_slot_overwrites_what_is_still_to_be_read() {
    // Reduce-scatter: the output is slot `rank` of the input.
    let mut p = program(Operator::ReduceScatter, 2, 1, 2);
    for rank in 0..2 {
        let peer = 1 - rank;
        fork(&mut p, rank, 1, 2);
        on(&mut p, rank, 1).copy(2, one(output(0), input(rank)));
        on(&mut p, rank, 0)
            .signal(3, peer, READY)
            .wait(4, peer, READY)
            .write(5, peer, one(scratch(0), input(peer)))
            .signal(6, peer, DONE)
            .wait(7, peer, DONE);
        join(&mut p, rank, 1, 2);
        on(&mut p, rank, 0).reduce(8, one(output(0), scratch(0)));
    }
    assert_eq!(faults(&p), [], "a copy onto itself changes nothing");
    // Now everything goes through the output first.
    let mut p = program(Operator::AllGather, 2, 1, 2);
    for rank in 0..2 {
        let peer = 1 - rank;
        on(&mut p, rank, 0)
            .copy(1, one(scratch(0), input(0)))
            .copy(2, one(output(peer), input(0)))
            .copy(2, one(output(1 - peer), input(0)))
            .signal(3, peer, READY)
            .wait(4, peer, READY)
            .write(5, peer, one(scratch(1), scratch(0)))
            .signal(6, peer, DONE)
            .wait(7, peer, DONE)
            .copy(8, one(output(peer), scratch(1)));
    }
    assert_eq!(faults(&p), []);
}

#[test]
fn a_lane_reads_the_input_while_another_writes_the_output() {
    let mut p = program(Operator::AllReduce, 2, 1, 2);
    for rank in 0..2 {
        let peer = 1 - rank;
        on(&mut p, rank, 0)
            .copy(1, one(scratch(0), input(0)))
            .signal(3, peer, READY)
            .wait(4, peer, READY)
            .write(5, peer, one(scratch(1), input(0)))
            .signal(6, peer, DONE)
            .wait(7, peer, DONE);
        fork(&mut p, rank, 8, 2);
        on(&mut p, rank, 0).copy(9, one(output(0), scratch(1)));
        on(&mut p, rank, 1).copy(10, one(scratch(0), input(0)));
        join(&mut p, rank, 8, 2);
        on(&mut p, rank, 0).reduce(11, one(output(0), scratch(0)));
    }
    let both = report(&p);
    assert_eq!(both.diagnostics, []);
    assert_eq!(faults(&p), [(Code::H201, 10)]);
    insta::assert_snapshot!(told(&both.in_place));
}

#[test]
fn an_input_that_is_gone() {
    let mut p = reduces_into_output();
    for rank in 0..2 {
        let queue = &mut p.ranks[rank].threads[0];
        queue.pop();
    }
    for rank in 0..2 {
        on(&mut p, rank, 0).copy(7, one(scratch(0), input(0))).reduce(8, one(output(0), scratch(0)));
    }
    assert_eq!(faults(&p), [(Code::H302, 8)]);
    // What is wrong anyway is not told a second time.
    let mut p = mesh_all_gather(3);
    p.ranks[0].threads[0].pop();
    assert_eq!(faults(&p), []);
}
