//! The one evaluator of the language.
//!
//! [`Machine`] walks a [`Spec`] for one rank and yields, one at a time, what the rank does: an [`Event`] for every
//! transfer, signal and wait, and for the beginning and end of every `par`. It is a `const fn` without allocation, so
//! that the same code serves the macro, `const` contexts in the user's crate, and run time. Everything else (counts,
//! graph, programs, checks) is made from its events.
//!
//! Arithmetic is checked, loops run on fuel and nesting is bounded: whatever a spec says, the machine ends with
//! [`Step::Done`] or [`Step::Fault`].

mod expr;
mod fault;
mod machine;
mod operand;

pub(crate) use fault::rank_count;
pub use fault::{Fault, FaultKind};
pub use machine::Machine;
pub use operand::Operand;

use crate::ids::{NotifyId, SpanId};
use crate::shape::Shape;
use crate::spec::Spec;

/// Statements and expressions that a rank may evaluate before the loop counts as a runaway.
pub const FUEL: u32 = 1 << 24;

/// `?` for const fns.
macro_rules! tri {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(fault) => return Err(fault),
        }
    };
}
pub(crate) use tri;

/// What a rank does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A `par` begins: until [`Event::Join`], what is done belongs to lanes.
    Fork {
        /// The `par`.
        at: SpanId,
    },
    /// What follows belongs to this lane, until the next [`Event::Lane`] or [`Event::Join`]. Lane 0 is the main
    /// thread. A lane can come more than once: its parts run in the order of their coming.
    Lane(u32),
    /// The `par` ends: what follows waits for all lanes.
    Join {
        /// The `par`.
        at: SpanId,
    },
    /// A run of chunks moves. At most one side is a peer's; the lengths are equal and not zero.
    Transfer {
        /// What is written.
        dst: Operand,
        /// What is read.
        src: Operand,
        /// Whether `dst` is reduced into.
        reduce: bool,
        /// The statement.
        at: SpanId,
    },
    /// Record on the channel to `peer`.
    Signal {
        /// The rank at the other end: another one, and it exists.
        peer: u32,
        /// Which notify.
        notify: NotifyId,
        /// The statement.
        at: SpanId,
    },
    /// Wait on the channel to `peer`.
    Wait {
        /// The rank at the other end: another one, and it exists.
        peer: u32,
        /// Which notify.
        notify: NotifyId,
        /// The statement.
        at: SpanId,
    },
}

/// The machine's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This, and then more.
    Event(Event),
    /// The end.
    Done,
    /// The program cannot go on. Every later step is the same.
    Fault(Fault),
}

/// Who evaluates: a rank of a shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) spec: &'a Spec<'a>,
    pub(crate) shape: Shape,
    pub(crate) rank: u32,
    pub(crate) node: u32,
    pub(crate) local: u32,
}

impl<'a> Context<'a> {
    pub(crate) const fn new(spec: &'a Spec<'a>, shape: Shape, rank: u32) -> Context<'a> {
        let (node, local) = shape.layout.place(rank);
        Context { spec, shape, rank, node, local }
    }
}

/// The value of an expression of a header, as rank 0 of `shape` sees it.
///
/// # Errors
///
/// The fault that ends its evaluation.
pub const fn value(spec: &Spec<'_>, shape: Shape, id: crate::ids::ExprId) -> Result<i64, Fault> {
    let mut budget = expr::Budget::new(FUEL);
    Context::new(spec, shape, 0).eval(id, &[0; crate::spec::MAX_VARS], &mut budget)
}
