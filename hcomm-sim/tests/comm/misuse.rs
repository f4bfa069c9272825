//! What a user does wrong, and what is called at the wrong time: an error that says so, never a hang, a panic or a wrong
//! result.

use crate::programs::{At, DONE, READY, empty, shape, transfer};
use crate::support::{Rig, cluster, flat};
use hcomm_algos::{MeshAllGather, RingAllReduce, TwoShotAllReduce};
use hcomm_core::counts::Counts;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::product::Product;
use hcomm_core::program::{OpKind, Program};
use hcomm_sim::comm::{
    Cluster, ClusterConfig, Code, CommConfig, CommEngine, CommError, CommStatus, Communicator, EventHandle, Fault,
    Memory, OpCall, Place, Region, Segments, Side, StatePhase, StreamHandle,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const INTS: (DataType, ReduceOp) = (DataType::Int32, ReduceOp::Sum);

fn short() -> CommConfig {
    CommConfig::default().buffer_size(8 << 10).timeouts(20, 5)
}

fn fails<T: std::fmt::Debug>(result: Result<T, CommError>, code: Code, says: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code, code, "{error}");
    assert!(error.sentence.contains(says), "{error}");
}

#[test]
fn two_threads_that_join_as_one_rank_are_told() {
    let cluster = cluster(Product::A950, 4);
    let config = || short().timeouts(20, 1000);
    // The second is one too many, and the first does not suffer from it.
    let root = cluster.root_info();
    thread::scope(|scope| {
        let join = |rank, device| {
            let cluster = &cluster;
            scope.spawn(move || cluster.init_root_info(2, root, rank, device, &config()))
        };
        let ranks = [join(0, 2), join(0, 3)];
        let until = Instant::now() + Duration::from_secs(9);
        while !ranks.iter().any(thread::ScopedJoinHandle::is_finished) && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        join(1, 1).join().unwrap().unwrap();
        let results: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
        results.into_iter().filter(Result::is_err).for_each(|error| fails(error, Code::Para, "there are two ranks 0"));
    });
    // The same rank with another number of ranks: they contradict each other, and both learn it.
    let root = cluster.root_info();
    thread::scope(|scope| {
        let ranks: Vec<_> = [2, 3]
            .into_iter()
            .map(|size| {
                let cluster = &cluster;
                scope.spawn(move || cluster.init_root_info(size, root, 0, 0, &config()))
            })
            .collect();
        ranks.into_iter().for_each(|rank| fails(rank.join().unwrap(), Code::Para, "the others ask for"));
    });
    fails(cluster.init_root_info(3, root, 1, 1, &short()), Code::Para, "used up");
}

#[test]
fn a_callback_that_destroys_its_communicator_ends() {
    let cluster = cluster(Product::A950, 1);
    let comm = cluster.init_all(&[0], &short()).unwrap().remove(0);
    let (me, calls) = (comm.clone(), Arc::new(AtomicUsize::new(0)));
    let seen = calls.clone();
    comm.on_state("again", move |_| {
        assert!(seen.fetch_add(1, Ordering::Relaxed) < 10);
        fails(me.destroy(), Code::NotFound, "destroyed");
    })
    .unwrap();
    comm.destroy().unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[test]
fn threads_that_destroy_at_once_do_it_once() {
    for _ in 0..20 {
        let cluster = cluster(Product::A3, 2);
        let rig = Rig::new(&cluster, &[0, 1], &short());
        rig.check(&flat(&MeshAllGather::SPEC, 2), &Counts::Same(9), INTS, false, 1);
        let phases = Arc::new(Mutex::new(Vec::new()));
        let seen = phases.clone();
        rig.comms[0].on_state("watch", move |phase| seen.lock().unwrap().push(phase)).unwrap();
        let good: usize = thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(|| rig.comms[0].destroy())).collect();
            let results: Vec<_> = all.into_iter().map(|one| one.join().unwrap()).collect();
            results.iter().flat_map(|result| result.as_ref().err()).for_each(|error| {
                assert_eq!(error.code, Code::NotFound, "{error}");
            });
            results.iter().filter(|result| result.is_ok()).count()
        });
        assert_eq!(good, 1);
        assert_eq!(*phases.lock().unwrap(), [StatePhase::DestroyPre, StatePhase::DestroyPost]);
        rig.comms[1].destroy().unwrap();
        let left = cluster.in_use();
        assert_eq!(
            (left.communicators, left.threads, left.channels, left.contexts, left.events, left.bytes),
            (0, 0, 0, 0, 0, 0)
        );
    }
}

#[test]
fn a_callback_that_panics_is_an_error_and_leaves_nothing_behind() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &short().timeouts(20, 1000));
    rig.check(&flat(&MeshAllGather::SPEC, 2), &Counts::Same(9), INTS, false, 1);
    rig.comms[0].on_state("bad", |_| panic!("as it should")).unwrap();
    // The other rank is not left waiting by a resume.
    thread::scope(|scope| {
        let all: Vec<_> = rig
            .comms
            .iter()
            .map(|comm| {
                scope.spawn(|| {
                    comm.suspend().unwrap();
                    comm.resume()
                })
            })
            .collect();
        let mut results = all.into_iter().map(|rank| rank.join().unwrap());
        fails(results.next().unwrap(), Code::Internal, "the callback `bad` panicked");
        results.next().unwrap().unwrap();
    });
    rig.check(&flat(&MeshAllGather::SPEC, 2), &Counts::Same(9), INTS, false, 2);
    fails(rig.comms[0].destroy(), Code::Internal, "the callback `bad` panicked");
    fails(rig.comms[0].destroy(), Code::NotFound, "destroyed");
    rig.comms[1].destroy().unwrap();
    let left = cluster.in_use();
    assert_eq!((left.communicators, left.threads, left.channels, left.contexts, left.bytes), (0, 0, 0, 0, 0));
}

#[test]
fn a_record_on_a_stream_that_is_gone_does_not_make_others_wait() {
    let cluster = cluster(Product::A950, 1);
    let (gone, stream) = (cluster.create_stream(0).unwrap(), cluster.create_stream(0).unwrap());
    let event = cluster.create_event().unwrap();
    cluster.destroy_stream(gone).unwrap();
    fails(cluster.record_event(event, gone), Code::NotFound, "destroyed");
    fails(cluster.record_event(event, StreamHandle(0)), Code::Ptr, "null");
    fails(cluster.record_event(EventHandle(stream.0), stream), Code::Para, "of a stream, not of a event");
    cluster.wait_event(stream, event).unwrap();
    cluster.synchronize_within(stream, Duration::from_secs(5)).unwrap();
    assert!(cluster.is_reached(event).unwrap());
}

#[test]
fn a_stream_that_goes_with_records_in_it_does_not_make_others_wait() {
    let cluster = cluster(Product::A950, 1);
    let (first, second) = (cluster.create_stream(0).unwrap(), cluster.create_stream(0).unwrap());
    let event = cluster.create_event().unwrap();
    let (hold, held) = std::sync::mpsc::channel::<()>();
    cluster.launch_call(first, Box::new(move || held.recv().map_err(|_| unreachable!()))).unwrap();
    thread::scope(|scope| {
        let destroys = scope.spawn(|| cluster.destroy_stream(first));
        thread::sleep(Duration::from_millis(20));
        // The stream is being destroyed: what is queued now is behind what it waits for.
        for _ in 0..1000 {
            let _may_be_gone = cluster.record_event(event, first);
        }
        hold.send(()).unwrap();
        destroys.join().unwrap().unwrap();
    });
    cluster.wait_event(second, event).unwrap();
    cluster.synchronize_within(second, Duration::from_secs(5)).unwrap();
}

fn launch_both(rig: &Rig<'_>, program: &Arc<Program>, bytes: u64) -> Vec<Result<(), CommError>> {
    let launched: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = rig
            .comms
            .iter()
            .zip(&rig.streams)
            .map(|(comm, stream)| {
                let call = OpCall::new(
                    rig.cluster.alloc(comm.device(), bytes).unwrap(),
                    rig.cluster.alloc(comm.device(), bytes).unwrap(),
                    8,
                    DataType::Int32,
                );
                scope.spawn(move || comm.launch(program, &call, *stream))
            })
            .collect();
        all.into_iter().map(|rank| rank.join().expect("a panic")).collect()
    });
    let waited = rig.streams.iter().map(|stream| rig.cluster.synchronize_within(*stream, Duration::from_secs(20)));
    launched.into_iter().zip(waited).map(|(launched, waited)| launched.and(waited)).collect()
}

/// Programs that no compiler makes, as a user of the plain types may.
fn wrong_programs() -> Vec<(&'static str, Program)> {
    let with = |name: &'static str, build: &dyn Fn(&mut Program)| {
        let mut program = empty(name, Operator::AllGather, shape(2), 1, 2);
        build(&mut program);
        (name, program)
    };
    let op = |kind: OpKind| {
        move |program: &mut Program| {
            At(program, 0, 0).op(1, kind);
        }
    };
    vec![
        with("notify_of_a_thread", &op(OpKind::ThreadNotifyWait { notify: u32::MAX })),
        with("notify_of_a_thread_2", &op(OpKind::ThreadNotifyWait { notify: 3_000_000_000 })),
        with("record_to_no_thread", &op(OpKind::ThreadNotifyRecord { thread: 7, notify: 0 })),
        with("record_to_no_thread_2", &op(OpKind::ThreadNotifyRecord { thread: u32::MAX, notify: u32::MAX })),
        with("channel_notify", &op(OpKind::ChannelNotifyRecord { peer: 1, notify: u32::MAX })),
        with("no_peer", &op(OpKind::ChannelNotifyRecord { peer: 99, notify: 0 })),
        with("itself", &op(OpKind::ChannelNotifyRecord { peer: 0, notify: 0 })),
        with("output_over_the_end", &op(OpKind::LocalCopy(transfer((Buffer::Output, 5), (Buffer::Input, 0), 1, 0)))),
        with("input_over_the_end", &op(OpKind::LocalCopy(transfer((Buffer::Output, 0), (Buffer::Input, 1), 1, 0)))),
        with(
            "scratch_over_the_end",
            &op(OpKind::Write(1, transfer((Buffer::Scratch, u32::MAX), (Buffer::Input, 0), 1, 0))),
        ),
        with("longest", &op(OpKind::LocalCopy(transfer((Buffer::Output, 0), (Buffer::Input, 0), u32::MAX, 0)))),
        with("class", &op(OpKind::LocalCopy(transfer((Buffer::Output, 0), (Buffer::Input, 0), 1, 77)))),
        with("peer_output", &op(OpKind::Write(1, transfer((Buffer::Output, 0), (Buffer::Input, 0), 1, 0)))),
        with("deadlock", &|program| {
            for rank in 0..2 {
                At(program, rank, 0).wait(2, 1 - rank, READY).signal(3, 1 - rank, READY);
            }
        }),
        with("a_wait_too_many", &|program| {
            At(program, 0, 0).wait(2, 1, DONE);
        }),
        with("a_wait_of_a_thread", &|program| {
            At(program, 0, 0).started(0);
        }),
        with("no_split", &|program| program.split = 0),
        with("scratch", &|program| program.scratch = u32::MAX),
        with("many_notifies", &|program| program.notifies = vec!["n".to_owned(); 100]),
        with("no_threads", &|program| program.ranks[0].threads.clear()),
        with("too_few_ranks", &|program| program.ranks.truncate(1)),
        with("root", &|program| program.shape.root = 9),
        with("many_threads", &|program| program.ranks[0].threads = vec![Vec::new(); 300]),
    ]
}

#[test]
fn wrong_programs_are_errors_with_a_reason() {
    for product in [Product::A3, Product::A950] {
        for (name, program) in wrong_programs() {
            let cluster = cluster(product, 2);
            let rig = Rig::new(&cluster, &[0, 1], &short());
            let results = launch_both(&rig, &Arc::new(program), 64);
            for error in results.iter().flat_map(|result| result.as_ref().err()) {
                assert!(!error.sentence.contains("panicked"), "{name}: {error}");
                if error.code == Code::Timeout && name != "peer_output" {
                    assert!(error.sentence.contains("EI0002"), "{name}: {error}");
                }
            }
            rig.end();
            assert_eq!(cluster.in_use().threads, 0, "{name}");
        }
    }
}

#[test]
fn a_deadlock_says_who_waited_for_which_notify_of_what() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &short());
    let mut program = empty("stuck", Operator::AllGather, shape(2), 1, 2);
    At(&mut program, 0, 0).wait(2, 1, DONE);
    let results = launch_both(&rig, &Arc::new(program), 64);
    let says = "rank 0 of hccl_comm_1 waited for notify 1 of its channel to rank 1 on thread 1";
    fails(results[0].clone(), Code::Timeout, says);
    fails(results[0].clone(), Code::Timeout, "(EI0002): it is `done` of `stuck`");
    fails(results[1].clone(), Code::Timeout, "(EI0002): it is that of the end of `stuck`");
    rig.end();
}

#[test]
fn a_name_stands_for_one_program() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &short());
    let program = flat(&MeshAllGather::SPEC, 2);
    rig.check(&program, &Counts::Same(9), INTS, false, 1);
    // The same one, lowered again, is no other.
    rig.check(&flat(&MeshAllGather::SPEC, 2), &Counts::Same(9), INTS, false, 1);
    let mut other = Program::clone(&program);
    At(&mut other, 0, 40).started(5);
    let results = launch_both(&rig, &Arc::new(other), 64);
    results
        .into_iter()
        .for_each(|result| fails(result, Code::Para, "another program was launched as `mesh_all_gather`"));
    rig.check(&program, &Counts::Same(9), INTS, false, 2);
    rig.end();
}

#[test]
fn a_suspension_ends_a_launch_that_waits_for_its_peers() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &short().timeouts(50, 100_000));
    let program = flat(&MeshAllGather::SPEC, 2);
    let buffers = rig.buffers(&program, &Counts::Same(9), INTS, false, 1);
    thread::scope(|scope| {
        let waits = scope.spawn(|| rig.comms[0].launch(&program, &buffers.calls[0], rig.streams[0]));
        thread::sleep(Duration::from_millis(30));
        let began = Instant::now();
        rig.comms[0].suspend().unwrap();
        fails(waits.join().unwrap(), Code::Suspending, "suspended");
        assert!(began.elapsed() < Duration::from_secs(100));
        rig.comms[1].suspend().unwrap();
        let all: Vec<_> = rig.comms.iter().map(|comm| scope.spawn(|| comm.resume().unwrap())).collect();
        all.into_iter().for_each(|rank| rank.join().unwrap());
    });
    buffers.free(&rig);
    rig.check(&program, &Counts::Same(9), INTS, false, 2);
    rig.end();
}

/// Messages and operators go through the same HCCL buffer.
#[test]
fn messages_and_operators_on_different_streams_keep_apart() {
    for product in [Product::A3, Product::A950] {
        let cluster = cluster(product, 2);
        let rig = Rig::new(&cluster, &[0, 1], &CommConfig::default().buffer_size(64 << 10));
        let program = flat(&TwoShotAllReduce::SPEC, 2);
        let size = 40_000;
        let streams: Vec<_> = (0..2).map(|device| cluster.create_stream(device).unwrap()).collect();
        let memory: Vec<_> = (0..2).map(|device| Region { addr: cluster.alloc(device, size).unwrap(), size }).collect();
        thread::scope(|scope| {
            scope.spawn(|| rig.comms[0].connect(&[1]).unwrap());
            scope.spawn(|| rig.comms[1].connect(&[0]).unwrap());
        });
        for round in 0..60u8 {
            let sent: Vec<u8> = (0..size).map(|at| (at as u8).wrapping_mul(31).wrapping_add(round)).collect();
            cluster.memory().write(memory[0].addr, &sent).unwrap();
            let buffers = rig.buffers(&program, &Counts::Same(20_000), INTS, false, u64::from(round));
            rig.launch(&program, &buffers).unwrap();
            rig.comms[0].send(1, memory[0], streams[0]).unwrap();
            rig.comms[1].recv(0, memory[1], streams[1]).unwrap();
            let more = rig.buffers(&program, &Counts::Same(20_000), INTS, false, 100 + u64::from(round));
            rig.launch(&program, &more).unwrap();
            rig.wait().into_iter().for_each(Result::unwrap);
            streams.iter().for_each(|stream| cluster.synchronize(*stream).unwrap());
            let mut got = vec![0; size as usize];
            cluster.memory().read(memory[1].addr, &mut got).unwrap();
            assert!(got == sent, "{product} message {round}");
            assert_eq!(buffers.wrong(&rig, &program), None, "{product} {round}");
            assert_eq!(more.wrong(&rig, &program), None, "{product} {round}");
            buffers.free(&rig);
            more.free(&rig);
        }
        assert_eq!(cluster.counters().lost_records, 0);
        rig.end();
    }
}

/// Messages of two streams between the same ranks.
#[test]
fn messages_of_one_pair_on_different_streams_follow_each_other() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &CommConfig::default().buffer_size(32 << 10));
    let size = 100_000;
    let region = |device| Region { addr: cluster.alloc(device, size).unwrap(), size };
    let streams: Vec<Vec<_>> =
        (0..2).map(|device| (0..2).map(|_| cluster.create_stream(device).unwrap()).collect()).collect();
    let (from, to): (Vec<_>, Vec<_>) = ((0..2).map(|_| region(0)).collect(), (0..2).map(|_| region(1)).collect());
    let back: Vec<_> = [1, 0].into_iter().map(region).collect();
    thread::scope(|scope| {
        scope.spawn(|| rig.comms[0].connect(&[1]).unwrap());
        scope.spawn(|| rig.comms[1].connect(&[0]).unwrap());
    });
    for round in 0..30u8 {
        for (at, region) in from.iter().enumerate() {
            cluster.memory().fill(region.addr, round * 2 + at as u8, size).unwrap();
        }
        for at in 0..2 {
            rig.comms[0].send(1, from[at], streams[0][at]).unwrap();
            rig.comms[1].recv(0, to[at], streams[1][at]).unwrap();
        }
        // Sends and receives of one rank on two streams do not wait for each other.
        rig.comms[0].recv(1, back[1], rig.streams[0]).unwrap();
        rig.comms[1].send(0, back[0], rig.streams[1]).unwrap();
        rig.wait().into_iter().for_each(Result::unwrap);
        streams.iter().flatten().for_each(|stream| cluster.synchronize(*stream).unwrap());
        for (at, region) in to.iter().enumerate() {
            let mut got = vec![0; size as usize];
            cluster.memory().read(region.addr, &mut got).unwrap();
            assert!(got.iter().all(|byte| *byte == round * 2 + at as u8), "round {round} message {at}");
        }
    }
    assert_eq!(cluster.counters().lost_records, 0);
    rig.end();
}

#[test]
fn configurations_that_cannot_be_are_refused() {
    let config = || ClusterConfig::new(Product::A950, 2).unwrap();
    for second in [Duration::MAX, Duration::from_secs(1 << 40), Duration::ZERO] {
        fails(Cluster::new(config().second(second)), Code::Para, "a simulated second");
    }
    fails(Cluster::new(config().workers(1 << 40)), Code::Para, "workers");
    let slow = Cluster::new(config().second(Duration::from_secs(3600))).unwrap();
    let comms = slow.init_all(&[0, 1], &CommConfig::default().timeouts(u32::MAX, u32::MAX)).unwrap();
    let stream = slow.create_stream(0).unwrap();
    let host = comms[0].thread_of_stream(CommEngine::CpuTs, stream, 1).unwrap();
    slow.data_plane(Side::Host).thread_notify_wait(host, 0, u32::MAX).unwrap();
    comms[0].suspend().unwrap();
    fails(slow.synchronize(stream), Code::Suspending, "suspended");
    fails(ClusterConfig::new(Product::A950, 0), Code::Para, "0 devices");
    fails(ClusterConfig::new(Product::A950, u32::MAX), Code::Para, "devices");
}

#[test]
fn sizes_that_cannot_be_are_refused_and_cost_nothing() {
    let cluster = cluster(Product::A950, 2);
    let comm = &cluster.init_all(&[0, 1], &short()).unwrap()[0];
    for bytes in [u64::MAX, 1 << 63, 1 << 45, 1 << 44] {
        fails(cluster.alloc(0, bytes), Code::Oom, "do not fit on device 0");
        fails(comm.create_context("huge", CommEngine::CpuTs, bytes), Code::Oom, "do not fit on the host");
        fails(comm.create_context("huge", CommEngine::AiCpuTs, bytes), Code::Oom, "do not fit on device 0");
    }
    // What is not touched costs nothing.
    let before = resident();
    comm.create_context("large", CommEngine::CpuTs, 8 << 40).unwrap();
    let wide = CommConfig::named("wide").buffer_size(1 << 34);
    cluster.init_all(&[0, 1], &wide).unwrap()[0].hccl_buffer().unwrap();
    assert!(resident() - before < 64 << 20, "{} bytes", resident() - before);
    let too_wide = cluster.init_all(&[0, 1], &CommConfig::named("too wide").buffer_size(1 << 40)).unwrap();
    fails(too_wide[0].hccl_buffer(), Code::Oom, "do not fit on device 0");
    assert_eq!(cluster.memory().used(Place::Host), 8 << 40);
}

/// Bytes of memory that the process has.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

#[test]
fn a_message_is_of_the_ranks_own_memory() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &short());
    let theirs = Region { addr: cluster.alloc(1, 64).unwrap(), size: 64 };
    fails(rig.comms[0].send(1, theirs, rig.streams[0]), Code::Para, "device 1");
    fails(rig.comms[0].recv(1, theirs, rig.streams[0]), Code::Para, "device 1");
    let over = Region { addr: theirs.addr, size: u64::MAX };
    fails(rig.comms[1].send(0, over, rig.streams[1]), Code::Para, "not allocated");
    assert_eq!(rig.comms[0].status(), CommStatus::Ready);
    rig.end();
}

#[test]
fn a_snapshot_is_json_whatever_the_name() {
    let cluster = cluster(Product::A950, 1);
    let name = "a\"b\\\n\u{1}é";
    let comm = cluster.init_all(&[0], &CommConfig::named(name)).unwrap().remove(0);
    comm.create_context("x", CommEngine::CpuTs, 0).unwrap_err();
    let json: serde_json::Value = serde_json::from_str(&comm.snapshot().to_json()).unwrap();
    assert_eq!(json["name"], name);
}

/// Whoever blocks when the cluster is shut down is told.
#[test]
fn a_shut_down_reaches_whoever_waits() {
    let cluster = cluster(Product::A3, 2);
    let slow = || CommConfig::default().buffer_size(8 << 10).timeouts(100_000, 100_000);
    let comms = cluster.init_all(&[0, 1], &slow()).unwrap();
    let (other, third) = (cluster.init_all(&[0, 1], &slow()).unwrap(), cluster.init_all(&[0, 1], &slow()).unwrap());
    let (addr, _) = cluster.map_new(0, 1 << 21).unwrap();
    let root = cluster.root_info();
    let program = flat(&MeshAllGather::SPEC, 2);
    let call = OpCall::new(cluster.alloc(0, 64).unwrap(), cluster.alloc(0, 128).unwrap(), 16, DataType::Int32);
    let streams: Vec<_> = (0..3).map(|_| cluster.create_stream(0).unwrap()).collect();
    third[0].suspend().unwrap();
    let busy = || {
        thread::sleep(Duration::from_millis(300));
        Ok(())
    };
    cluster.launch_call(streams[1], Box::new(busy)).unwrap();
    cluster.inject(Fault::StopDevice(1));
    let stopped = cluster.create_stream(1).unwrap();
    cluster.launch_call(stopped, Box::new(|| Ok(()))).unwrap();
    type Wait<'w> = Box<dyn FnOnce() -> Result<(), CommError> + Send + 'w>;
    let waits: Vec<(&str, Wait<'_>)> = vec![
        ("init", Box::new(|| cluster.init_root_info(2, root, 0, 0, &slow()).map(drop))),
        ("sub", Box::new(|| comms[0].create_sub(&[0, 1], 1, 0, &slow()).map(drop))),
        ("launch", Box::new(|| comms[0].launch(&program, &call, streams[0]))),
        ("connect", Box::new(|| other[0].connect(&[1]).map(drop))),
        ("register", Box::new(|| comms[0].register_window(Region { addr, size: 1 << 21 }).map(drop))),
        ("resume", Box::new(|| third[0].resume())),
        ("synchronize", Box::new(|| cluster.synchronize(streams[1]))),
        ("stopped", Box::new(|| cluster.destroy_stream(stopped))),
    ];
    thread::scope(|scope| {
        let all: Vec<_> = waits.into_iter().map(|(what, wait)| (what, scope.spawn(wait))).collect();
        thread::sleep(Duration::from_millis(50));
        cluster.shut_down().unwrap();
        for (what, wait) in all {
            let error = wait.join().unwrap().expect_err(what);
            assert!(matches!(error.code, Code::InStatus | Code::NotFound), "{what}: {error}");
            assert!(error.sentence.contains("shut down"), "{what}: {error}");
        }
    });
    fails(cluster.shut_down(), Code::InStatus, "already");
    fails(comms[0].destroy(), Code::InStatus, "shut down");
}

/// Handles that are dropped, and callbacks that hold their communicator, keep nothing once the cluster is gone.
#[test]
fn a_cluster_that_is_dropped_gives_its_memory_back() {
    #[derive(Debug)]
    struct Watched;
    impl hcomm_sim::comm::Observer for Watched {
        fn queued(&self, _: &hcomm_sim::comm::Queued) {}
    }
    let watched = Arc::new(Watched);
    let config = ClusterConfig::new(Product::A3, 2).unwrap().observer(watched.clone());
    let cluster = Cluster::new(config.second(Duration::from_millis(10))).unwrap();
    {
        let rig = Rig::new(&cluster, &[0, 1], &short());
        let program = flat(&RingAllReduce::SPEC, 2);
        rig.check(&program, &Counts::Same(100), INTS, false, 1);
        let windows = crate::support::Windows::new(&rig, 1 << 10);
        drop(windows);
        let me: Vec<Communicator> = rig.comms.clone();
        rig.comms[0].on_state("cycle", move |_| assert!(me.len() == 2)).unwrap();
        // An operator that does not end.
        let buffers = rig.buffers(&program, &Counts::Same(100), INTS, false, 1);
        rig.comms[0].launch(&program, &buffers.calls[0], rig.streams[0]).unwrap();
    }
    drop(cluster);
    let until = Instant::now() + Duration::from_secs(20);
    while Arc::strong_count(&watched) > 1 && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(Arc::strong_count(&watched), 1, "the cluster's core is still there");
}

/// Memory of one's own, which has a fault.
#[derive(Debug)]
struct Faulty(Segments);

impl Memory for Faulty {
    fn alloc(&self, place: Place, bytes: u64) -> Result<u64, CommError> {
        self.0.alloc(place, bytes)
    }
    fn free(&self, addr: u64) -> Result<(), CommError> {
        self.0.free(addr)
    }
    fn find(&self, addr: u64) -> Option<(Region, Place)> {
        self.0.find(addr)
    }
    fn copy(&self, _: u64, _: u64, _: u64) -> Result<(), CommError> {
        panic!("as it should")
    }
    fn reduce(&self, _: u64, _: u64, _: u64, _: DataType, _: ReduceOp) -> Result<(), CommError> {
        panic!("as it should")
    }
    fn fill(&self, dst: u64, value: u8, len: u64) -> Result<(), CommError> {
        self.0.fill(dst, value, len)
    }
    fn write(&self, dst: u64, bytes: &[u8]) -> Result<(), CommError> {
        self.0.write(dst, bytes)
    }
    fn read(&self, src: u64, bytes: &mut [u8]) -> Result<(), CommError> {
        self.0.read(src, bytes)
    }
    fn used(&self, place: Place) -> u64 {
        self.0.used(place)
    }
}

#[test]
fn memory_that_panics_is_an_error_of_the_operator() {
    let config = ClusterConfig::new(Product::A950, 2).unwrap().second(Duration::from_millis(10)).workers(1);
    let cluster = Cluster::new(config.memory(Arc::new(Faulty(Segments::new(1 << 30))))).unwrap();
    let rig = Rig::new(&cluster, &[0, 1], &short());
    let results = launch_both(&rig, &flat(&MeshAllGather::SPEC, 2), 64);
    assert!(results.iter().all(Result::is_err), "{results:?}");
    assert!(results.iter().flat_map(|result| result.as_ref().err()).any(|error| error.code == Code::Internal));
    rig.end();
    assert_eq!(cluster.in_use().threads, 0);
}

/// Who writes before its peer has said that it is there must still not write over a message of that peer.
#[test]
fn a_message_is_not_overwritten_by_who_starts_early() {
    let cluster = cluster(Product::A950, 3);
    let rig = Rig::new(&cluster, &[0, 1, 2], &short().timeouts(200, 100));
    // Writes at once; the barrier is at the end.
    let mut program = empty("eager", Operator::AllGather, shape(3), 1, 3);
    for rank in 0..3 {
        let own = transfer((Buffer::Scratch, rank), (Buffer::Input, 0), 1, 0);
        let mut main = At(&mut program, rank, 0);
        main.op(1, OpKind::LocalCopy(own));
        let peers = || (0..3).filter(move |peer| *peer != rank);
        for peer in peers() {
            main.op(2, OpKind::Write(peer, own)).signal(3, peer, READY);
        }
        for peer in peers() {
            main.wait(4, peer, READY);
        }
        main.op(5, OpKind::LocalCopy(transfer((Buffer::Output, 0), (Buffer::Scratch, 0), 3, 0)));
        for peer in peers() {
            main.signal(6, peer, DONE);
        }
        for peer in peers() {
            main.wait(7, peer, DONE);
        }
    }
    assert!(hcomm_core::check::report(&program).diagnostics.is_empty());
    let program = Arc::new(program);
    rig.check(&program, &Counts::Same(1000), INTS, false, 1);
    let memory = [0, 1].map(|device| Region { addr: cluster.alloc(device, 4000).unwrap(), size: 4000 });
    thread::scope(|scope| {
        scope.spawn(|| rig.comms[0].connect(&[1]).unwrap());
        scope.spawn(|| rig.comms[1].connect(&[0]).unwrap());
    });
    cluster.memory().fill(memory[0].addr, 7, 4000).unwrap();
    let buffers = rig.buffers(&program, &Counts::Same(1000), INTS, false, 2);
    rig.comms[0].send(1, memory[0], rig.streams[0]).unwrap();
    // The receiver is late, and rank 2 has nothing to do with it.
    for rank in [2, 0] {
        rig.comms[rank].launch(&program, &buffers.calls[rank], rig.streams[rank]).unwrap();
    }
    thread::sleep(Duration::from_millis(50));
    rig.comms[1].recv(0, memory[1], rig.streams[1]).unwrap();
    rig.comms[1].launch(&program, &buffers.calls[1], rig.streams[1]).unwrap();
    rig.wait().into_iter().for_each(Result::unwrap);
    let mut got = vec![0; 4000];
    cluster.memory().read(memory[1].addr, &mut got).unwrap();
    assert!(got.iter().all(|byte| *byte == 7), "the message was overwritten");
    assert_eq!(buffers.wrong(&rig, &program), None);
    buffers.free(&rig);
    rig.end();
}
