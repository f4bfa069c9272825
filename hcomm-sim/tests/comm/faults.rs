//! Devices that stop, links that die, records that get lost: who is told what, and how it goes on.

use crate::support::{Rig, cluster, flat};
use hcomm_algos::{MeshAllGather, RingAllReduce, TwoShotAllReduce};
use hcomm_core::counts::Counts;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::product::Product;
use hcomm_sim::comm::{Code, CommConfig, CommError, CommStatus, Fault, Retry};

const INTS: (DataType, ReduceOp) = (DataType::Int32, ReduceOp::Sum);

fn short() -> CommConfig {
    CommConfig::default().buffer_size(16 << 10).timeouts(40, 20)
}

/// Runs an all-reduce, and what each rank's stream says.
fn run(rig: &Rig<'_>, ranks: u32) -> Vec<Result<(), CommError>> {
    let program = flat(&RingAllReduce::SPEC, ranks);
    let buffers = rig.buffers(&program, &Counts::Same(1000), INTS, false, 9);
    rig.launch(&program, &buffers).unwrap();
    let results = rig.wait();
    if results.iter().all(Result::is_ok) {
        assert_eq!(buffers.wrong(rig, &program), None);
    }
    buffers.free(rig);
    results
}

fn codes(results: &[Result<(), CommError>]) -> Vec<Option<Code>> {
    results.iter().map(|result| result.as_ref().err().map(|error| error.code)).collect()
}

#[test]
fn a_stopped_device_is_noticed_and_the_communicator_resumes() {
    let cluster = cluster(Product::A950, 4);
    let rig = Rig::new(&cluster, &[0, 1, 2, 3], &short());
    assert!(run(&rig, 4).iter().all(Result::is_ok));
    cluster.inject(Fault::StopDevice(2));
    let program = flat(&RingAllReduce::SPEC, 4);
    let buffers = rig.buffers(&program, &Counts::Same(1000), INTS, false, 9);
    rig.launch(&program, &buffers).unwrap();
    for rank in [0, 1, 3] {
        let error = cluster.synchronize(rig.streams[rank]).unwrap_err();
        assert_eq!(error.code, Code::Timeout, "{error}");
        let wait = error.wait.clone().unwrap();
        assert_eq!(wait.rank, rank as u32);
        // The neighbours wait for the stopped rank, the one beyond for a neighbour.
        assert!(wait.peer.is_some_and(|peer| peer < 4), "{error}");
        assert!(error.sentence.contains(&format!("rank {rank} of hccl_comm_1 waited for notify")), "{error}");
        assert!(error.sentence.contains("within 40 s"), "{error}");
        assert_eq!(rig.comms[rank].status(), CommStatus::Invalid);
        assert_eq!(rig.comms[rank].async_error(), Some(error.clone()));
        // What is called now says the same.
        let call = &buffers.calls[rank];
        assert_eq!(rig.comms[rank].launch(&program, call, rig.streams[rank]).unwrap_err(), error);
    }
    let log = rig.comms[3].snapshot().log;
    assert!(log.iter().any(|entry| entry.what == "failed" && entry.detail.contains("still waiting: ")), "{log:?}");
    // The device comes back: its rank's tasks are still there, and are dropped by the suspension.
    rig.comms.iter().for_each(|comm| comm.suspend().unwrap());
    assert_eq!(rig.comms[2].status(), CommStatus::Suspending);
    let suspended = rig.comms[2].launch(&program, &buffers.calls[2], rig.streams[2]).unwrap_err();
    assert_eq!(suspended.code, Code::Suspending);
    cluster.clear_faults();
    let dropped = cluster.synchronize(rig.streams[2]).unwrap_err();
    assert_eq!(dropped.code, Code::Suspending, "{dropped}");
    let made = cluster.counters().threads_made;
    std::thread::scope(|scope| {
        rig.comms.iter().for_each(|comm| {
            scope.spawn(|| comm.resume().unwrap());
        });
    });
    assert!(rig.comms.iter().all(|comm| comm.status() == CommStatus::Ready && comm.notifies_set() == 0));
    assert!(run(&rig, 4).iter().all(Result::is_ok));
    assert_eq!(cluster.counters().threads_made, made);
    buffers.free(&rig);
    rig.end();
}

#[test]
fn a_resume_waits_for_all_ranks() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &short().timeouts(5, 1));
    assert_eq!(rig.comms[0].resume().unwrap_err().code, Code::InStatus);
    rig.comms[0].suspend().unwrap();
    let late = rig.comms[0].resume().unwrap_err();
    assert_eq!(late.code, Code::Timeout);
    assert!(late.sentence.contains("rank 1"), "{late}");
    rig.end();
}

#[test]
fn without_the_dead_rank() {
    let cluster = cluster(Product::A3, 4);
    let rig = Rig::new(&cluster, &[0, 1, 2, 3], &short());
    cluster.inject(Fault::StopDevice(1));
    let program = flat(&MeshAllGather::SPEC, 4);
    let buffers = rig.buffers(&program, &Counts::Same(10), INTS, false, 0);
    rig.launch(&program, &buffers).unwrap();
    for rank in [0, 2, 3] {
        assert_eq!(cluster.synchronize(rig.streams[rank]).unwrap_err().code, Code::Timeout);
    }
    // Those that are left make a new one, and give the old one back.
    let rest = Rig::new(&cluster, &[0, 2, 3], &short());
    assert!(run(&rest, 3).iter().all(Result::is_ok));
    rest.end();
    for rank in [0, 2, 3] {
        rig.comms[rank].destroy().unwrap();
        cluster.destroy_stream(rig.streams[rank]).unwrap();
    }
    cluster.clear_faults();
    rig.comms[1].destroy().unwrap();
    assert!(cluster.synchronize(rig.streams[1]).is_err());
    cluster.destroy_stream(rig.streams[1]).unwrap();
    for call in &buffers.calls {
        cluster.memory().free(call.input).unwrap();
        cluster.memory().free(call.output).unwrap();
    }
    let left = cluster.in_use();
    assert_eq!((left.communicators, left.threads, left.channels, left.bytes), (0, 0, 0, 0));
}

#[test]
fn a_dead_link_is_an_error_completion_for_who_uses_it() {
    let cluster = cluster(Product::A950, 4);
    let rig = Rig::new(&cluster, &[0, 1, 2, 3], &short());
    assert!(run(&rig, 4).iter().all(Result::is_ok));
    cluster.inject(Fault::DeadLink { a: 1, b: 2 });
    let results = run(&rig, 4);
    let codes = codes(&results);
    assert!(codes[1] == Some(Code::Remote) || codes[2] == Some(Code::Remote), "{results:?}");
    assert!(codes.iter().all(|code| matches!(code, Some(Code::Remote | Code::Timeout))), "{results:?}");
    let told = results.iter().flatten_err().any(|error| error.sentence.contains("the link from device"));
    assert!(told, "{results:?}");
    rig.end();
}

/// The errors among results.
trait FlattenErr {
    fn flatten_err(self) -> impl Iterator<Item = CommError>;
}

impl<'r, I: Iterator<Item = &'r Result<(), CommError>>> FlattenErr for I {
    fn flatten_err(self) -> impl Iterator<Item = CommError> {
        self.filter_map(|result| result.as_ref().err().cloned())
    }
}

#[test]
fn a_lost_record_is_a_timeout_of_who_waits_for_it() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &short());
    assert!(run(&rig, 2).iter().all(Result::is_ok));
    cluster.inject(Fault::LoseRecord { from: 1, to: 0, skip: 1 });
    let results = run(&rig, 2);
    assert_eq!(codes(&results), [Some(Code::Timeout); 2], "{results:?}");
    let lost = cluster.lost_records();
    assert_eq!((lost.len(), lost[0].why), (1, "a fault was injected"));
    let waited = results[0].as_ref().unwrap_err().wait.clone().unwrap();
    assert_eq!((waited.rank, waited.peer), (0, Some(1)));
    rig.end();
}

fn retrying() -> CommConfig {
    short().timeouts(100, 20).retry(Retry { max_count: 2, hold_ms: 10, interval_ms: 10 })
}

#[test]
fn an_operator_is_repeated_when_its_input_is_left() {
    let cluster = cluster(Product::A3, 4);
    let rig = Rig::new(&cluster, &[0, 1, 2, 3], &retrying());
    for failures in [1, 2] {
        cluster.inject(Fault::FlakyLink { a: 0, b: 1, failures });
        let results = run(&rig, 4);
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        cluster.clear_faults();
    }
    let snapshot = rig.comms[0].snapshot();
    assert!(snapshot.counters.retries >= 2, "{snapshot:?}");
    assert!(snapshot.log.iter().any(|entry| entry.what == "retried"), "{snapshot:?}");
    assert_eq!(snapshot.counters.completed, 2);
    // A link that stays down is not got over by repeating.
    cluster.inject(Fault::DeadLink { a: 0, b: 1 });
    let results = run(&rig, 4);
    assert_eq!(codes(&results), [Some(Code::OpRetryFail); 4], "{results:?}");
    assert!(results[0].as_ref().unwrap_err().sentence.contains("it has been repeated 2 times"), "{results:?}");
    cluster.clear_faults();
    std::thread::scope(|scope| {
        for comm in &rig.comms {
            scope.spawn(|| {
                comm.suspend().unwrap();
                comm.resume().unwrap();
            });
        }
    });
    assert!(run(&rig, 4).iter().all(Result::is_ok));
    rig.end();
}

/// The fault comes while kernels are still queueing the operator's tasks: none of the first attempt's is left for the second.
#[test]
fn an_operator_is_repeated_whenever_the_fault_comes() {
    let cluster = cluster(Product::A3, 4);
    let rig = Rig::new(&cluster, &[0, 1, 2, 3], &retrying());
    for round in 0..60 {
        cluster.inject(Fault::FlakyLink { a: round % 4, b: (round + 1) % 4, failures: 1 });
        let results = run(&rig, 4);
        assert!(results.iter().all(Result::is_ok), "{round}: {results:?}");
        cluster.clear_faults();
    }
    assert!(cluster.counters().retries >= 60);
    rig.end();
}

#[test]
fn an_operator_in_place_is_not_repeated() {
    let cluster = cluster(Product::A3, 4);
    let rig = Rig::new(&cluster, &[0, 1, 2, 3], &retrying());
    let program = flat(&TwoShotAllReduce::SPEC, 4);
    let buffers = rig.buffers(&program, &Counts::Same(1000), INTS, true, 9);
    cluster.inject(Fault::FlakyLink { a: 0, b: 1, failures: 1 });
    rig.launch(&program, &buffers).unwrap();
    let results = rig.wait();
    assert_eq!(codes(&results), [Some(Code::OpRetryFail); 4], "{results:?}");
    let sentence = &results[0].as_ref().unwrap_err().sentence;
    assert!(sentence.contains("its input may have been overwritten"), "{sentence}");
    assert!(sentence.contains("the link from device"), "{sentence}");
    assert!(rig.comms[3].snapshot().log.iter().any(|entry| entry.what == "not_retried"));
    buffers.free(&rig);
    rig.end();
}

#[test]
fn no_product_but_a3_repeats() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &retrying().timeouts(40, 20));
    cluster.inject(Fault::FlakyLink { a: 0, b: 1, failures: 1 });
    let codes = codes(&run(&rig, 2));
    assert!(codes.contains(&Some(Code::Remote)), "{codes:?}");
    assert_eq!(cluster.counters().retries, 0);
    rig.end();
}
