//! An algorithm as data: arenas of expressions and statements, addressed by ids, borrowed as slices.
//!
//! The `collective!` macro fills a [`SpecBuf`] from tokens and prints it as a `const` [`Spec`] into the user's crate;
//! [`eval`](crate::eval) is the only thing that gives it a meaning.
//!
//! A well-formed spec, which the front end guarantees and the evaluator relies on for nothing but good messages:
//! ids are in range, expressions refer to expressions before them, the types (integer, boolean) fit, phases allow
//! their statements, a `par` is not inside a `par`, helper functions hold no communication. The evaluator answers
//! anything else with a fault, never with a panic.

mod buf;

pub use buf::{FuncBuf, SpecBuf};

use crate::ids::{ExprId, FuncId, NotifyId, SpanId, VarId};
use crate::operator::{Buffer, Operator};
use crate::resources::Resources;
use crate::shape::Layout;

/// The most variables in scope of an algorithm's body, and of a helper function.
pub const MAX_VARS: usize = 64;
/// The deepest nesting of statements.
pub const MAX_DEPTH: usize = 32;
/// The deepest nesting of expressions.
pub const MAX_EXPR_DEPTH: usize = 64;
/// The deepest nesting of calls of helper functions.
pub const MAX_CALLS: u32 = 32;

/// A place in the source: lines and columns count from 1, the end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First line.
    pub line: u32,
    /// First column.
    pub column: u32,
    /// Last line.
    pub end_line: u32,
    /// The column after the last one.
    pub end_column: u32,
}

/// An algorithm: what a `collective!` block says, as constant data.
#[derive(Clone, Copy, Debug)]
pub struct Spec<'a> {
    /// The name of the Rust item, `MeshAllGather`.
    pub name: &'a str,
    /// The name on the command line, `mesh_all_gather`.
    pub snake: &'a str,
    /// The doc comment, one line a line.
    pub doc: &'a str,
    /// What it computes.
    pub operator: Operator,
    /// The source file, as `file!()` gives it.
    pub file: &'a str,
    /// What the headers say.
    pub headers: Headers<'a>,
    /// The statements, outermost block.
    pub body: Block,
    /// Expressions.
    pub exprs: &'a [Expr],
    /// Statements.
    pub stmts: &'a [Stmt],
    /// Lanes of `par`.
    pub lanes: &'a [Lane],
    /// Helper functions.
    pub funcs: &'a [Func<'a>],
    /// Statement ids of blocks and expression ids of arguments.
    pub lists: &'a [u32],
    /// Channel notifies by index: those that the algorithm uses, `ready`, then `done`, then its own in order of
    /// appearance.
    pub notifies: &'a [&'a str],
    /// Variables of the body by slot, for messages and emitted code. Two variables of one name have two slots.
    pub vars: &'a [&'a str],
    /// Places in `file`. Never empty: `SpanId(0)` is the algorithm's name.
    pub spans: &'a [Span],
    /// Counts that were evaluated when the algorithm was compiled, by rank count, ascending: a cache, so that a
    /// `const` of a large rank count is cheap.
    pub counted: &'a [(u32, Resources)],
}

/// What the headers of a block say. An absent header is `None`, `false` or empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headers<'a> {
    /// `split: expr;` chunks a slot.
    pub split: Option<ExprId>,
    /// `scratch: expr;` cells of scratch.
    pub scratch: Option<ExprId>,
    /// `memory: symmetric;` peers may reach `input` and `output`, and scratch is by default none.
    pub symmetric: bool,
    /// `deterministic;` no two unordered reductions into one chunk.
    pub deterministic: bool,
    /// `max_ranks: n;`
    pub max_ranks: Option<u32>,
    /// `budget: { … };` limits that are expressions of the language. Those that are paths of the user's are `const`
    /// assertions beside the spec.
    pub budget: &'a [(BudgetField, ExprId)],
    /// `engines: …;` empty if every engine will do.
    pub engines: &'a [Engine],
    /// `verify: …;`
    pub verify: Verify<'a>,
}

/// The rank counts and layouts that the checks run for when the algorithm is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify<'a> {
    /// Flat, these rank counts: first and last.
    Ranks(u32, u32),
    /// These layouts.
    Layouts(&'a [Layout]),
}

impl Default for Verify<'_> {
    /// Ranks 2..=8.
    fn default() -> Self {
        Verify::Ranks(2, 8)
    }
}

/// A field of [`Resources`] that a budget can limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BudgetField {
    /// [`Resources::threads`]
    Threads,
    /// [`Resources::notify_num_per_thread`]
    NotifyNumPerThread,
    /// [`Resources::thread_notifies`]
    ThreadNotifies,
    /// [`Resources::channels`]
    Channels,
    /// [`Resources::notify_num_per_channel`]
    NotifyNumPerChannel,
    /// [`Resources::channel_notifies`]
    ChannelNotifies,
    /// [`Resources::scratch_chunks`]
    Scratch,
    /// [`Resources::blocks`]
    Blocks,
    /// [`Resources::flags`]
    Flags,
}

/// What carries the program out (facts 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// `COMM_ENGINE_AICPU_TS`: AI CPU kernels fill task queues.
    AiCpu,
    /// `COMM_ENGINE_AIV`: Vector cores move the data themselves.
    Aiv,
}

impl Engine {
    /// The name in the language, `ai_cpu`.
    pub const fn name(self) -> &'static str {
        match self {
            Engine::AiCpu => "ai_cpu",
            Engine::Aiv => "aiv",
        }
    }
}

/// A run of [`Spec::lists`]: statements of a block, or arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct List {
    /// Its first place.
    pub start: u32,
    /// Its length.
    pub len: u32,
}

/// The statements between two braces.
pub type Block = List;

/// An expression and where it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where.
    pub span: SpanId,
}

/// What an expression is. Booleans are the integers 0 and 1 that the front end has kept apart from numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// A literal.
    Int(i64),
    /// `true` or `false`.
    Bool(bool),
    /// A name that the operator or the layout gives.
    Name(Name),
    /// A variable.
    Var(VarId),
    /// `-x` or `!x`.
    Unary(UnaryOp, ExprId),
    /// `x + y` and so on.
    Binary(BinaryOp, ExprId, ExprId),
    /// `if c { x } else { y }`
    If(ExprId, ExprId, ExprId),
    /// A built-in function and its arguments.
    Builtin(Builtin, List),
    /// A helper function and its arguments.
    Call(FuncId, List),
}

/// A name that the operator or the layout gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the name in the language, DESIGN section 4")]
pub enum Name {
    Rank,
    Ranks,
    Root,
    Src,
    Dst,
    Node,
    Nodes,
    Local,
    Locals,
    Pod,
    Pods,
}

/// A unary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`
    Neg,
    /// `!x` of an integer: every bit.
    BitNot,
    /// `!x` of a boolean.
    Not,
}

/// A binary operator, with Rust's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the operator of its name in Rust")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    BitAnd,
    BitOr,
    BitXor,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Short-circuits.
    And,
    /// Short-circuits.
    Or,
}

/// A built-in function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
    /// `abs(a)`
    Abs,
    /// `gcd(a, b)`: never negative, gcd(0, 0) = 0.
    Gcd,
    /// `lcm(a, b)`: never negative, 0 if one is 0.
    Lcm,
    /// `is_pow2(a)`: true for 1, 2, 4, …
    IsPow2,
    /// `log2_floor(a)` for a ≥ 1.
    Log2Floor,
    /// `log2_ceil(a)` for a ≥ 1.
    Log2Ceil,
    /// `pow2(a)` for 0 ≤ a ≤ 62.
    Pow2,
    /// `div_ceil(a, b)`: rounds up.
    DivCeil,
    /// `wrap(x, n)`: x modulo n, never negative, n ≥ 1.
    Wrap,
    /// `rank_of(node, local)`
    RankOf,
    /// `locals_of(node)`
    LocalsOf,
    /// `node_of(rank)`
    NodeOf,
    /// `local_of(rank)`: its place in its node.
    LocalOf,
    /// `pod_of(rank)`
    PodOf,
}

impl Builtin {
    /// All built-in functions.
    pub const ALL: [Builtin; 16] = [
        Builtin::Min,
        Builtin::Max,
        Builtin::Abs,
        Builtin::Gcd,
        Builtin::Lcm,
        Builtin::IsPow2,
        Builtin::Log2Floor,
        Builtin::Log2Ceil,
        Builtin::Pow2,
        Builtin::DivCeil,
        Builtin::Wrap,
        Builtin::RankOf,
        Builtin::LocalsOf,
        Builtin::NodeOf,
        Builtin::LocalOf,
        Builtin::PodOf,
    ];

    /// The name in the language.
    pub const fn name(self) -> &'static str {
        match self {
            Builtin::Min => "min",
            Builtin::Max => "max",
            Builtin::Abs => "abs",
            Builtin::Gcd => "gcd",
            Builtin::Lcm => "lcm",
            Builtin::IsPow2 => "is_pow2",
            Builtin::Log2Floor => "log2_floor",
            Builtin::Log2Ceil => "log2_ceil",
            Builtin::Pow2 => "pow2",
            Builtin::DivCeil => "div_ceil",
            Builtin::Wrap => "wrap",
            Builtin::RankOf => "rank_of",
            Builtin::LocalsOf => "locals_of",
            Builtin::NodeOf => "node_of",
            Builtin::LocalOf => "local_of",
            Builtin::PodOf => "pod_of",
        }
    }

    /// How many arguments it takes.
    pub const fn arity(self) -> u32 {
        match self {
            Builtin::Abs
            | Builtin::IsPow2
            | Builtin::Log2Floor
            | Builtin::Log2Ceil
            | Builtin::Pow2
            | Builtin::LocalsOf
            | Builtin::NodeOf
            | Builtin::LocalOf
            | Builtin::PodOf => 1,
            Builtin::Min
            | Builtin::Max
            | Builtin::Gcd
            | Builtin::Lcm
            | Builtin::DivCeil
            | Builtin::Wrap
            | Builtin::RankOf => 2,
        }
    }
}

/// A helper function: pure, integer arguments, an integer or boolean result.
///
/// Its variables have slots of their own, arguments first.
#[derive(Clone, Copy, Debug)]
pub struct Func<'a> {
    /// Its name.
    pub name: &'a str,
    /// How many arguments it takes: slots 0, 1, …
    pub arity: u32,
    /// Variables by slot, arguments included.
    pub vars: &'a [&'a str],
    /// Its statements. A path that ends without [`StmtKind::Return`] is a fault.
    pub body: Block,
    /// Where.
    pub span: SpanId,
}

/// A statement and where it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where.
    pub span: SpanId,
}

/// What a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StmtKind {
    /// `let x = e;` and `x = e;` and `x += e;` (as `x = x + e`).
    Set(VarId, ExprId),
    /// `if c { … } else { … }`
    If(ExprId, Block, Block),
    /// `while c { … }`
    While(ExprId, Block),
    /// `for x in SET { … }`
    For(VarId, Set, Block),
    /// `par { … }` with [`Spec::lanes`]; with a bound, lanes are dealt round-robin to that many.
    Par(Option<ExprId>, List),
    /// `copy_in { … }` and so on.
    Phase(Phase, Block),
    /// `dst = src;`, and `dst += src;` with `reduce`. At most one side is a peer's.
    Transfer {
        /// What is written.
        dst: Place,
        /// What is read.
        src: Place,
        /// Whether `dst` is reduced into.
        reduce: bool,
    },
    /// `signal P;` or `signal P.name;`: record on the channel to that peer.
    Signal(ExprId, NotifyId),
    /// `wait P;` or `wait P.name;`: wait on the channel to that peer.
    Wait(ExprId, NotifyId),
    /// The value of a helper function.
    Return(ExprId),
}

/// The phases of a collective, in their usual order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Local copies out of `input`.
    CopyIn,
    /// Handshake before the data moves; notifies `ready` by default.
    PreSync,
    /// Transfers.
    Move,
    /// Handshake after the data moved; notifies `done` by default.
    PostSync,
    /// Local copies and reduces into `output`.
    CopyOut,
}

impl Phase {
    /// The keyword.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::CopyIn => "copy_in",
            Phase::PreSync => "pre_sync",
            Phase::Move => "move",
            Phase::PostSync => "post_sync",
            Phase::CopyOut => "copy_out",
        }
    }
}

/// What a loop runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// `a..b`; empty if b ≤ a.
    Range(ExprId, ExprId),
    /// `peers`: every other rank, from rank + 1 upwards and round.
    Peers,
    /// `local_peers`: the other ranks of my node, from local + 1 upwards and round.
    LocalPeers,
    /// `node_peers`: the ranks of my place in the other nodes that have it, from node + 1 upwards and round.
    NodePeers,
}

/// A lane of a `par`, or one lane for each element of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// `lane for x in SET { … }` and `par for x in SET { … }`.
    pub each: Option<(VarId, Set)>,
    /// Its statements.
    pub body: Block,
    /// Where.
    pub span: SpanId,
}

/// Chunks of a buffer, of this rank or of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whose, if not mine.
    pub peer: Option<ExprId>,
    /// Which buffer.
    pub buffer: Buffer,
    /// Which chunks.
    pub index: Index,
    /// Where.
    pub span: SpanId,
}

/// Which chunks of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// `B`
    Whole,
    /// `B[i]`
    One(ExprId),
    /// `B[i..j]`
    Run(ExprId, ExprId),
}

impl Spec<'_> {
    /// The place that `span` names; the algorithm's name if there is no such place.
    pub fn span(&self, span: SpanId) -> Span {
        let nowhere = Span { line: 1, column: 1, end_line: 1, end_column: 1 };
        self.spans.get(span.index()).or(self.spans.first()).copied().unwrap_or(nowhere)
    }

    /// Whether the algorithm is for an engine: every one will do if it names none.
    pub fn offers(&self, engine: Engine) -> bool {
        self.headers.engines.is_empty() || self.headers.engines.contains(&engine)
    }

    /// The largest rank count that the algorithm may be instantiated for.
    pub const fn max_ranks(&self) -> u32 {
        match self.headers.max_ranks {
            Some(max) => max,
            None => crate::shape::MAX_RANKS,
        }
    }
}
