//! Every algorithm, run on real bytes: rank counts and layouts × roots × counts × types × reductions × in-place × rounds
//! × orders of execution, each compared byte by byte with the operator's definition; and every program checked.
//!
//! The ordinary run takes small layouts. `cargo test --release -p hcomm-algos --features sweep --test conformance` takes
//! the topologies of HCCL's own checker (facts 10.1), up to 4 pods × 8 nodes × 8 ranks, and more of everything.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, reason = "says how many cases ran")]

mod support;

use std::time::Instant;

use hcomm_algos::LIBRARY;
use hcomm_core::check;
use hcomm_core::counts::{Counts, Extent};
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu::lower;
use hcomm_core::operator::{CountsBy, Operator};
use hcomm_core::program::Program;
use hcomm_core::shape::Layout;
use hcomm_core::spec::{Spec, Verify};
use hcomm_sim::{Config, Schedule, run};

const SWEEP: bool = cfg!(feature = "sweep");

/// Bytes of a cell of scratch where the HCCL buffer is made small, so that a few thousand elements take rounds.
const SMALL_CELL: u64 = 256;

/// How many elements.
#[derive(Clone, Copy, Debug)]
enum Size {
    Exactly(u64),
    /// One less than the ranks, so that some chunks are empty.
    FewerThanRanks,
    /// A little more than what divides evenly: the last chunk is shorter.
    Uneven,
    /// Two and a half rounds through a small HCCL buffer.
    Rounds,
}

const SIZES: [Size; 7] = [
    Size::Rounds,
    Size::Uneven,
    Size::Exactly(0),
    Size::Exactly(1),
    Size::FewerThanRanks,
    Size::Exactly(127),
    Size::Exactly(1536),
];

/// Pods, nodes of a pod, ranks of a node.
const SMALL: [(u32, u32, u32); 6] = [(1, 2, 1), (1, 2, 2), (1, 3, 2), (2, 2, 2), (3, 1, 2), (1, 2, 4)];

/// What HCCL's checker takes, smallest first.
const HCCL: [(u32, u32, u32); 15] = [
    (1, 1, 3),
    (1, 1, 5),
    (1, 1, 7),
    (1, 1, 8),
    (2, 2, 2),
    (3, 1, 5),
    (1, 2, 8),
    (2, 2, 4),
    (2, 3, 4),
    (4, 3, 2),
    (2, 2, 8),
    (2, 4, 4),
    (2, 3, 8),
    (2, 8, 8),
    (4, 8, 8),
];

const UNEQUAL: [&[u32]; 6] = [&[1, 2], &[3, 5], &[2, 3, 1], &[4, 2, 2, 3], &[8, 7, 8], &[6, 4, 6, 3, 2]];

fn layouts(spec: &Spec<'_>) -> Vec<Layout> {
    let equal = |sizes: &[(u32, u32, u32)]| -> Vec<Layout> {
        sizes.iter().map(|(pods, nodes, locals)| Layout::equal(*pods, *nodes, *locals).unwrap()).collect()
    };
    let mut layouts = match spec.headers.verify {
        Verify::Ranks(..) if SWEEP => (1..=17).chain([31, 32, 33, 48, 64]).filter_map(Layout::flat).collect(),
        Verify::Ranks(..) => [1, 2, 3, 4, 5, 7, 8].into_iter().filter_map(Layout::flat).collect(),
        Verify::Layouts(_) => equal(&SMALL),
    };
    if let Verify::Layouts(named) = spec.headers.verify {
        layouts.extend(named);
        if named.iter().any(|layout| !layout.is_equal()) {
            let unequal = if SWEEP { &UNEQUAL[..] } else { &UNEQUAL[..4] };
            layouts.extend(unequal.iter().filter_map(|locals| Layout::unequal(locals)));
        }
    }
    if SWEEP {
        layouts.extend(equal(&HCCL));
    }
    let mut distinct: Vec<Layout> = Vec::new();
    for layout in layouts {
        let is_possible = layout.ranks() > 1 || spec.operator != Operator::SendRecv;
        if is_possible && !distinct.contains(&layout) {
            distinct.push(layout);
        }
    }
    distinct
}

/// A count for the program, and the HCCL buffer to run it with.
fn sized(program: &Program, size: Size, dtype: DataType) -> (u64, u64) {
    let (element, split) = (u64::from(dtype.size()), u64::from(program.split));
    let small = u64::from(program.scratch) * SMALL_CELL;
    let large = small.max(1) * 1024;
    match size {
        Size::Exactly(count) => (count, large),
        Size::FewerThanRanks => (u64::from(program.num_ranks()) - 1, large),
        Size::Uneven => (split * 128 / element + 5, large),
        Size::Rounds => (split * SMALL_CELL / element * 5 / 2 + 1, small),
    }
}

fn has_in_place_form(operator: Operator) -> bool {
    !matches!(operator, Operator::AllToAll | Operator::SendRecv | Operator::Barrier)
        && operator.counts() == CountsBy::All
}

/// Counts of at most `most` elements. In the V operators they differ, some are zero, and slots have gaps between them
/// where the operator allows it.
fn counts(operator: Operator, ranks: u32, most: u64, draw: &mut Draw) -> Counts {
    let gaps = operator != Operator::AllToAllVc && draw.of(&[true, false]);
    let mut slots = |counts: &[u64]| -> Vec<Extent> {
        let mut start = 0;
        let place = |count: &u64| {
            start += if gaps { draw.of(&[0, 0, 1, 7]) } else { 0 };
            let extent = Extent { count: *count, start };
            start += count;
            extent
        };
        counts.iter().map(place).collect()
    };
    // The largest is there whatever the others are.
    let count = |from: u32, to: u32| match (from * 7 + to * 5 + from * to) % 6 {
        _ if from == to && from == ranks / 2 => most,
        0 => 0,
        1 => most.min(1),
        kind => most - most * u64::from(kind - 2) / 5,
    };
    match operator.counts() {
        CountsBy::All => Counts::Same(most),
        CountsBy::Rank => Counts::ByRank(slots(&(0..ranks).map(|rank| count(rank, rank)).collect::<Vec<_>>())),
        CountsBy::Pair => {
            let row = |from| (0..ranks).map(|to| count(from, to)).collect::<Vec<_>>();
            let column = |to| (0..ranks).map(|from| count(from, to)).collect::<Vec<_>>();
            Counts::ByPair {
                send: (0..ranks).map(|from| slots(&row(from))).collect(),
                recv: (0..ranks).map(|to| slots(&column(to))).collect(),
            }
        }
    }
}

/// Draws types, reductions and so on: case by case other ones, run by run the same.
struct Draw(u64);

impl Draw {
    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        // SplitMix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        all[((bits ^ (bits >> 31)) % all.len() as u64) as usize]
    }
}

#[test]
fn every_algorithm_conforms() {
    let start = Instant::now();
    let mut draw = Draw(0);
    let (mut programs, mut cases, mut bytes) = (0, 0, 0);
    let mut wrong: Vec<String> = Vec::new();
    for spec in LIBRARY {
        let mut types = DataType::ALL.to_vec();
        types.retain(|dtype| !(spec.operator.reduces() && dtype.is_copied_only()));
        let layouts = layouts(spec);
        for (nth, layout) in layouts.iter().enumerate() {
            let large = layout.ranks() > 64;
            let mut shapes = support::some_roles(spec, *layout);
            // Large layouts take one role each, in turn.
            if large {
                shapes = vec![shapes[nth % shapes.len()]];
            }
            for shape in shapes {
                let program = lower(&instantiate(spec, &shape).unwrap());
                let report = check::report(&program);
                wrong.extend(report.diagnostics.iter().map(|found| format!("{} {shape:?}: {found}", spec.snake)));
                wrong.extend(report.in_place.iter().map(|found| format!("{} {shape:?} in place: {found}", spec.snake)));
                programs += 1;
                let sizes: Vec<Size> = match (SWEEP, large) {
                    (true, false) => SIZES.to_vec(),
                    (_, true) => vec![draw.of(&SIZES), draw.of(&SIZES)],
                    (false, false) => vec![draw.of(&SIZES), draw.of(&SIZES), draw.of(&SIZES)],
                };
                for size in sizes {
                    let dtype = draw.of(&types);
                    let (count, buffer) = sized(&program, size, dtype);
                    let in_place = has_in_place_form(spec.operator) && draw.of(&[true, false]);
                    let schedule = match draw.of(&[false, true, true]) {
                        true => Schedule::Random { seed: cases },
                        false => Schedule::Fifo,
                    };
                    let config = Config::new(count, dtype)
                        .counts(counts(spec.operator, layout.ranks(), count, &mut draw))
                        .reduce(draw.of(&ReduceOp::ALL))
                        .hccl_buffer(buffer)
                        .repeat(draw.of(&[3, 1]))
                        .in_place(in_place)
                        .seed(cases)
                        .schedule(schedule);
                    let report = run(&program, &config).unwrap();
                    if matches!(size, Size::Rounds) && program.scratch > 0 {
                        assert!(report.rounds >= 3, "{} {shape:?} {config:?}", spec.snake);
                    }
                    if !report.ok() {
                        wrong.push(format!("{} {shape:?} {size:?} {config:?}\n{report}", spec.snake));
                    }
                    bytes += report.bytes_checked;
                    cases += 1;
                }
            }
        }
    }
    let number = LIBRARY.len();
    eprintln!(
        "{number} algorithms, {programs} programs checked, {cases} cases run, {bytes} bytes compared, in {:.1} s",
        start.elapsed().as_secs_f64()
    );
    assert!(wrong.is_empty(), "{} of {cases} cases fail:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
    assert!(cases > if SWEEP { 5000 } else { 1000 }, "{cases}");
}
