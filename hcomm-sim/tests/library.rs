//! Every algorithm of the library, on real bytes.

#![allow(clippy::unwrap_used, reason = "tests")]

use hcomm_algos::LIBRARY;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu;
use hcomm_core::operator::Operator;
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};
use hcomm_sim::{Config, Schedule, run};

/// All programs of up to `most` ranks, flat or on two nodes, with the last rank as the root. Those that an algorithm
/// refuses are left out.
fn programs(most: u32) -> Vec<Program> {
    let layouts = (2..=most).flat_map(|ranks| {
        let two = (ranks % 2 == 0).then(|| Layout::equal(1, 2, ranks / 2).unwrap());
        [Layout::flat(ranks), two].into_iter().flatten()
    });
    let mut all = Vec::new();
    for layout in layouts {
        for spec in LIBRARY {
            let mut shape = Shape::new(layout);
            shape.root = layout.ranks() - 1;
            if let Ok(instance) = instantiate(spec, &shape) {
                all.push(aicpu::lower(&instance));
            }
        }
    }
    all
}

fn holds(program: &Program, config: &Config) {
    let report = run(program, config).unwrap();
    let hang = report.hang.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(report.ok(), "{report}{hang}{config:?}");
}

#[test]
fn holds_for_every_type_and_reduction() {
    let programs = programs(5);
    for spec in LIBRARY {
        assert!(programs.iter().any(|program| program.algorithm == spec.snake), "{} takes no rank count", spec.snake);
    }
    for program in programs {
        for dtype in DataType::ALL {
            for reduce in ReduceOp::ALL {
                if program.operator.reduces() || reduce == ReduceOp::Sum {
                    holds(&program, &Config::new(1003, dtype).reduce(reduce).seed(1));
                }
            }
        }
    }
}

#[test]
fn holds_in_several_rounds_and_invocations_in_any_order() {
    for program in programs(8) {
        // A few cells of 256 bytes, and an odd rest.
        let config = Config::new(1503, DataType::Fp16).hccl_buffer(u64::from(program.scratch) * 256).repeat(3);
        holds(&program, &config);
        for seed in 0..3 {
            holds(&program, &config.clone().schedule(Schedule::Random { seed }));
        }
        if !matches!(program.operator, Operator::AllToAll | Operator::SendRecv | Operator::Barrier) {
            holds(&program, &config.clone().in_place(true));
            holds(&program, &config.in_place(true).schedule(Schedule::Random { seed: 7 }));
        }
    }
}

#[test]
fn holds_for_nothing_and_for_one_element() {
    for program in programs(6) {
        for count in 0..3 {
            holds(&program, &Config::new(count, DataType::Bf16).repeat(2));
        }
    }
}
