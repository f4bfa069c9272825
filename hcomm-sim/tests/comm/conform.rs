//! The library on communicators: every algorithm, on every product that has its operations, compared with the operator's
//! definition and with the byte simulator.

use crate::support::{Draw, Rig, cluster, counts, flat, program};
use hcomm_algos::LIBRARY;
use hcomm_core::counts::Counts;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::Operator;
use hcomm_core::product::Product;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::Verify;
use hcomm_sim::comm::CommConfig;
use hcomm_sim::{Config, Fifo, run_with};

/// A small HCCL buffer, so that a few thousand elements take rounds.
fn small() -> CommConfig {
    CommConfig::default().buffer_size(16 << 10)
}

#[test]
fn the_library_runs_on_communicators() {
    let mut draw = Draw(7);
    let mut cases = 0;
    for product in [Product::A950, Product::A3] {
        for layout in
            [Layout::flat(2), Layout::flat(3), Layout::flat(4), Layout::equal(1, 2, 2), Layout::equal(2, 2, 2)]
        {
            let layout = layout.unwrap();
            let cluster = cluster(product, layout.ranks());
            let devices: Vec<u32> = (0..layout.ranks()).collect();
            let rig = Rig::new(&cluster, &devices, &small());
            for spec in LIBRARY {
                if layout.nodes() == 1 && matches!(spec.headers.verify, Verify::Layouts(_)) {
                    continue;
                }
                let mut shape = Shape::new(layout);
                shape.root = draw.below(u64::from(layout.ranks())) as u32;
                let Ok(instance) = hcomm_core::instance::instantiate(spec, &shape) else {
                    continue;
                };
                drop(instance);
                let program = program(spec, &shape);
                for _ in 0..2 {
                    let dtype = loop {
                        let dtype = draw.of(&DataType::ALL);
                        if !(program.operator.reduces() && dtype.is_copied_only()) {
                            break dtype;
                        }
                    };
                    let reduce = draw.of(&ReduceOp::ALL);
                    if product.admits(&program, dtype, reduce).is_err() {
                        continue;
                    }
                    let most = draw.of(&[1, 7, 100, 1000, 3001]);
                    let counts = counts(spec.operator, layout.ranks(), most, &mut draw);
                    let in_place = spec.operator.has_in_place() && draw.below(2) == 0;
                    rig.check(&program, &counts, (dtype, reduce), in_place, cases);
                    cases += 1;
                }
            }
            let counters = cluster.counters();
            assert_eq!((counters.lost_records, counters.failures), (0, 0));
            rig.end();
            let left = cluster.in_use();
            assert_eq!((left.communicators, left.threads, left.channels, left.contexts), (0, 0, 0, 0));
            assert_eq!((left.streams, left.events, left.bytes), (0, 0, 0));
        }
    }
    assert!(cases > 400, "{cases}");
}

#[test]
fn outputs_are_those_of_the_byte_simulator() {
    let cluster = cluster(Product::A950, 4);
    let rig = Rig::new(&cluster, &[0, 1, 2, 3], &small());
    let mut compared = 0;
    for spec in LIBRARY {
        if matches!(spec.headers.verify, Verify::Layouts(_)) || spec.operator == Operator::Barrier {
            continue;
        }
        let program = flat(spec, 4);
        let counts = counts(spec.operator, 4, 777, &mut Draw(3));
        let elements = (DataType::Int32, ReduceOp::Sum);
        let buffers = rig.buffers(&program, &counts, elements, false, 5);
        rig.launch(&program, &buffers).unwrap();
        rig.wait().into_iter().for_each(Result::unwrap);
        let config = Config::new(counts.largest(), elements.0).counts(counts.clone()).seed(5).hccl_buffer(32 << 10);
        let report = run_with(&program, &config, &mut Fifo::default(), &mut |finished| {
            let call = &buffers.calls[finished.rank as usize];
            for (at, byte) in finished.output().enumerate() {
                let Some(byte) = byte else { continue };
                let mut got = [0];
                cluster.memory().read(call.output + at as u64, &mut got).unwrap();
                assert_eq!(got[0], byte, "{} rank {} byte {at}", spec.snake, finished.rank);
                compared += 1;
            }
        });
        assert!(report.unwrap().ok());
        buffers.free(&rig);
    }
    assert!(compared > 1_000_000, "{compared}");
}

#[test]
fn a_second_call_makes_nothing() {
    let cluster = cluster(Product::A3, 4);
    let rig = Rig::new(&cluster, &[0, 1, 2, 3], &small());
    let all_reduce = flat(&<hcomm_algos::TwoShotAllReduce as hcomm_core::Collective>::SPEC, 4);
    rig.check(&all_reduce, &Counts::Same(100), (DataType::Fp32, ReduceOp::Sum), false, 1);
    let first = cluster.counters();
    assert_eq!(first.contexts_reused, 0);
    for (count, dtype, reduce) in [
        (100, DataType::Fp32, ReduceOp::Sum),
        (9999, DataType::Int8, ReduceOp::Max),
        (3, DataType::Bf16, ReduceOp::Min),
    ] {
        rig.check(&all_reduce, &Counts::Same(count), (dtype, reduce), count == 3, count);
    }
    let then = cluster.counters();
    let made = |counters: hcomm_sim::comm::Counters| {
        (counters.threads_made, counters.channels_made, counters.contexts_made, counters.channels_reused)
    };
    assert_eq!(made(then), made(first));
    assert_eq!((then.contexts_reused, then.operators, then.completed), (12, 16, 16));
    // Another algorithm takes the channels and threads that are there.
    let gather = flat(&<hcomm_algos::MeshAllGather as hcomm_core::Collective>::SPEC, 4);
    rig.check(&gather, &Counts::Same(100), (DataType::Fp32, ReduceOp::Sum), false, 1);
    let last = cluster.counters();
    assert_eq!((last.channels_made, last.contexts_made), (then.channels_made, then.contexts_made + 4));
    rig.end();
}
