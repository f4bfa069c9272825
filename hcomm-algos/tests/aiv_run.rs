//! Every algorithm of the library on AIV, on real bytes: types, counts, blocks, orders, calls.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use hcomm_algos::LIBRARY;
use hcomm_core::aiv::{self, MAX_BLOCKS, MAX_COUNTER, Program, Tags, UnifiedBuffer};
use hcomm_core::counts::Counts;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::instance::{Instance, instantiate};
use hcomm_core::operator::{CountsBy, Operator};
use hcomm_core::product::Product;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::Engine;
use hcomm_sim::{Config, Schedule, aiv::run};

const SWEEP: bool = cfg!(feature = "sweep");

/// Every algorithm for AIV at these rank counts, or on the layouts that it names up to the largest of them, with the
/// last role of each.
fn instances(ranks: &[u32]) -> Vec<Instance> {
    let mut all = Vec::new();
    for spec in LIBRARY {
        if !spec.offers(Engine::Aiv) {
            continue;
        }
        for layout in support::layouts(spec, ranks) {
            all.extend(support::some_roles(spec, layout).last().and_then(|shape| instantiate(spec, shape).ok()));
        }
    }
    all
}

fn one(name: &str, ranks: u32) -> Instance {
    let spec = LIBRARY.iter().find(|spec| spec.snake == name).unwrap();
    instantiate(spec, &Shape::new(Layout::flat(ranks).unwrap())).unwrap()
}

fn default(instance: &Instance) -> Program {
    aiv::lower_default(instance).unwrap()
}

/// `count` for every slot, or 0, 1 and 2 times as many in turn.
fn counts(program: &Program, count: u64) -> Counts {
    let ranks = u64::from(program.num_ranks());
    let turn = |i: u64| count * ((i + 1) % 3);
    match program.frame.operator.counts() {
        CountsBy::All => Counts::Same(count),
        CountsBy::Rank => Counts::by_rank(&(0..ranks).map(turn).collect::<Vec<_>>()),
        CountsBy::Pair => {
            let row = |from: u64| (0..ranks).map(|to| turn(from + 2 * to)).collect();
            Counts::by_pair(&(0..ranks).map(row).collect::<Vec<_>>())
        }
    }
}

fn holds(program: &Program, count: u64, config: Config) {
    let config = config.counts(counts(program, count));
    let report = run(program, &config).unwrap();
    let hang = report.hang.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(report.ok(), "{report}{hang}{config:?}\n{program}");
}

fn config(dtype: DataType) -> Config {
    Config::new(0, dtype)
}

#[test]
fn holds_for_every_type_and_reduction_that_is_offered() {
    let mut refused = 0;
    for instance in instances(&[2, 3, 4]) {
        let program = default(&instance);
        for dtype in DataType::ALL {
            for reduce in ReduceOp::ALL {
                if !program.frame.operator.reduces() && reduce != ReduceOp::Sum {
                    continue;
                }
                match aiv::admits(Product::A950, &program, dtype, reduce) {
                    Ok(()) => holds(&program, 1003, config(dtype).reduce(reduce).seed(1)),
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 0, "prod is offered");
}

#[test]
fn holds_on_any_number_of_blocks_for_any_count() {
    for instance in instances(&[2, 4]) {
        let lanes = aiv::lanes(&instance);
        for blocks in [1, 2, lanes + 1, 2 * lanes + 1, MAX_BLOCKS] {
            let program = aiv::lower(&instance, blocks.min(MAX_BLOCKS)).unwrap();
            for (count, dtype) in
                [(0, DataType::Int8), (1, DataType::Fp32), (33, DataType::Int8), (1003, DataType::Bf16)]
            {
                holds(&program, count, config(dtype).repeat(2));
            }
        }
    }
}

const COUNTS: &[u64] = if SWEEP { &[0, 1, 2, 31, 32, 33, 127, 1003, 4096] } else { &[0, 1, 33, 1003] };

#[test]
fn one_shot_and_two_shot_hold_on_any_number_of_blocks_for_any_count() {
    for name in ["one_shot_all_reduce", "two_shot_all_reduce", "mesh_all_gather", "ring_all_reduce"] {
        for ranks in [2, 3, 4, 8] {
            let instance = one(name, ranks);
            let lanes = aiv::lanes(&instance);
            for blocks in [1, 2, lanes + 1, lanes + 2, 2 * lanes + 1, MAX_BLOCKS] {
                let program = aiv::lower(&instance, blocks).unwrap();
                for &count in COUNTS {
                    for dtype in [DataType::Int8, DataType::Fp32] {
                        holds(&program, count, config(dtype).repeat(2));
                    }
                }
            }
        }
    }
}

#[test]
fn holds_in_several_launches_and_calls_in_any_order() {
    for instance in instances(&[3, 5]) {
        let lanes = aiv::lanes(&instance);
        for blocks in [2, lanes + 1] {
            let program = aiv::lower(&instance, blocks.min(MAX_BLOCKS)).unwrap();
            // A few cells of 256 bytes, and an odd rest.
            let config = config(DataType::Fp16).hccl_buffer(u64::from(program.frame.scratch.max(1)) * 256).repeat(3);
            holds(&program, 403, config.clone());
            for seed in 0..2 {
                holds(&program, 303, config.clone().schedule(Schedule::Random { seed }));
            }
            let operator = program.frame.operator;
            let in_place = !matches!(operator, Operator::AllToAll | Operator::SendRecv | Operator::Barrier);
            if in_place && operator.counts() == CountsBy::All {
                holds(&program, 303, config.in_place(true).schedule(Schedule::Random { seed: 7 }));
            }
        }
    }
}

/// The whole library on every number of blocks that makes a difference: fewer than lanes, one each, one more, shared with
/// and without a rest, all cores.
#[test]
fn the_library_holds_on_split_blocks() {
    let ranks: &[u32] = if SWEEP { &[2, 3, 4, 5, 6, 7, 8, 9] } else { &[3] };
    let seeds = if SWEEP { 3 } else { 1 };
    for instance in instances(ranks) {
        let lanes = aiv::lanes(&instance);
        let mut all = vec![lanes + 2, 2 * lanes, 3 * lanes + 1, MAX_BLOCKS - 1];
        if SWEEP {
            all.extend([
                1,
                2,
                lanes.saturating_sub(1),
                lanes,
                lanes + 1,
                2 * lanes + 1,
                5 * lanes,
                7,
                13,
                31,
                MAX_BLOCKS,
            ]);
        }
        all.iter_mut().for_each(|blocks| *blocks = (*blocks).clamp(1, MAX_BLOCKS));
        all.sort_unstable();
        all.dedup();
        for blocks in all {
            let program = aiv::lower(&instance, blocks).unwrap();
            let program = if blocks % 2 == 0 { program.on(Product::A3).double_buffered() } else { program };
            // Several launches of cells that have something for every part, and an odd rest.
            let cell = 32 * u64::from(blocks).next_multiple_of(4);
            let config = config(DataType::Int16).hccl_buffer(u64::from(program.frame.scratch.max(1)) * cell).repeat(2);
            let counts = if SWEEP { vec![1, 77, 3 * cell + 1] } else { vec![cell + 1] };
            for count in counts {
                holds(&program, count, config.clone());
                for seed in 0..seeds {
                    holds(&program, count, config.clone().schedule(Schedule::Random { seed }));
                }
            }
            if SWEEP {
                let found = aiv::check(&program, &aiv::Options::default());
                assert!(found.is_empty(), "{} on {blocks} blocks: {found:#?}", instance.algorithm);
            }
        }
    }
}

/// The counter of calls goes from 1000 to 1: flags still hold the values of 1000.
#[test]
fn holds_when_the_tag_wraps() {
    for instance in instances(&[3, 4]) {
        for blocks in [1, aiv::default_blocks(aiv::lanes(&instance)), 11] {
            let program = aiv::lower(&instance, blocks).unwrap();
            for counter in [1, MAX_COUNTER - 1, MAX_COUNTER] {
                holds(&program, 129, config(DataType::Int32).counter(counter).repeat(4));
            }
        }
    }
}

/// Far more launches than slices have values.
#[test]
fn holds_when_slices_wrap() {
    let instance = one("mesh_all_gather", 2);
    let program = default(&instance);
    let config = config(DataType::Int8).hccl_buffer(u64::from(program.frame.scratch) * 128);
    holds(&program, 128 * 65_600, config);
}

#[test]
fn copies_go_in_pieces() {
    let instance = one("mesh_all_gather", 3);
    let mut program = default(&instance);
    for ub in [UnifiedBuffer::SINGLE, UnifiedBuffer::DOUBLE, UnifiedBuffer { piece: 32, buffers: 1 }] {
        program.ub = ub;
        holds(&program, 5_003, config(DataType::Int8));
    }
    let operations = |ub: UnifiedBuffer| {
        let program = Program { ub, ..program.clone() };
        run(&program, &Config::new(1 << 20, DataType::Int8)).unwrap().operations
    };
    assert!(operations(UnifiedBuffer::DOUBLE) > operations(UnifiedBuffer::SINGLE));
}

/// HCCL's sample never changes its tag: the second call passes its waits on what the first one left.
#[test]
fn a_constant_tag_is_stale_in_the_second_call() {
    let mut caught = 0;
    for instance in instances(&[2, 4]) {
        let mut program = default(&instance);
        program.tags = Tags::Constant;
        let config = config(DataType::Int32).counts(counts(&program, 100));
        assert!(run(&program, &config).unwrap().ok(), "the first call has fresh flags");
        let found = aiv::check(&program, &aiv::Options::default());
        assert!(found.iter().all(|fault| fault.code.to_string() == "H103"), "{found:?}");
        let seeds = (0..8).map(|seed| config.clone().repeat(3).schedule(Schedule::Random { seed }));
        let stale =
            seeds.chain([config.clone().repeat(3)]).any(|config| !run(&program, &config).unwrap().stale.is_empty());
        // Where every flag is used several times in a launch, the last value is not the first one.
        assert_eq!(stale, !found.is_empty(), "{} on {} ranks: {found:?}", instance.algorithm, program.num_ranks());
        caught += u32::from(stale);
    }
    assert!(caught > 0);
}

#[test]
fn fewer_cores_than_blocks_hang_and_the_report_says_who_keeps_them() {
    let program = default(&one("mesh_all_gather", 4));
    let report = run(&program, &Config::new(64, DataType::Int32).cores(3)).unwrap();
    let hang = report.hang.unwrap();
    assert!(hang.to_string().contains("waits for a core"), "{hang}");
    assert!(!hang.cycle.is_empty(), "{hang}");
    assert_eq!(hang.diagnostic(4).code.to_string(), "H101");
    let report = run(&program, &Config::new(64, DataType::Int32).cores(4)).unwrap();
    assert!(report.ok(), "{report}");
}
