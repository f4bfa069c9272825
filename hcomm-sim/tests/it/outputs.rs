//! Outputs against an expectation that is written here once more, and in the most direct way.

use crate::support::*;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::Operator;
use hcomm_core::program::Program;
use hcomm_sim::{Config, Fifo, Inputs, Random, RunError, Scheduler, run_with};

/// All outputs of a run: (invocation, rank, bytes).
fn outputs(program: &Program, config: &Config, scheduler: &mut dyn Scheduler) -> Vec<(u64, u32, Vec<u8>)> {
    let mut all = Vec::new();
    let report = run_with(program, config, scheduler, &mut |finished| {
        let bytes = finished.output().map(|byte| byte.unwrap()).collect();
        all.push((finished.invocation, finished.rank, bytes));
    });
    assert!(report.unwrap().ok());
    all.sort();
    all
}

fn input(
    config: &Config,
    reduced: Option<ReduceOp>,
    ranks: u32,
    invocation: u64,
    rank: u32,
    elements: u64,
) -> Vec<i32> {
    let mut bytes = vec![0; elements as usize * 4];
    Inputs::new(config.seed, DataType::Int32, reduced, ranks).fill(invocation, rank, 0, &mut bytes);
    bytes.chunks(4).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

fn bytes(values: impl IntoIterator<Item = i32>) -> Vec<u8> {
    values.into_iter().flat_map(i32::to_le_bytes).collect()
}

/// What rank `rank` must end with.
fn expected(operator: Operator, config: &Config, ranks: u32, invocation: u64, rank: u32) -> Vec<u8> {
    let n = config.counts.largest();
    let slots =
        if matches!(operator, Operator::AllToAll | Operator::ReduceScatter | Operator::Scatter) { ranks } else { 1 };
    let reduced = operator.reduces().then_some(config.reduce);
    let inputs: Vec<Vec<i32>> =
        (0..ranks).map(|rank| input(config, reduced, ranks, invocation, rank, n * u64::from(slots))).collect();
    let slot = |of: u32, slot: u32| inputs[of as usize][(u64::from(slot) * n) as usize..][..n as usize].to_vec();
    let sum = |which: u32| -> Vec<i32> {
        (0..n as usize).map(|i| (0..ranks).fold(0i32, |sum, of| sum.wrapping_add(slot(of, which)[i]))).collect()
    };
    let root = 0;
    match operator {
        Operator::AllGather => bytes(inputs.concat()),
        Operator::Gather if rank == root => bytes(inputs.concat()),
        Operator::AllReduce => bytes(sum(0)),
        Operator::Reduce if rank == root => bytes(sum(0)),
        Operator::ReduceScatter => bytes(sum(rank)),
        Operator::Broadcast => bytes(slot(root, 0)),
        Operator::Scatter => bytes(slot(root, rank)),
        Operator::AllToAll => bytes((0..ranks).flat_map(|of| slot(of, rank))),
        Operator::SendRecv if rank == 1 => bytes(slot(0, 0)),
        _ => Vec::new(),
    }
}

#[test]
fn are_what_the_operator_says() {
    let ranks = 3;
    for operator in equal_slots() {
        for split in [1, 2] {
            let program = pull(operator, shape(ranks), split);
            let config = Config::new(301, DataType::Int32).repeat(2).hccl_buffer(1 << 10).seed(9);
            let mut expectation = Vec::new();
            for invocation in 0..2 {
                for rank in 0..ranks {
                    expectation.push((invocation, rank, expected(operator, &config, ranks, invocation, rank)));
                }
            }
            assert_eq!(outputs(&program, &config, &mut Fifo::default()), expectation, "{operator}");
            assert_eq!(outputs(&program, &config, &mut Random::new(4)), expectation, "{operator}");
        }
    }
}

#[test]
fn are_the_same_whether_inputs_fit_in_memory_or_not() {
    let program = ring_all_reduce(4);
    let config = Config::new(1000, DataType::Int32);
    // Results take 4 ranks x 3 cells x 1024 bytes by the estimate, inputs 16,000.
    let tight = config.clone().memory_limit(28_000);
    assert_eq!(outputs(&program, &config, &mut Fifo::default()), outputs(&program, &tight, &mut Fifo::default()));
    let error = run_with(&program, &config.memory_limit(9_000), &mut Fifo::default(), &mut |_| {}).unwrap_err();
    assert!(matches!(error, RunError::Memory { need: 12_288, limit: 9_000 }), "{error:?}");
}

#[test]
fn are_distinct_in_every_invocation_in_every_rank() {
    let all = outputs(&mesh_all_gather(2), &Config::new(50, DataType::Int64).repeat(3), &mut Fifo::default());
    assert_eq!(all.len(), 6);
    assert_eq!(all[0].2, all[1].2);
    assert_ne!(all[0].2, all[2].2);
    assert_ne!(all[2].2, all[4].2);
}
