//! [`ast`](crate::ast) to [`SpecBuf`]: names become slots, types are checked, and each statement is held against its
//! phase.

mod expr;
mod func;
mod header;
mod place;
mod scope;
mod stmt;
mod types;

use std::collections::HashMap;

use hcomm_core::ids::{ExprId, NotifyId, SpanId, StmtId};
use hcomm_core::operator::Operator;
use hcomm_core::spec::{self, Expr, ExprKind, List, Phase, SpecBuf, Stmt, StmtKind};
use proc_macro2::Ident;

use crate::errors::{Errors, TokenSpan};
use crate::{Parsed, ast, words};
use func::Signature;
use scope::Scope;

/// Makes the data of an algorithm. Whether it is sound, the number of errors says.
pub(crate) fn lower(algorithm: ast::Algorithm, file: &str, errors: &mut Errors) -> Parsed {
    let errors_before = errors.len();
    let ast::Algorithm { attrs, doc_attrs, doc, vis, ident, operator, headers, funcs, body, whole } = algorithm;
    let mut lower = Lower {
        errors,
        operator,
        symmetric: headers.symmetric.is_some(),
        spec: empty_spec(&ident, operator, doc, file),
        tokens: Vec::new(),
        span_ids: HashMap::new(),
        signatures: Vec::new(),
        scope: Scope::default(),
        region: Region::Body,
        phase: None,
        in_par: false,
    };
    lower.span(ident.span().into());
    lower.funcs(&funcs);
    let const_budgets = lower.headers(headers);
    lower.region = Region::Body;
    lower.scope = Scope::default();
    lower.spec.body = lower.block(&body);
    lower.order_notifies();
    lower.spec.vars = std::mem::take(&mut lower.scope).into_slots();
    let Lower { spec, tokens, .. } = lower;
    let sound = whole && errors.len() == errors_before;
    Parsed { spec, tokens, attrs, doc_attrs, vis, ident, const_budgets, sound }
}

/// Where an expression stands: it decides which names there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    /// A statement of the algorithm.
    Body,
    /// A helper function.
    Func,
    /// A header of that name.
    Header(&'static str),
}

struct Lower<'e> {
    errors: &'e mut Errors,
    /// `None` if it is unknown: then nothing that depends on it is checked.
    operator: Option<Operator>,
    symmetric: bool,
    spec: SpecBuf,
    /// Parallel to `spec.spans`.
    tokens: Vec<TokenSpan>,
    span_ids: HashMap<spec::Span, SpanId>,
    /// Helper functions, parallel to `spec.funcs` when they are lowered.
    signatures: Vec<Signature>,
    scope: Scope,
    region: Region,
    /// The phase around the statement.
    phase: Option<Phase>,
    in_par: bool,
}

impl Lower<'_> {
    fn span(&mut self, at: TokenSpan) -> SpanId {
        let place = at.place();
        let next = SpanId(index(self.spec.spans.len()));
        let id = *self.span_ids.entry(place).or_insert(next);
        if id == next {
            self.spec.spans.push(place);
            self.tokens.push(at);
        }
        id
    }

    fn push_expr(&mut self, kind: ExprKind, at: TokenSpan) -> ExprId {
        let span = self.span(at);
        self.spec.exprs.push(Expr { kind, span });
        ExprId(index(self.spec.exprs.len() - 1))
    }

    fn push_stmt(&mut self, kind: StmtKind, at: TokenSpan) -> StmtId {
        let span = self.span(at);
        self.spec.stmts.push(Stmt { kind, span });
        StmtId(index(self.spec.stmts.len() - 1))
    }

    fn push_list(&mut self, ids: &[u32]) -> List {
        let start = index(self.spec.lists.len());
        self.spec.lists.extend_from_slice(ids);
        List { start, len: index(ids.len()) }
    }

    /// Puts `ready` and `done` before the algorithm's own notifies.
    fn order_notifies(&mut self) {
        let seen = std::mem::take(&mut self.spec.notifies);
        let defaults = [DEFAULT_READY, DEFAULT_DONE];
        let first = defaults.into_iter().filter(|name| seen.iter().any(|used| used == name)).map(str::to_owned);
        let rest = seen.iter().filter(|name| !defaults.contains(&name.as_str())).cloned();
        let ordered: Vec<String> = first.chain(rest).collect();
        let place = |old: NotifyId| {
            let name = seen.get(old.index());
            NotifyId(index(ordered.iter().position(|known| Some(known) == name).unwrap_or(0)))
        };
        for stmt in &mut self.spec.stmts {
            if let StmtKind::Signal(_, notify) | StmtKind::Wait(_, notify) = &mut stmt.kind {
                *notify = place(*notify);
            }
        }
        self.spec.notifies = ordered;
    }
}

/// The notify of a handshake before the data moves.
const DEFAULT_READY: &str = "ready";
/// The notify of a handshake after the data moved.
const DEFAULT_DONE: &str = "done";

/// An index of an arena. Input beyond 32 bits does not fit a compiler's memory; it would be refused, not wrapped.
fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn empty_spec(ident: &Ident, operator: Option<Operator>, doc: String, file: &str) -> SpecBuf {
    let name = ident.to_string();
    let name = name.strip_prefix("r#").unwrap_or(&name);
    SpecBuf {
        name: name.to_owned(),
        snake: words::snake_case(name),
        doc,
        operator: operator.unwrap_or(Operator::Barrier),
        file: file.to_owned(),
        split: None,
        scratch: None,
        symmetric: false,
        deterministic: false,
        max_ranks: None,
        budget: Vec::new(),
        engines: Vec::new(),
        verify_ranks: header::DEFAULT_VERIFY,
        verify_layouts: Vec::new(),
        body: List::default(),
        exprs: Vec::new(),
        stmts: Vec::new(),
        lanes: Vec::new(),
        funcs: Vec::new(),
        lists: Vec::new(),
        notifies: Vec::new(),
        vars: Vec::new(),
        spans: Vec::new(),
        counted: Vec::new(),
    }
}
