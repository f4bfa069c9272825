//! What a run found out.

use crate::error::Place;
use crate::hang::Hang;
use hcomm_core::diag::{Code, Diagnostic};
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::spec::Engine;
use std::fmt;

/// What a run found out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The program's name.
    pub algorithm: String,
    /// What it computes.
    pub operator: Operator,
    /// What carried it out.
    pub engine: Engine,
    /// How many ranks.
    pub ranks: u32,
    /// Elements of the largest slot.
    pub count: u64,
    /// Their type.
    pub dtype: DataType,
    /// The reduction.
    pub reduce: ReduceOp,
    /// Whether input and output overlapped.
    pub in_place: bool,
    /// Invocations asked for.
    pub repeat: u64,
    /// Rounds of an invocation.
    pub rounds: u64,
    /// Operations carried out, by all ranks in all invocations: notifies, and segments of transfers.
    pub operations: u64,
    /// Bytes that its transfers moved within ranks and between them.
    pub moved: Moved,
    /// Bytes of outputs that were compared with what they must be: all of them, in every invocation that ended.
    pub bytes_checked: u64,
    /// Those of them that are the very bytes of the input that they must hold, in a run with so many bytes that these
    /// were not drawn again. In a run of up to 256 MiB of outputs there are none: all are drawn again and compared.
    pub bytes_identical: u64,
    /// Elements that are not what they must be.
    pub mismatches: Events<Mismatch>,
    /// Reads of bytes that nothing had written. The bytes that come of it count as mismatches wherever they end.
    pub uninitialised: Events<UninitialisedRead>,
    /// Transfers whose source and destination overlap without being the same.
    pub overlaps: Events<Place>,
    /// Records of a notify that was still set, which are lost.
    pub lost_records: Events<NotifyEvent>,
    /// Notifies that were still set at the end.
    pub left_set: Events<NotifyName>,
    /// AIV: waits that passed on a value that an earlier record had left.
    pub stale: Events<NotifyEvent>,
    /// AIV: flags, meetings and ends of blocks in the atomic mode.
    pub atomic: Events<Place>,
    /// AIV: pieces that a plain `DataCopy` does not move.
    pub misaligned: Events<Misaligned>,
    /// Who waits for whom, if nothing could go on.
    pub hang: Option<Hang>,
}

/// Bytes that transfers moved, in all invocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Moved {
    /// Within a rank.
    pub local: u64,
    /// Between ranks.
    pub remote: u64,
}

impl Moved {
    /// A transfer to rank `to` from rank `from`.
    pub(crate) fn add(&mut self, to: u32, from: u32, len: u64) {
        let bytes = if to == from { &mut self.local } else { &mut self.remote };
        *bytes += len;
    }
}

/// A piece of a copy that is not padded, and is not whole 32 bytes at multiples of 32.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misaligned {
    /// The copy.
    pub place: Place,
    /// Byte offset in the destination buffer.
    pub dst: u64,
    /// Byte offset in the source buffer.
    pub src: u64,
    /// Bytes.
    pub len: u64,
}

/// Things that happened: how often, and the first ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events<T> {
    /// How often.
    pub count: u64,
    /// The first ones, at most [`Events::KEPT`].
    pub first: Vec<T>,
}

/// An element that is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The invocation, from 0.
    pub invocation: u64,
    /// Whose output.
    pub rank: u32,
    /// The slot of the output.
    pub slot: u32,
    /// The element of the slot.
    pub element: u64,
    /// The chunk of the output that it is in.
    pub chunk: u64,
    /// The round that should have written it, from 0.
    pub round: u64,
    /// What it must be; with a tolerance where the result depends on the order.
    pub expected: String,
    /// What it is.
    pub got: Got,
}

/// What was found in place of an expected element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Got {
    /// Another value.
    Value(String),
    /// Nothing: no operation wrote there.
    Unwritten,
    /// What came of bytes that nothing had written.
    Poison,
}

/// A read of bytes that nothing had written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UninitialisedRead {
    /// Who read.
    pub place: Place,
    /// Whose buffer.
    pub rank: u32,
    /// Which buffer.
    pub buffer: Buffer,
    /// The first such byte of the buffer.
    pub offset: u64,
    /// How many of the bytes read.
    pub bytes: u64,
}

/// A notify, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotifyName {
    /// Of a thread.
    Thread {
        /// The rank.
        rank: u32,
        /// Its thread.
        thread: u32,
        /// The index.
        notify: u32,
    },
    /// Of a channel.
    Channel {
        /// The rank at whose end it is: the one that waits for it.
        rank: u32,
        /// The rank at the other end: the one that records it.
        peer: u32,
        /// The index.
        notify: u32,
        /// Its name in the program.
        name: String,
    },
    /// AIV: a flag in global memory.
    Flag {
        /// The rank whose it is: the one that waits for it.
        rank: u32,
        /// The rank that records it.
        peer: u32,
        /// Its name in the program.
        name: String,
        /// Which part of it.
        part: u32,
    },
    /// AIV: the meeting of all blocks of a rank.
    Meeting {
        /// The rank.
        rank: u32,
    },
    /// AIV: a Vector core.
    Core {
        /// The rank.
        rank: u32,
    },
}

impl NotifyName {
    /// The rank whose it is.
    pub fn rank(&self) -> u32 {
        match self {
            NotifyName::Thread { rank, .. }
            | NotifyName::Channel { rank, .. }
            | NotifyName::Flag { rank, .. }
            | NotifyName::Meeting { rank }
            | NotifyName::Core { rank } => *rank,
        }
    }
}

/// An operation on a notify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotifyEvent {
    /// The operation.
    pub place: Place,
    /// The notify.
    pub notify: NotifyName,
}

impl<T> Events<T> {
    /// How many of the first ones are kept.
    pub const KEPT: usize = 16;

    pub(crate) fn new() -> Events<T> {
        Events { count: 0, first: Vec::new() }
    }

    /// Counts one, and keeps it if it is among the first.
    pub(crate) fn add(&mut self, event: impl FnOnce() -> T) {
        self.count += 1;
        if !self.is_full() {
            self.first.push(event());
        }
    }

    /// Whether no more are kept.
    pub(crate) fn is_full(&self) -> bool {
        self.first.len() >= Self::KEPT
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl Report {
    /// Whether every rank ended, every output is right, and nothing else was wrong on the way.
    pub fn ok(&self) -> bool {
        self.hang.is_none()
            && self.mismatches.is_empty()
            && self.uninitialised.is_empty()
            && self.overlaps.is_empty()
            && self.lost_records.is_empty()
            && self.left_set.is_empty()
            && self.stale.is_empty()
            && self.atomic.is_empty()
            && self.misaligned.is_empty()
    }

    /// What is wrong, as diagnostics: one for each kind, with the first case as the example.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut all = Vec::new();
        if let Some(hang) = &self.hang {
            all.push(hang.diagnostic(self.ranks));
        }
        if let Some(first) = self.lost_records.first.first() {
            let message = format!(
                "rank {} records {} while it is still set: the record is lost{}",
                first.place.rank,
                first.notify,
                times(self.lost_records.count)
            );
            let fix = "make the recording rank wait until the notify was consumed, or use another notify";
            all.push(self.diagnostic(Code::H103, message, &first.place).with_help(fix));
        }
        if let Some(first) = self.left_set.first.first() {
            let message = format!("{first} is still set at the end{}", times(self.left_set.count));
            all.push(Diagnostic::new(Code::H102, message, None).on(self.ranks, first.rank()));
        }
        self.of_kernels(&mut all);
        if let Some(first) = self.uninitialised.first.first() {
            let message = format!(
                "{} bytes of {} of rank {} at byte {} are read, and nothing has written them{}",
                first.bytes,
                first.buffer,
                first.rank,
                first.offset,
                times(self.uninitialised.count)
            );
            all.push(self.diagnostic(Code::H301, message, &first.place));
        }
        if let Some(first) = self.overlaps.first.first() {
            let message = format!("source and destination overlap{}", times(self.overlaps.count));
            all.push(self.diagnostic(Code::H303, message, first));
        }
        if let Some(first) = self.mismatches.first.first() {
            let message = format!("{first}{}", times(self.mismatches.count));
            all.push(Diagnostic::new(Code::H302, message, None).on(self.ranks, first.rank));
        }
        all
    }

    /// What only kernels get wrong.
    fn of_kernels(&self, all: &mut Vec<Diagnostic>) {
        if let Some(first) = self.stale.first.first() {
            let message = format!(
                "rank {} passes its wait for {} on a value that an earlier record had left{}",
                first.place.rank,
                first.notify,
                times(self.stale.count)
            );
            let fix = "let the value change from launch to launch and from use to use";
            all.push(self.diagnostic(Code::H103, message, &first.place).with_help(fix));
        }
        if let Some(first) = self.atomic.first.first() {
            let message = format!(
                "the atomic mode is on at {} in block {} of rank {}{}",
                first.name,
                first.thread,
                first.rank,
                times(self.atomic.count)
            );
            let fix = "reset it with SetAtomicNone right after the copies that reduce";
            all.push(self.diagnostic(Code::H402, message, first).with_help(fix));
        }
        if let Some(first) = self.misaligned.first.first() {
            let message = format!(
                "a plain DataCopy of {} bytes from byte {} to byte {}, which are not all multiples of 32{}",
                first.len,
                first.src,
                first.dst,
                times(self.misaligned.count)
            );
            all.push(self.diagnostic(Code::H402, message, &first.place).with_help("let the tail go by DataCopyPad"));
        }
    }

    fn diagnostic(&self, code: Code, message: String, place: &Place) -> Diagnostic {
        Diagnostic::new(code, message, place.at).on(self.ranks, place.rank)
    }
}

fn times(count: u64) -> String {
    if count > 1 { format!(" ({count} times in all)") } else { String::new() }
}

impl fmt::Display for Report {
    /// What was run and what came of it, then what is wrong, one a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.ok() { "holds" } else { "does not hold" };
        write!(f, "{} {verdict}: {} ranks, {} {}", self.algorithm, self.ranks, self.count, self.dtype)?;
        if self.operator.reduces() {
            write!(f, " {}", self.reduce)?;
        }
        if self.in_place {
            f.write_str(" in place")?;
        }
        writeln!(
            f,
            ", {} invocations of {} rounds, {} operations, {} bytes checked, {} mismatches",
            self.repeat, self.rounds, self.operations, self.bytes_checked, self.mismatches.count
        )?;
        for diagnostic in self.diagnostics() {
            writeln!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "element {} of output slot {} on rank {} must be {} and is {} (output[{}], round {}, invocation {})",
            self.element, self.slot, self.rank, self.expected, self.got, self.chunk, self.round, self.invocation
        )
    }
}

impl fmt::Display for Got {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Got::Value(value) => f.write_str(value),
            Got::Unwritten => f.write_str("never written"),
            Got::Poison => f.write_str("made from bytes that nothing had written"),
        }
    }
}

impl fmt::Display for NotifyName {
    /// `` `ready` of rank 0 for rank 1``, or `notify 0 of thread 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotifyName::Thread { thread, notify, .. } => write!(f, "notify {notify} of thread {thread}"),
            NotifyName::Channel { rank, peer, name, .. } => write!(f, "`{name}` of rank {rank} for rank {peer}"),
            NotifyName::Flag { rank, peer, name, part: 0 } => write!(f, "flag `{name}` of rank {rank} for rank {peer}"),
            NotifyName::Flag { rank, peer, name, part } => {
                write!(f, "flag `{name}` (part {part}) of rank {rank} for rank {peer}")
            }
            NotifyName::Meeting { rank } => write!(f, "the meeting of the blocks of rank {rank}"),
            NotifyName::Core { rank } => write!(f, "a core of rank {rank}"),
        }
    }
}
