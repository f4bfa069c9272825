//! The listing of a program: one line per operation, stable and made to be diffed and snapshotted.

use std::fmt;

use crate::program::{Cell, Op, OpKind, Program, Transfer};
use crate::shape::Shape;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list(f, None)
    }
}

/// The listing of one rank of a program.
#[derive(Clone, Copy, Debug)]
pub struct OneRank<'p>(pub &'p Program, pub u32);

impl fmt::Display for OneRank<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.list(f, Some(self.1))
    }
}

impl Program {
    fn list(&self, f: &mut fmt::Formatter<'_>, only: Option<u32>) -> fmt::Result {
        writeln!(f, "{}: {} on AI CPU, {}", self.algorithm, self.operator, Who(self))?;
        write!(f, "split {}, scratch {}", self.split, self.scratch)?;
        for (i, name) in self.notifies.iter().enumerate() {
            write!(f, "{}{i} = {name}", if i == 0 { ", channel notifies " } else { ", " })?;
        }
        writeln!(f)?;
        for (rank, program) in (0..).zip(&self.ranks).filter(|(rank, _)| only.is_none_or(|only| only == *rank)) {
            writeln!(f, "\nrank {rank}")?;
            for (thread, ops) in program.threads.iter().enumerate() {
                writeln!(f, "  thread {thread}")?;
                for op in ops {
                    writeln!(f, "    {}", Line(self, op))?;
                }
            }
        }
        Ok(())
    }

    /// The name of a channel notify.
    pub fn notify_name(&self, notify: u32) -> &str {
        self.notifies.get(notify as usize).map_or("?", String::as_str)
    }
}

/// How many ranks, laid out how, with which roles.
pub(crate) struct Who<'p>(pub(crate) &'p Program);

impl fmt::Display for Who<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { layout, root, src, dst } = self.0.shape;
        write!(f, "{} ranks", layout.ranks())?;
        if layout.nodes() > 1 {
            write!(f, " ({layout})")?;
        }
        if self.0.operator.has_root() {
            write!(f, ", root {root}")?;
        }
        if self.0.operator.has_src_dst() {
            write!(f, ", src {src}, dst {dst}")?;
        }
        Ok(())
    }
}

/// An operation of a program as one line of its listing, without indentation.
pub struct Line<'p>(pub &'p Program, pub &'p Op);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line(program, op) = self;
        write!(f, "{:<21} ", op.kind.name())?;
        let arrow = if op.kind.reduces() { "+=" } else { "<-" };
        let notify = |index: &u32| program.notify_name(*index);
        match &op.kind {
            OpKind::LocalCopy(t) | OpKind::LocalReduce(t) => {
                write!(f, "{} {arrow} {}", Cells(t.dst, t.len), Cells(t.src, t.len))?;
            }
            OpKind::Write(peer, t) | OpKind::WriteReduce(peer, t) => {
                write!(f, "rank {peer} {} {arrow} {}", Cells(t.dst, t.len), Cells(t.src, t.len))?;
            }
            OpKind::Read(peer, t) | OpKind::ReadReduce(peer, t) => {
                write!(f, "{} {arrow} rank {peer} {}", Cells(t.dst, t.len), Cells(t.src, t.len))?;
            }
            OpKind::WriteWithNotify(peer, t, n) | OpKind::WriteReduceWithNotify(peer, t, n) => {
                let (dst, src) = (Cells(t.dst, t.len), Cells(t.src, t.len));
                write!(f, "rank {peer} {dst} {arrow} {src}, {}", notify(n))?;
            }
            OpKind::ThreadNotifyRecord { thread, notify } => write!(f, "thread {thread} notify {notify}")?,
            OpKind::ThreadNotifyWait { notify } => write!(f, "notify {notify}")?,
            OpKind::ChannelNotifyRecord { peer, notify: n } | OpKind::ChannelNotifyWait { peer, notify: n } => {
                write!(f, "rank {peer} {}", notify(n))?;
            }
        }
        match op.kind.transfer() {
            Some(Transfer { class, .. }) if program.split > 1 => write!(f, "  (length {class})"),
            _ => Ok(()),
        }
    }
}

/// `scratch[3]` or `scratch[3..5]`.
pub(crate) struct Cells(pub(crate) Cell, pub(crate) u32);

impl fmt::Display for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cells(Cell { buffer, chunk }, len) = *self;
        match len {
            1 => write!(f, "{buffer}[{chunk}]"),
            _ => write!(f, "{buffer}[{chunk}..{}]", u64::from(chunk) + u64::from(len)),
        }
    }
}
