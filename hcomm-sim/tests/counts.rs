//! The V operators: counts by rank and by pair, zero counts, gaps between slots, several rounds.
#![allow(clippy::unwrap_used, reason = "tests")]

use hcomm_core::check;
use hcomm_core::counts::{Counts, CountsError, Extent};
use hcomm_core::dtype::DataType;
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu::lower;
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::sizes::SizeError;
use hcomm_sim::{Config, RunError, Schedule};
use proptest::prelude::*;

fn program(source: &str, ranks: u32) -> Program {
    let parsed = hcomm_lang::parse(source.parse().unwrap(), "test.rs").unwrap().remove(0);
    let shape = Shape::new(Layout::flat(ranks).unwrap());
    lower(&parsed.spec.with_spec(|spec| instantiate(spec, &shape)).unwrap())
}

const GATHER: &str = "pub P: all_gather_v {
    copy_in { scratch[rank] = input; }
    par for peer in peers {
        pre_sync  { signal peer; wait peer; }
        move      { peer.scratch[rank] = scratch[rank]; }
        post_sync { signal peer; wait peer; }
    }
    copy_out { output = scratch; }
}";
const REDUCE_SCATTER: &str = "pub P: reduce_scatter_v {
    split: 2;
    scratch: 2 * ranks;
    copy_in { scratch = input; }
    for d in 1..ranks {
        let to = wrap(rank + d, ranks);
        let from = wrap(rank - d, ranks);
        pre_sync  { signal from; wait to; }
        move      { to.scratch[2 * to..2 * to + 2] += input[2 * to..2 * to + 2]; }
        post_sync { signal to; wait from; }
    }
    copy_out { output = scratch[2 * rank..2 * rank + 2]; }
}";
const ALL_TO_ALL: &str = "pub P: all_to_all_v {
    copy_out { output[rank] = input[rank]; }
    for d in 1..ranks {
        let to = wrap(rank + d, ranks);
        let from = wrap(rank - d, ranks);
        pre_sync  { signal from; wait to; }
        move      { to.scratch[rank] = input[to]; }
        post_sync { signal to; wait from; }
        copy_out  { output[from] = scratch[from]; }
    }
}";

/// Slots of these counts with these gaps before them.
fn spread(counts: &[u64], gaps: &[u64]) -> Vec<Extent> {
    let mut start = 0;
    let mut place = |(count, gap): (&u64, &u64)| {
        start += gap;
        let extent = Extent { count: *count, start };
        start += count;
        extent
    };
    counts.iter().zip(gaps).map(&mut place).collect()
}

fn check_runs(program: &Program, counts: &Counts, dtype: DataType) -> Result<(), TestCaseError> {
    prop_assert_eq!(check::check(program), []);
    for (buffer, repeat, schedule) in
        [(200 << 20, 1, Schedule::Fifo), (2048, 2, Schedule::Fifo), (4096, 1, Schedule::Random { seed: 7 })]
    {
        let config = Config::new(0, dtype).counts(counts.clone()).hccl_buffer(buffer).repeat(repeat).schedule(schedule);
        let report = hcomm_sim::run(program, &config).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(report.ok(), "{}", report);
    }
    Ok(())
}

/// Four counts, some of them zero, and gaps.
fn counts() -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::vec(prop_oneof![Just(0u64), 1u64..5, 1u64..700], 4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn slots_by_rank(counts in counts(), gaps in proptest::collection::vec(0u64..9, 4)) {
        let counts = Counts::ByRank(spread(&counts, &gaps));
        check_runs(&program(GATHER, 4), &counts, DataType::Int16)?;
        check_runs(&program(REDUCE_SCATTER, 4), &counts, DataType::Int32)?;
    }

    #[test]
    fn slots_by_pair(
        counts in proptest::collection::vec(counts(), 4),
        gaps in proptest::collection::vec(0u64..9, 8),
    ) {
        let send = counts.iter().map(|row| spread(row, &gaps[..4])).collect();
        let received = |to: usize| counts.iter().map(|row| row[to]).collect::<Vec<u64>>();
        let recv = (0..4).map(|to| spread(&received(to), &gaps[4..])).collect();
        check_runs(&program(ALL_TO_ALL, 4), &Counts::ByPair { send, recv }, DataType::Fp32)?;
        check_runs(&program(ALL_TO_ALL, 4), &Counts::by_pair(&counts), DataType::Int8)?;
    }
}

#[test]
fn counts_that_do_not_fit_are_refused() {
    let refused =
        |counts: Counts| match hcomm_sim::run(&program(GATHER, 4), &Config::new(0, DataType::Int8).counts(counts)) {
            Err(RunError::Size(SizeError::Counts(error))) => error,
            other => panic!("{other:?}"),
        };
    assert_eq!(refused(Counts::by_rank(&[1, 2])), CountsError::Number { have: 2, ranks: 4 });
    assert!(matches!(refused(Counts::Same(1)), CountsError::Kind { .. }));
    assert!(matches!(refused(Counts::by_rank(&[u64::MAX, 1, 1, 1])), CountsError::TooLarge { .. }));
    let slot = |count, start| Extent { count, start };
    let overlapping = Counts::ByRank(vec![slot(4, 0), slot(4, 8), slot(4, 2), slot(0, 3)]);
    assert_eq!(refused(overlapping), CountsError::Overlap { rank: 0, a: 0, b: 2 });
}

/// A slot copied to where another rank's belongs has another length.
#[test]
fn lengths_of_ranks_stay_apart() {
    let wrong = program(
        &GATHER.replace(
            "output = scratch;",
            "output[0] = scratch[1]; output[1] = scratch[0]; output[2..ranks] = scratch[2..ranks];",
        ),
        3,
    );
    let found = check::check(&wrong);
    insta::assert_snapshot!(found.iter().map(|one| format!("{one}\n")).collect::<String>());
}
