//! Correct programs: every operator, type, reduction, form and schedule.

use crate::support::*;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::Operator;
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};
use hcomm_sim::{Config, Report, RunError, Schedule, run};

/// Runs what must hold.
fn holds(program: &Program, config: &Config) -> Report {
    let report = run(program, config).unwrap();
    assert!(report.ok(), "{report}\n{config:?}\n{}", report.hang.as_ref().map(ToString::to_string).unwrap_or_default());
    report
}

fn output_bytes(program: &Program, config: &Config) -> u64 {
    let slots = |rank| program.operator.output_slots(&program.shape, rank);
    let slots: u32 = (0..program.num_ranks()).map(slots).sum();
    u64::from(slots) * config.counts.largest() * u64::from(config.dtype.size()) * config.repeat
}

#[test]
fn every_operator_type_and_reduction() {
    for operator in equal_slots() {
        for (ranks, split) in [(1, 1), (2, 3), (5, 1), (4, 4)] {
            if operator == Operator::SendRecv && ranks == 1 {
                continue;
            }
            let mut shape = Shape::new(Layout::flat(ranks).unwrap());
            shape.root = ranks - 1;
            let program = pull(operator, shape, split);
            for dtype in DataType::ALL.into_iter().filter(|dtype| !(operator.reduces() && dtype.is_copied_only())) {
                for reduce in ReduceOp::ALL {
                    if !operator.reduces() && reduce != ReduceOp::Sum {
                        continue;
                    }
                    for count in [0, 1, 403] {
                        let config = Config::new(count, dtype).reduce(reduce).seed(count + 5);
                        let report = holds(&program, &config);
                        assert_eq!(report.bytes_checked, output_bytes(&program, &config));
                    }
                }
            }
        }
    }
}

#[test]
fn rounds_repeats_and_in_place() {
    let in_place = |operator| !matches!(operator, Operator::AllToAll | Operator::SendRecv | Operator::Barrier);
    for operator in equal_slots() {
        let program = pull(operator, shape(4), 3);
        for in_place in [false, true].into_iter().filter(|form| !form || in_place(operator)) {
            for (count, hccl_buffer) in [(5000, 16 << 10), (777, 1536), (100, 1 << 20)] {
                for dtype in [DataType::Fp16, DataType::Int64] {
                    for schedule in [Schedule::Fifo, Schedule::Random { seed: 3 }] {
                        let config = Config::new(count, dtype).repeat(3).in_place(in_place).schedule(schedule);
                        let config = config.hccl_buffer(hccl_buffer);
                        let report = holds(&program, &config);
                        assert_eq!(report.bytes_checked, output_bytes(&program, &config));
                        if operator != Operator::Barrier && hccl_buffer == 1536 {
                            assert!(report.rounds > 1, "{operator}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn operators_without_an_in_place_form_say_so() {
    for operator in [Operator::AllToAll, Operator::SendRecv, Operator::Barrier] {
        let error = run(&pull(operator, shape(2), 1), &Config::default().in_place(true)).unwrap_err();
        assert_eq!(error, RunError::InPlace { operator });
    }
}

#[test]
fn the_algorithms_of_the_design_document() {
    for ranks in [2, 3, 8] {
        let programs = [mesh_all_gather, ring_all_reduce, one_shot_all_reduce, read_send_recv];
        for program in programs.map(|program| program(ranks)) {
            for dtype in [DataType::Fp32, DataType::Bf16, DataType::Uint8] {
                for reduce in ReduceOp::ALL {
                    for schedule in [Schedule::Fifo, Schedule::Random { seed: u64::from(ranks) }] {
                        let config = Config::new(10_007, dtype).reduce(reduce).repeat(2).hccl_buffer(64 << 10);
                        holds(&program, &config.schedule(schedule));
                    }
                }
            }
        }
    }
}

#[test]
fn operations_count_notifies_and_segments() {
    // A rank of the mesh: copy in, 3 lanes of 4 notifies and a write, 2 forks and 2 joins of 2 operations, and the copy
    // out, which is one segment where cells are full, and four where they are not.
    let program = mesh_all_gather(4);
    let report = holds(&program, &Config::new(128, DataType::Uint8));
    assert_eq!((report.rounds, report.operations), (1, 4 * (1 + 3 * 5 + 8 + 1)));
    let report = holds(&program, &Config::new(100, DataType::Uint8));
    assert_eq!((report.rounds, report.operations), (1, 4 * (1 + 3 * 5 + 8 + 4)));
    // Nothing to move: handshakes stay.
    let report = holds(&program, &Config::new(0, DataType::Uint8));
    assert_eq!((report.rounds, report.operations), (1, 4 * (3 * 4 + 8)));
    let report = holds(&program, &Config::new(0, DataType::Uint8).repeat(3));
    assert_eq!(report.operations, 3 * 4 * (3 * 4 + 8));
}
