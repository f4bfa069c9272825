//! Statements of the algorithm.

use hcomm_core::ids::{ExprId, NotifyId, StmtId, VarId};
use hcomm_core::spec::{self, ExprKind, List, MAX_VARS, Phase, StmtKind as Kind};
use proc_macro2::Ident;

use super::scope::Origin;
use super::types::Ty;
use super::{DEFAULT_DONE, DEFAULT_READY, Lower, Region, types};
use crate::ast::{Expr, Lane, Sides, Stmt, StmtKind};
use crate::errors::TokenSpan;
use crate::words;

/// HCOMM gives a channel this many notifies (facts 3.2).
const MAX_NOTIFIES: usize = 64;

impl Lower<'_> {
    /// The statements between two braces.
    pub(super) fn block(&mut self, block: &[Stmt]) -> List {
        let mark = self.scope.mark();
        let ids: Vec<u32> = block.iter().filter_map(|stmt| self.stmt(stmt)).map(|id| id.0).collect();
        self.scope.leave(mark);
        self.push_list(&ids)
    }

    /// One statement; `None` if it has no meaning, which is reported.
    fn stmt(&mut self, stmt: &Stmt) -> Option<StmtId> {
        let at = stmt.span;
        let kind = match &stmt.kind {
            StmtKind::Let { .. } | StmtKind::Assign { .. } => return self.variable_stmt(stmt),
            StmtKind::If { cond, then, otherwise } => {
                let cond = self.bool(cond, "the condition of `if`");
                let then = self.block(then);
                Kind::If(cond, then, self.block(otherwise))
            }
            StmtKind::While { cond, body } => {
                let cond = self.bool(cond, "the condition of `while`");
                Kind::While(cond, self.block(body))
            }
            StmtKind::For { var, set, body } => {
                let set = self.set(set);
                let mark = self.scope.mark();
                let var = self.declare(var.as_ref(), Ty::Int, Origin::Loop, at);
                let body = self.block(body);
                self.scope.leave(mark);
                Kind::For(var, set, body)
            }
            StmtKind::Par { bound, lanes } => self.par(bound.as_ref(), lanes, at)?,
            StmtKind::Phase { phase, body } => self.phase(*phase, body, at)?,
            StmtKind::Transfer { sides, reduce } => {
                let Sides { dst, src } = &**sides;
                self.check_transfer(dst, src, *reduce, at);
                Kind::Transfer { dst: self.place(dst), src: self.place(src), reduce: *reduce }
            }
            StmtKind::Sync { wait, peer, notify } => self.sync(*wait, peer, notify.as_ref(), at)?,
            StmtKind::Return(_) => {
                self.errors.push(at, "`return` outside a helper function");
                return None;
            }
            StmtKind::Tail(_) => {
                let help = "statements are `let`, `if`, `for`, `while`, `par` and the phases";
                self.errors.push_help(at, "a value that nothing uses", help);
                return None;
            }
        };
        Some(self.push_stmt(kind, at))
    }

    /// `let` and assignments, in the algorithm and in helper functions.
    pub(super) fn variable_stmt(&mut self, stmt: &Stmt) -> Option<StmtId> {
        match &stmt.kind {
            StmtKind::Let { name, mutable, value } => {
                let value = self.expr(value);
                let origin = Origin::Let { mutable: *mutable };
                let var = self.declare(name.as_ref(), value.ty, origin, stmt.span);
                Some(self.push_stmt(Kind::Set(var, value.id), stmt.span))
            }
            StmtKind::Assign { name, op, value } => {
                let new = self.expr(value);
                let (var, old) = self.assigned(name)?;
                let id = match op {
                    None => {
                        if !old.fits(new.ty) {
                            let message = format!("`{name}` is {}, and this is {}", old.name(), new.ty.name());
                            self.errors.push(value.span, message);
                        }
                        new.id
                    }
                    Some(op) => self.updated(*op, (name, var, old), (value, new.id, new.ty), stmt.span),
                };
                Some(self.push_stmt(Kind::Set(var, id), stmt.span))
            }
            _ => None,
        }
    }

    /// `x + e` of `x += e`.
    fn updated(
        &mut self,
        op: spec::BinaryOp,
        (name, var, old): (&Ident, VarId, Ty),
        (value, new, ty): (&Expr, ExprId, Ty),
        at: TokenSpan,
    ) -> ExprId {
        let logic = matches!(op, spec::BinaryOp::BitAnd | spec::BinaryOp::BitOr | spec::BinaryOp::BitXor);
        if !old.fits(ty) {
            self.errors.push(value.span, format_args!("`{name}` is {}, and this is {}", old.name(), ty.name()));
        } else if old == Ty::Bool && !logic && types::result_of(op) == Ty::Int {
            self.errors.push(at, format_args!("arithmetic is between integers, and `{name}` is a boolean"));
        }
        let left = self.push_expr(ExprKind::Var(var), name.span().into());
        self.push_expr(ExprKind::Binary(op, left, new), at)
    }

    /// The variable that an assignment is to, if it may be.
    fn assigned(&mut self, name: &Ident) -> Option<(VarId, Ty)> {
        let (word, at) = (name.to_string(), TokenSpan::from(name.span()));
        let Some((variable, shared)) = self.scope.find(&word) else {
            self.unknown_target(&word, at);
            return None;
        };
        let (slot, ty, origin) = (variable.slot, variable.ty, variable.origin);
        match origin {
            Origin::Let { mutable: true } if shared => {
                let message = format!("a lane assigns `{word}`, which the other lanes see: lanes run at once");
                self.errors.push_help(at, message, "declare it inside the lane, or compute it before the `par`");
            }
            Origin::Let { mutable: true } => {}
            Origin::Let { mutable: false } => {
                let help = format!("declare it `let mut {word}`");
                self.errors.push_help(at, format_args!("`{word}` cannot be assigned to: it is not `mut`"), help);
            }
            Origin::Loop => {
                self.errors.push(at, format_args!("`{word}` cannot be assigned to: it is the variable of a loop"));
            }
            Origin::Param => {
                let help = format!("copy it: `let mut {word} = {word};`");
                self.errors.push_help(at, format_args!("`{word}` cannot be assigned to: it is a parameter"), help);
            }
        }
        Some((slot, ty))
    }

    fn unknown_target(&mut self, word: &str, at: TokenSpan) {
        if let Some(meaning) = words::reserved(word) {
            self.errors.push(at, format_args!("`{word}` cannot be assigned to: it is {meaning}"));
            return;
        }
        let message = format!("unknown variable `{word}`");
        let help = match words::closest(word, self.scope.names()) {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("declare it before: `let mut {word} = …;`"),
        };
        self.errors.push_help(at, message, help);
    }

    /// A new variable. `None` is `_`, which has a slot all the same.
    pub(super) fn declare(&mut self, name: Option<&Ident>, ty: Ty, origin: Origin, at: TokenSpan) -> VarId {
        let (word, at) = name.map_or(("_".to_owned(), at), |name| (name.to_string(), name.span().into()));
        if let Some(slot) = self.scope.declare(&word, ty, origin) {
            return slot;
        }
        let whose = if self.region == Region::Func { "a helper function" } else { "an algorithm" };
        let message = format!("more than {MAX_VARS} variables in {whose}");
        self.errors.push_help(at, message, "use a variable again with `let mut`, or move a part to a helper `fn`");
        VarId(0)
    }

    fn par(&mut self, bound: Option<&Expr>, lanes: &[Lane], at: TokenSpan) -> Option<Kind> {
        if let Some(phase) = self.phase {
            let message = format!("a `par` inside `{}`", phase.name());
            self.errors.push_help(at, message, "put the phase inside the `par`: each lane has phases of its own");
            return None;
        }
        if self.in_par {
            let help = "join both into one: `par { lane … lane for x in … { … } }`, or loop inside the lane";
            self.errors.push_help(at, "a `par` inside a `par`", help);
            return None;
        }
        let bound = bound.map(|bound| self.int(bound, "the number of lanes"));
        self.in_par = true;
        let lowered: Vec<spec::Lane> = lanes.iter().map(|lane| self.lane(lane)).collect();
        self.in_par = false;
        let start = super::index(self.spec.lanes.len());
        let len = super::index(lowered.len());
        self.spec.lanes.extend(lowered);
        Some(Kind::Par(bound, List { start, len }))
    }

    fn lane(&mut self, lane: &Lane) -> spec::Lane {
        let mark = self.scope.mark();
        let set = lane.each.as_ref().map(|(_, set)| self.set(set));
        self.scope.enter_lane();
        let each = lane
            .each
            .as_ref()
            .zip(set)
            .map(|((var, _), set)| (self.declare(var.as_ref(), Ty::Int, Origin::Loop, lane.span), set));
        let body = self.block(&lane.body);
        self.scope.leave(mark);
        spec::Lane { each, body, span: self.span(lane.span) }
    }

    fn phase(&mut self, phase: Phase, body: &[Stmt], at: TokenSpan) -> Option<Kind> {
        if let Some(outer) = self.phase {
            let message = format!("`{}` inside `{}`: phases do not nest", phase.name(), outer.name());
            self.errors.push_help(at, message, format_args!("close `{}` before", outer.name()));
            return None;
        }
        self.phase = Some(phase);
        let body = self.block(body);
        self.phase = None;
        Some(Kind::Phase(phase, body))
    }

    /// `signal` and `wait`.
    fn sync(&mut self, wait: bool, peer: &Expr, notify: Option<&Ident>, at: TokenSpan) -> Option<Kind> {
        let word = if wait { "wait" } else { "signal" };
        let default = match self.phase {
            Some(Phase::PreSync) => DEFAULT_READY,
            Some(Phase::PostSync) => DEFAULT_DONE,
            outside => {
                let wher = outside.map_or("outside a phase".to_owned(), |phase| format!("in `{}`", phase.name()));
                let help = "put it in `pre_sync { … }`, before the data moves, or `post_sync { … }`, after it";
                self.errors.push_help(at, format_args!("`{word}` {wher}"), help);
                return None;
            }
        };
        let peer = self.int(peer, "a peer");
        let name = notify.map_or(default.to_owned(), Ident::to_string);
        let notify = self.notify(&name, notify.map_or(at, |ident| ident.span().into()));
        Some(if wait { Kind::Wait(peer, notify) } else { Kind::Signal(peer, notify) })
    }

    fn notify(&mut self, name: &str, at: TokenSpan) -> NotifyId {
        let known = &mut self.spec.notifies;
        if let Some(place) = known.iter().position(|known| known == name) {
            return NotifyId(super::index(place));
        }
        if known.len() == MAX_NOTIFIES {
            self.errors.push(at, format_args!("more than {MAX_NOTIFIES} notifies: a channel has no more"));
        }
        known.push(name.to_owned());
        NotifyId(super::index(known.len() - 1))
    }
}
