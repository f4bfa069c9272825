//! What the parser reads: the words of the author, each with its place, before names and types are looked at.

use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::shape::Layout;
use hcomm_core::spec::{BinaryOp, BudgetField, Engine, Phase};
use proc_macro2::{Ident, TokenStream};

use crate::errors::TokenSpan;

/// One algorithm of a `collective!` block.
#[derive(Debug)]
pub(crate) struct Algorithm {
    /// Attributes other than documentation, `#` and brackets included.
    pub(crate) attrs: Vec<TokenStream>,
    /// Documentation attributes, `#` and brackets included.
    pub(crate) doc_attrs: Vec<TokenStream>,
    /// Documentation, a line a line.
    pub(crate) doc: String,
    /// `pub` and so on, or nothing.
    pub(crate) vis: TokenStream,
    pub(crate) ident: Ident,
    /// `None` if it is not one of the language's: then nothing that depends on it is checked.
    pub(crate) operator: Option<Operator>,
    pub(crate) headers: Headers,
    pub(crate) funcs: Vec<Func>,
    pub(crate) body: Vec<Stmt>,
    /// Whether all of it could be read.
    pub(crate) whole: bool,
}

/// The headers, as far as they could be read.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    pub(crate) split: Option<Expr>,
    pub(crate) scratch: Option<Expr>,
    /// Where `memory: symmetric;` is, if it is there.
    pub(crate) symmetric: Option<TokenSpan>,
    pub(crate) deterministic: bool,
    pub(crate) max_ranks: Option<u32>,
    pub(crate) budget: Vec<(BudgetField, Limit, TokenSpan)>,
    pub(crate) engines: Vec<(Engine, TokenSpan)>,
    pub(crate) verify: Option<(Verify, TokenSpan)>,
}

/// What a budget limits a field to.
#[derive(Debug)]
pub(crate) enum Limit {
    Expr(Expr),
    /// The path of a constant of the user's.
    Const(TokenStream),
}

/// What a `verify` header says.
#[derive(Debug)]
pub(crate) enum Verify {
    Ranks(u32, u32),
    Layouts(Vec<Layout>),
}

/// `fn name(a, b) { … }`
#[derive(Debug)]
pub(crate) struct Func {
    pub(crate) name: Ident,
    /// `None` if they could not be read.
    pub(crate) params: Option<Vec<Ident>>,
    pub(crate) body: Vec<Stmt>,
    /// Whether all of the body could be read.
    pub(crate) whole: bool,
}

#[derive(Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: TokenSpan,
}

#[derive(Debug)]
pub(crate) enum StmtKind {
    /// `let x = e;` with the place of `mut`, if there is one.
    Let {
        name: Option<Ident>,
        mutable: bool,
        value: Expr,
    },
    /// `x = e;` and `x += e;`
    Assign {
        name: Ident,
        op: Option<BinaryOp>,
        value: Expr,
    },
    If {
        cond: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    While {
        cond: Expr,
        body: Vec<Stmt>,
    },
    /// `None` is `_`.
    For {
        var: Option<Ident>,
        set: Set,
        body: Vec<Stmt>,
    },
    Par {
        bound: Option<Expr>,
        lanes: Vec<Lane>,
    },
    Phase {
        phase: Phase,
        body: Vec<Stmt>,
    },
    Transfer {
        sides: Box<Sides>,
        reduce: bool,
    },
    /// `signal P;` or, with `wait`, `wait P;`
    Sync {
        wait: bool,
        peer: Expr,
        notify: Option<Ident>,
    },
    /// `return e;`
    Return(Expr),
    /// A value at the end of a block, without a semicolon.
    Tail(Expr),
}

/// The two sides of a transfer.
#[derive(Debug)]
pub(crate) struct Sides {
    pub(crate) dst: Place,
    pub(crate) src: Place,
}

#[derive(Debug)]
pub(crate) struct Lane {
    /// `None` inside is `_`.
    pub(crate) each: Option<(Option<Ident>, Set)>,
    pub(crate) body: Vec<Stmt>,
    pub(crate) span: TokenSpan,
}

#[derive(Debug)]
pub(crate) enum Set {
    /// `a..b`, or `a..=b` if it is closed.
    Range { from: Expr, to: Expr, closed: bool },
    /// `peers`, `local_peers` or `node_peers`.
    Named(Ident),
}

#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) peer: Option<Expr>,
    pub(crate) buffer: Buffer,
    pub(crate) index: Index,
    pub(crate) span: TokenSpan,
}

#[derive(Debug)]
pub(crate) enum Index {
    Whole,
    One(Expr),
    /// `i..j`, or `i..=j` if it is closed.
    Run {
        from: Expr,
        to: Expr,
        closed: bool,
    },
}

#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: TokenSpan,
    /// Levels of expressions, 1 for a literal. The parser keeps it within the language's limit.
    pub(crate) height: usize,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    Int(i64),
    Bool(bool),
    Name(Ident),
    /// `-x`
    Neg(Box<Expr>),
    /// `!x`
    Not(Box<Expr>),
    /// The operator, where it stands, and its sides.
    Binary(BinaryOp, TokenSpan, Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Call(Ident, Vec<Expr>),
    /// Could not be read; the error is reported.
    Error,
}

impl Expr {
    /// Stands in for what could not be read.
    pub(crate) fn error(span: TokenSpan) -> Expr {
        Expr { kind: ExprKind::Error, span, height: 1 }
    }
}
