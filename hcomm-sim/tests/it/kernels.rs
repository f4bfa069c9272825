//! Time of AIV kernels, computed by hand: cores, Unified Buffers, polled flags, meetings, launches.

use hcomm_core::aiv::{self, Copy, Flag, Gm, Op, OpKind, Program, Rank, Sync, Tags, UnifiedBuffer};
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::ids::SpanId;
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::program::Cell;
use hcomm_core::shape::Layout;
use hcomm_sim::cluster::{Aiv, Cluster, Engine, Fabric, Level, Scope};
use hcomm_sim::time::{Fault, LAUNCH, Options, TimeError, Timing, Work, shares, simulate};
use hcomm_sim::{Config, Recorder};

use crate::support::{READY, empty, shape};

/// Links of 10 GB/s and 100 ns between every two ranks.
fn mesh(aiv: Aiv) -> Cluster {
    let level = Level {
        name: "link".into(),
        scope: Scope::Node,
        fabric: Fabric::Mesh,
        gbps: 10.0,
        sharing: 1,
        node_gbps: None,
        latency: 100.0,
        notify_latency: 20.0,
    };
    Cluster {
        name: "test".into(),
        about: String::new(),
        product: hcomm_core::product::Product::A950,
        layout: Layout::flat(4).unwrap(),
        dies: 1,
        engine: Engine::FREE,
        aiv,
        levels: vec![level],
    }
}

/// Blocks of all-to-all kernels, one chunk a slot.
fn program(ranks: u32, blocks: u32, ub: UnifiedBuffer) -> Program {
    let frame = empty("test", Operator::AllToAll, shape(ranks), 1, ranks);
    let frame = hcomm_core::program::Program { ranks: Vec::new(), ..frame };
    let rank = Rank { blocks: vec![Vec::new(); blocks as usize] };
    Program { frame, parts: 1, tags: Tags::PerCall, ub, sync: Sync::Hard, ranks: vec![rank; ranks as usize] }
}

fn push(program: &mut Program, rank: u32, block: u32, line: u32, kind: OpKind) {
    program.ranks[rank as usize].blocks[block as usize].push(Op { kind, at: SpanId(line - 1) });
}

fn copy(to: u32, from: u32, len: u32) -> OpKind {
    let gm = |rank, buffer| Gm { rank, cell: Cell { buffer, chunk: 0 } };
    let (dst, src) = (gm(to, Buffer::Output), gm(from, Buffer::Input));
    OpKind::Copy(Copy { dst, src, len, class: 0, part: None, padded: true })
}

fn flag(peer: u32, step: u32) -> Flag {
    Flag { peer, notify: READY, part: 0, step }
}

fn run(program: &Program, cluster: &Cluster, count: u64) -> Timing {
    let options = Options { record: Some(1000), ..Options::default() };
    simulate(program, cluster, &Config::new(count, DataType::Int8), &options).unwrap()
}

#[track_caller]
fn assert_times(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9 * expected, "{found} and not {expected}");
    }
}

const CORE: Aiv = Aiv { copy: 7.0, load: 40.0, store: 20.0, atomic: 5.0, ..Aiv::FREE };

#[test]
fn a_core_loads_and_stores_in_turn() {
    let time = |kinds: &[OpKind]| {
        let mut program = program(2, 1, UnifiedBuffer::SINGLE);
        kinds.iter().for_each(|kind| push(&mut program, 0, 0, 1, *kind));
        run(&program, &mesh(CORE), 40_000).time
    };
    // Stored over the link at 10 GB/s, though the core could give 20.
    assert_times(&[time(&[copy(1, 0, 1)])], &[7.0 + 100.0 + 1000.0 + 4000.0]);
    // Loaded over the link.
    assert_times(&[time(&[copy(0, 1, 1)])], &[7.0 + 100.0 + 4000.0 + 2000.0]);
    // At home, and in the atomic mode.
    assert_times(&[time(&[copy(0, 0, 1)])], &[7.0 + 1000.0 + 2000.0]);
    let atomic = [OpKind::SetAtomic, copy(0, 0, 1), OpKind::SetAtomicNone, copy(0, 0, 1)];
    assert_times(&[time(&atomic)], &[14.0 + 1000.0 + 8000.0 + 1000.0 + 2000.0]);
}

#[test]
fn two_buffers_load_and_store_at_once() {
    let piece = f64::from(UnifiedBuffer::DOUBLE.piece);
    let time = |kind: OpKind, count: u64| {
        let mut program = program(2, 1, UnifiedBuffer::DOUBLE);
        push(&mut program, 0, 0, 1, kind);
        run(&program, &mesh(CORE), count).time - 107.0
    };
    // One piece is loaded, then stored. Of several, the first one is loaded before the link has anything to do.
    assert_times(&[time(copy(1, 0, 1), 40_000)], &[1000.0 + 4000.0]);
    let (count, bytes) = (1_000_000, 1e6);
    assert_times(&[time(copy(1, 0, 1), count)], &[piece / 40.0 + bytes / 10.0]);
    // Loading is slower: the last piece is stored when the link is done.
    let last = bytes % piece;
    assert_times(&[time(copy(0, 1, 1), count)], &[bytes / 10.0 + last / 20.0]);
}

#[test]
fn the_copies_of_a_rank_share_its_memory() {
    let mut cluster = mesh(Aiv { load: 40.0, store: 40.0, ..Aiv::FREE });
    cluster.engine.local_copy = 30.0;
    let mut program = program(2, 3, UnifiedBuffer::SINGLE);
    (0..3).for_each(|block| push(&mut program, 0, block, 1, copy(0, 0, 1)));
    push(&mut program, 1, 0, 1, copy(1, 1, 1));
    // A core gives 20, three share 30.
    assert_times(&run(&program, &cluster, 60_000).ranks, &[6000.0, 3000.0]);
}

#[test]
fn cores_share_a_link() {
    let mut program = program(2, 2, UnifiedBuffer::SINGLE);
    push(&mut program, 0, 0, 1, copy(1, 0, 1));
    push(&mut program, 0, 1, 1, copy(1, 0, 1));
    // Alone a core gives 40 · 10 / 50 = 8 GB/s. Both have the link half of the time: 5.
    let time = run(&program, &mesh(CORE), 40_000);
    assert_times(&[time.time], &[107.0 + 8000.0]);
    let link = time.links.iter().find(|link| link.name == "link 0>1").unwrap();
    assert_eq!((link.load.most, link.load.bytes), (2, 80_000.0));
    assert!(time.links.iter().any(|link| link.name == "block 1 of rank 0"));
}

#[test]
fn flags_are_polled() {
    let aiv = Aiv { launch: 5.0, record: 8.0, poll: 30.0, barrier: 2.0, ..Aiv::FREE };
    let mut program = program(2, 1, UnifiedBuffer::SINGLE);
    push(&mut program, 0, 0, 1, OpKind::PipeBarrier);
    push(&mut program, 0, 0, 2, OpKind::Record(flag(1, 0)));
    push(&mut program, 0, 0, 3, OpKind::Wait(flag(1, 0)));
    push(&mut program, 1, 0, 4, OpKind::Wait(flag(0, 0)));
    push(&mut program, 1, 0, 5, OpKind::Record(flag(0, 0)));
    // It is there at 5 + 2 + 8 + 20 = 35. Rank 1 polls from 5, 35, …: the second one begins when it is there and ends at
    // 65. Back at 65 + 8 + 20 = 93; rank 0 polls from 15, 45, 75, 105.
    let timing = run(&program, &mesh(aiv), 1);
    assert_times(&timing.ranks, &[135.0, 73.0]);
    let recording = timing.recording.unwrap();
    let path = recording.critical_path();
    let op = |event: usize| recording.op(&program, &recording.events()[event]).unwrap();
    assert_eq!(path.iter().map(|stretch| op(stretch.event).at.0 + 1).collect::<Vec<_>>(), [1, 2, 4, 5, 3]);
    let sum: f64 = path.iter().map(|stretch| stretch.overhead + stretch.data + stretch.sharing).sum();
    assert_times(&[sum + 5.0], &[135.0]);
    assert_eq!(op(path[1].event).label(), "record ready of 1");
    assert_eq!(recording.work(&recording.events()[path[0].event]), Work::Setup);
}

#[test]
fn blocks_meet() {
    let aiv = Aiv { sync: 9.0, load: 40.0, store: 40.0, ..Aiv::FREE };
    let mut program = program(1, 3, UnifiedBuffer::SINGLE);
    for block in 0..3 {
        (0..=block).for_each(|_| push(&mut program, 0, block, 1, copy(0, 0, 1)));
        push(&mut program, 0, block, 2, OpKind::SyncAll);
    }
    push(&mut program, 0, 0, 3, copy(0, 0, 1));
    // Three copies of 2000 ns before the meeting, one after it.
    let timing = run(&program, &mesh(aiv), 40_000);
    assert_times(&[timing.time], &[3.0 * 2000.0 + 9.0 + 2000.0]);
    let recording = timing.recording.unwrap();
    let lines: Vec<u32> = recording
        .critical_path()
        .iter()
        .filter_map(|stretch| recording.op(&program, &recording.events()[stretch.event]))
        .map(|op| op.at.0 + 1)
        .collect();
    // The last one's meeting, then that of the block which goes on.
    assert_eq!(lines, [1, 1, 1, 2, 2, 3]);
}

#[test]
fn a_round_is_a_launch_of_all_blocks() {
    let aiv = Aiv { launch: 50.0, load: 2.0, store: 2.0, ..Aiv::FREE };
    let mut program = program(1, 2, UnifiedBuffer::SINGLE);
    push(&mut program, 0, 0, 1, copy(0, 0, 1));
    push(&mut program, 0, 1, 1, copy(0, 0, 1));
    push(&mut program, 0, 1, 1, copy(0, 0, 1));
    let config = Config::new(4096, DataType::Int8).hccl_buffer(1024);
    let options = Options { record: Some(100), ..Options::default() };
    let timing = simulate(&program, &mesh(aiv), &config, &options).unwrap();
    assert_eq!(timing.rounds, 4);
    // The block with two copies of 1024 ns is what the other one waits for.
    assert_times(&[timing.time], &[4.0 * (50.0 + 2048.0)]);
    let recording = timing.recording.unwrap();
    let path = recording.critical_path();
    let sum: f64 = path.iter().map(|stretch| stretch.launch + stretch.overhead + stretch.data).sum();
    assert_times(&[sum], &[timing.time]);
    // Launches are told apart from what they launch, and shares are all of the time.
    let shares = shares(&recording, &program, &path);
    let launch = shares.iter().find(|share| share.name == LAUNCH).unwrap();
    assert_eq!((launch.count, launch.time), (4, 200.0));
    assert_times(&[shares.iter().map(|share| share.time).sum()], &[timing.time]);
}

#[test]
fn fewer_cores_take_blocks_as_they_end() {
    let aiv = Aiv { load: 2.0, store: 2.0, ..Aiv::FREE };
    let mut program = program(1, 4, UnifiedBuffer::SINGLE);
    for (block, copies) in (0..).zip([3, 1, 1, 1]) {
        (0..copies).for_each(|_| push(&mut program, 0, block, 1, copy(0, 0, 1)));
    }
    let time = |cores: Option<u32>| {
        let mut config = Config::new(1000, DataType::Int8);
        config.cores = cores;
        simulate(&program, &mesh(aiv), &config, &Options::default()).unwrap().time
    };
    assert_times(&[time(None), time(Some(2)), time(Some(1))], &[3000.0, 3000.0, 6000.0]);
}

/// All of it together: `launch`, a copy into scratch, the meeting, the handshake, the transfer, the handshake, the
/// meeting, the copy out. Every rank does the same at the same time.
#[test]
fn mesh_all_gather_by_hand() {
    let aiv = Aiv {
        launch: 500.0,
        copy: 100.0,
        record: 50.0,
        poll: 30.0,
        sync: 90.0,
        barrier: 2.0,
        load: 40.0,
        store: 20.0,
        atomic: 20.0,
    };
    let spec = hcomm_algos::LIBRARY.iter().find(|spec| spec.snake == "mesh_all_gather").unwrap();
    let instance = hcomm_core::instance::instantiate(spec, &shape(4)).unwrap();
    let program = aiv::lower_default(&instance).unwrap();
    let n = 128_000.0;
    let timing = run(&program, &mesh(aiv), 128_000);
    let local = |bytes: f64| 100.0 + bytes / 40.0 + bytes / 20.0;
    // A flag is there 20 after its record ends, so that the first poll does not see it, and the second one does.
    let handshake = 50.0 + 2.0 * 30.0;
    let start = 500.0 + local(n) + 2.0 + 90.0;
    let moved = start + handshake + 2.0 + 100.0 + 100.0 + n / 40.0 + n / 10.0;
    let end = moved + 2.0 + handshake + 90.0 + 2.0 + local(4.0 * n);
    assert!((timing.time - end).abs() <= 1e-9 * end, "{} and not {end}", timing.time);
}

#[test]
fn faults_of_kernels() {
    let spec = hcomm_algos::LIBRARY.iter().find(|spec| spec.snake == "mesh_all_gather").unwrap();
    let instance = hcomm_core::instance::instantiate(spec, &shape(4)).unwrap();
    let program = aiv::lower_default(&instance).unwrap();
    let run = |text: &str| {
        let options = Options { faults: vec![text.parse::<Fault>().unwrap()], ..Options::default() };
        simulate(&program, &mesh(CORE), &Config::new(40_000, DataType::Int8), &options).unwrap()
    };
    let whole = run("slow:0>1:1");
    let slow = run("slow:0>1:0.5");
    // 1000 to load as before, and twice 4000 to store.
    assert_times(&[slow.time - whole.time], &[4000.0]);
    let dead = *run("dead:0>1").stuck.unwrap();
    assert_eq!((dead.completed.len(), dead.transfers.len()), (2, 1));
    let text = dead.to_string();
    assert!(text.contains("rank 0 block 1: CpGM2GM on the dead link link 0>1 does not complete"), "{text}");
    assert!(text.contains("rank 0 block 0: SyncAll keeps its kernel until that times out after 1091 s"), "{text}");
    let lost = run("lose:0>1:1").stuck.unwrap().to_string();
    assert!(lost.contains("rank 1 block 3: Wait of flag `done` from rank 0 keeps its kernel"), "{lost}");
    assert!(lost.contains("nobody has a record of it left"), "{lost}");
    let stalled = run("stall:2").stuck.unwrap();
    assert_eq!((stalled.stalled.as_slice(), stalled.completed.len()), (&[2][..], 0));
}

#[test]
fn what_nobody_meets_is_an_error() {
    let cluster = mesh(CORE);
    let time = |program: &Program| simulate(program, &cluster, &Config::new(1, DataType::Int8), &Options::default());
    let mut waits = program(2, 2, UnifiedBuffer::SINGLE);
    push(&mut waits, 0, 1, 9, OpKind::Wait(flag(1, 0)));
    assert!(
        matches!(time(&waits), Err(TimeError::Stuck(stuck)) if stuck.waits[0].recorder == Recorder::Nobody { lost: 0 })
    );
    let mut meets = program(2, 2, UnifiedBuffer::SINGLE);
    push(&mut meets, 0, 1, 9, OpKind::SyncAll);
    assert!(
        matches!(time(&meets), Err(TimeError::Stuck(stuck)) if matches!(stuck.waits[0].recorder, Recorder::Missing(_)))
    );
    let mut records = program(2, 1, UnifiedBuffer::SINGLE);
    push(&mut records, 0, 0, 9, OpKind::Record(flag(1, 0)));
    assert!(matches!(time(&records), Err(TimeError::LeftSet(_))));
    let mut wrong = program(2, 1, UnifiedBuffer::SINGLE);
    push(&mut wrong, 0, 0, 9, copy(7, 0, 1));
    assert!(matches!(time(&wrong), Err(TimeError::Run(_))));
}

#[test]
fn reductions_of_arrivals_come_behind_the_link() {
    let mut cluster = mesh(Aiv::FREE);
    cluster.engine.inline_reduce = 20.0;
    let spec = hcomm_algos::LIBRARY.iter().find(|spec| spec.snake == "mesh_reduce_scatter").unwrap();
    let instance = hcomm_core::instance::instantiate(spec, &shape(2)).unwrap();
    let program = aiv::lower_default(&instance).unwrap();
    let config = Config::new(10_000, DataType::Fp32).reduce(ReduceOp::Sum);
    let timing = simulate(&program, &cluster, &config, &Options::default()).unwrap();
    // 20 for the flag that says go, 100 + 4000 for the link, at most 2000 for the reduction, 20 for the flag.
    assert!(timing.time >= 20.0 + 4100.0 + 20.0 && timing.time <= 20.0 + 4100.0 + 2000.0 + 20.0, "{}", timing.time);
}
