//! The faults that were seeded into programs of two other tools, msccl-tools and the MSCCL++ DSL, and what those tools
//! made of them, as programs of this language: what is a fault is rejected, and what is none is accepted.
//!
//! The table of `docs/checks.md` is made from this file: `UPDATE_DOCS=1 cargo test -p hcomm-core --test seeded`.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fmt::Write;
use std::path::Path;

use hcomm_core::diag::Code;
use hcomm_core::verify::verify;
use support::spec;

/// What we make of it.
enum Ours {
    /// Rejected, with this code among those that are told.
    Rejected(Code, &'static str),
    /// Accepted, as it is no fault here.
    Accepted(&'static str, &'static str),
    /// There is no such thing here.
    NoMeaning(&'static str),
}
use Ours::{Accepted, NoMeaning, Rejected};

/// A fault, what the tool made of it, and what we do.
type Case = (&'static str, &'static str, Ours);

/// The MSCCL++ DSL, snapshot of 2026-08.
const MSCCLPP: &[Case] = &[
    (
        "wrong index of a chunk that is put",
        "accepted",
        Rejected(
            Code::H302,
            "pub X: all_to_all {
                copy_in { scratch[rank] = input[rank]; }
                par for peer in peers {
                    pre_sync { signal peer; wait peer; }
                    move { peer.scratch[rank] = input[wrap(peer + 1, ranks)]; }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { output = scratch; }
            }",
        ),
    ),
    (
        "one put is missing",
        "accepted",
        Rejected(
            Code::H301,
            "pub X: all_gather {
                copy_in { scratch[rank] = input; }
                par for peer in peers {
                    pre_sync { signal peer; wait peer; }
                    move { if !(rank == 0 && peer == 1) { peer.scratch[rank] = scratch[rank]; } }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { output = scratch; }
            }",
        ),
    ),
    (
        "no synchronisation before the first put: the remote buffer may be in use",
        "accepted",
        Rejected(
            Code::H201,
            "pub X: all_gather {
                copy_in { scratch[rank] = input; }
                par for peer in peers {
                    move { peer.scratch[rank] = scratch[rank]; }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { output = scratch; }
            }",
        ),
    ),
    (
        "signals without waits",
        "rejected",
        Rejected(
            Code::H102,
            "pub X: all_gather {
                copy_in { scratch[rank] = input; }
                par for peer in peers {
                    pre_sync { signal peer; wait peer; }
                    move { peer.scratch[rank] = scratch[rank]; }
                    post_sync { signal peer; }
                }
                copy_out { output = scratch; }
            }",
        ),
    ),
    (
        "signal on one channel, wait on another",
        "rejected",
        Rejected(
            Code::H102,
            "pub X: all_gather {
                copy_in { scratch[rank] = input; }
                par for peer in peers {
                    pre_sync { signal peer; wait peer; }
                    move { peer.scratch[rank] = scratch[rank]; }
                    post_sync { signal peer.sent; wait peer.come; }
                }
                copy_out { output = scratch; }
            }",
        ),
    ),
    (
        "every rank waits before it signals",
        "accepted",
        Rejected(
            Code::H101,
            "pub X: all_gather {
                copy_in { scratch[rank] = input; }
                par for peer in peers {
                    pre_sync { wait peer; signal peer; }
                    move { peer.scratch[rank] = scratch[rank]; }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { output = scratch; }
            }",
        ),
    ),
    (
        "two ranks put into one slot",
        "accepted",
        Rejected(
            Code::H201,
            "pub X: all_gather {
                copy_in { scratch[rank] = input; }
                par for peer in peers {
                    pre_sync { signal peer; wait peer; }
                    move { peer.scratch[max(rank, 1)] = scratch[rank]; }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { output = scratch; }
            }",
        ),
    ),
    (
        "two thread blocks without a barrier between them",
        "accepted",
        Rejected(
            Code::H201,
            "pub X: all_gather {
                copy_in { scratch[rank] = input; }
                par {
                    lane for peer in peers {
                        pre_sync { signal peer; wait peer; }
                        move { peer.scratch[rank] = scratch[rank]; }
                        post_sync { signal peer; wait peer; }
                    }
                    lane { copy_out { output = scratch; } }
                }
            }",
        ),
    ),
    (
        "70 operations in a thread block (64 are possible)",
        "accepted, an error on the device",
        Accepted(
            "a Thread is a queue without such a limit",
            "pub X: all_gather {
                copy_in { scratch[rank] = input; }
                par for peer in peers {
                    for i in 0..20 {
                        pre_sync { signal peer; wait peer; }
                        move { peer.scratch[rank] = scratch[rank]; }
                        post_sync { signal peer; wait peer; }
                    }
                }
                copy_out { output = scratch; }
            }",
        ),
    ),
    (
        "19 channels where 16 are possible",
        "accepted, writes out of bounds on the device",
        Rejected(
            Code::H401,
            "pub X: all_gather {
                budget: { channels: 16 };
                max_ranks: 20;
                copy_in { scratch[rank] = input; }
                par for peer in peers {
                    pre_sync { signal peer; wait peer; }
                    move { peer.scratch[rank] = scratch[rank]; }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { output = scratch; }
            }",
        ),
    ),
    (
        "a reduction of 16 sources (10 are possible)",
        "accepted, writes out of bounds on the device",
        Accepted(
            "an operation reduces one source, and there may be any number of operations",
            "pub X: all_reduce {
                split: 1; scratch: ranks; verify: ranks 17..=17;
                copy_in { scratch[rank] = input; }
                par for peer in peers {
                    pre_sync { signal peer; wait peer; }
                    move { peer.scratch[rank] = scratch[rank]; }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { output = scratch[0]; for r in 1..ranks { output += scratch[r]; } }
            }",
        ),
    ),
    (
        "slice out of bounds",
        "rejected",
        Rejected(
            Code::H303,
            "pub X: all_gather {
                copy_in { scratch[rank + 1] = input; }
            }",
        ),
    ),
    (
        "a put of two chunks into one",
        "rejected",
        Rejected(
            Code::H303,
            "pub X: all_gather {
                copy_in { scratch[0..2] = input; }
            }",
        ),
    ),
    (
        "rank 5 of 2",
        "rejected: `'Rank' object has no attribute 'prog'`",
        Rejected(
            Code::H304,
            "pub X: barrier {
                verify: ranks 2..=2;
                pre_sync { signal at(5); wait at(5); }
            }",
        ),
    ),
    (
        "a negative peer",
        "rejected, by the check that counts signals",
        Rejected(
            Code::H304,
            "pub X: barrier {
                pre_sync { signal at(rank - 1); wait at(rank - 1); }
            }",
        ),
    ),
    (
        "a semaphore that is never released",
        "accepted",
        Rejected(
            Code::H102,
            "pub X: barrier {
                par for peer in peers {
                    pre_sync { wait peer.released; }
                    post_sync { signal peer; wait peer; }
                }
            }",
        ),
    ),
    (
        "a member of a barrier is missing",
        "accepted",
        Rejected(
            Code::H302,
            "pub X: barrier {
                if rank + 1 < ranks {
                    par for other in 1..ranks - 1 {
                        pre_sync { signal at(wrap(rank + other, ranks - 1)); wait at(wrap(rank + other, ranks - 1)); }
                        post_sync { signal at(wrap(rank + other, ranks - 1)); wait at(wrap(rank + other, ranks - 1)); }
                    }
                }
            }",
        ),
    ),
    (
        "a channel to oneself",
        "accepted",
        Rejected(
            Code::H304,
            "pub X: barrier {
                for other in 0..ranks { pre_sync { signal at(other); } }
                for other in 0..ranks { pre_sync { wait at(other); } }
            }",
        ),
    ),
    ("an empty program", "accepted", Rejected(Code::H302, "pub X: all_gather { }")),
    (
        "a chunk of no size",
        "accepted",
        Accepted(
            "a run of no chunks moves nothing",
            "pub X: all_gather {
                copy_in { scratch[rank] = input; scratch[0..0] = input[0..0]; }
                par for peer in peers {
                    pre_sync { signal peer; wait peer; }
                    move { peer.scratch[rank] = scratch[rank]; }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { output = scratch; }
            }",
        ),
    ),
    (
        "`ReplicationPolicy.none` with two instances",
        "rejected: `TypeError`",
        NoMeaning("programs are not replicated: a chunk is as large as it has to be"),
    ),
    (
        "reduction in a switch, fused with a broadcast to another place",
        "accepted, and the plan is wrong",
        NoMeaning("no operation of a switch; that lowering changes nothing is tested by running what is lowered"),
    ),
];

/// msccl-tools, its last snapshot, of 2023-04.
const MSCCL: &[Case] = &[
    (
        "a contribution is skipped",
        "`Check` is false, the program is emitted",
        Rejected(
            Code::H302,
            "pub X: all_reduce {
                split: 1; scratch: ranks;
                copy_in { scratch[rank] = input; }
                par for peer in peers {
                    pre_sync { signal peer; wait peer; }
                    move { peer.scratch[rank] = scratch[rank]; }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { output = scratch[0]; for r in 2..ranks { output += scratch[r]; } }
            }",
        ),
    ),
    (
        "a contribution is reduced twice",
        "`Check` is false, the program is emitted",
        Rejected(
            Code::H302,
            "pub X: all_reduce {
                split: 1; scratch: ranks;
                copy_in { scratch[rank] = input; }
                par for peer in peers {
                    pre_sync { signal peer; wait peer; }
                    move { peer.scratch[rank] = scratch[rank]; }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { output = scratch[0]; for r in 1..ranks { output += scratch[r]; } output += scratch[1]; }
            }",
        ),
    ),
    (
        "wrong index",
        "`Check` is false, the program is emitted",
        Rejected(
            Code::H302,
            "pub X: all_gather {
                copy_in { scratch[rank] = input; }
                par for peer in peers {
                    pre_sync { signal peer; wait peer; }
                    move { peer.scratch[rank] = scratch[rank]; }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { for r in 0..ranks { output[r] = scratch[wrap(r + 1, ranks)]; } }
            }",
        ),
    ),
    (
        "index out of range",
        "`IndexError: list index out of range`",
        Rejected(Code::H303, "pub X: all_gather { copy_in { scratch[ranks] = input; } }"),
    ),
    (
        "rank out of range",
        "`IndexError: list index out of range`",
        Rejected(Code::H304, "pub X: barrier { pre_sync { signal at(rank + 1); } }"),
    ),
    (
        "slice past the end",
        "`IndexError: list index out of range`",
        Rejected(Code::H303, "pub X: all_to_all { copy_in { scratch[1..ranks + 1] = input; } }"),
    ),
    (
        "negative index",
        "`AssertionError`",
        Rejected(Code::H303, "pub X: all_gather { copy_in { scratch[rank - 1] = input; } }"),
    ),
    (
        "scratch that nothing has written",
        "`KeyError: 's'`",
        Rejected(Code::H301, "pub X: all_gather { copy_out { output = scratch; } }"),
    ),
    (
        "no link between two ranks",
        "rejected: \"No link from 0 to 3\"",
        NoMeaning("HCOMM makes a channel to any rank; how fast it is, the simulator says"),
    ),
    (
        "more than 32 channels",
        "`ValueError: min() arg is an empty sequence`",
        Rejected(
            Code::H401,
            "pub X: all_gather {
                budget: { channels: 32 };
                max_ranks: 64;
                copy_in { scratch[rank] = input; }
                par for peer in peers {
                    pre_sync { signal peer; wait peer; }
                    move { peer.scratch[rank] = scratch[rank]; }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { output = scratch; }
            }",
        ),
    ),
    (
        "80 chunks at once, 300 steps, 139 thread blocks of a peer (71, 256 and 32 are possible)",
        "accepted",
        Accepted(
            "there are no such limits: a long transfer is cut, and a Thread is a queue of any length",
            "pub X: all_gather {
                split: 80; verify: ranks 2..=3;
                copy_in { scratch[rank * 80..rank * 80 + 80] = input; }
                par for peer in peers {
                    for i in 0..100 {
                        pre_sync { signal peer; wait peer; }
                        move { peer.scratch[rank * 80..rank * 80 + 80] = scratch[rank * 80..rank * 80 + 80]; }
                        post_sync { signal peer; wait peer; }
                    }
                }
                copy_out { output = scratch; }
            }",
        ),
    ),
    (
        "a thread block that sends to two peers",
        "rejected",
        Accepted(
            "a Thread serves any number of channels",
            "pub X: all_gather {
                copy_in { scratch[rank] = input; }
                for d in 1..ranks {
                    let to = wrap(rank + d, ranks);
                    let from = wrap(rank - d, ranks);
                    pre_sync { signal from; wait to; }
                    move { to.scratch[rank] = scratch[rank]; }
                    post_sync { signal to; wait from; }
                }
                copy_out { output = scratch; }
            }",
        ),
    ),
    (
        "two thread blocks on one peer and channel",
        "accepted",
        Rejected(
            Code::H103,
            "pub X: all_gather {
                split: 2;
                verify: ranks 2..=2;
                let peer = wrap(rank + 1, ranks);
                copy_in { scratch[2 * rank..2 * rank + 2] = input; }
                par {
                    lane for half in 0..2 {
                        pre_sync { signal peer; wait peer; }
                        move { peer.scratch[2 * rank + half] = scratch[2 * rank + half]; }
                        post_sync { signal peer; wait peer; }
                    }
                }
                copy_out { output = scratch; }
            }",
        ),
    ),
    (
        "all-to-all in place",
        "`Check` is false",
        NoMeaning("HCCL's all_to_all has no in-place form: `hcomm run --in-place` refuses it"),
    ),
    (
        "all-reduce of one rank, correct",
        "`Check` is false: a false alarm",
        Accepted(
            "it is right",
            "pub X: all_reduce { verify: ranks 1..=1; copy_in { scratch = input; } copy_out { output = scratch; } }",
        ),
    ),
    (
        "an addition to an empty slot",
        "`AttributeError: 'NoneType'…`",
        Rejected(
            Code::H301,
            "pub X: all_reduce {
                split: 1; scratch: ranks;
                copy_in { scratch[rank] = input; }
                par for peer in peers {
                    pre_sync { signal peer; wait peer; }
                    move { peer.scratch[rank] = scratch[rank]; }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { for r in 0..ranks { output += scratch[r]; } }
            }",
        ),
    ),
    (
        "adding a peer's chunk to one of another index, correct",
        "accepted, and the emitted code reads the wrong address",
        Accepted(
            "it is right, and lowered as it is written",
            "pub X: all_reduce {
                split: 1; scratch: 2; verify: ranks 2..=2;
                let peer = wrap(rank + 1, ranks);
                copy_in { scratch[0] = input; scratch[1] = input; }
                pre_sync { signal peer; wait peer; }
                move { scratch[0] += peer.scratch[1]; }
                post_sync { signal peer; wait peer; }
                copy_out { output = scratch[0]; }
            }",
        ),
    ),
];

/// The codes of all that is told.
fn codes(source: &str) -> Vec<(Code, String)> {
    spec(source).with_spec(verify).into_iter().map(|fault| (fault.code, fault.message)).collect()
}

fn judge(cases: &[Case]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (fault, _, ours) in cases {
        match ours {
            Rejected(code, source) => {
                let told = codes(source);
                if !told.iter().any(|(other, _)| other == code) {
                    wrong.push(format!("{fault}: {code} is not among {told:?}"));
                }
            }
            Accepted(_, source) => {
                let told = codes(source);
                if !told.is_empty() {
                    wrong.push(format!("{fault}: no fault here, but {told:?}"));
                }
            }
            NoMeaning(_) => {}
        }
    }
    wrong
}

#[test]
fn seeded_faults_are_rejected_and_what_is_none_is_not() {
    let wrong = [judge(MSCCLPP), judge(MSCCL)].concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let rejected = |cases: &[Case]| cases.iter().filter(|case| matches!(case.2, Rejected(..))).count();
    assert_eq!((MSCCLPP.len(), rejected(MSCCLPP)), (22, 17));
    assert_eq!((MSCCL.len(), rejected(MSCCL)), (17, 11));
}

const BEGIN: &str = "<!-- made by hcomm-core/tests/seeded.rs -->\n";
const END: &str = "<!-- end -->\n";

fn table() -> String {
    let mut table = String::new();
    for (tool, cases) in [("MSCCL++ DSL", MSCCLPP), ("msccl-tools", MSCCL)] {
        let faults = cases.iter().filter(|case| matches!(case.2, Rejected(..)));
        let (accepted, all) = (faults.clone().filter(|case| case.1.starts_with("accepted")).count(), faults.count());
        writeln!(table, "\n{tool}, which accepts {accepted} of {all} faults:").unwrap();
        writeln!(table, "\n| fault | {tool} | here |\n| --- | --- | --- |").unwrap();
        for (fault, theirs, ours) in cases {
            let ours = match ours {
                Rejected(code, _) => format!("**{code}**, {}", code.title()),
                Accepted(why, _) => format!("accepted: {why}"),
                NoMeaning(why) => format!("no meaning: {why}"),
            };
            writeln!(table, "| {fault} | {theirs} | {ours} |").unwrap();
        }
    }
    table + "\n"
}

#[test]
fn the_table_in_the_docs_is_generated() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/checks.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (_, tail) = rest.split_once(END).unwrap();
    let new = format!("{head}{BEGIN}{}{END}{tail}", table());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &new).unwrap();
        return;
    }
    assert!(new == page, "docs/checks.md is not up to date: run with UPDATE_DOCS=1");
}
