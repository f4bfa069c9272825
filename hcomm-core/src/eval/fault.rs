//! Why a program cannot go on, in words.

use crate::diag::{Code, Diagnostic, ENDLESS};
use crate::ids::SpanId;
use crate::operator::Buffer;
use crate::shape::{MAX_RANKS, Shape};
use crate::spec::{Builtin, Spec};

/// Why a program cannot go on, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Why.
    pub kind: FaultKind,
    /// Where.
    pub span: SpanId,
}

/// Why a program cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A result does not fit 64 bits.
    Overflow,
    /// Division or remainder by zero.
    DivisionByZero,
    /// A shift by less than 0 or more than 63.
    Shift(i64),
    /// An argument that a built-in function has no value for.
    Argument(Builtin, i64),
    /// More steps than a program can need.
    Runaway,
    /// Nested calls or expressions over the limit.
    TooDeep,
    /// A helper function ended without a value.
    NoValue,
    /// `split` is below 1 or absurdly large.
    Split(i64),
    /// `scratch` is below 0 or absurdly large.
    Scratch(i64),
    /// `split` or `scratch` is not the same on every rank: on rank 0, and here.
    Uneven(&'static str, u32, u32),
    /// A bound of `par` is below 1.
    Lanes(i64),
    /// Chunks `start..end` of a buffer that has `have` on `rank`.
    Bounds {
        /// Which buffer.
        buffer: Buffer,
        /// First chunk.
        start: i64,
        /// The one after the last.
        end: i64,
        /// How many there are.
        have: u32,
        /// Whose buffer.
        rank: u32,
    },
    /// The two sides of a transfer have different numbers of chunks.
    Lengths {
        /// Chunks written.
        dst: u32,
        /// Chunks read.
        src: u32,
    },
    /// The two sides of a transfer overlap.
    Overlap {
        /// In which buffer.
        buffer: Buffer,
        /// The first chunk in both.
        chunk: u32,
    },
    /// A peer that is this rank.
    OwnPeer,
    /// A peer that does not exist.
    NoPeer(i64),
    /// A peer's buffer that no peer may reach.
    NotShared(Buffer),
    /// Both sides of a transfer are a peer's.
    TwoPeers,
    /// The spec is not well formed: not something that the macro makes.
    Malformed(&'static str),
}

impl Fault {
    /// The fault for people, found at this rank of this shape.
    pub fn diagnostic(&self, spec: &Spec<'_>, shape: &Shape, rank: u32) -> Diagnostic {
        let ranks = shape.ranks();
        let here = format!("rank {rank} of {ranks}");
        let (code, message, help): (Code, String, Option<String>) = match self.kind {
            FaultKind::Overflow => {
                (Code::H001, format!("arithmetic overflow on {here}: the result does not fit 64 bits"), None)
            }
            FaultKind::DivisionByZero => (Code::H001, format!("division by zero on {here}"), None),
            FaultKind::Shift(by) => (Code::H001, format!("shift by {by} on {here}: a shift takes 0 to 63"), None),
            FaultKind::Argument(builtin, value) => {
                let rule = match builtin {
                    Builtin::Wrap => "n must be at least 1",
                    Builtin::Log2Floor | Builtin::Log2Ceil => "the argument must be at least 1",
                    Builtin::Pow2 => "the argument must be between 0 and 62",
                    Builtin::DivCeil => "the divisor must be at least 1",
                    Builtin::RankOf => "there is no such node and local",
                    Builtin::LocalsOf => "there is no such node",
                    Builtin::NodeOf | Builtin::LocalOf | Builtin::PodOf => "there is no such rank",
                    _ => "there is no value",
                };
                (Code::H001, format!("`{}` was given {value} on {here}: {rule}", builtin.name()), None)
            }
            FaultKind::Runaway => (
                Code::H001,
                format!("{ENDLESS} on {here}: stopped after {} steps", super::FUEL),
                Some("a `while` must change what its condition depends on".into()),
            ),
            FaultKind::TooDeep => (
                Code::H001,
                format!("calls and expressions are nested too deeply on {here}"),
                Some("a recursive helper needs an end, or write it as a loop".into()),
            ),
            FaultKind::NoValue => (
                Code::H001,
                format!("the helper function ended without a value on {here}"),
                Some("end it with an expression or `return` on every path".into()),
            ),
            FaultKind::Split(value) => (
                Code::H001,
                format!(
                    "`split` is {value} at {ranks} ranks: a slot has between 1 and {} chunks",
                    super::operand::MAX_CHUNKS
                ),
                None,
            ),
            FaultKind::Scratch(value) => (
                Code::H001,
                format!(
                    "`scratch` is {value} at {ranks} ranks: it has between 0 and {} chunks",
                    super::operand::MAX_CHUNKS
                ),
                None,
            ),
            FaultKind::Uneven(header, first, this) => (
                Code::H001,
                format!("`{header}` is {first} on rank 0 and {this} on {here}: it must be the same on every rank"),
                Some("make it depend on what all ranks share: `ranks`, `nodes`, `root` …".into()),
            ),
            FaultKind::Lanes(value) => {
                (Code::H001, format!("`par({value})` on {here}: at least one lane is needed"), None)
            }
            FaultKind::Bounds { buffer, start, end, have, rank: owner } => {
                let what = if end.checked_sub(1) == Some(start) {
                    format!("{buffer}[{start}]")
                } else {
                    format!("{buffer}[{start}..{end}]")
                };
                let whose = if owner == rank { String::new() } else { format!(" of rank {owner}") };
                let has = match have {
                    0 => format!("{buffer} has no chunks there"),
                    1 => format!("{buffer} has 1 chunk"),
                    n => format!("{buffer} has {n} chunks"),
                };
                let help = match buffer {
                    _ if end < start => Some("a run `a..b` needs a ≤ b".to_owned()),
                    _ if start < 0 => Some("`wrap(x, n)` keeps an index between 0 and n - 1".to_owned()),
                    Buffer::Scratch => Some("`scratch: expr;` sets how many chunks scratch has".to_owned()),
                    _ if have == 0 => Some(match spec.operator.has_src_dst() {
                        true => "only `src` has an input and only `dst` has an output: put it in an `if`".to_owned(),
                        false => format!(
                            "only some ranks of a {} have an {buffer}: put it in an `if rank == root`",
                            spec.operator
                        ),
                    }),
                    _ => Some(format!(
                        "at {ranks} ranks with split {} that is the operator's {buffer}",
                        split_text(spec, shape)
                    )),
                };
                (Code::H303, format!("{what}{whose} is out of bounds on {here}: {has}"), help)
            }
            FaultKind::Lengths { dst, src } => (
                Code::H303,
                format!("the two sides have different lengths on {here}: {dst} chunks are written and {src} are read"),
                None,
            ),
            FaultKind::Overlap { buffer, chunk } => (
                Code::H303,
                format!("source and destination overlap in {buffer}[{chunk}] on {here}"),
                Some("one task must not read what it writes".into()),
            ),
            FaultKind::OwnPeer => (
                Code::H304,
                format!("the peer is the rank itself on {here}"),
                Some("a rank has no channel to itself: use a local copy, or leave that rank out".into()),
            ),
            FaultKind::NoPeer(peer) => (
                Code::H304,
                format!("there is no rank {peer} on {here}: ranks are 0 to {}", ranks.saturating_sub(1)),
                Some("`wrap(x, ranks)` keeps a rank in range".into()),
            ),
            FaultKind::NotShared(buffer) => (
                Code::H304,
                format!("a peer's `{buffer}` cannot be reached: only `scratch` is shared"),
                Some("copy through `scratch`: the owner copies in, or the reader copies out".into()),
            ),
            FaultKind::TwoPeers => (Code::H304, "both sides are a peer's: one must be this rank's".into(), None),
            FaultKind::Malformed(what) => (Code::H001, format!("the spec is not well formed: {what}"), None),
        };
        let mut diagnostic = Diagnostic::new(code, message, Some(spec.span(self.span))).on(ranks, rank);
        diagnostic.help = help;
        diagnostic
    }
}

/// What `split` is at this shape, for a message.
fn split_text(spec: &Spec<'_>, shape: &Shape) -> String {
    match super::Machine::new(spec, *shape, 0) {
        Ok(machine) => machine.split().to_string(),
        Err(_) => "?".into(),
    }
}

/// Why an algorithm cannot be instantiated for a rank count, before anything is evaluated.
pub(crate) fn rank_count(spec: &Spec<'_>, ranks: u32) -> Option<Diagnostic> {
    let at = Some(spec.span(SpanId(0)));
    if ranks == 0 || ranks > MAX_RANKS {
        return Some(Diagnostic::new(
            Code::H001,
            format!("{ranks} ranks: a communicator has between 1 and {MAX_RANKS}"),
            at,
        ));
    }
    let max = spec.max_ranks();
    (ranks > max).then(|| {
        Diagnostic::new(Code::H401, format!("`{}` is declared for at most {max} ranks, not {ranks}", spec.name), at)
            .with_help(format!("use at most {max} ranks, or raise `max_ranks`"))
    })
}
