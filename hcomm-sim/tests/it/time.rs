//! Time where links are shared, computed by hand; faults; what nobody meets.

use hcomm_core::dtype::DataType;
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::program::{Cell, OpKind, Program, RankProgram, Transfer};
use hcomm_core::shape::{Layout, Shape};
use hcomm_sim::cluster::{Aiv, Cluster, Engine, Fabric, Level, Scope};
use hcomm_sim::picture::{Selection, chrome_trace};
use hcomm_sim::time::{Fault, Options, TimeError, Timing, simulate};
use hcomm_sim::{Config, Recorder};

use crate::support::{At, DONE, READY, empty, ring_all_reduce};

/// Ports of 10 GB/s to a switch, a latency of 100 ns.
fn switch() -> Cluster {
    let level = Level {
        name: "port".into(),
        scope: Scope::Cluster,
        fabric: Fabric::Switch,
        gbps: 10.0,
        sharing: 1,
        node_gbps: None,
        latency: 100.0,
        notify_latency: 0.0,
    };
    Cluster {
        name: "test".into(),
        about: String::new(),
        product: hcomm_core::product::Product::A950,
        layout: Layout::flat(4).unwrap(),
        dies: 1,
        engine: Engine::FREE,
        aiv: Aiv::FREE,
        levels: vec![level],
    }
}

/// Slots of 1000 bytes (all_to_all, one chunk a slot).
fn config() -> Config {
    Config::new(1000, DataType::Int8)
}

/// A program in which rank and thread write runs of slots to peers: (rank, thread, peer, slots).
fn writes(ranks: u32, writes: &[(u32, u32, u32, u32)]) -> Program {
    let shape = Shape::new(Layout::flat(ranks).unwrap());
    let mut program = empty("test", Operator::AllToAll, shape, 1, ranks);
    for (rank, thread, peer, len) in writes {
        let cell = |buffer| Cell { buffer, chunk: 0 };
        let transfer = Transfer { dst: cell(Buffer::Output), src: cell(Buffer::Input), len: *len, class: 0 };
        At(&mut program, *rank, *thread).op(7, OpKind::Write(*peer, transfer));
    }
    program
}

fn time(program: &Program, cluster: &Cluster) -> Timing {
    simulate(program, cluster, &config(), &Options { record: Some(1000), ..Options::default() }).unwrap()
}

/// When every transfer ended, in the order of ranks and threads.
fn ends(timing: &Timing) -> Vec<f64> {
    let recording = timing.recording.as_ref().unwrap();
    let mut ends: Vec<_> = recording.events().iter().map(|event| (recording.place(event), event.end)).collect();
    ends.sort_by_key(|(place, _)| *place);
    ends.into_iter().map(|(_, end)| end).collect()
}

#[track_caller]
fn assert_times(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9 * expected, "{found} and not {expected}");
    }
}

#[test]
fn two_and_three_share_a_port() {
    // Into rank 0: 5 GB/s each until the shorter one is there, then 10 GB/s for the rest.
    let two = writes(3, &[(1, 0, 0, 1), (2, 0, 0, 2)]);
    assert_times(&ends(&time(&two, &switch())), &[300.0, 400.0]);
    // 1000, 2000 and 3000 bytes: 10/3 GB/s until 400, 5 until 600, 10 until 700.
    let three = writes(4, &[(1, 0, 0, 1), (2, 0, 0, 2), (3, 0, 0, 3)]);
    assert_times(&ends(&time(&three, &switch())), &[400.0, 600.0, 700.0]);
}

#[test]
fn both_directions_of_a_port_are_apart() {
    let both = writes(2, &[(0, 0, 1, 1), (1, 0, 0, 1)]);
    assert_times(&ends(&time(&both, &switch())), &[200.0, 200.0]);
}

#[test]
fn shares_are_max_min_fair_along_a_chain() {
    // Rank 0's port out has three transfers; that to rank 1 meets another one there, from rank 2. Three get 10/3 each, so
    // the one from rank 2 gets what is left into rank 1: 20/3. It is there after 2000/(20/3) = 300.
    let chain = writes(5, &[(0, 0, 1, 3), (0, 1, 3, 3), (0, 2, 4, 3), (2, 0, 1, 2)]);
    let timing = time(&chain, &switch());
    assert_times(&ends(&timing), &[1000.0, 1000.0, 1000.0, 400.0]);
    let port = timing.links.iter().find(|link| link.name == "port into rank 1").unwrap();
    assert_eq!((port.load.most, port.load.bytes), (2, 5000.0));
    assert!((port.load.busy - 900.0).abs() < 1e-6, "{port:?}");
}

#[test]
fn a_transfer_that_comes_later_takes_its_share_from_then_on() {
    // Rank 2 writes to rank 3 first, and its second transfer begins at 200 + 100.
    let later = writes(4, &[(1, 0, 0, 3), (2, 0, 3, 1), (2, 0, 0, 1)]);
    // Rank 1 alone from 100 to 300 (2000 bytes), then 1000 bytes each at 5 GB/s.
    assert_times(&ends(&time(&later, &switch())), &[500.0, 200.0, 500.0]);
}

#[test]
fn nodes_share_their_uplink() {
    let mut cluster = switch();
    cluster.levels[0].node_gbps = Some(8.0);
    let mut program = writes(4, &[(0, 0, 2, 1), (1, 0, 3, 1)]);
    program.shape = Shape::new(Layout::equal(1, 2, 2).unwrap());
    assert_times(&ends(&time(&program, &cluster)), &[350.0, 350.0]);
}

#[test]
fn a_run_to_one_peer_pays_the_latency_once_and_the_engine_each_time() {
    let mut cluster = switch();
    cluster.engine.transfer = 10.0;
    let program = writes(3, &[(0, 0, 1, 1), (0, 0, 1, 1), (0, 0, 2, 1)]);
    assert_times(&ends(&time(&program, &cluster)), &[210.0, 320.0, 530.0]);
}

#[test]
fn arrivals_share_the_reductions_of_their_rank() {
    let mut cluster = switch();
    cluster.engine.inline_reduce = 20.0;
    let shape = Shape::new(Layout::flat(3).unwrap());
    let mut program = empty("test", Operator::ReduceScatter, shape, 1, 3);
    let cell = |buffer| Cell { buffer, chunk: 0 };
    for rank in [1, 2] {
        let transfer = Transfer { dst: cell(Buffer::Scratch), src: cell(Buffer::Input), len: 1, class: 0 };
        At(&mut program, rank, 0).op(7, OpKind::WriteReduce(0, transfer));
    }
    // Both there at 100 + 200, then 1000 bytes each at half of 20 GB/s.
    assert_times(&ends(&time(&program, &cluster)), &[400.0, 400.0]);
}

#[test]
fn notifies_cost_what_the_cluster_says() {
    let mut cluster = switch();
    (cluster.engine.channel_record, cluster.engine.wait, cluster.engine.launch) = (7.0, 3.0, 50.0);
    cluster.levels[0].notify_latency = 20.0;
    let mut program = writes(2, &[]);
    At(&mut program, 0, 0).signal(3, 1, READY).wait(4, 1, READY);
    At(&mut program, 1, 0).wait(5, 0, READY).signal(6, 0, READY);
    // There at 50+7+20+3 = 80, back at 80+7+20+3.
    let timing = time(&program, &cluster);
    assert_times(&timing.ranks, &[110.0, 87.0]);
    let recording = timing.recording.unwrap();
    let path = recording.critical_path();
    let lines: Vec<u32> = path
        .iter()
        .filter_map(|stretch| recording.op(&program, &recording.events()[stretch.event]))
        .map(|op| op.at.0 + 1)
        .collect();
    assert_eq!(lines, [3, 5, 6, 4]);
    let sum: f64 = path.iter().map(|stretch| stretch.overhead + stretch.data + stretch.sharing).sum();
    assert_times(&[50.0 + sum], &[110.0]);
}

#[test]
fn what_nobody_meets_is_an_error() {
    let cluster = switch();
    let run = |program: &Program| simulate(program, &cluster, &config(), &Options::default());
    let mut waits = writes(2, &[]);
    At(&mut waits, 0, 0).wait(9, 1, DONE);
    let error = run(&waits).unwrap_err();
    assert!(matches!(&error, TimeError::Stuck(stuck) if stuck.waits[0].recorder == Recorder::Nobody { lost: 0 }));
    assert!(error.to_string().contains("(line 9), and nobody has a record of it left"), "{error}");
    let mut records = writes(2, &[]);
    At(&mut records, 0, 0).signal(9, 1, DONE);
    let error = run(&records).unwrap_err();
    assert_eq!(error.to_string(), "`done` of rank 1 for rank 0 is set at the end: no wait takes its last record");
    At(&mut records, 0, 0).signal(10, 1, DONE);
    let error = run(&records).unwrap_err();
    assert!(matches!(error, TimeError::Overrun { count: 1, .. }), "{error}");
    let mut missing = writes(2, &[]);
    missing.ranks.push(RankProgram::default());
    assert!(matches!(run(&missing), Err(TimeError::Run(_))));
}

#[test]
fn rounds_repeat() {
    let program = ring_all_reduce(4);
    let time = |buffer| {
        let config = Config::new(1 << 20, DataType::Fp32).hccl_buffer(buffer);
        let timing = simulate(&program, &switch(), &config, &Options::default()).unwrap();
        (timing.rounds, timing.time)
    };
    let (one, whole) = time(64 << 20);
    let (four, parts) = time(1 << 20);
    assert_eq!((one, four), (1, 4));
    // The same bytes, and the latency of six steps three times more.
    assert_times(&[parts], &[whole + 3.0 * 600.0]);
}

#[test]
fn a_slow_link_costs_time_and_a_dead_one_stops_everybody() {
    let program = ring_all_reduce(4);
    let run = |text: &str| {
        let options = Options { faults: vec![text.parse::<Fault>().unwrap()], ..Options::default() };
        simulate(&program, &switch(), &Config::new(1 << 20, DataType::Fp32), &options).unwrap()
    };
    let whole = simulate(&program, &switch(), &Config::new(1 << 20, DataType::Fp32), &Options::default()).unwrap();
    let slow = run("slow:0>1:0.5");
    assert!(slow.stuck.is_none() && slow.time > whole.time * 1.5, "{} {}", slow.time, whole.time);
    let stuck = *run("dead:0>1").stuck.unwrap();
    assert_eq!((stuck.completed.len(), stuck.transfers.len(), stuck.waits.len()), (0, 1, 3));
    let text = stuck.to_string();
    assert!(text.contains("rank 0 thread 0: HcommWriteReduceOnThread on the dead link port out of rank 0"), "{text}");
    assert!(text.contains("times out after 1836 s, waiting since"), "{text}");
    assert_eq!(stuck.first_timeout().unwrap().place.rank, 1);
}

#[test]
fn a_stalled_rank_and_a_lost_record_say_who_times_out_where() {
    let program = ring_all_reduce(4);
    let run = |text: &str| {
        let options = Options { faults: vec![text.parse::<Fault>().unwrap()], ..Options::default() };
        *simulate(&program, &switch(), &Config::new(1024, DataType::Fp32), &options).unwrap().stuck.unwrap()
    };
    let stalled = run("stall:2");
    assert_eq!((stalled.stalled.as_slice(), stalled.completed.len()), (&[2][..], 0));
    assert!(stalled.to_string().contains("rank 2: stalled"), "{stalled}");
    let lost = run("lose:0>1:1");
    // The one that was to receive it waits, and so does the sender, for the next acknowledgement.
    assert_eq!(lost.waits.len(), 4);
    assert_eq!(lost.waits.iter().filter(|wait| wait.since < 300.0).count(), 2, "{lost}");
    assert!(lost.to_string().contains("HcommChannelNotifyWaitOnThread of `done` from rank 0"), "{lost}");
    for wrong in ["", "dead:0", "slow:0>1:2", "stall:x", "lose:0>1", "burn:0"] {
        assert!(wrong.parse::<Fault>().is_err(), "{wrong}");
    }
    let options = Options { faults: vec!["stall:9".parse().unwrap()], ..Options::default() };
    let error = simulate(&program, &switch(), &Config::new(1, DataType::Fp32), &options).unwrap_err();
    assert_eq!(error.to_string(), "a fault names rank 9: ranks are 0 to 3");
}

#[test]
fn time_and_recording_do_not_depend_on_each_other() {
    let program = ring_all_reduce(8);
    let config = Config::new(100_003, DataType::Fp32);
    let plain = simulate(&program, &Cluster::preset("950-clos").unwrap(), &config, &Options::default()).unwrap();
    let options = Options { record: Some(1 << 20), ..Options::default() };
    let recorded = simulate(&program, &Cluster::preset("950-clos").unwrap(), &config, &options).unwrap();
    assert_eq!((plain.time, plain.operations, &plain.links), (recorded.time, recorded.operations, &recorded.links));
    let recording = recorded.recording.unwrap();
    assert_eq!(recording.events().len() as u64, recorded.operations);
    let sum: f64 = recording.critical_path().iter().map(|s| s.overhead + s.data + s.sharing + s.reduction).sum();
    assert_times(&[sum], &[recorded.time]);
    let few = simulate(
        &program,
        &Cluster::preset("950-clos").unwrap(),
        &config,
        &Options { record: Some(10), ..Options::default() },
    );
    let few = few.unwrap();
    assert!(few.is_truncated && few.time == plain.time && few.recording.unwrap().events().len() == 10);
}

#[test]
fn a_trace_takes_whole_ranks_up_to_its_limit_and_says_so() {
    let program = ring_all_reduce(8);
    let options = Options { record: Some(1 << 20), ..Options::default() };
    let config = Config::new(1000, DataType::Fp32);
    let timing = simulate(&program, &switch(), &config, &options).unwrap();
    let each = timing.operations as usize / 8;
    let write = |selection: Selection| {
        let mut out = Vec::new();
        let written = chrome_trace(&program, &timing, &selection, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("\"ph\":\"X\"").count(), written.operations);
        assert!(text.contains(&format!("\"written\":\"{written}\"")), "{written}");
        written
    };
    let all = write(Selection::default());
    assert!(all.is_all() && all.operations == 8 * each);
    let some = write(Selection { events: Some(3 * each + 1), ranks: None });
    assert_eq!((some.ranks.clone(), some.operations, some.is_all()), (0..3, 3 * each, false));
    assert_eq!(some.to_string(), format!("ranks 0 to 2 of 8, {} of {} operations", 3 * each, 8 * each));
    let asked = write(Selection { ranks: Some(6..99), events: None });
    assert_eq!((asked.ranks, asked.operations), (6..8, 2 * each));
    let none = write(Selection { events: Some(1), ranks: None });
    assert_eq!((none.operations, none.is_all()), (0, false));
}
