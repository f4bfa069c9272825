//! Operators whose operands are in windows: right, in one round, without the HCCL buffer, and with fewer bytes moved.

use super::{fails, nothing_is_left};
use crate::support::{Buffers, Rig, Windows, cluster, flat};
use hcomm_algos::LIBRARY;
use hcomm_core::counts::Counts;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::product::Product;
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::Spec;
use hcomm_sim::comm::{
    Cluster, ClusterConfig, Code, CommConfig, CommError, Counters, Observer, Op, Queued, Region, Result, register_all,
};
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const INTS: (DataType, ReduceOp) = (DataType::Int32, ReduceOp::Sum);

fn spec(name: &str) -> &'static Spec<'static> {
    LIBRARY.iter().find(|spec| spec.snake == name).unwrap_or_else(|| panic!("{name}"))
}

fn zero_copy() -> impl Iterator<Item = &'static Spec<'static>> {
    LIBRARY.iter().copied().filter(|spec| spec.snake.starts_with("zero_copy"))
}

/// An HCCL buffer of 32 KiB.
fn small() -> CommConfig {
    CommConfig::default().buffer_size(16 << 10).timeouts(50, 50)
}

#[derive(Debug, Default)]
struct Addresses(Mutex<Vec<u64>>);

impl Observer for Addresses {
    fn queued(&self, queued: &Queued) {
        let (Op::LocalCopy { dst, src, .. }
        | Op::LocalReduce { dst, src, .. }
        | Op::Write { dst, src, .. }
        | Op::Read { dst, src, .. }
        | Op::WriteReduce { dst, src, .. }
        | Op::ReadReduce { dst, src, .. }
        | Op::WriteWithNotify { dst, src, .. }
        | Op::WriteReduceWithNotify { dst, src, .. }) = queued.op
        else {
            return;
        };
        self.0.lock().unwrap().extend([dst, src]);
    }
}

#[test]
fn all_are_right_in_one_round_and_without_the_hccl_buffer() {
    let mut cases = 0;
    for product in [Product::A3, Product::A950] {
        for layout in [Layout::flat(1), Layout::flat(2), Layout::flat(3), Layout::flat(5), Layout::equal(1, 2, 2)] {
            let layout = layout.unwrap();
            let addresses = Arc::new(Addresses::default());
            let config = ClusterConfig::of_layout(product, layout).second(Duration::from_millis(10));
            let cluster = Cluster::new(config.observer(addresses.clone())).unwrap();
            let devices: Vec<u32> = (0..layout.ranks()).collect();
            let rig = Rig::new(&cluster, &devices, &small());
            for spec in zero_copy() {
                let program = crate::support::program(spec, &Shape::new(layout));
                // Some types each time, and all of them in the end.
                for dtype in DataType::ALL.into_iter().skip(cases as usize % 5).step_by(5) {
                    let reduce = ReduceOp::ALL[cases as usize % 3];
                    let reduces = program.operator.reduces();
                    if reduces && dtype.is_copied_only() || product.admits(&program, dtype, reduce).is_err() {
                        continue;
                    }
                    // The last is far more than the HCCL buffer.
                    let counts = [1, 129, 6000];
                    for count in [counts[cases as usize % 3], counts[(cases as usize + 1) % 3]] {
                        let in_place = program.operator.has_in_place() && cases % 2 == 0;
                        rig.check(&program, &Counts::Same(count), (dtype, reduce), in_place, cases);
                        cases += 1;
                    }
                }
            }
            let counters = cluster.counters();
            assert_eq!((counters.rounds, counters.completed), (counters.operators, counters.operators));
            assert_eq!((counters.lost_records, counters.failures, counters.fallbacks), (0, 0, 0));
            let buffers: Vec<Region> = rig.comms.iter().map(|comm| comm.hccl_buffer().unwrap()).collect();
            let touched = addresses.0.lock().unwrap();
            assert!(touched.len() > 100 || layout.ranks() == 1);
            let in_buffer = |addr: &&u64| buffers.iter().any(|buffer| buffer.holds(Region { addr: **addr, size: 1 }));
            assert_eq!(touched.iter().find(in_buffer), None);
            drop(touched);
            rig.end();
            nothing_is_left(&cluster);
        }
    }
    assert!(cases > 200, "{cases}");
}

#[test]
fn a_second_call_finds_everything() {
    for product in [Product::A3, Product::A950] {
        let cluster = cluster(product, 4);
        let rig = Rig::new(&cluster, &[0, 1, 2, 3], &small());
        let program = flat(spec("zero_copy_mesh_all_gather"), 4);
        let buffers = rig.buffers(&program, &Counts::Same(300), INTS, false, 1);
        let mut before = None;
        for _ in 0..3 {
            rig.launch(&program, &buffers).unwrap();
            rig.wait().into_iter().for_each(Result::unwrap);
            assert_eq!(buffers.wrong(&rig, &program), None);
            let made = |counters: Counters| (counters.threads_made, counters.channels_made, counters.contexts_made);
            let now = made(cluster.counters());
            assert_eq!(*before.get_or_insert(now), now);
        }
        // Windows of another operand: the channels are there, and only tell of them.
        rig.check(&program, &Counts::Same(77), INTS, true, 2);
        // Windows outlive a suspension.
        rig.comms.iter().for_each(|comm| comm.suspend().unwrap());
        thread::scope(|scope| rig.comms.iter().for_each(|comm| drop(scope.spawn(|| comm.resume().unwrap()))));
        rig.launch(&program, &buffers).unwrap();
        rig.wait().into_iter().for_each(Result::unwrap);
        assert_eq!(cluster.counters().channels_made, 12);
        buffers.free(&rig);
        rig.end();
        nothing_is_left(&cluster);
    }
}

#[test]
fn operands_that_are_in_no_window_are_named_or_go_through_the_buffer() {
    for product in [Product::A3, Product::A950] {
        let cluster = cluster(product, 2);
        let rig = Rig::new(&cluster, &[0, 1], &small());
        let (zero_copy, buffered) = (flat(spec("zero_copy_mesh_all_gather"), 2), flat(spec("mesh_all_gather"), 2));
        // Not for windows: these buffers are in none.
        let plain = rig.buffers(&buffered, &Counts::Same(300), INTS, false, 1);
        let inside = rig.buffers(&zero_copy, &Counts::Same(300), INTS, false, 1);
        fails(rig.launch(&zero_copy, &plain), Code::Para, "the input of `zero_copy_mesh_all_gather` on rank 0");
        let mut half = plain.calls[1].clone();
        half.input = inside.calls[1].input;
        fails(rig.comms[1].launch(&zero_copy, &half, rig.streams[1]), Code::Para, "the output of");
        let launch = |buffers: &Buffers| -> Vec<Option<CommError>> {
            thread::scope(|scope| {
                let ranks: Vec<_> = (0..2)
                    .map(|rank| {
                        let (comm, call, stream) = (&rig.comms[rank], &buffers.calls[rank], rig.streams[rank]);
                        let (zero_copy, buffered) = (&zero_copy, &buffered);
                        scope.spawn(move || comm.launch_or(zero_copy, buffered, call, stream).unwrap())
                    })
                    .collect();
                ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
            })
        };
        let why = launch(&plain);
        rig.wait().into_iter().for_each(Result::unwrap);
        assert_eq!(plain.wrong(&rig, &buffered), None);
        assert!(why.iter().flatten().all(|why| why.sentence.contains("in no symmetric window")), "{why:?}");
        assert_eq!((why.iter().flatten().count(), cluster.counters().fallbacks), (2, 2));
        let log = rig.comms[0].snapshot().log;
        assert!(log.iter().any(|entry| entry.what == "fell_back" && entry.detail.contains("to mesh_all_gather")));
        assert_eq!(launch(&inside), [None, None]);
        rig.wait().into_iter().for_each(Result::unwrap);
        assert_eq!((inside.wrong(&rig, &zero_copy), cluster.counters().fallbacks), (None, 2));
        // Ranks that do not come to the same are told.
        let (mine, theirs) = (&inside.calls[0], &plain.calls[1]);
        thread::scope(|scope| {
            let ranks = [(0, mine), (1, theirs)].map(|(rank, call)| {
                let (rig, zero_copy, buffered) = (&rig, &zero_copy, &buffered);
                scope.spawn(move || rig.comms[rank].launch_or(zero_copy, buffered, call, rig.streams[rank]))
            });
            let errors: Vec<CommError> = ranks.into_iter().filter_map(|rank| rank.join().unwrap().err()).collect();
            assert!(errors.iter().any(|error| error.sentence.contains("do not call the same")), "{errors:?}");
        });
    }
    // Where the product has no windows, it is the buffered one too.
    let cluster = cluster(Product::A2, 2);
    let rig = Rig::new(&cluster, &[0, 1], &small());
    let (zero_copy, buffered) = (flat(spec("zero_copy_mesh_all_gather"), 2), flat(spec("mesh_all_gather"), 2));
    let plain = rig.buffers(&buffered, &Counts::Same(300), INTS, false, 1);
    fails(rig.launch(&zero_copy, &plain), Code::NotSupport, "a2 has no symmetric windows");
    thread::scope(|scope| {
        for (rank, call) in plain.calls.iter().enumerate() {
            let (rig, zero_copy, buffered) = (&rig, &zero_copy, &buffered);
            scope.spawn(move || {
                let why = rig.comms[rank].launch_or(zero_copy, buffered, call, rig.streams[rank]).unwrap();
                assert_eq!(why.unwrap().code, Code::NotSupport);
            });
        }
    });
    rig.wait().into_iter().for_each(Result::unwrap);
    assert_eq!(plain.wrong(&rig, &buffered), None);
}

#[test]
fn operands_that_peers_reach_have_one_place_on_all_ranks() {
    for product in [Product::A3, Product::A950] {
        let cluster = cluster(product, 2);
        let rig = Rig::new(&cluster, &[0, 1], &small());
        let windows = Windows::new(&rig, 64 << 10);
        let gather = flat(spec("zero_copy_mesh_all_gather"), 2);
        let call = |rank: usize, input: u64, output: u64| {
            let base = windows.regions[rank].addr;
            hcomm_sim::comm::OpCall::new(base + input, base + output, 100, DataType::Int32)
        };
        // Nobody reaches a peer's input in this one.
        let calls = [call(0, 0, 8192), call(1, 4096, 8192)];
        hcomm_sim::comm::launch_all(&rig.comms, &gather, &calls, &rig.streams).unwrap();
        rig.wait().into_iter().for_each(Result::unwrap);
        // The output of rank 1 is elsewhere: rank 0 would write to a wrong place.
        let calls = [call(0, 0, 8192), call(1, 0, 8448)];
        let results: Vec<_> =
            (0..2).map(|rank| rig.comms[rank].launch(&gather, &calls[rank], rig.streams[rank])).collect();
        results[0].clone().unwrap();
        fails(results[1].clone(), Code::Para, "the output at byte 8192 of window 0 on rank 0");
        fails(rig.wait().remove(0), Code::Para, "the ranks do not call the same");
    }
}

#[test]
fn a_window_stays_as_long_as_an_operator_uses_it() {
    for product in [Product::A3, Product::A950] {
        let cluster = cluster(product, 2);
        let rig = Rig::new(&cluster, &[0, 1], &small());
        let program = flat(spec("zero_copy_ring_all_gather"), 2);
        let buffers = rig.buffers(&program, &Counts::Same(500), INTS, false, 1);
        rig.launch(&program, &buffers).unwrap();
        rig.wait().into_iter().for_each(Result::unwrap);
        // Rank 0 is in the operator, and rank 1 has not come yet.
        rig.comms[0].launch(&program, &buffers.calls[0], rig.streams[0]).unwrap();
        let (window, _) = rig.comms[0].window_of(Region { addr: buffers.calls[0].input, size: 1 }).unwrap().unwrap();
        fails(rig.comms[0].deregister_window(window), Code::InStatus, "`zero_copy_ring_all_gather` on rank 0");
        rig.comms[1].launch(&program, &buffers.calls[1], rig.streams[1]).unwrap();
        rig.wait().into_iter().for_each(Result::unwrap);
        assert_eq!(buffers.wrong(&rig, &program), None);
        // When the communicator has failed, windows can go.
        rig.comms[0].launch(&program, &buffers.calls[0], rig.streams[0]).unwrap();
        fails(cluster.synchronize(rig.streams[0]), Code::Timeout, "rank 1");
        buffers.free(&rig);
        rig.comms.iter().for_each(|comm| comm.destroy().unwrap());
        rig.streams.iter().for_each(|stream| cluster.destroy_stream(*stream).unwrap());
        nothing_is_left(&cluster);
    }
}

#[test]
fn memory_that_is_given_back_under_a_window_is_an_error() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &small());
    let program = flat(spec("zero_copy_mesh_all_gather"), 2);
    let buffers = rig.buffers(&program, &Counts::Same(500), INTS, false, 1);
    rig.launch(&program, &buffers).unwrap();
    rig.wait().into_iter().for_each(Result::unwrap);
    cluster.memory().free(buffers.calls[1].input).unwrap();
    fails(rig.comms[1].launch(&program, &buffers.calls[1], rig.streams[1]), Code::Para, "nothing is allocated");
    rig.comms[0].launch(&program, &buffers.calls[0], rig.streams[0]).unwrap();
    fails(cluster.synchronize(rig.streams[0]), Code::Para, "rank 1 has given back the memory");
}

#[test]
fn another_address_of_the_same_memory_is_known_for_the_same() {
    // Repetition asks whether the input is left as it was: input and output are one memory here.
    let cluster = cluster(Product::A3, 2);
    let config = small().retry(hcomm_sim::comm::Retry::ENABLED);
    let rig = Rig::new(&cluster, &[0, 1], &config);
    let program = flat(spec("zero_copy_mesh_all_to_all"), 2);
    let size = hcomm_sim::comm::GRANULARITY;
    let mut regions = Vec::new();
    let calls: Vec<_> = (0..2)
        .map(|device| {
            let (input, physical) = cluster.map_new(device, size).unwrap();
            let output = cluster.reserve(size).unwrap();
            cluster.map(output, size, physical).unwrap();
            regions.push((Region { addr: input, size }, Region { addr: output, size }));
            hcomm_sim::comm::OpCall::new(input, output + 4096, 4096, DataType::Int32)
        })
        .collect();
    register_all(&rig.comms, &[regions[0].0, regions[1].0]).unwrap();
    register_all(&rig.comms, &[regions[0].1, regions[1].1]).unwrap();
    hcomm_sim::comm::launch_all(&rig.comms, &program, &calls, &rig.streams).unwrap();
    rig.wait().into_iter().for_each(Result::unwrap);
    cluster.inject(hcomm_sim::comm::Fault::DeadLink { a: 0, b: 1 });
    hcomm_sim::comm::launch_all(&rig.comms, &program, &calls, &rig.streams).unwrap();
    let failed: Vec<CommError> = rig.wait().into_iter().filter_map(Result::err).collect();
    assert!(failed.iter().all(|error| error.code == Code::OpRetryFail), "{failed:?}");
    assert!(failed[0].sentence.contains("input and output of rank"), "{failed:?}");
}

/// What an operator moved: bytes, those of them over links, rounds, and bytes of HCCL buffer that it was given.
fn measure(product: Product, program: &Arc<Program>, count: u64) -> (u64, u64, u64) {
    let cluster = cluster(product, 4);
    let rig = Rig::new(&cluster, &[0, 1, 2, 3], &CommConfig::default().buffer_size(16 << 10));
    rig.check(program, &Counts::Same(count), (DataType::Fp32, ReduceOp::Sum), false, 1);
    let counters = cluster.counters();
    (counters.bytes_moved, counters.bytes_over_links, counters.rounds / 4)
}

const PAIRS: [(&str, &str); 5] = [
    ("zero_copy_mesh_all_gather", "mesh_all_gather"),
    ("zero_copy_ring_all_gather", "ring_all_gather"),
    ("zero_copy_mesh_reduce_scatter", "mesh_reduce_scatter"),
    ("zero_copy_mesh_all_reduce", "two_shot_all_reduce"),
    ("zero_copy_mesh_all_to_all", "mesh_all_to_all"),
];

const BEGIN: &str = "<!-- made by hcomm-sim/tests/comm/windows/operators.rs -->\n";
const END: &str = "<!-- end -->";

#[test]
fn fewer_bytes_are_moved_than_through_the_buffer() {
    let mut table = "| algorithm | KiB moved | of them over links | rounds |\n| --- | --- | --- | --- |\n".to_owned();
    assert_eq!(zero_copy().map(|spec| spec.snake).find(|name| PAIRS.iter().all(|pair| pair.0 != *name)), None);
    for (zero_copy, buffered) in PAIRS {
        let both = [zero_copy, buffered].map(|name| {
            let program = flat(spec(name), 4);
            let measured = measure(Product::A950, &program, 16 << 10);
            // The windows are of another kind there, and what moves is the same.
            assert_eq!(measured, measure(Product::A3, &program, 16 << 10));
            let (moved, over_links, rounds) = measured;
            writeln!(table, "| `{name}` | {} | {} | {rounds} |", moved >> 10, over_links >> 10).unwrap();
            measured
        });
        let [(moved, over_links, rounds), (moved_there, over_links_there, rounds_there)] = both;
        assert!(moved < moved_there && over_links <= over_links_there, "{both:?}");
        assert!(rounds == 1 && rounds < rounds_there, "{both:?}");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/windows.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (_, tail) = rest.split_once(END).unwrap();
    let new = format!("{head}{BEGIN}{table}{END}{tail}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &new).unwrap();
        return;
    }
    assert!(new == page, "docs/windows.md is not up to date: run with UPDATE_DOCS=1");
}
