//! Messages, puts and gets.

use crate::support::{Rig, cluster};
use hcomm_core::product::Product;
use hcomm_sim::comm::{Code, CommConfig, Message, Region};
use std::thread;

fn bytes(of: u32, len: u64) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + u64::from(of) * 7) as u8).collect()
}

#[test]
fn messages_arrive_and_ranks_may_send_to_each_other() {
    let ranks = 3;
    let cluster = cluster(Product::A3, ranks);
    // Slots of 10880 bytes: the longer messages take several pieces.
    let rig = Rig::new(&cluster, &[0, 1, 2], &CommConfig::default().buffer_size(16 << 10));
    let (a, b) = (100, 50_000);
    thread::scope(|scope| {
        for (rank, (comm, stream)) in (0..).zip(rig.comms.iter().zip(&rig.streams)) {
            let cluster = &cluster;
            scope.spawn(move || {
                for round in 0..3u32 {
                    let mut messages = Vec::new();
                    let mut expected = Vec::new();
                    for peer in (0..ranks).filter(|peer| *peer != rank) {
                        for len in [a, b] {
                            let memory = Region { addr: cluster.alloc(rank, len).unwrap(), size: len };
                            cluster.memory().write(memory.addr, &bytes(rank * 10 + peer + round, len)).unwrap();
                            messages.push(Message::Send { to: peer, memory });
                            let memory = Region { addr: cluster.alloc(rank, len).unwrap(), size: len };
                            messages.push(Message::Recv { from: peer, memory });
                            expected.push((memory, bytes(peer * 10 + rank + round, len)));
                        }
                    }
                    comm.batch_send_recv(&messages, *stream).unwrap();
                    cluster.synchronize(*stream).unwrap();
                    for (memory, expected) in expected {
                        let mut got = vec![0; memory.size as usize];
                        cluster.memory().read(memory.addr, &mut got).unwrap();
                        assert!(got == expected, "rank {rank} round {round}");
                    }
                }
            });
        }
    });
    assert!(rig.comms.iter().all(|comm| comm.notifies_set() == 0));
    assert_eq!(cluster.counters().lost_records, 0);
    rig.end();
}

#[test]
fn a_message_of_another_length_is_an_error_of_both() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &CommConfig::default().buffer_size(16 << 10).timeouts(100, 10));
    thread::scope(|scope| {
        scope.spawn(|| rig.comms[0].connect(&[1]).unwrap());
        scope.spawn(|| rig.comms[1].connect(&[0]).unwrap());
    });
    let memory = |device, size| Region { addr: cluster.alloc(device, size).unwrap(), size };
    rig.comms[0].send(1, memory(0, 100), rig.streams[0]).unwrap();
    let error = rig.comms[1].recv(0, memory(1, 99), rig.streams[1]).unwrap_err();
    assert_eq!(error.code, Code::Para);
    assert!(error.sentence.contains("sends 100 bytes to rank 1, which receives 99"), "{error}");
    assert_eq!(cluster.synchronize(rig.streams[0]).unwrap_err(), error);
    assert_eq!(rig.comms[0].send(0, memory(0, 1), rig.streams[0]).unwrap_err().code, Code::Para);
    rig.end();
}

#[test]
fn puts_and_gets_with_notifies() {
    let cluster = cluster(Product::A950, 2);
    let rig = Rig::new(&cluster, &[0, 1], &CommConfig::default().buffer_size(16 << 10));
    let theirs = rig.comms[1].hccl_buffer().unwrap();
    let memory = Region { addr: cluster.alloc(0, 4096).unwrap(), size: 4096 };
    let not_yet = rig.comms[0].put(1, theirs.addr, memory, Some(0), rig.streams[0]).unwrap_err();
    assert_eq!(not_yet.code, Code::InStatus, "{not_yet}");
    thread::scope(|scope| {
        scope.spawn(|| rig.comms[0].connect(&[1]).unwrap());
        scope.spawn(|| rig.comms[1].connect(&[0]).unwrap());
    });
    for round in 0..50u32 {
        let sent = bytes(round, 4096);
        cluster.memory().write(memory.addr, &sent).unwrap();
        // Rank 1 copies what was put to its own memory, when the notify says that it is there, and answers.
        rig.comms[0].put(1, theirs.addr + 64, memory, Some(3), rig.streams[0]).unwrap();
        rig.comms[1].await_signal(0, 3, rig.streams[1]).unwrap();
        rig.comms[1].signal(0, 1, rig.streams[1]).unwrap();
        rig.comms[0].await_signal(1, 1, rig.streams[0]).unwrap();
        let back = Region { addr: cluster.alloc(0, 4096).unwrap(), size: 4096 };
        rig.comms[0].get(1, back, theirs.addr + 64, Some(13), rig.streams[0]).unwrap();
        rig.comms[1].await_signal(0, 13, rig.streams[1]).unwrap();
        rig.wait().into_iter().for_each(Result::unwrap);
        let mut got = vec![0; 4096];
        cluster.memory().read(back.addr, &mut got).unwrap();
        assert!(got == sent);
    }
    // Over the end of the peer's buffer, into memory that it does not let go, and with a notify that is not there.
    let over = rig.comms[0].put(1, theirs.addr + theirs.size - 1, memory, None, rig.streams[0]).unwrap_err();
    assert_eq!(over.code, Code::Para);
    assert!(over.sentence.contains("not memory that rank 1 lets rank 0 touch"), "{over}");
    let private = cluster.alloc(1, 4096).unwrap();
    assert_eq!(rig.comms[0].get(1, memory, private, None, rig.streams[0]).unwrap_err().code, Code::Para);
    assert_eq!(rig.comms[0].signal(1, 14, rig.streams[0]).unwrap_err().code, Code::Para);
    rig.end();
}
