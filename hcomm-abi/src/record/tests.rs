//! Records as programs, and what the checks say of them.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use hcomm_core::diag::Code;

/// Calls of two ranks, one after the other. Thread 0 is the host's, 1 the device's main thread.
#[derive(Default)]
struct Script {
    calls: Vec<Call>,
    launches: u32,
}

fn buffer(rank: u32, from: u64, len: u64) -> Bytes {
    let base = 0x1000_0000 + u64::from(rank) * 0x10_0000;
    Bytes { rank, memory: Memory::HcclBuffer, base, addr: base + from, len }
}

fn user(rank: u32, which: u64, from: u64, len: u64) -> Bytes {
    let base = 0x2000_0000 + u64::from(rank) * 0x10_0000 + which * 0x1_0000;
    Bytes { rank, memory: Memory::Allocation, base, addr: base + from, len }
}

impl Script {
    fn call(&mut self, rank: u32, thread: u32, function: &'static str, what: What) -> &mut Script {
        let number = self.calls.len() as u64 + 1;
        let launch = (thread > 0).then_some(self.launches);
        let is_host = thread == 0;
        self.calls.push(Call { number, micros: number, function, rank, thread, is_host, launch, what });
        self
    }

    fn launch(&mut self, rank: u32) -> &mut Script {
        self.launches += 1;
        let id = self.launches;
        self.call(rank, 0, "aclrtLaunchKernelWithConfig", What::Launch { id, kernel: "K".into() })
    }

    fn copy(&mut self, rank: u32, thread: u32, dst: Bytes, src: Bytes) -> &mut Script {
        let what = What::Move { dst, src, reduces: false, then: None };
        self.call(rank, thread, "HcommLocalCopyOnThread", what)
    }

    fn record(&mut self, rank: u32, thread: u32, flag: Flag) -> &mut Script {
        self.call(rank, thread, "record", What::Record(flag))
    }

    fn wait(&mut self, rank: u32, thread: u32, flag: Flag) -> &mut Script {
        self.call(rank, thread, "wait", What::Wait(flag))
    }

    /// A send (rank 0) and a receive (rank 1): through the sender's HCCL buffer, read by the receiver.
    fn send(&mut self, faults: Faults) -> &mut Script {
        let thread = |thread, notify| Flag::Thread { thread, notify };
        let to = |peer, notify| Flag::Channel { peer, notify };
        for rank in 0..2 {
            self.record(rank, 0, thread(1, 0)).launch(rank).wait(rank, 1, thread(1, 0));
            if rank == 0 {
                self.copy(0, 1, buffer(0, 0, 4096), user(0, 0, 512, 4096)).record(0, 1, to(1, 0));
                if faults.twice {
                    self.record(0, 1, to(1, 0));
                }
                if !faults.no_ack {
                    self.wait(0, 1, to(1, 1));
                }
            } else {
                if !faults.no_wait {
                    self.wait(1, 1, to(0, 0));
                }
                self.copy(1, 1, user(1, 1, 0, 4096), buffer(0, 0, 4096));
                if !faults.no_ack {
                    self.record(1, 1, to(0, 1));
                }
            }
            if !faults.no_end {
                self.record(rank, 1, thread(0, 0)).wait(rank, 0, thread(0, 0));
            }
        }
        self
    }

    fn finish(&mut self) -> Record {
        Record { name: "two".into(), ranks: 2, calls: std::mem::take(&mut self.calls) }
    }

    fn faults(&mut self) -> Vec<Fault> {
        let record = self.finish();
        let recorded = convert(&record).unwrap();
        assert!(recorded.exact);
        check(&record, &recorded)
    }
}

#[derive(Clone, Copy, Default)]
struct Faults {
    twice: bool,
    no_wait: bool,
    no_ack: bool,
    no_end: bool,
}

fn codes(faults: &[Fault]) -> Vec<(Code, bool)> {
    let mut codes: Vec<_> = faults.iter().map(|fault| (fault.diagnostic.code, fault.again)).collect();
    codes.dedup();
    codes
}

#[test]
fn a_right_program_is_right_however_often_it_is_called() {
    assert_eq!(Script::default().send(Faults::default()).faults(), []);
    let mut script = Script::default();
    for _ in 0..3 {
        script.send(Faults::default());
    }
    assert_eq!(script.faults(), []);
}

#[test]
fn missing_waits_and_double_records_are_found() {
    let send = |faults| Script::default().send(faults).faults();
    let missing = send(Faults { no_wait: true, ..Faults::default() });
    assert_eq!(codes(&missing), [(Code::H102, false)]);
    insta::assert_snapshot!(missing[0]);
    let twice = send(Faults { twice: true, ..Faults::default() });
    assert_eq!(codes(&twice), [(Code::H102, false)]);
    let end = send(Faults { no_end: true, ..Faults::default() });
    assert!(codes(&end).contains(&(Code::H201, false)), "{end:?}");
}

#[test]
fn what_only_another_call_would_break_is_said_so() {
    let alone = Faults { no_ack: true, ..Faults::default() };
    let once = Script::default().send(alone).faults();
    assert!(!once.is_empty() && once.iter().all(|fault| fault.again), "{once:?}");
    insta::assert_snapshot!(once.iter().map(Fault::to_string).collect::<String>());
    // Called twice, it is there for real.
    let twice = Script::default().send(alone).send(alone).faults();
    assert!(codes(&twice).iter().any(|(code, again)| matches!(code, Code::H103 | Code::H201) && !again), "{twice:?}");
}

#[test]
fn boundaries_are_carried_over_copies() {
    let mut script = Script::default();
    // 0..1000 goes to the buffer, and from there in two unequal parts to two places; the cut at 300 is one of the input.
    script.copy(0, 1, buffer(0, 0, 1000), user(0, 0, 0, 1000));
    script.copy(0, 1, user(0, 1, 0, 300), buffer(0, 0, 300));
    script.copy(0, 1, user(0, 1, 5000, 700), buffer(0, 300, 700));
    let record = script.finish();
    let recorded = convert(&record).unwrap();
    assert!(recorded.exact);
    let program = &recorded.again;
    assert_eq!((program.scratch, program.split), (2, 1));
    let lens: Vec<u32> =
        program.ranks[0].threads[1].iter().filter_map(|op| op.kind.transfer()).map(|t| t.len).collect();
    assert_eq!(lens, [2, 1, 1]);
    let json = program.to_json();
    assert_eq!(&hcomm_core::program::Program::from_json(&json).unwrap(), program);
    let events = timeline(&record);
    assert_eq!(events["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X").count(), 3);
}

#[test]
fn ranges_inside_others_have_their_chunks_once() {
    let mut script = Script::default();
    script.copy(0, 1, buffer(0, 0, 1000), user(0, 0, 0, 1000));
    script.copy(0, 1, user(0, 1, 100, 50), buffer(0, 200, 50));
    script.copy(0, 1, user(0, 1, 200, 800), buffer(0, 200, 800));
    let recorded = convert(&script.finish()).unwrap();
    assert!(recorded.exact);
    // 0..200, 200..250, 250..1000 of the buffer.
    assert_eq!(recorded.again.scratch, 3);
    let firsts: Vec<(u32, u32)> = recorded.again.ranks[0].threads[1]
        .iter()
        .filter_map(|op| op.kind.transfer())
        .map(|transfer| (transfer.dst.chunk, transfer.src.chunk))
        .collect();
    assert_eq!(firsts, [(0, 0), (0, 1), (1, 1)]);
}

#[test]
fn what_is_computed_is_checked_where_the_operator_is_known() {
    let claim = Claim::parse("send_recv:0:1").unwrap();
    let mut script = Script::default();
    let record = script.send(Faults::default()).send(Faults::default()).finish();
    assert_eq!(check_result(&record, &claim), Ok(vec![(0, Vec::new()), (1, Vec::new())]));
    // As a broadcast, the root does not get its own data.
    let wrong = check_result(&record, &Claim::parse("broadcast:0").unwrap()).unwrap_err();
    assert!(wrong.contains("rank 0 touches can be its output"), "{wrong}");
    // The receiver takes only a part of what was sent.
    let mut script = Script::default();
    let mut record = script.send(Faults::default()).finish();
    for call in &mut record.calls {
        if let What::Move { dst, src, .. } = &mut call.what
            && call.rank == 1
        {
            (dst.len, src.len) = (3000, 3000);
        }
    }
    let found = check_result(&record, &claim).unwrap();
    assert_eq!(codes(&found[0].1), [(Code::H302, false)]);
    insta::assert_snapshot!(found[0].1[0]);
    for (text, claim) in [("all_gather:1", false), ("broadcast", false), ("send_recv:1", false), ("what", false)] {
        assert_eq!(Claim::parse(text).is_some(), claim, "{text}");
    }
}
