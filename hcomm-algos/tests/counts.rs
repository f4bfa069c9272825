//! Resource counts: HCCL's own table, and the counts against what is lowered.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use hcomm_algos::{LIBRARY, MeshAllGather, NhrAllGather, OneShotAllReduce, ReadSendRecv, RingAllGather, RingAllReduce};
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu::lower;
use hcomm_core::resources::{Resources, of_program, of_rank, of_shape};
use hcomm_core::shape::Layout;
use hcomm_core::{plan, plan_for};

/// HCCL's guide, four ranks on one server (DESIGN section 6): constants, so that a wrong one does not compile.
const RING: Resources = RingAllGather::resources(4);
const MESH: Resources = MeshAllGather::resources(4);
const _: () = assert!(RING.threads == 2 && RING.notify_num_per_thread == 1 && RING.thread_notifies == 2);
const _: () = assert!(RING.channels == 2 && RING.channel_notifies == 4);
const _: () = assert!(MESH.threads == 3 && MESH.notify_num_per_thread == 2 && MESH.thread_notifies == 4);
const _: () = assert!(MESH.channels == 3 && MESH.channel_notifies == 6);

#[test]
fn hccls_table() {
    let table = |need: Resources| {
        [need.threads, need.notify_num_per_thread, need.thread_notifies, need.channels, need.channel_notifies]
    };
    assert_eq!(table(RING), [2, 1, 2, 2, 4]);
    assert_eq!(table(MESH), [3, 2, 4, 3, 6]);
}

#[test]
fn both_neighbours_of_a_ring_of_two_are_one_channel() {
    const TWO: Resources = RingAllGather::resources(2);
    assert_eq!((TWO.threads, TWO.channels, TWO.channel_notifies), (2, 1, 2));
}

#[test]
fn other_algorithms_at_eight_ranks() {
    const NHR: Resources = NhrAllGather::resources(8);
    // Peers at distances 1, 2 and 4 both ways; 4 both ways is one rank.
    assert_eq!((NHR.threads, NHR.channels, NHR.channel_notifies), (1, 5, 10));
    const ONE_SHOT: Resources = OneShotAllReduce::resources(8);
    assert_eq!((ONE_SHOT.threads, ONE_SHOT.thread_notifies, ONE_SHOT.scratch_chunks), (7, 12, 8));
    const RING: Resources = RingAllReduce::resources(8);
    assert_eq!((RING.threads, RING.channels, RING.scratch_chunks), (1, 2, 8));
    const SEND: Resources = ReadSendRecv::resources(8);
    assert_eq!((SEND.threads, SEND.channels, SEND.channel_notifies), (1, 1, 2));
}

#[test]
fn counts_that_are_not_in_the_table_are_evaluated_when_compiling() {
    // 11 ranks are not verified by default, so this is the evaluator at work in a `const`.
    const ELEVEN: Resources = MeshAllGather::resources(11);
    assert!(MeshAllGather::SPEC.counted.iter().all(|(ranks, _)| *ranks != 11));
    assert_eq!((ELEVEN.threads, ELEVEN.channels), (10, 10));
    const PLAN: plan::Plan = plan_for!(MeshAllGather, 64);
    assert_eq!((PLAN.ranks, PLAN.resources.threads), (64, 63));
    const FIRST: Resources = ReadSendRecv::resources_at(4, 0);
    const OTHER: Resources = ReadSendRecv::resources_at(4, 3);
    assert_eq!((FIRST.channels, OTHER.channels), (1, 0));
}

#[test]
fn impossible_rank_counts_have_no_counts() {
    assert_eq!(plan::checked_resources(&MeshAllGather::SPEC, 0), None);
    assert_eq!(plan::checked_resources(&MeshAllGather::SPEC, 1 << 20), None);
}

/// The cache in the spec holds what the evaluator says.
#[test]
fn counted_is_what_is_counted() {
    for spec in LIBRARY {
        assert_eq!(spec.counted.is_empty(), !support::is_flat(spec), "{}", spec.snake);
        for (ranks, counts) in spec.counted {
            let layout = Layout::flat(*ranks).unwrap();
            assert_eq!(hcomm_core::resources::of_layout(spec, layout), Ok(*counts), "{} at {ranks}", spec.snake);
        }
    }
}

#[test]
fn counts_are_what_the_lowered_program_uses() {
    for spec in LIBRARY {
        for layout in support::layouts(spec, &[2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 17, 24, 33]) {
            for shape in support::some_roles(spec, layout) {
                let program = lower(&instantiate(spec, &shape).unwrap());
                let mut most = Resources::default();
                for rank in 0..layout.ranks() {
                    let counted = of_rank(spec, &shape, rank).unwrap();
                    let threads = Resources { blocks: 0, flags: 0, ..counted };
                    assert_eq!(threads, of_program(&program, rank), "{} rank {rank} of {layout}", spec.snake);
                    most = most.max(counted);
                }
                assert_eq!(of_shape(spec, &shape), Ok(most));
            }
        }
    }
}
