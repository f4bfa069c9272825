//! Many calls on several communicators at once, each driven by a thread of its own: random operators, counts, types,
//! reductions, roots and messages, with communicators that come and go, and on some of them injected faults. Every result
//! must be right, every error an expected one, and at the end nothing may be in use.
//!
//! The ordinary run takes a few seconds. The long one:
//! `cargo test --release -p hcomm-sim --features sweep --test comm soak -- --nocapture`.
#![allow(clippy::print_stderr, reason = "says how much was run")]

use crate::support::{Draw, Rig, counts, program};
use hcomm_algos::LIBRARY;
use hcomm_core::counts::Counts;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::Operator;
use hcomm_core::product::Product;
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::Verify;
use hcomm_sim::comm::{Cluster, ClusterConfig, Code, CommConfig, Communicator, Fault, Message, Region, Retry};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SWEEP: bool = cfg!(feature = "sweep");
/// Operators of a communicator's thread.
const CALLS: u64 = if SWEEP { 14_000 } else { 150 };
/// Calls from one fault to the next.
const EVERY: u64 = if SWEEP { 250 } else { 40 };

/// What the threads have done.
#[derive(Debug, Default)]
struct Done {
    operators: AtomicU64,
    messages: AtomicU64,
    faults: AtomicU64,
    failed: AtomicU64,
    repeated: AtomicU64,
    renewed: AtomicU64,
}

impl Done {
    fn count(counter: &AtomicU64, more: u64) {
        counter.fetch_add(more, Ordering::Relaxed);
    }
}

/// Programs of the whole library for some ranks, with a few roots.
fn programs(ranks: u32, draw: &mut Draw) -> Vec<Arc<Program>> {
    let layout = Layout::flat(ranks).unwrap();
    let flat = LIBRARY.iter().filter(|spec| !matches!(spec.headers.verify, Verify::Layouts(_)));
    flat.flat_map(|spec| {
        let mut shapes = vec![Shape::new(layout)];
        let mut other = Shape::new(layout);
        match spec.operator {
            Operator::Broadcast | Operator::Reduce | Operator::Scatter | Operator::Gather => {
                other.root = 1 + draw.below(u64::from(ranks) - 1) as u32;
                shapes.push(other);
            }
            Operator::SendRecv => {
                (other.src, other.dst) = (ranks - 1, 0);
                shapes.push(other);
            }
            _ => {}
        }
        shapes.into_iter().map(|shape| program(spec, &shape)).collect::<Vec<_>>()
    })
    .collect()
}

/// A type and a reduction that the product has for a program.
fn elements(product: Product, program: &Program, draw: &mut Draw) -> (DataType, ReduceOp) {
    loop {
        let (dtype, reduce) = (draw.of(&DataType::ALL), draw.of(&ReduceOp::ALL));
        let reduces = program.operator.reduces();
        if !(reduces && dtype.is_copied_only()) && product.admits(program, dtype, reduce).is_ok() {
            return (dtype, reduce);
        }
    }
}

/// A random operator.
fn draw_call(rig: &Rig<'_>, programs: &[Arc<Program>], draw: &mut Draw) -> (Arc<Program>, crate::support::Buffers) {
    let program = draw.of(programs);
    let elements = elements(rig.cluster.product(), &program, draw);
    let most = draw.of(&[0, 1, 5, 64, 200, 1500]);
    let counts: Counts = counts(program.operator, program.num_ranks(), most, draw);
    let in_place = program.operator.has_in_place() && draw.below(3) == 0;
    let buffers = rig.buffers(&program, &counts, elements, in_place, draw.bits());
    (program, buffers)
}

/// Launches some operators, waits for all of them, and compares.
fn burst(rig: &Rig<'_>, programs: &[Arc<Program>], draw: &mut Draw, done: &Done) -> u64 {
    let number = 1 + draw.below(6);
    let calls: Vec<_> = (0..number).map(|_| draw_call(rig, programs, draw)).collect();
    for (program, buffers) in &calls {
        rig.launch(program, buffers).unwrap();
    }
    rig.wait().into_iter().for_each(Result::unwrap);
    for (program, buffers) in calls {
        let first = &buffers.calls[0];
        assert_eq!(buffers.wrong(rig, &program), None, "{} {first:?} on {}", program.algorithm, rig.comms[0].name());
        buffers.free(rig);
    }
    Done::count(&done.operators, number);
    number
}

/// Messages between random pairs of ranks.
fn messages(rig: &Rig<'_>, draw: &mut Draw, done: &Done) {
    let ranks = rig.comms.len() as u32;
    let mut all: Vec<Vec<Message>> = vec![Vec::new(); ranks as usize];
    let mut expected = Vec::new();
    for _ in 0..1 + draw.below(5) {
        let from = draw.below(u64::from(ranks)) as u32;
        let to = (from + 1 + draw.below(u64::from(ranks) - 1) as u32) % ranks;
        let size = 1 + draw.below(9000);
        let region = |rank: u32| {
            let addr = rig.cluster.alloc(rig.comms[rank as usize].device(), size).unwrap();
            Region { addr, size }
        };
        let (sent, received) = (region(from), region(to));
        let seed = draw.bits();
        let bytes: Vec<u8> = (0..size).map(|at| (seed.wrapping_mul(at + 1) >> 32) as u8).collect();
        rig.cluster.memory().write(sent.addr, &bytes).unwrap();
        all[from as usize].push(Message::Send { to, memory: sent });
        all[to as usize].push(Message::Recv { from, memory: received });
        expected.push((sent, received, bytes));
    }
    for ((comm, messages), stream) in rig.comms.iter().zip(&all).zip(&rig.streams) {
        comm.batch_send_recv(messages, *stream).unwrap();
    }
    rig.wait().into_iter().for_each(Result::unwrap);
    Done::count(&done.messages, expected.len() as u64);
    for (sent, received, bytes) in expected {
        let mut got = vec![0; bytes.len()];
        rig.cluster.memory().read(received.addr, &mut got).unwrap();
        assert!(got == bytes);
        rig.cluster.memory().free(sent.addr).unwrap();
        rig.cluster.memory().free(received.addr).unwrap();
    }
}

/// Does the same on all ranks at once.
fn on_all(comms: &[Communicator], call: impl Fn(&Communicator) + Sync) {
    std::thread::scope(|scope| {
        for comm in comms {
            scope.spawn(|| call(comm));
        }
    });
}

fn connect(rig: &Rig<'_>) {
    let ranks = rig.comms.len() as u32;
    on_all(&rig.comms, |comm| {
        let peers: Vec<u32> = (0..ranks).filter(|peer| *peer != comm.rank()).collect();
        comm.connect(&peers).unwrap();
    });
}

/// Operators and messages on devices that nothing happens to.
fn steady(cluster: &Cluster, devices: &[u32], seed: u64, done: &Done) {
    let mut draw = Draw(seed);
    let config = CommConfig::default().buffer_size(4 << 10);
    let programs = programs(devices.len() as u32, &mut draw);
    let new = || {
        let rig = Rig::new(cluster, devices, &config);
        connect(&rig);
        rig
    };
    let mut rig = new();
    let (mut calls, mut renewed) = (0, 0);
    while calls < CALLS {
        calls += burst(&rig, &programs, &mut draw, done);
        if draw.below(4) == 0 {
            messages(&rig, &mut draw, done);
        }
        if calls / (CALLS / 3) > renewed {
            renewed += 1;
            assert!(rig.comms.iter().all(|comm| comm.notifies_set() == 0));
            rig.end();
            rig = new();
            Done::count(&done.renewed, 1);
        }
    }
    rig.end();
}

/// Operators on devices that faults are injected into.
fn shaken(cluster: &Cluster, devices: &[u32], seed: u64, done: &Done) {
    let mut draw = Draw(seed);
    let retry = Retry { max_count: 2, hold_ms: 10, interval_ms: 10 };
    let config = CommConfig::default().buffer_size(4 << 10).timeouts(60, 100).retry(retry);
    let programs = programs(devices.len() as u32, &mut draw);
    let mut rig = Rig::new(cluster, devices, &config);
    let (mut calls, mut next) = (0, EVERY);
    while calls < CALLS {
        calls += burst(&rig, &programs, &mut draw, done);
        if calls < next {
            continue;
        }
        next += EVERY;
        // The resources are made before: a connect would wait for longer than an operator.
        let (program, buffers) = loop {
            let (program, buffers) = draw_call(&rig, &programs, &mut draw);
            if rig.comms.iter().all(|comm| comm.is_prepared(&program)) {
                break (program, buffers);
            }
            buffers.free(&rig);
        };
        let pair = || {
            let a = draw.below(devices.len() as u64) as usize;
            let b = (a + 1 + draw.below(devices.len() as u64 - 1) as usize) % devices.len();
            (devices[a], devices[b])
        };
        let (a, b) = { pair }();
        let fault = match draw.below(4) {
            0 => Fault::LoseRecord { from: a, to: b, skip: draw.below(3) },
            1 => Fault::DeadLink { a, b },
            2 => Fault::FlakyLink { a, b, failures: 1 + draw.below(2) },
            _ => Fault::StopDevice(a),
        };
        let retries = cluster.counters().retries;
        cluster.inject(fault);
        rig.launch(&program, &buffers).unwrap();
        let mut results = Vec::new();
        for (stream, comm) in rig.streams.iter().zip(&rig.comms) {
            if !matches!(fault, Fault::StopDevice(stopped) if stopped == comm.device()) {
                results.push(cluster.synchronize(*stream));
            }
        }
        cluster.clear_faults();
        Done::count(&done.faults, 1);
        Done::count(&done.repeated, u64::from(cluster.counters().retries > retries));
        let told = format!("{} {fault:?}: {results:?}", program.algorithm);
        for error in results.iter().filter_map(|result| result.as_ref().err()) {
            let expected = match fault {
                Fault::LoseRecord { .. } | Fault::StopDevice(_) => &[Code::Timeout][..],
                _ => &[Code::Timeout, Code::Remote, Code::OpRetryFail],
            };
            assert!(expected.contains(&error.code), "{told}");
        }
        if results.iter().all(Result::is_ok) && !matches!(fault, Fault::StopDevice(_)) {
            // The operator did not use what failed, or was repeated.
            assert_eq!(buffers.wrong(&rig, &program), None, "{told}");
        } else {
            Done::count(&done.failed, 1);
        }
        if draw.below(3) == 0 {
            rig.comms.iter().for_each(|comm| comm.destroy().unwrap());
            for stream in &rig.streams {
                // What failed on it is known.
                let _failed = cluster.destroy_stream(*stream);
            }
            buffers.free_memory(&rig);
            rig = Rig::new(cluster, devices, &config);
            Done::count(&done.renewed, 1);
        } else {
            on_all(&rig.comms, |comm| {
                comm.suspend().unwrap();
                comm.resume().unwrap();
            });
            let _failed = rig.wait();
            assert!(rig.comms.iter().all(|comm| comm.notifies_set() == 0));
            buffers.free(&rig);
        }
    }
    rig.end();
}

#[test]
fn soak() {
    let start = Instant::now();
    let done = Done::default();
    for product in [Product::A950, Product::A3] {
        let config = ClusterConfig::new(product, 12).unwrap().second(Duration::from_millis(10));
        let cluster = Cluster::new(config).unwrap();
        std::thread::scope(|scope| {
            let (cluster, done) = (&cluster, &done);
            scope.spawn(move || steady(cluster, &[0, 1, 2, 3], 1, done));
            scope.spawn(move || steady(cluster, &[3, 1], 2, done));
            scope.spawn(move || steady(cluster, &[2, 0, 1], 3, done));
            scope.spawn(move || shaken(cluster, &[4, 5, 6, 7], 4, done));
            scope.spawn(move || shaken(cluster, &[8, 9, 10], 5, done));
        });
        let left = cluster.in_use();
        assert_eq!(left, Default::default(), "{product}");
        let counters = cluster.counters();
        assert!(counters.completed > 0 && counters.failures > 0, "{counters:?}");
    }
    eprintln!("{done:?} in {:.1} s", start.elapsed().as_secs_f64());
    assert!(done.operators.load(Ordering::Relaxed) >= 10 * CALLS);
    assert!(done.faults.load(Ordering::Relaxed) >= 4 * (CALLS / EVERY - 1));
}
