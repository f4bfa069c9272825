//! Resources: quotas, what is given again, what is refused, and with which code.

use crate::programs::{At, DONE, READY, empty, shape, transfer};
use crate::support::{Rig, cluster, flat};
use hcomm_algos::{MeshAllGather, RingAllReduce};
use hcomm_core::counts::Counts;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::product::Product;
use hcomm_core::program::{OpKind, Program};
use hcomm_core::shape::Layout;
use hcomm_sim::comm::{
    ChannelDesc, Cluster, ClusterConfig, Code, CommConfig, CommEngine, CommError, CommStatus, Communicator,
    DedicatedThread, OpCall, Protocol, Region, RootInfo, Side, StatePhase,
};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const AICPU: CommEngine = CommEngine::AiCpuTs;

fn pair(cluster: &Cluster) -> Vec<Communicator> {
    cluster.init_all(&[0, 1], &CommConfig::default().buffer_size(8 << 10).timeouts(5, 1)).unwrap()
}

fn fails<T: std::fmt::Debug>(result: Result<T, CommError>, code: Code, says: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code, code, "{error}");
    assert!(error.sentence.contains(says), "{error}");
}

/// Acquires one channel on both ends.
fn connect(comms: &[Communicator], descs: [ChannelDesc; 2]) -> [hcomm_sim::comm::ChannelHandle; 2] {
    thread::scope(|scope| {
        let ends: Vec<_> = comms
            .iter()
            .zip(descs)
            .map(|(comm, desc)| scope.spawn(move || comm.acquire_channels(AICPU, &[desc]).unwrap()[0]))
            .collect();
        let mut ends = ends.into_iter().map(|end| end.join().unwrap());
        [ends.next().unwrap(), ends.next().unwrap()]
    })
}

#[test]
fn v1_makes_new_threads_until_the_quota_is_used_up() {
    let cluster = cluster(Product::A3, 2);
    let comm = &pair(&cluster)[0];
    let first = comm.acquire_threads(AICPU, 50, 4).unwrap();
    let second = comm.acquire_threads(AICPU, 50, 4).unwrap();
    assert!(first.iter().all(|thread| !second.contains(thread)));
    comm.acquire_threads(CommEngine::CpuTs, 100, 0).unwrap();
    fails(comm.acquire_threads(AICPU, 1, 0), Code::Unavail, "200 of 200 threads and 400 of 65536 thread notifies");
    // Threads of streams and dedicated ones are not charged.
    let stream = cluster.create_stream(0).unwrap();
    let of_stream = comm.thread_of_stream(CommEngine::CpuTs, stream, 3).unwrap();
    assert_eq!(comm.stream_of(of_stream).unwrap(), stream);
    comm.dedicated_thread(DedicatedThread::AicpuLaunch, 64).unwrap();
    assert_eq!(comm.snapshot().in_use.thread_notifies, 400);
}

#[test]
fn v2_gives_the_same_threads_and_supplements_them() {
    let cluster = cluster(Product::A950, 2);
    let comm = &pair(&cluster)[0];
    let first = comm.acquire_threads(AICPU, 3, 2).unwrap();
    let same = comm.acquire_threads(CommEngine::AiCpu, 2, 1).unwrap();
    assert_eq!(same, first[..2]);
    assert_eq!(comm.thread_notifies(first[0]).unwrap(), 2);
    let more = comm.acquire_threads(AICPU, 5, 7).unwrap();
    assert_eq!((&more[..3], comm.thread_notifies(first[0]).unwrap()), (&first[..], 7));
    // Host threads are others.
    let host = comm.acquire_threads(CommEngine::CpuTs, 5, 7).unwrap();
    assert!(host.iter().all(|thread| !more.contains(thread)));
    assert_eq!(comm.snapshot().in_use.threads, 10);
    comm.acquire_threads(AICPU, 195, 0).unwrap();
    fails(comm.acquire_threads(AICPU, 196, 0), Code::Unavail, "no 1 more threads for rank 0 of hccl_comm_1");
    comm.acquire_threads(AICPU, 195, 0).unwrap();
}

#[test]
fn thread_notifies_are_charged_for_all_threads() {
    let cluster = cluster(Product::A3, 2);
    let comm = &pair(&cluster)[0];
    comm.acquire_threads(AICPU, 1, 65535).unwrap();
    comm.acquire_threads(AICPU, 1, 1).unwrap();
    fails(comm.acquire_threads(AICPU, 1, 1), Code::Unavail, "65536 of 65536 thread notifies");
    fails(comm.acquire_threads(AICPU, 1, 65536), Code::Para, "at most 65535");
    fails(comm.acquire_threads(AICPU, 0, 1), Code::Para, "0 threads");
    fails(comm.acquire_threads(AICPU, u32::MAX, 0), Code::Unavail, "200");
    fails(comm.acquire_threads(CommEngine::Aiv, 1, 1), Code::NotSupport, "COMM_ENGINE_AIV");
    fails(comm.acquire_threads(CommEngine::Ccu, 1, 1), Code::NotSupport, "COMM_ENGINE_CCU");
    fails(comm.acquire_threads_with(AICPU, &[1]), Code::Para, "CPU or AICPU");
    let stream = cluster.create_stream(1).unwrap();
    fails(comm.thread_of_stream(CommEngine::CpuTs, stream, 1), Code::Para, "on device 0");
    fails(comm.dedicated_thread(DedicatedThread::AicpuLaunch, 65), Code::Para, "at most 64");
}

#[test]
fn a_limit_of_the_configuration_holds() {
    let cluster = cluster(Product::A950, 1);
    let comm = &cluster.init_all(&[0], &CommConfig::default().thread_limit(3)).unwrap()[0];
    comm.acquire_threads(AICPU, 3, 1).unwrap();
    fails(comm.acquire_threads(AICPU, 4, 1), Code::Unavail, "3 of 3 threads");
}

#[test]
fn handles_are_good_on_their_side() {
    for product in [Product::A3, Product::A950] {
        let cluster = cluster(product, 2);
        let comms = pair(&cluster);
        let (comm, other) = (&comms[0], &comms[1]);
        let device = comm.acquire_threads(AICPU, 2, 1).unwrap();
        let stream = cluster.create_stream(0).unwrap();
        let host = comm.thread_of_stream(CommEngine::CpuTs, stream, 1).unwrap();
        let mut host_plane = cluster.data_plane(Side::Host);
        let mut device_plane = cluster.data_plane(Side::Device);
        device_plane.batch_start("test").unwrap();
        fails(host_plane.thread_notify_record(host, device[0], 0), Code::Para, "export the thread");
        fails(host_plane.thread_notify_wait(device[0], 0, 1), Code::Para, "is one of the device, used on the host");
        let exported = comm.export_threads(&device[..1], CommEngine::CpuTs).unwrap()[0];
        assert_ne!(exported, device[0]);
        assert_eq!(comm.export_threads(&device[..1], AICPU).unwrap()[0], device[0]);
        host_plane.thread_notify_record(host, exported, 0).unwrap();
        let back = comm.export_threads(&[host], AICPU).unwrap()[0];
        device_plane.thread_notify_wait(device[0], 0, 1).unwrap();
        device_plane.thread_notify_record(device[0], back, 0).unwrap();
        device_plane.batch_end("test").unwrap();
        host_plane.thread_notify_wait(host, 0, 1).unwrap();
        cluster.synchronize(stream).unwrap();
        assert_eq!(comm.notifies_set(), 0);
        fails(comm.export_threads(&[], AICPU), Code::Para, "1 to 40");
        fails(comm.export_threads(&[host; 41], AICPU), Code::Para, "41 threads");
        fails(comm.export_threads(&device, CommEngine::Aiv), Code::NotSupport, "COMM_ENGINE_AIV");
        fails(other.export_threads(&device, AICPU), Code::Para, "not one of this communicator");
        // The 950 has one more notify on AI CPU threads, behind those that were asked for.
        device_plane.batch_start("test").unwrap();
        let hidden = device_plane.thread_notify_record(device[0], device[1], 1);
        match product {
            Product::A950 => hidden.unwrap(),
            _ => fails(hidden, Code::Para, "notify 1 of thread 1, which has only notify 0"),
        }
        fails(device_plane.thread_notify_record(device[0], device[1], 2), Code::Para, "notify 2");
    }
}

#[test]
fn a_kernel_brackets_its_calls_on_a2_and_a3() {
    let a3 = cluster(Product::A3, 2);
    let thread = pair(&a3)[0].acquire_threads(AICPU, 1, 1).unwrap()[0];
    let mut plane = a3.data_plane(Side::Device);
    fails(plane.thread_notify_wait(thread, 0, 1), Code::InStatus, "HcommBatchModeStart");
    fails(plane.batch_end("a"), Code::InStatus, "no batch");
    plane.batch_start("a").unwrap();
    fails(plane.batch_start("b"), Code::InStatus, "`a` has not ended");
    fails(plane.batch_end("b"), Code::Para, "started with the tag `a`");
    plane.batch_end("a").unwrap();
    fails(plane.thread_join(thread, 1), Code::NotSupport, "HcommThreadJoin");
    let on_950 = cluster(Product::A950, 2);
    let comms = pair(&on_950);
    let thread = comms[0].acquire_threads(AICPU, 1, 1).unwrap()[0];
    let mut plane = on_950.data_plane(Side::Device);
    plane.thread_notify_wait(thread, 0, 1).unwrap();
    let late = plane.thread_join(thread, 100).unwrap_err();
    assert_eq!(late.code, Code::Timeout, "{late}");
    // The wait failed and the communicator with it.
    assert_eq!(comms[0].status(), CommStatus::Invalid);
}

#[test]
fn channels_are_made_in_pairs_and_given_again() {
    for (product, after) in [(Product::A3, 2), (Product::A950, 5)] {
        let cluster = cluster(product, 2);
        let comms = pair(&cluster);
        let made = connect(&comms, [ChannelDesc::new(1, 2), ChannelDesc::new(0, 3)]);
        assert_eq!(comms[0].channel_info(made[0]).unwrap(), (1, 2, 3));
        assert_eq!(comms[0].channel_buffer(made[0]).unwrap(), comms[1].hccl_buffer().unwrap());
        assert_eq!(comms[0].hccl_buffer().unwrap().size, 16 << 10);
        // Again, with more notifies: A2 and A3 do not give them. Nobody else is needed.
        let again = comms[0].acquire_channels(AICPU, &[ChannelDesc::new(1, 5)]).unwrap();
        assert_eq!(again, [made[0]]);
        assert_eq!(comms[0].channel_info(made[0]).unwrap(), (1, after, 3));
        let counters = cluster.counters();
        assert_eq!((counters.channels_made, counters.channels_reused), (2, 1));
    }
}

#[test]
fn an_acquire_that_nobody_answers_says_who() {
    let cluster = cluster(Product::A950, 3);
    let config = CommConfig::named("lonely").timeouts(5, 1);
    let comms = cluster.init_all(&[0, 1, 2], &config).unwrap();
    let descs = [ChannelDesc::new(1, 2), ChannelDesc::new(2, 2)];
    let says = "rank 0 of lonely waited 21 s for the other end of its channels: rank 1, 2 did not acquire";
    fails(comms[0].acquire_channels(AICPU, &descs), Code::Timeout, says);
    // Nothing is left behind: another try pairs.
    connect(&comms[..2], [ChannelDesc::new(1, 2), ChannelDesc::new(0, 2)]);
    comms[2].destroy().unwrap();
    fails(comms[0].acquire_channels(AICPU, &descs), Code::Remote, "rank 2 of lonely has been destroyed");
}

#[test]
fn channels_are_refused() {
    let layout = Layout::equal(1, 2, 1).unwrap();
    let config = ClusterConfig::of_layout(Product::A2, layout).second(Duration::from_millis(10));
    let cluster = Cluster::new(config).unwrap();
    let comm = &pair(&cluster)[0];
    let acquire = |desc| comm.acquire_channels(AICPU, &[desc]);
    assert_eq!(comm.links(1).unwrap(), [Protocol::Roce]);
    fails(comm.links(0), Code::Para, "to rank 0");
    fails(acquire(ChannelDesc::new(2, 1)), Code::Para, "has 2 ranks");
    fails(acquire(ChannelDesc::new(0, 1)), Code::Para, "to itself");
    fails(acquire(ChannelDesc::new(1, 65)), Code::Para, "at most 64");
    fails(acquire(ChannelDesc::new(1, 1).protocol(Protocol::UbCtp)), Code::NotSupport, "does not use");
    fails(acquire(ChannelDesc::new(1, 1).protocol(Protocol::Hccs)), Code::NotFound, "there is COMM_PROTOCOL_ROCE");
    fails(comm.acquire_channels(AICPU, &[]), Code::Para, "0 channels");
    let twice = [ChannelDesc::new(1, 1), ChannelDesc::new(1, 2)];
    fails(comm.acquire_channels(AICPU, &twice), Code::Para, "two channels to rank 1");
    fails(comm.destroy_channels(&[hcomm_sim::comm::ChannelHandle(0)]), Code::Ptr, "null");
}

#[test]
fn ranks_that_do_not_run_the_same_learn_it_when_they_connect() {
    let cluster = cluster(Product::A950, 2);
    let comms = pair(&cluster);
    comms[0].add_exchange_info("all_reduce, 4 elements");
    comms[1].add_exchange_info("all_reduce, 5 elements");
    let results: Vec<_> = thread::scope(|scope| {
        let ranks: Vec<_> = (0..2)
            .map(|rank| {
                let comm = &comms[rank];
                scope.spawn(move || comm.acquire_channels(AICPU, &[ChannelDesc::new(1 - rank as u32, 1)]))
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    });
    for result in results {
        fails(result, Code::Para, "all_reduce, 5 elements");
    }
}

#[test]
fn operators_that_differ_are_an_error_of_all_ranks() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &CommConfig::default().buffer_size(8 << 10));
    let (gather, reduce) = (flat(&MeshAllGather::SPEC, 2), flat(&RingAllReduce::SPEC, 2));
    let elements = (DataType::Int32, ReduceOp::Sum);
    for program in [&gather, &reduce] {
        rig.check(program, &Counts::Same(9), elements, false, 1);
    }
    let buffers = rig.buffers(&gather, &Counts::Same(16), elements, false, 1);
    rig.comms[0].launch(&gather, &buffers.calls[0], rig.streams[0]).unwrap();
    let error = rig.comms[1].launch(&reduce, &buffers.calls[1], rig.streams[1]).unwrap_err();
    let says = "operator 2 is mesh_all_gather of 16 int32 on rank 0, and ring_all_reduce of 16 int32, sum on rank 1";
    assert!(error.sentence.contains(says), "{error}");
    assert_eq!((error.code, cluster.synchronize(rig.streams[0])), (Code::Para, Err(error)));
    buffers.free(&rig);
    rig.end();
}

#[test]
fn calls_are_checked() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &CommConfig::default().buffer_size(8 << 10));
    let (gather, reduce) = (flat(&MeshAllGather::SPEC, 2), flat(&RingAllReduce::SPEC, 2));
    let (mine, theirs) = (cluster.alloc(0, 1024).unwrap(), cluster.alloc(1, 1024).unwrap());
    let (comm, stream) = (&rig.comms[0], rig.streams[0]);
    let call = |input, output, count, dtype| OpCall::new(input, output, count, dtype);
    let fp32 = DataType::Fp32;
    fails(comm.launch(&gather, &call(mine, mine, 129, fp32), stream), Code::Para, "output of rank 0 needs 1032 bytes");
    fails(comm.launch(&gather, &call(theirs, mine, 9, fp32), stream), Code::Para, "1024 bytes at");
    fails(comm.launch(&gather, &call(0, mine, 9, fp32), stream), Code::Para, "nothing is allocated at 0x0");
    fails(comm.launch(&reduce, &call(mine + 2, mine, 9, fp32), stream), Code::Para, "not aligned");
    fails(comm.launch(&reduce, &call(mine, mine, 9, DataType::Fp8e4m3), stream), Code::NotSupport, "copied");
    fails(comm.launch(&reduce, &call(mine, mine, 9, DataType::Int64), stream), Code::NotSupport, "int64");
    fails(comm.launch(&gather, &call(mine, mine, 9, fp32), rig.streams[1]), Code::Para, "on device 0");
    fails(comm.launch(&flat(&MeshAllGather::SPEC, 3), &call(mine, mine, 9, fp32), stream), Code::Para, "3 ranks");
    let counts = call(mine, mine, 9, fp32).counts(Counts::by_rank(&[1, 2]));
    fails(comm.launch(&gather, &counts, stream), Code::Para, "one count");
    // None of them has left anything: the ranks still agree.
    rig.check(&gather, &Counts::Same(9), (fp32, ReduceOp::Sum), false, 1);
    // No elements, nothing to do.
    comm.launch(&gather, &call(0, 0, 0, fp32), stream).unwrap();
    cluster.memory().free(mine).unwrap();
    cluster.memory().free(theirs).unwrap();
    rig.end();
}

/// Everybody adds to the owner's slice as it comes.
fn unordered_reduce_scatter(ranks: u32) -> Arc<Program> {
    let mut program = empty("unordered", Operator::ReduceScatter, shape(ranks), 1, ranks);
    for rank in 0..ranks {
        let others = || (0..ranks).filter(|other| *other != rank);
        let mut main = At(&mut program, rank, 0);
        main.op(1, OpKind::LocalCopy(transfer((Buffer::Scratch, 0), (Buffer::Input, 0), ranks, 0)));
        for peer in others() {
            main.signal(2, peer, READY);
        }
        for peer in others() {
            main.wait(3, peer, READY);
        }
        for peer in others() {
            let add = transfer((Buffer::Scratch, peer), (Buffer::Scratch, peer), 1, 0);
            main.op(4, OpKind::WriteReduce(peer, add)).signal(5, peer, DONE);
        }
        for peer in others() {
            main.wait(6, peer, DONE);
        }
        main.op(7, OpKind::LocalCopy(transfer((Buffer::Output, 0), (Buffer::Scratch, rank), 1, 0)));
    }
    Arc::new(program)
}

#[test]
fn a_deterministic_communicator_takes_ordered_reductions_only() {
    let cluster = cluster(Product::A950, 4);
    let config = || CommConfig::default().buffer_size(8 << 10);
    let strict = config().deterministic(hcomm_sim::comm::Deterministic::On);
    let (rig, free) = (Rig::new(&cluster, &[0, 1, 2, 3], &strict), Rig::new(&cluster, &[0, 1, 2, 3], &config()));
    let floats = (DataType::Fp32, ReduceOp::Sum);
    let (unordered, ordered) = (unordered_reduce_scatter(4), flat(&RingAllReduce::SPEC, 4));
    rig.check(&ordered, &Counts::Same(9), floats, false, 1);
    let buffers = rig.buffers(&unordered, &Counts::Same(9), floats, false, 1);
    fails(rig.launch(&unordered, &buffers), Code::NotSupport, "H202");
    // Where the order does not matter, it may be any.
    rig.check(&unordered, &Counts::Same(9), (DataType::Int32, ReduceOp::Sum), false, 1);
    rig.check(&unordered, &Counts::Same(9), (DataType::Fp32, ReduceOp::Max), false, 1);
    free.check(&unordered, &Counts::Same(9), floats, false, 1);
}

#[test]
fn contexts_by_tag_and_engine() {
    let cluster = cluster(Product::A3, 2);
    let comm = &pair(&cluster)[0];
    let addr = comm.create_context("op", AICPU, 16).unwrap();
    assert_eq!(comm.context("op", AICPU).unwrap(), Region { addr, size: 16 });
    fails(comm.context("op", CommEngine::AiCpu), Code::NotFound, "there is one for COMM_ENGINE_AICPU_TS");
    fails(comm.create_context("op", AICPU, 16), Code::InStatus, "already");
    let host = comm.create_context("op", CommEngine::CpuTs, 16).unwrap();
    use hcomm_sim::comm::Place;
    let place = |addr| cluster.memory().find(addr).unwrap().1;
    assert_eq!((place(addr), place(host)), (Place::Device(0), Place::Host));
    comm.copy_context("op", AICPU, 8, &[7; 8]).unwrap();
    let mut bytes = [1; 16];
    cluster.memory().read(addr, &mut bytes).unwrap();
    assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7]);
    fails(comm.copy_context("op", AICPU, 9, &[7; 8]), Code::Para, "do not fit the context");
    fails(comm.copy_context("op", AICPU, u64::MAX, &[7; 8]), Code::Para, "do not fit");
    fails(comm.create_context("", AICPU, 16), Code::Para, "1 to 255");
    fails(comm.create_context(&"x".repeat(256), AICPU, 16), Code::Para, "256 bytes");
    fails(comm.create_context("empty", AICPU, 0), Code::Para, "0 bytes");
    comm.destroy_context("op", AICPU).unwrap();
    fails(comm.destroy_context("op", AICPU), Code::NotFound, "there is one for COMM_ENGINE_CPU_TS");
    assert_eq!(comm.snapshot().in_use.contexts, 1);
}

#[test]
fn memory_is_registered_by_tag_and_exchanged_for_aiv() {
    let cluster = cluster(Product::A950, 2);
    let comms = pair(&cluster);
    let region = Region { addr: cluster.alloc(0, 256).unwrap(), size: 256 };
    let part = Region { size: 100, ..region };
    let handle = comms[0].register_memory("flags", region).unwrap();
    assert_eq!(comms[0].register_memory("flags", region).unwrap(), handle);
    fails(comms[0].register_memory("flags", part), Code::Para, "is that of 256 bytes");
    comms[0].register_memory("part", part).unwrap();
    fails(comms[0].register_memory("__hccl_sym_win__0", region), Code::Para, "the library's");
    fails(comms[0].register_memory("none", Region { size: 0, ..region }), Code::Para, "0 bytes");
    fails(comms[0].register_memory("over", Region { size: 257, ..region }), Code::Para, "not allocated");
    let aiv = CommEngine::Aiv;
    let ends: Vec<_> = thread::scope(|scope| {
        let mine = ChannelDesc::new(1, 0).memories(vec![handle]).protocol(Protocol::UbMem);
        let theirs = ChannelDesc::new(0, 0).protocol(Protocol::UbMem);
        let (a, b) = (&comms[0], &comms[1]);
        let a = scope.spawn(move || a.acquire_channels(aiv, &[mine]).unwrap()[0]);
        let b = scope.spawn(move || b.acquire_channels(aiv, &[theirs]).unwrap()[0]);
        [a.join().unwrap(), b.join().unwrap()].into()
    });
    let seen = comms[1].channel_memories(ends[1]).unwrap();
    assert_eq!(seen.iter().map(|(tag, _)| tag.as_str()).collect::<Vec<_>>(), ["HcclBuffer", "flags"]);
    assert_eq!(seen[1].1, region);
    assert_eq!(comms[0].channel_memories(ends[0]).unwrap().len(), 1);
}

#[test]
fn a_destroyed_communicator_is_an_error_and_not_another() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &CommConfig::named("short").buffer_size(8 << 10));
    let program = flat(&MeshAllGather::SPEC, 2);
    rig.check(&program, &Counts::Same(9), (DataType::Fp32, ReduceOp::Sum), false, 1);
    fails(cluster.init_all(&[0, 1], &CommConfig::named("short")), Code::Para, "names must differ");
    let comm = &rig.comms[0];
    let thread = comm.acquire_threads(AICPU, 1, 1).unwrap()[0];
    let phases = Arc::new(Mutex::new(Vec::new()));
    let seen = phases.clone();
    comm.on_state("watch", move |phase| seen.lock().unwrap().push(phase)).unwrap();
    comm.destroy().unwrap();
    assert_eq!(*phases.lock().unwrap(), [StatePhase::DestroyPre, StatePhase::DestroyPost]);
    fails(comm.destroy(), Code::NotFound, "rank 0 of short has been destroyed");
    fails(comm.acquire_threads(AICPU, 1, 1), Code::NotFound, "destroyed");
    fails(comm.hccl_buffer(), Code::NotFound, "destroyed");
    fails(comm.context("x", AICPU), Code::NotFound, "destroyed");
    fails(comm.suspend(), Code::NotFound, "destroyed");
    fails(comm.launch(&program, &OpCall::new(0, 0, 9, DataType::Fp32), rig.streams[0]), Code::NotFound, "destroyed");
    fails(cluster.communicator(comm.handle()), Code::NotFound, "the communicator of handle");
    fails(cluster.data_plane(Side::Device).thread_notify_wait(thread, 0, 0), Code::NotFound, "the thread of handle");
    assert_eq!(comm.status(), CommStatus::Invalid);
    assert_eq!(comm.snapshot().status, "destroyed");
    // The other rank is there still; what it does with the one that is gone is an error.
    let other = &rig.comms[1];
    assert_eq!(cluster.communicator(other.handle()).unwrap().rank(), 1);
    assert!(cluster.communicator_named("short", 0).is_err());
    assert_eq!(cluster.communicator_named("short", 1).unwrap().handle(), other.handle());
    other.destroy().unwrap();
    // The name is free again.
    let again = cluster.init_all(&[0, 1], &CommConfig::named("short")).unwrap();
    assert_ne!(again[0].handle(), comm.handle());
}

#[test]
fn ranks_meet_by_root_info_or_learn_why_not() {
    let cluster = cluster(Product::A950, 4);
    let meet = |ranks: [(u32, u32, CommConfig); 2], sizes: [u32; 2]| -> Vec<Result<Communicator, CommError>> {
        let root = cluster.root_info();
        thread::scope(|scope| {
            let all: Vec<_> = ranks
                .into_iter()
                .zip(sizes)
                .map(|((rank, device, config), size)| {
                    let cluster = &cluster;
                    scope.spawn(move || cluster.init_root_info(size, root, rank, device, &config))
                })
                .collect();
            all.into_iter().map(|rank| rank.join().unwrap()).collect()
        })
    };
    let config = || CommConfig::default().timeouts(5, 1);
    let both = |results: Vec<Result<Communicator, CommError>>, code, says: &str| {
        results.into_iter().for_each(|result| fails(result, code, says));
    };
    let comms: Vec<_> = meet([(0, 2, config()), (1, 1, config())], [2, 2]).into_iter().map(Result::unwrap).collect();
    assert_eq!((comms[0].devices(), comms[1].devices()), (&[2, 1][..], &[2, 1][..]));
    assert_eq!(comms[0].name(), comms[1].name());
    both(meet([(0, 1, config()), (1, 1, config())], [2, 2]), Code::Para, "both on device 1");
    both(meet([(0, 0, config()), (1, 1, config().buffer_size(7))], [2, 2]), Code::Para, "HCCL buffer size");
    both(meet([(0, 0, config()), (1, 1, config())], [2, 3]), Code::Para, "the others ask for");
    let alone = cluster.root_info();
    fails(cluster.init_root_info(2, alone, 1, 0, &config()), Code::Timeout, "waited 21 s for rank 0 to join");
    fails(cluster.init_root_info(2, alone, 2, 0, &config()), Code::Para, "rank 2 of 2");
    fails(cluster.init_root_info(2, RootInfo(999), 0, 0, &config()), Code::Para, "root info");
    fails(cluster.init_root_info(1, alone, 0, 9, &config()), Code::Para, "no device 9");
    // Good once.
    let root = cluster.root_info();
    cluster.init_root_info(1, root, 0, 0, &config()).unwrap();
    fails(cluster.init_root_info(1, root, 0, 0, &config()), Code::Para, "used up");
}

#[test]
fn sub_communicators_run_beside_the_whole_one() {
    let cluster = cluster(Product::A950, 4);
    let small = || CommConfig::default().buffer_size(8 << 10);
    let whole = Rig::new(&cluster, &[0, 1, 2, 3], &small());
    let sub = |ranks: [u32; 2], id| -> Vec<Communicator> {
        thread::scope(|scope| {
            let all: Vec<_> = (0..)
                .zip(ranks)
                .map(|(rank, of)| {
                    let comm = &whole.comms[of as usize];
                    scope.spawn(move || comm.create_sub(&ranks, id, rank, &small()).unwrap())
                })
                .collect();
            all.into_iter().map(|rank| rank.join().unwrap()).collect()
        })
    };
    let (odd, even) = (Rig::of(&cluster, sub([3, 1], 1)), Rig::of(&cluster, sub([0, 2], 2)));
    let elements = (DataType::Int32, ReduceOp::Sum);
    let program = flat(&RingAllReduce::SPEC, 2);
    // Both at once, and the whole one too.
    let all = flat(&RingAllReduce::SPEC, 4);
    let (a, b) = (
        odd.buffers(&program, &Counts::Same(5000), elements, false, 1),
        even.buffers(&program, &Counts::Same(5000), elements, false, 2),
    );
    let c = whole.buffers(&all, &Counts::Same(5000), elements, false, 3);
    for _ in 0..5 {
        odd.launch(&program, &a).unwrap();
        whole.launch(&all, &c).unwrap();
        even.launch(&program, &b).unwrap();
    }
    for rig in [&odd, &even, &whole] {
        rig.wait().into_iter().for_each(Result::unwrap);
    }
    assert_eq!((a.wrong(&odd, &program), b.wrong(&even, &program), c.wrong(&whole, &all)), (None, None, None));
    // Ranks that name others, and would yet fit together.
    thread::scope(|scope| {
        for (of, ranks) in [(0, [0, 1]), (1, [2, 1])] {
            let comm = &whole.comms[of];
            let config = small();
            scope
                .spawn(move || fails(comm.create_sub(&ranks, 9, of as u32, &config), Code::Para, "the others ask for"));
        }
    });
    fails(odd.comms[0].create_sub(&[0], 1, 0, &small()), Code::NotSupport, "is a sub-communicator");
    fails(whole.comms[0].create_sub(&[1], 1, 0, &small()), Code::Para, "is not at 0");
    fails(whole.comms[0].create_sub(&[0, 4], 1, 0, &small()), Code::Para, "rank 4");
    // The whole one goes first.
    c.free(&whole);
    whole.end();
    odd.check(&program, &Counts::Same(7), elements, false, 1);
    a.free(&odd);
    b.free(&even);
    odd.end();
    even.end();
    assert_eq!(cluster.in_use().bytes, 0);
}

#[test]
fn operators_follow_each_other_over_streams() {
    let cluster = cluster(Product::A3, 2);
    let mut rig = Rig::new(&cluster, &[0, 1], &CommConfig::default().buffer_size(8 << 10));
    let program = flat(&RingAllReduce::SPEC, 2);
    let elements = (DataType::Int32, ReduceOp::Sum);
    let buffers: Vec<_> =
        (0..20).map(|seed| rig.buffers(&program, &Counts::Same(3000), elements, false, seed)).collect();
    let mut streams = vec![rig.streams.clone()];
    streams.push((0..2).map(|device| cluster.create_stream(device).unwrap()).collect());
    for (at, buffers) in buffers.iter().enumerate() {
        rig.streams = streams[at % 2].clone();
        rig.launch(&program, buffers).unwrap();
    }
    for stream in streams.iter().flatten() {
        cluster.synchronize(*stream).unwrap();
    }
    for buffers in &buffers {
        assert_eq!(buffers.wrong(&rig, &program), None);
    }
    assert_eq!(cluster.counters().lost_records, 0);
}

#[test]
fn a_cluster_that_goes_tells_who_waits() {
    let cluster = Cluster::new(ClusterConfig::new(Product::A950, 2).unwrap()).unwrap();
    let comms = pair(&cluster);
    let stream = cluster.create_stream(0).unwrap();
    let host = comms[0].thread_of_stream(CommEngine::CpuTs, stream, 1).unwrap();
    cluster.data_plane(Side::Host).thread_notify_wait(host, 0, 0).unwrap();
    thread::scope(|scope| {
        let waits = scope.spawn(|| cluster.synchronize(stream));
        thread::sleep(Duration::from_millis(20));
        cluster.shut_down().unwrap();
        assert_eq!(waits.join().unwrap().unwrap_err().code, Code::InStatus);
    });
    fails(comms[0].hccl_buffer(), Code::InStatus, "shut down");
    fails(cluster.create_stream(0), Code::InStatus, "shut down");
}

#[test]
fn a_kernel_that_panics_is_an_error_of_its_stream() {
    let cluster = cluster(Product::A950, 1);
    let stream = cluster.create_stream(0).unwrap();
    cluster.launch_call(stream, Box::new(|| panic!("as it should"))).unwrap();
    fails(cluster.synchronize(stream), Code::Internal, "panicked");
    cluster.launch_call(stream, Box::new(|| Ok(()))).unwrap();
    cluster.synchronize(stream).unwrap();
}

#[test]
fn a_rank_that_is_destroyed_while_it_connects_lets_go() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &CommConfig::default().buffer_size(8 << 10).timeouts(5, 100_000));
    let program = flat(&MeshAllGather::SPEC, 2);
    let buffers = rig.buffers(&program, &Counts::Same(9), (DataType::Fp32, ReduceOp::Sum), false, 1);
    thread::scope(|scope| {
        let waits = scope.spawn(|| rig.comms[0].launch(&program, &buffers.calls[0], rig.streams[0]));
        thread::sleep(Duration::from_millis(30));
        rig.comms[0].destroy().unwrap();
        fails(waits.join().unwrap(), Code::NotFound, "destroyed");
    });
    rig.comms[1].destroy().unwrap();
    assert_eq!(cluster.in_use().channels, 0);
}

#[test]
fn a_snapshot_as_json() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &CommConfig::named("seen").buffer_size(8 << 10));
    let program = flat(&MeshAllGather::SPEC, 2);
    rig.check(&program, &Counts::Same(9), (DataType::Fp32, ReduceOp::Sum), false, 1);
    let mut snapshot = rig.comms[1].snapshot();
    // Who is first is not always the same.
    assert!(snapshot.counters.waits_parked <= snapshot.counters.waits);
    snapshot.counters.waits_parked = 0;
    insta::assert_snapshot!(snapshot.to_json());
    rig.end();
}
