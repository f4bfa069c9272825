//! Integers and booleans, and which of them a helper function returns.

use hcomm_core::spec::{BinaryOp, Builtin};

use crate::ast::{Expr, ExprKind, Func, Stmt, StmtKind};
use crate::words;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    Int,
    Bool,
    /// Not known, because of an error that is reported: fits everything.
    Unknown,
}

impl Ty {
    /// For messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Ty::Int => "an integer",
            Ty::Bool => "a boolean",
            Ty::Unknown => "a value",
        }
    }

    pub(super) fn fits(self, other: Ty) -> bool {
        self == other || self == Ty::Unknown || other == Ty::Unknown
    }

    fn or(self, other: impl FnOnce() -> Ty) -> Ty {
        if self == Ty::Unknown { other() } else { self }
    }
}

/// What a built-in function returns.
pub(super) fn of_builtin(builtin: Builtin) -> Ty {
    if builtin == Builtin::IsPow2 { Ty::Bool } else { Ty::Int }
}

/// What each of `funcs` returns. They may call each other: what is known of some makes others known.
pub(super) fn of_funcs(funcs: &[Func]) -> Vec<Ty> {
    let mut known = vec![Ty::Unknown; funcs.len()];
    loop {
        let mut changed = false;
        for (at, func) in funcs.iter().enumerate() {
            if known.get(at) != Some(&Ty::Unknown) {
                continue;
            }
            let mut vars: Vec<(String, Ty)> = Vec::new();
            vars.extend(func.params.iter().flatten().map(|param| (param.to_string(), Ty::Int)));
            let ty = Guess { funcs, known: &known, vars }.returned(&func.body);
            if ty != Ty::Unknown
                && let Some(slot) = known.get_mut(at)
            {
                *slot = ty;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    // What is left only calls itself, or is wrong and reported.
    known.into_iter().map(|ty| ty.or(|| Ty::Int)).collect()
}

/// A first look at a function, without errors: its own check comes when all results are known.
struct Guess<'a> {
    funcs: &'a [Func],
    known: &'a [Ty],
    vars: Vec<(String, Ty)>,
}

impl Guess<'_> {
    /// The type of the first value that is returned and known.
    fn returned(&mut self, block: &[Stmt]) -> Ty {
        let outer = self.vars.len();
        let mut found = Ty::Unknown;
        for stmt in block {
            match &stmt.kind {
                StmtKind::Let { name: Some(name), value, .. } => {
                    let ty = self.of(value);
                    self.vars.push((name.to_string(), ty));
                }
                StmtKind::If { then, otherwise, .. } => {
                    found = found.or(|| self.returned(then));
                    found = found.or(|| self.returned(otherwise));
                }
                StmtKind::While { body, .. } => found = found.or(|| self.returned(body)),
                StmtKind::For { var, body, .. } => {
                    let inner = self.vars.len();
                    self.vars.extend(var.iter().map(|var| (var.to_string(), Ty::Int)));
                    found = found.or(|| self.returned(body));
                    self.vars.truncate(inner);
                }
                StmtKind::Return(value) | StmtKind::Tail(value) => found = found.or(|| self.of(value)),
                _ => {}
            }
        }
        self.vars.truncate(outer);
        found
    }

    fn of(&self, expr: &Expr) -> Ty {
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::Neg(_) => Ty::Int,
            ExprKind::Bool(_) => Ty::Bool,
            ExprKind::Name(name) => {
                self.vars.iter().rev().find(|(known, _)| name == known).map_or(Ty::Unknown, |(_, ty)| *ty)
            }
            ExprKind::Not(operand) => self.of(operand),
            ExprKind::Binary(op, _, left, right) => match op {
                BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => self.of(left).or(|| self.of(right)),
                _ => result_of(*op),
            },
            ExprKind::If(_, then, otherwise) => self.of(then).or(|| self.of(otherwise)),
            ExprKind::Call(name, _) => match words::builtin(&name.to_string()) {
                Some(builtin) => of_builtin(builtin),
                None => {
                    let at = self.funcs.iter().position(|func| func.name == *name);
                    at.and_then(|at| self.known.get(at)).copied().unwrap_or(Ty::Unknown)
                }
            },
            ExprKind::Error => Ty::Unknown,
        }
    }
}

/// What an operator makes of integers; `& | ^` of booleans make booleans.
pub(super) fn result_of(op: BinaryOp) -> Ty {
    match op {
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor => Ty::Int,
        BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or => Ty::Bool,
    }
}
