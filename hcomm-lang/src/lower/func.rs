//! Helper functions.

use hcomm_core::ids::{FuncId, StmtId};
use hcomm_core::spec::{FuncBuf, List, MAX_VARS, StmtKind as Kind};

use super::scope::{Origin, Scope};
use super::types::{self, Ty};
use super::{Lower, Region};
use crate::ast::{Expr, Func, Stmt, StmtKind};
use crate::errors::TokenSpan;

/// What a call needs to know.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) name: String,
    pub(super) id: FuncId,
    /// `None` if its parameters could not be read.
    pub(super) arity: Option<usize>,
    pub(super) ty: Ty,
}

impl Lower<'_> {
    pub(super) fn signature(&self, name: &str) -> Option<&Signature> {
        self.signatures.iter().find(|signature| signature.name == name)
    }

    /// All helper functions; they may call each other in any order.
    pub(super) fn funcs(&mut self, funcs: &[Func]) {
        self.signatures = funcs
            .iter()
            .zip(types::of_funcs(funcs))
            .enumerate()
            .map(|(at, (func, ty))| Signature {
                name: func.name.to_string(),
                id: FuncId(super::index(at)),
                arity: func.params.as_ref().map(Vec::len),
                ty,
            })
            .collect();
        for (at, func) in funcs.iter().enumerate() {
            let ty = self.signatures.get(at).map_or(Ty::Unknown, |signature| signature.ty);
            self.func(func, ty);
        }
    }

    fn func(&mut self, func: &Func, ty: Ty) {
        self.region = Region::Func;
        self.scope = Scope::default();
        let params = func.params.as_deref().unwrap_or_default();
        for param in params {
            if self.scope.declare(&param.to_string(), Ty::Int, Origin::Param).is_none() {
                self.errors.push(param.span().into(), format_args!("more than {MAX_VARS} parameters"));
                break;
            }
        }
        let body = self.func_block(&func.body, ty, true);
        if func.whole && !returns(&func.body) {
            let message = format!("not every path of `{}` returns a value", func.name);
            self.errors.push_help(func.name.span().into(), message, "end it with a value, or with `return …;`");
        }
        let span = self.span(func.name.span().into());
        let vars = std::mem::take(&mut self.scope).into_slots();
        let arity = super::index(params.len());
        self.spec.funcs.push(FuncBuf { name: func.name.to_string(), arity, vars, body, span });
    }

    /// A block of a helper function; `tail` if its end is the function's end.
    pub(super) fn func_block(&mut self, block: &[Stmt], ty: Ty, tail: bool) -> List {
        let mark = self.scope.mark();
        let mut ids = Vec::with_capacity(block.len());
        for (at, stmt) in block.iter().enumerate() {
            let at_end = tail && at + 1 == block.len();
            ids.extend(self.func_stmt(stmt, ty, at_end).map(|id| id.0));
        }
        self.scope.leave(mark);
        self.push_list(&ids)
    }

    fn func_stmt(&mut self, stmt: &Stmt, ty: Ty, at_end: bool) -> Option<StmtId> {
        match &stmt.kind {
            StmtKind::Return(value) => Some(self.returned(value, ty, stmt.span)),
            StmtKind::Tail(value) if at_end => Some(self.returned(value, ty, stmt.span)),
            StmtKind::Tail(_) => {
                let message = "a value that nothing uses";
                self.errors.push_help(stmt.span, message, "`return …;` ends the function with it");
                None
            }
            StmtKind::If { cond, then, otherwise } => {
                let cond = self.bool(cond, "the condition of `if`");
                let then = self.func_block(then, ty, at_end);
                let otherwise = self.func_block(otherwise, ty, at_end);
                Some(self.push_stmt(Kind::If(cond, then, otherwise), stmt.span))
            }
            StmtKind::While { cond, body } => {
                let cond = self.bool(cond, "the condition of `while`");
                let body = self.func_block(body, ty, false);
                Some(self.push_stmt(Kind::While(cond, body), stmt.span))
            }
            StmtKind::For { var, set, body } => {
                let set = self.set(set);
                let mark = self.scope.mark();
                let var = self.declare(var.as_ref(), Ty::Int, Origin::Loop, stmt.span);
                let body = self.func_block(body, ty, false);
                self.scope.leave(mark);
                Some(self.push_stmt(Kind::For(var, set, body), stmt.span))
            }
            StmtKind::Let { .. } | StmtKind::Assign { .. } => self.variable_stmt(stmt),
            StmtKind::Par { .. } | StmtKind::Phase { .. } | StmtKind::Transfer { .. } | StmtKind::Sync { .. } => {
                let message = "a helper function only computes: it holds no phases, lanes, transfers or signals";
                self.errors.push_help(stmt.span, message, "write them in the algorithm's statements");
                None
            }
        }
    }

    fn returned(&mut self, value: &Expr, ty: Ty, at: TokenSpan) -> StmtId {
        let lowered = self.expr(value);
        if !lowered.ty.fits(ty) {
            let message = format!("{} is returned here, and {} elsewhere", lowered.ty.name(), ty.name());
            self.errors.push(value.span, message);
        }
        self.push_stmt(Kind::Return(lowered.id), at)
    }
}

/// Whether every path through the end of `block` returns.
fn returns(block: &[Stmt]) -> bool {
    block.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Tail(_) => true,
        StmtKind::If { then, otherwise, .. } => returns(then) && returns(otherwise),
        _ => false,
    })
}
