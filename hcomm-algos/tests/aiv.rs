//! The library on AIV: listings, counts, JSON, and the checks with few and many blocks.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::collections::BTreeSet;

use hcomm_algos::{LIBRARY, MeshAllGather, NhrAllGather, RingAllGather};
use hcomm_core::aiv::{self, MAX_BLOCKS, OpKind, Options, Program};
use hcomm_core::instance::{Instance, instantiate};
use hcomm_core::resources::{Resources, of_rank, of_shape};
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::{Engine, Spec};

/// The algorithms that are for AIV.
fn library() -> impl Iterator<Item = &'static Spec<'static>> {
    LIBRARY.iter().copied().filter(|spec| spec.offers(Engine::Aiv))
}

/// An algorithm at these rank counts, or on the layouts that it names up to the largest of them, with some roles.
fn instances(spec: &Spec<'static>, ranks: &[u32]) -> Vec<Instance> {
    let layouts = support::layouts(spec, ranks).into_iter();
    layouts
        .flat_map(|layout| support::some_roles(spec, layout))
        .filter_map(|shape| instantiate(spec, &shape).ok())
        .collect()
}

/// At this rank count, or on the first layout that the algorithm is verified for where that is not flat.
fn instance(spec: &Spec<'static>, ranks: u32) -> Instance {
    let flat = instantiate(spec, &Shape::new(Layout::flat(ranks).unwrap()));
    flat.unwrap_or_else(|_| {
        let layouts = hcomm_core::verify::layouts(spec);
        layouts.iter().find_map(|layout| instantiate(spec, &Shape::new(*layout)).ok()).unwrap()
    })
}

/// HCCL's guide, four ranks on one server (DESIGN section 6).
#[test]
fn hccls_table() {
    const MESH: Resources = MeshAllGather::resources(4);
    assert_eq!((MESH.blocks, MESH.flags, MESH.channels), (4, 6, 3));
    // Two lanes and the rest, `ready` from one side and `done` from the other.
    const RING: Resources = RingAllGather::resources(4);
    assert_eq!((RING.blocks, RING.flags), (3, 2));
    // Without `par`, one block; peers at distances 1, 2 and 4 both ways.
    const NHR: Resources = NhrAllGather::resources(8);
    assert_eq!((NHR.blocks, NHR.flags), (1, 6));
    // No more blocks than cores.
    assert_eq!(MeshAllGather::resources(64).blocks, MAX_BLOCKS);
}

#[test]
fn listings() {
    for spec in library() {
        let program = aiv::lower_default(&instance(spec, 4)).unwrap();
        insta::assert_snapshot!(format!("aiv_{}", spec.snake), program.to_string());
    }
    let two = aiv::lower(&instance(&RingAllGather::SPEC, 3), 2).unwrap();
    insta::assert_snapshot!("aiv_ring_all_gather_2_blocks", aiv::OneRank(&two, 0).to_string());
    let seven = aiv::lower(&instance(&MeshAllGather::SPEC, 4), 7).unwrap();
    insta::assert_snapshot!("aiv_mesh_all_gather_7_blocks", aiv::OneRank(&seven, 0).to_string());
    insta::assert_snapshot!(
        "aiv_mesh_all_gather_json",
        aiv::lower(&instance(&MeshAllGather::SPEC, 2), 2).unwrap().to_json()
    );
}

#[test]
fn json_reads_back_as_the_same_program() {
    for spec in library() {
        for blocks in [1, 2, 9] {
            let program = aiv::lower(&instance(spec, 4), blocks).unwrap();
            assert_eq!(Program::from_json(&program.to_json()).as_ref(), Ok(&program), "{} {blocks}", spec.snake);
        }
    }
}

/// The flags that a rank waits for.
fn flags(program: &Program, of: u32) -> u32 {
    let mut flags = BTreeSet::new();
    for (rank, _, op) in program.ops() {
        if let (true, OpKind::Wait(flag)) = (rank == of, op.kind) {
            flags.insert((flag.peer, flag.notify, flag.part));
        }
    }
    flags.len() as u32
}

#[test]
fn counts_are_what_the_lowered_program_uses() {
    for spec in library() {
        for instance in instances(spec, &[2, 3, 4, 5, 8, 9]) {
            let program = aiv::lower_default(&instance).unwrap();
            let most = of_shape(spec, &instance.shape).unwrap();
            assert_eq!(most.blocks, program.num_blocks(), "{} at {:?}", spec.snake, instance.shape);
            for rank in 0..instance.shape.ranks() {
                let counted = of_rank(spec, &instance.shape, rank).unwrap();
                assert_eq!(counted.flags, flags(&program, rank), "{} rank {rank} of {:?}", spec.snake, instance.shape);
            }
        }
    }
}

/// Whatever the number of blocks, and with a core for each of them.
#[test]
fn every_algorithm_holds_on_any_number_of_blocks() {
    for spec in library() {
        for instance in instances(spec, &[2, 3, 5]) {
            let lanes = aiv::lanes(&instance);
            for blocks in [1, 2, lanes.max(1), lanes + 1, 2 * lanes + 1, MAX_BLOCKS] {
                let program = aiv::lower(&instance, blocks).unwrap();
                let options = Options { cores: Some(blocks) };
                let found = aiv::check(&program, &options);
                assert!(found.is_empty(), "{} on {blocks} blocks: {:#?}\n{program}", spec.snake, found);
            }
        }
    }
}

#[test]
fn no_or_too_many_blocks_are_refused() {
    for blocks in [0, MAX_BLOCKS + 1, u32::MAX] {
        let refused = aiv::lower(&instance(&MeshAllGather::SPEC, 4), blocks).unwrap_err();
        assert_eq!(refused.code.to_string(), "H401");
    }
}

#[test]
fn fewer_cores_than_blocks_deadlock_where_blocks_meet() {
    let program = aiv::lower_default(&instance(&MeshAllGather::SPEC, 4)).unwrap();
    for cores in 1..4 {
        let found = aiv::check(&program, &Options { cores: Some(cores) });
        assert_eq!(found.iter().map(|fault| fault.code.to_string()).collect::<Vec<_>>(), ["H101"], "{cores} cores");
    }
    // Parts of an algorithm without `par` do not wait for each other.
    let program = aiv::lower(&instance(&NhrAllGather::SPEC, 4), 8).unwrap();
    assert_eq!(aiv::check(&program, &Options { cores: Some(3) }), []);
}
