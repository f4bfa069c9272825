//! An operator as HCOMM's guide has it, by hand: every call of the control plane and the data plane, without `launch`.

use crate::support::cluster;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::product::Product;
use hcomm_sim::comm::{
    BatchTransfer, ChannelDesc, Cluster, ClusterConfig, Code, CommConfig, CommEngine, Communicator, Observer, Op,
    Queued, Side, StreamHandle, ThreadHandle,
};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Notifies of a channel, as HCCL numbers them.
const ACK: u32 = 0;
const DATA: u32 = 1;
/// The start notify of a thread that has no others.
const START: u32 = 0;

#[derive(Debug, Default)]
struct Calls(Mutex<Vec<Queued>>);

impl Observer for Calls {
    fn queued(&self, queued: &Queued) {
        self.0.lock().unwrap().push(*queued);
    }
}

fn observed(product: Product) -> (Cluster, Arc<Calls>) {
    let calls = Arc::new(Calls::default());
    let config = ClusterConfig::new(product, 2).unwrap().second(Duration::from_millis(10)).observer(calls.clone());
    (Cluster::new(config).unwrap(), calls)
}

/// Host side of one rank: resources by the context on the second call, start, kernel, end.
fn call(cluster: &Cluster, comm: &Communicator, stream: StreamHandle, data: u64, len: u64) {
    let host = comm.thread_of_stream(CommEngine::CpuTs, stream, 1).unwrap();
    let done = comm.export_threads(&[host], CommEngine::AiCpuTs).unwrap()[0];
    let tag = "by_hand";
    let (main, channel, theirs) = match comm.context(tag, CommEngine::AiCpuTs) {
        Ok(context) => {
            let mut bytes = [0; 24];
            assert_eq!(context.size, 24);
            cluster.memory().read(context.addr, &mut bytes).unwrap();
            let word = |at: usize| u64::from_le_bytes(bytes[8 * at..8 * at + 8].try_into().unwrap());
            (ThreadHandle(word(0)), hcomm_sim::comm::ChannelHandle(word(1)), word(2))
        }
        Err(error) => {
            assert_eq!(error.code, Code::NotFound);
            let main = comm.acquire_threads(CommEngine::AiCpuTs, 1, 1).unwrap()[0];
            let desc = ChannelDesc::new(1 - comm.rank(), 2).protocol(comm.links(1 - comm.rank()).unwrap()[0]);
            let channel = comm.acquire_channels(CommEngine::AiCpuTs, &[desc]).unwrap()[0];
            let theirs = comm.channel_buffer(channel).unwrap().addr;
            let words = [main.0, channel.0, theirs];
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            comm.create_context(tag, CommEngine::AiCpuTs, 24).unwrap();
            comm.copy_context(tag, CommEngine::AiCpuTs, 0, &bytes).unwrap();
            (main, channel, theirs)
        }
    };
    let on_host = comm.export_threads(&[main], CommEngine::CpuTs).unwrap()[0];
    let mut plane = cluster.data_plane(Side::Host);
    plane.thread_notify_record(host, on_host, START).unwrap();
    let (mine, sends) = (comm.hccl_buffer().unwrap().addr, comm.rank() == 0);
    let mut kernel = cluster.data_plane(Side::Device);
    let name = comm.name().to_owned();
    cluster
        .launch_call(
            stream,
            Box::new(move || {
                kernel.acquire_comm(&name)?;
                kernel.batch_start("kernel")?;
                kernel.thread_notify_wait(main, START, 100)?;
                if sends {
                    kernel.channel_notify_wait(main, channel, ACK, 100)?;
                    kernel.write(main, channel, theirs, data, len)?;
                    kernel.channel_fence(main, channel)?;
                    kernel.channel_notify_record(main, channel, DATA)?;
                } else {
                    kernel.channel_notify_record(main, channel, ACK)?;
                    kernel.channel_notify_wait(main, channel, DATA, 100)?;
                    kernel.local_copy(main, data, mine, len)?;
                }
                kernel.thread_notify_record(main, done, 0)?;
                kernel.batch_end("kernel")?;
                kernel.release_comm(&name)
            }),
        )
        .unwrap();
    plane.thread_notify_wait(host, 0, 200).unwrap();
}

#[test]
fn a_send_and_receive() {
    for product in Product::ALL {
        let (cluster, calls) = observed(product);
        let config = CommConfig::default().buffer_size(4096);
        let comms = cluster.init_all(&[0, 1], &config).unwrap();
        let len = 5000;
        let data: Vec<u64> = (0..2).map(|device| cluster.alloc(device, len).unwrap()).collect();
        let streams: Vec<_> = (0..2).map(|device| cluster.create_stream(device).unwrap()).collect();
        for round in 0..3u8 {
            cluster.memory().fill(data[0], round + 1, len).unwrap();
            thread::scope(|scope| {
                for rank in 0..2 {
                    let (cluster, comm, stream, data) = (&cluster, &comms[rank], streams[rank], data[rank]);
                    scope.spawn(move || call(cluster, comm, stream, data, len));
                }
            });
            streams.iter().for_each(|stream| cluster.synchronize(*stream).unwrap());
            let mut got = vec![0; len as usize];
            cluster.memory().read(data[1], &mut got).unwrap();
            assert_eq!(got, vec![round + 1; len as usize], "{product}");
        }
        let counters = cluster.counters();
        assert_eq!((counters.contexts_made, counters.channels_made, counters.failures), (2, 2, 0));
        assert!(comms.iter().all(|comm| comm.notifies_set() == 0));
        // What was seen is what was called, in the order of each thread.
        let calls = calls.0.lock().unwrap();
        let sender: Vec<Op> =
            calls.iter().filter(|queued| queued.rank == 0 && queued.number == 1).map(|queued| queued.op).collect();
        assert_eq!(sender.len(), 3 * 6);
        let Op::Write { channel, peer: 1, dst, src, len: 5000 } = sender[2] else { panic!("{sender:?}") };
        assert_eq!((src, dst), (data[0], comms[1].hccl_buffer().unwrap().addr));
        assert_eq!(sender[0], Op::ThreadNotifyWait { notify: START, timeout: 100 });
        assert_eq!(sender[1], Op::ChannelNotifyWait { channel, peer: 1, notify: ACK, timeout: 100 });
        assert_eq!(sender[3], Op::ChannelFence { channel, peer: 1 });
        assert_eq!(sender[4], Op::ChannelNotifyRecord { channel, peer: 1, notify: DATA });
        let numbers: Vec<u64> = calls.iter().map(|queued| queued.call).collect();
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), numbers.len());
    }
}

/// Two ranks with a channel and a thread each, on the 950, where nothing needs a batch.
fn two() -> (Cluster, Vec<Communicator>, Vec<ThreadHandle>, Vec<hcomm_sim::comm::ChannelHandle>) {
    let cluster = cluster(Product::A950, 2);
    let comms = cluster.init_all(&[0, 1], &CommConfig::default().buffer_size(4096)).unwrap();
    let channels = thread::scope(|scope| {
        let ends: Vec<_> = comms
            .iter()
            .map(|comm| {
                let desc = ChannelDesc::new(1 - comm.rank(), 4);
                scope.spawn(move || comm.acquire_channels(CommEngine::AiCpuTs, &[desc]).unwrap()[0])
            })
            .collect();
        ends.into_iter().map(|end| end.join().unwrap()).collect()
    });
    let threads = comms.iter().map(|comm| comm.acquire_threads(CommEngine::AiCpuTs, 1, 1).unwrap()[0]).collect();
    (cluster, comms, threads, channels)
}

fn words(cluster: &Cluster, addr: u64, count: usize) -> Vec<i32> {
    let mut bytes = vec![0; 4 * count];
    cluster.memory().read(addr, &mut bytes).unwrap();
    bytes.chunks(4).map(|word| i32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn every_transfer_moves_what_it_says() {
    let (cluster, comms, threads, channels) = two();
    let (thread, channel) = (threads[0], channels[0]);
    let theirs = comms[1].hccl_buffer().unwrap().addr;
    let mine = cluster.alloc(0, 64).unwrap();
    let put = |addr: u64, words: [i32; 4]| {
        cluster.memory().write(addr, &words.map(i32::to_le_bytes).concat()).unwrap();
    };
    let mut plane = cluster.data_plane(Side::Device);
    let ints = (DataType::Int32, ReduceOp::Sum);
    put(mine, [1, 2, 3, 4]);
    plane.write(thread, channel, theirs, mine, 16).unwrap();
    plane.write_reduce(thread, channel, theirs, mine, 3, ints.0, ints.1).unwrap();
    plane.read(thread, channel, mine + 16, theirs, 16).unwrap();
    plane.read_reduce(thread, channel, mine + 16, theirs, 2, ints.0, ReduceOp::Max).unwrap();
    plane.local_reduce(thread, mine + 16, mine, 1, ints.0, ReduceOp::Min).unwrap();
    plane.local_copy(thread, mine + 32, mine + 16, 16).unwrap();
    plane.write_with_notify(thread, channel, theirs + 32, mine + 32, 16, 2).unwrap();
    plane.write_reduce_with_notify(thread, channel, theirs + 32, mine, 4, ints.0, ints.1, 3).unwrap();
    plane.thread_join(thread, 100).unwrap();
    assert_eq!(words(&cluster, theirs, 4), [2, 4, 6, 4]);
    assert_eq!(words(&cluster, mine + 16, 4), [1, 4, 6, 4]);
    assert_eq!(words(&cluster, theirs + 32, 4), [2, 6, 9, 8]);
    assert_eq!(comms[1].notifies_set(), 2);
    // The other end takes the flags.
    plane.channel_notify_wait(threads[1], channels[1], 2, 100).unwrap();
    plane.channel_notify_wait(threads[1], channels[1], 3, 100).unwrap();
    plane.thread_join(threads[1], 100).unwrap();
    assert_eq!(comms[1].notifies_set(), 0);
    // The same as a batch of descriptors.
    put(theirs, [0; 4]);
    let batch = [
        BatchTransfer::Write { dst: theirs, src: mine, len: 16 },
        BatchTransfer::WriteReduce { dst: theirs, src: mine, count: 4, dtype: ints.0, reduce: ints.1 },
        BatchTransfer::Read { dst: mine + 16, src: theirs, len: 16 },
        BatchTransfer::ReadReduce { dst: mine + 16, src: theirs, count: 4, dtype: ints.0, reduce: ints.1 },
        BatchTransfer::NotifyRecord { notify: 0 },
    ];
    plane.batch_transfer(thread, channel, &batch).unwrap();
    plane.thread_join(thread, 100).unwrap();
    assert_eq!(words(&cluster, mine + 16, 4), [4, 8, 12, 16]);
    assert_eq!(comms[1].notifies_set(), 1);
    // No bytes: no task, but the record stays.
    let before = cluster.counters().bytes_moved;
    plane.write(thread, channel, theirs, mine, 0).unwrap();
    plane.write_with_notify(thread, channel, theirs, mine, 0, 1).unwrap();
    plane.thread_join(thread, 100).unwrap();
    assert_eq!((cluster.counters().bytes_moved, comms[1].notifies_set()), (before, 2));
    // A second record of a flag that is set is lost, and counted.
    plane.channel_notify_record(thread, channel, 1).unwrap();
    plane.thread_join(thread, 100).unwrap();
    assert_eq!((cluster.counters().lost_records, comms[1].notifies_set()), (1, 2));
}

#[test]
fn transfers_are_checked() {
    let (cluster, comms, threads, channels) = two();
    let (thread, channel) = (threads[0], channels[0]);
    let buffer = comms[1].hccl_buffer().unwrap();
    let (mine, private) = (cluster.alloc(0, 64).unwrap(), cluster.alloc(1, 64).unwrap());
    let mut plane = cluster.data_plane(Side::Device);
    let mut fails =
        |says: &str,
         code: Code,
         call: &mut dyn FnMut(&mut hcomm_sim::comm::DataPlane) -> hcomm_sim::comm::Result<()>| {
            let error = call(&mut plane).unwrap_err();
            assert_eq!(error.code, code, "{error}");
            assert!(error.sentence.contains(says), "{error}");
        };
    use Code::{NotSupport, Para, Ptr};
    fails("lets rank 0 touch", Para, &mut |p| p.write(thread, channel, private, mine, 8));
    fails("lets rank 0 touch", Para, &mut |p| p.write(thread, channel, buffer.addr + buffer.size - 7, mine, 8));
    fails("lets rank 0 touch", Para, &mut |p| p.read(thread, channel, mine, u64::MAX - 3, 8));
    fails("run over the end", Para, &mut |p| p.write(thread, channel, buffer.addr, mine + 60, 8));
    fails("on device 1", Para, &mut |p| p.write(thread, channel, buffer.addr, private, 8));
    fails("null", Ptr, &mut |p| p.write(thread, channel, 0, mine, 8));
    fails("null", Ptr, &mut |p| p.local_copy(thread, mine, 0, 0));
    fails("no channel or symmetric window of rank 0", Para, &mut |p| p.local_copy(thread, mine, private, 8));
    fails("this end has 4", Para, &mut |p| p.channel_notify_wait(thread, channel, 4, 1));
    fails("the peer's end has 4", Para, &mut |p| p.channel_notify_record(thread, channel, 4));
    fails("not one of this communicator", Para, &mut |p| p.channel_notify_wait(thread, channels[1], 0, 1));
    fails("the AI CPU does it", NotSupport, &mut |p| {
        p.local_reduce(thread, mine, mine + 8, 1, DataType::Int64, ReduceOp::Sum)
    });
    fails("the hardware does it", NotSupport, &mut |p| {
        p.local_reduce_on_ai_cpu(thread, mine, mine + 8, 1, DataType::Int32, ReduceOp::Sum)
    });
    fails("not offered", NotSupport, &mut |p| {
        p.write_reduce(thread, channel, buffer.addr, mine, 1, DataType::Fp32, ReduceOp::Prod)
    });
    fails("too many", Para, &mut |p| p.local_reduce(thread, mine, mine, u64::MAX, DataType::Int32, ReduceOp::Sum));
    fails("0 transfers", Para, &mut |p| p.batch_transfer(thread, channel, &[]));
    fails("of a stream, not of a thread", Para, &mut |p| {
        p.local_copy(ThreadHandle(cluster.create_stream(0).unwrap().0), mine, mine, 1)
    });
    comms[1].destroy().unwrap();
    fails("has been destroyed", Code::Remote, &mut |p| p.write(thread, channel, buffer.addr, mine, 8));
}

#[test]
fn a_mapped_peer_address_is_like_any_other() {
    let cluster = cluster(Product::A3, 2);
    let comms = cluster.init_all(&[0, 1], &CommConfig::default().buffer_size(4096)).unwrap();
    thread::scope(|scope| {
        for comm in &comms {
            let desc = ChannelDesc::new(1 - comm.rank(), 1);
            scope.spawn(move || comm.acquire_channels(CommEngine::AiCpuTs, &[desc]).unwrap());
        }
    });
    let thread = comms[0].acquire_threads(CommEngine::CpuTs, 1, 1).unwrap()[0];
    let (mine, theirs) = (cluster.alloc(0, 64).unwrap(), comms[1].hccl_buffer().unwrap().addr);
    cluster.memory().fill(mine, 9, 64).unwrap();
    let stream = cluster.create_stream(0).unwrap();
    let host = comms[0].thread_of_stream(CommEngine::CpuTs, stream, 1).unwrap();
    let mut plane = cluster.data_plane(Side::Host);
    plane.local_copy(host, theirs + 100, mine, 64).unwrap();
    cluster.synchronize(stream).unwrap();
    let mut got = [0; 64];
    cluster.memory().read(theirs + 100, &mut got).unwrap();
    assert_eq!(got, [9; 64]);
    assert_eq!(cluster.counters().bytes_over_links, 64);
    assert_eq!(comms[0].thread_notifies(thread).unwrap(), 1);
}

#[test]
fn operators_of_different_communicators_overlap() {
    let cluster = cluster(Product::A950, 3);
    let ones = CommConfig::default().buffer_size(4096).timeouts(0, 120);
    let (a, b) = (cluster.init_all(&[0, 1], &ones).unwrap(), cluster.init_all(&[0, 2], &ones).unwrap());
    let (rig_a, rig_b) = (crate::support::Rig::of(&cluster, a), crate::support::Rig::of(&cluster, b));
    let program = crate::support::flat(&hcomm_algos::MeshAllGather::SPEC, 2);
    let counts = hcomm_core::counts::Counts::Same(100);
    let elements = (DataType::Int32, ReduceOp::Sum);
    let buffers = rig_a.buffers(&program, &counts, elements, false, 1);
    cluster.inject(hcomm_sim::comm::Fault::StopDevice(1));
    rig_a.launch(&program, &buffers).unwrap();
    // The one waits for a device that does nothing; the other, on the same device 0, goes on.
    for seed in 0..10 {
        rig_b.check(&program, &counts, elements, false, seed);
    }
    assert!(!cluster.is_done(rig_a.streams[0]).unwrap());
    let late = cluster.synchronize_within(rig_a.streams[0], Duration::from_millis(5)).unwrap_err();
    assert_eq!(late.code, Code::Timeout);
    cluster.clear_faults();
    rig_a.wait().into_iter().for_each(Result::unwrap);
    assert_eq!(buffers.wrong(&rig_a, &program), None);
    buffers.free(&rig_a);
    rig_a.end();
    rig_b.end();
}
