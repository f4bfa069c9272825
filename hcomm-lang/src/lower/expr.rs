//! Names, types and slots of expressions.

use hcomm_core::ids::ExprId;
use hcomm_core::operator::Operator;
use hcomm_core::spec::{BinaryOp, Builtin, ExprKind as Kind, Name, UnaryOp};
use proc_macro2::Ident;

use super::types::{self, Ty};
use super::{Lower, Region};
use crate::ast::{Expr, ExprKind};
use crate::errors::TokenSpan;
use crate::words;

/// A lowered expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) id: ExprId,
    pub(super) ty: Ty,
}

impl Lower<'_> {
    /// An integer; `what` it is for.
    pub(super) fn int(&mut self, expr: &Expr, what: &str) -> ExprId {
        let value = self.expr(expr);
        if !value.ty.fits(Ty::Int) {
            self.errors.push(expr.span, format_args!("{what} must be an integer, and this is a boolean"));
        }
        value.id
    }

    /// A condition.
    pub(super) fn bool(&mut self, expr: &Expr, what: &str) -> ExprId {
        let value = self.expr(expr);
        if !value.ty.fits(Ty::Bool) {
            let message = format!("{what} must be a boolean, and this is an integer");
            self.errors.push_help(expr.span, message, "compare it: `… != 0`");
        }
        value.id
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> Value {
        let at = expr.span;
        match &expr.kind {
            ExprKind::Int(value) => Value { id: self.push_expr(Kind::Int(*value), at), ty: Ty::Int },
            ExprKind::Bool(value) => Value { id: self.push_expr(Kind::Bool(*value), at), ty: Ty::Bool },
            ExprKind::Name(name) => self.name(name, at),
            ExprKind::Neg(operand) => {
                let operand = self.int(operand, "what `-` stands before");
                Value { id: self.push_expr(Kind::Unary(UnaryOp::Neg, operand), at), ty: Ty::Int }
            }
            ExprKind::Not(operand) => {
                let Value { id, ty } = self.expr(operand);
                let op = if ty == Ty::Bool { UnaryOp::Not } else { UnaryOp::BitNot };
                Value { id: self.push_expr(Kind::Unary(op, id), at), ty }
            }
            ExprKind::Binary(op, op_at, left, right) => self.binary(*op, *op_at, left, right, at),
            ExprKind::If(cond, then, otherwise) => {
                let cond = self.bool(cond, "the condition of `if`");
                let (left, right) = (self.expr(then), self.expr(otherwise));
                if !left.ty.fits(right.ty) {
                    let message =
                        format!("one branch of this `if` is {}, the other {}", left.ty.name(), right.ty.name());
                    self.errors.push(otherwise.span, message);
                }
                let ty = if left.ty == Ty::Unknown { right.ty } else { left.ty };
                Value { id: self.push_expr(Kind::If(cond, left.id, right.id), at), ty }
            }
            ExprKind::Call(name, args) => self.call(name, args, at),
            ExprKind::Error => self.unknown(at),
        }
    }

    /// Stands in for an expression whose error is reported.
    fn unknown(&mut self, at: TokenSpan) -> Value {
        Value { id: self.push_expr(Kind::Int(0), at), ty: Ty::Unknown }
    }

    fn binary(&mut self, op: BinaryOp, op_at: TokenSpan, left: &Expr, right: &Expr, at: TokenSpan) -> Value {
        let (a, b) = (self.expr(left), self.expr(right));
        let ty = self.binary_type(op, op_at, (left, a.ty), (right, b.ty));
        Value { id: self.push_expr(Kind::Binary(op, a.id, b.id), at), ty }
    }

    fn binary_type(&mut self, op: BinaryOp, op_at: TokenSpan, left: (&Expr, Ty), right: (&Expr, Ty)) -> Ty {
        let sides = [left, right];
        match op {
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                if !left.1.fits(right.1) {
                    let message = format!("{} on the left and {} on the right", left.1.name(), right.1.name());
                    self.errors.push(op_at, message);
                }
                let equality = matches!(op, BinaryOp::Eq | BinaryOp::Ne);
                if equality {
                    Ty::Bool
                } else if left.1 == Ty::Unknown {
                    right.1
                } else {
                    left.1
                }
            }
            BinaryOp::And | BinaryOp::Or => {
                for (side, _) in sides.into_iter().filter(|(_, ty)| !ty.fits(Ty::Bool)) {
                    let message = "`&&` and `||` are between booleans, and this is an integer";
                    self.errors.push_help(side.span, message, "compare it: `… != 0`");
                }
                Ty::Bool
            }
            _ => {
                for (side, _) in sides.into_iter().filter(|(_, ty)| !ty.fits(Ty::Int)) {
                    self.errors.push(side.span, "arithmetic is between integers, and this is a boolean");
                }
                types::result_of(op)
            }
        }
    }

    /// A variable, or a name that the operator or the layout gives.
    pub(super) fn name(&mut self, ident: &Ident, at: TokenSpan) -> Value {
        let word = ident.to_string();
        if let Some(name) = words::name(&word) {
            self.given_name(name, &word, at);
            return Value { id: self.push_expr(Kind::Name(name), at), ty: Ty::Int };
        }
        if let Some((variable, _)) = self.scope.find(&word) {
            let (slot, ty) = (variable.slot, variable.ty);
            return Value { id: self.push_expr(Kind::Var(slot), at), ty };
        }
        self.unknown_name(&word, at);
        self.unknown(at)
    }

    /// Whether a name of the language has a meaning here.
    fn given_name(&mut self, name: Name, word: &str, at: TokenSpan) {
        if self.region == Region::Func {
            let message = format!("a helper function does not see `{word}`: it is a function of its arguments");
            self.errors.push_help(at, message, format_args!("pass it: add a parameter, and `{word}` to the calls"));
            return;
        }
        if let Some(operator) = self.operator
            && !words::operator_gives(operator, name)
        {
            let have: Vec<&str> =
                Operator::ALL.into_iter().filter(|op| words::operator_gives(*op, name)).map(Operator::name).collect();
            self.errors.push_help(
                at,
                format_args!("`{operator}` has no `{word}`"),
                format_args!("operators with `{word}`: {}", words::list(&have)),
            );
            return;
        }
        if let Region::Header(header) = self.region
            && matches!(name, Name::Rank | Name::Node | Name::Local | Name::Locals | Name::Pod)
        {
            let message = format!("`{header}` must be the same on every rank, and `{word}` is not");
            let same = "`ranks`, `nodes`, `pods`, `root`, `src`, `dst` are the same on every rank";
            let help = if name == Name::Locals { "`locals_of(0)` is the same on every rank" } else { same };
            self.errors.push_help(at, message, help);
        }
    }

    fn unknown_name(&mut self, word: &str, at: TokenSpan) {
        if words::buffer(word).is_some() {
            let help = "chunks are copied and reduced, `dst = src;` and `dst += src;`";
            self.errors.push_help(at, format_args!("the buffer `{word}` is not a value"), help);
        } else if words::SETS.contains(&word) {
            let help = format!("a set stands after `in`: `for peer in {word} {{ … }}`");
            self.errors.push_help(at, format_args!("the set `{word}` is not a value"), help);
        } else if words::builtin(word).is_some() || self.signature(word).is_some() {
            self.errors.push_help(at, format_args!("`{word}` is a function"), format_args!("call it: `{word}(…)`"));
        } else if matches!(self.region, Region::Header(_)) {
            let message = format!("`{word}` is not a name that headers have");
            let given = words::NAMES.iter().map(|(name, _)| *name);
            let help = match words::closest(word, given) {
                Some(close) => format!("did you mean `{close}`?"),
                None if self.region == Region::Header("budget") => {
                    "a limit is an expression of the language, or the path of one constant of Rust, alone".to_owned()
                }
                None => "headers have `ranks`, `nodes`, `pods`, numbers and calls".to_owned(),
            };
            self.errors.push_help(at, message, help);
        } else {
            let given = words::NAMES
                .iter()
                .filter(|(_, name)| self.operator.is_none_or(|operator| words::operator_gives(operator, *name)))
                .map(|(name, _)| *name)
                .filter(|_| self.region == Region::Body);
            let message = format!("unknown name `{word}`");
            match words::closest(word, self.scope.names().chain(given)) {
                Some(close) => self.errors.push_help(at, message, format_args!("did you mean `{close}`?")),
                None => self.errors.push_help(
                    at,
                    message,
                    "values are variables, `rank`, `ranks` and the other names of the language; constants of Rust \
                     are not seen by it",
                ),
            };
        }
    }

    fn call(&mut self, name: &Ident, args: &[Expr], at: TokenSpan) -> Value {
        let word = name.to_string();
        let ids: Vec<u32> = args.iter().map(|arg| self.int(arg, "an argument").0).collect();
        if let Some(builtin) = words::builtin(&word) {
            self.arity(&word, builtin.arity() as usize, args.len(), at);
            let list = self.push_list(&ids);
            return Value { id: self.push_expr(Kind::Builtin(builtin, list), at), ty: types::of_builtin(builtin) };
        }
        let Some(signature) = self.signature(&word) else {
            self.unknown_function(&word, name.span().into());
            return self.unknown(at);
        };
        let (func, arity, ty) = (signature.id, signature.arity, signature.ty);
        if let Some(arity) = arity {
            self.arity(&word, arity, args.len(), at);
        }
        let list = self.push_list(&ids);
        Value { id: self.push_expr(Kind::Call(func, list), at), ty }
    }

    fn arity(&mut self, word: &str, takes: usize, given: usize, at: TokenSpan) {
        if takes != given {
            let arguments = if takes == 1 { "argument" } else { "arguments" };
            self.errors.push(at, format_args!("`{word}` takes {takes} {arguments}, {given} given"));
        }
    }

    fn unknown_function(&mut self, word: &str, at: TokenSpan) {
        let message = if word == "at" {
            self.errors.push_help(
                at,
                "`at(…)` is a peer, not a value",
                "a peer's chunks are `at(e).scratch[i]`, and `signal at(e);` signals it",
            );
            return;
        } else if self.scope.find(word).is_some() || words::name(word).is_some() {
            format!("`{word}` is a value, not a function")
        } else {
            format!("unknown function `{word}`")
        };
        let builtins = Builtin::ALL.map(Builtin::name);
        let own = self.signatures.iter().map(|signature| signature.name.as_str());
        let help = match words::closest(word, own.chain(builtins)) {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("built in are {}; others are helper `fn`s of the algorithm", words::list(&builtins)),
        };
        self.errors.push_help(at, message, help);
    }
}
