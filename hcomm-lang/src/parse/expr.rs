//! Expressions, with Rust's precedence.

use hcomm_core::spec::{BinaryOp, MAX_EXPR_DEPTH};
use proc_macro2::{Delimiter, Ident, Literal};

use super::{Parse, Parser};
use crate::ast::{Expr, ExprKind};
use crate::errors::{Reported, TokenSpan};
use crate::words;

/// How tightly comparisons bind: they do not chain.
const COMPARISON: u8 = 3;

/// The operator and how tightly it binds.
fn binary_op(punctuation: &str) -> Option<(BinaryOp, u8)> {
    Some(match punctuation {
        "||" => (BinaryOp::Or, 1),
        "&&" => (BinaryOp::And, 2),
        "==" => (BinaryOp::Eq, COMPARISON),
        "!=" => (BinaryOp::Ne, COMPARISON),
        "<" => (BinaryOp::Lt, COMPARISON),
        "<=" => (BinaryOp::Le, COMPARISON),
        ">" => (BinaryOp::Gt, COMPARISON),
        ">=" => (BinaryOp::Ge, COMPARISON),
        "|" => (BinaryOp::BitOr, 4),
        "^" => (BinaryOp::BitXor, 5),
        "&" => (BinaryOp::BitAnd, 6),
        "<<" => (BinaryOp::Shl, 7),
        ">>" => (BinaryOp::Shr, 7),
        "+" => (BinaryOp::Add, 8),
        "-" => (BinaryOp::Sub, 8),
        "*" => (BinaryOp::Mul, 9),
        "/" => (BinaryOp::Div, 9),
        "%" => (BinaryOp::Rem, 9),
        _ => return None,
    })
}

/// The operator of `x += e` and its like.
pub(super) fn assign_op(punctuation: &str) -> Option<BinaryOp> {
    punctuation.strip_suffix('=').and_then(binary_op).filter(|(_, binds)| *binds > COMPARISON).map(|(op, _)| op)
}

impl Parser<'_, '_> {
    /// An expression.
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.binary(0)
    }

    /// Operators that bind at least as tightly as `least`.
    fn binary(&mut self, least: u8) -> Parse<Expr> {
        let mut left = self.unary()?;
        let mut compared = false;
        loop {
            if self.is_word("as") {
                let here = self.here();
                return Err(self.errors.push_help(
                    here,
                    "there are no casts",
                    "every number is an integer of one type",
                ));
            }
            let Some((op, binds)) = self.punctuation().and_then(binary_op).filter(|(_, binds)| *binds >= least) else {
                return Ok(left);
            };
            let taken = self.punctuation().unwrap_or_default();
            let at = self.here();
            let at = self.eat(taken).unwrap_or(at);
            if binds == COMPARISON && compared {
                return Err(self.errors.push_help(at, "comparisons do not chain", "write `a < b && b < c`"));
            }
            compared = binds == COMPARISON;
            let right = self.binary(binds + 1)?;
            let (span, height) = (left.span.to(right.span), left.height.max(right.height) + 1);
            left = self.node(ExprKind::Binary(op, at, Box::new(left), Box::new(right)), span, height)?;
        }
    }

    /// `-x`, `!x`, or what they stand before.
    fn unary(&mut self) -> Parse<Expr> {
        let start = self.here();
        if self.expr_depth >= MAX_EXPR_DEPTH {
            return Err(self.too_deep(start));
        }
        self.expr_depth += 1;
        let result = self.unary_inner(start);
        self.expr_depth -= 1;
        result
    }

    fn unary_inner(&mut self, start: TokenSpan) -> Parse<Expr> {
        if self.cursor.group(Delimiter::None).is_some() {
            return self.interpolated();
        }
        match self.punctuation() {
            Some("-") => {
                self.eat("-");
                if let Some(lowest) = self.lowest_integer() {
                    return self.node(ExprKind::Int(lowest), start.to(self.previous()), 1);
                }
                let operand = self.unary()?;
                let (span, height) = (start.to(operand.span), operand.height + 1);
                self.node(ExprKind::Neg(Box::new(operand)), span, height)
            }
            Some("!") => {
                self.eat("!");
                let operand = self.unary()?;
                let (span, height) = (start.to(operand.span), operand.height + 1);
                self.node(ExprKind::Not(Box::new(operand)), span, height)
            }
            Some("&" | "&&" | "*") => {
                Err(self.errors.push(start, "there are no references: a value is an integer or a boolean"))
            }
            Some("|" | "||") => Err(self.errors.push_help(start, "there are no closures", "write a helper `fn`")),
            _ => {
                let value = self.primary(start)?;
                self.no_postfix(&value)?;
                Ok(value)
            }
        }
    }

    /// An expression that a macro of the user's put here: as if it were in parentheses.
    fn interpolated(&mut self) -> Parse<Expr> {
        let Some((inner, _, after)) = self.cursor.group(Delimiter::None).filter(|(inner, ..)| !inner.eof()) else {
            return Err(self.expected("a value"));
        };
        self.cursor = inner;
        let value = self.expr();
        let value = if value.is_ok() && !self.at_end() { Err(self.unexpected()) } else { value };
        self.cursor = after;
        value
    }

    /// `i64::MIN`, whose digits alone are out of range.
    fn lowest_integer(&mut self) -> Option<i64> {
        let (literal, rest) = self.cursor.literal()?;
        let syn::Lit::Int(digits) = syn::Lit::new(literal) else { return None };
        if !digits.suffix().is_empty() || digits.base10_digits() != "9223372036854775808" {
            return None;
        }
        self.cursor = rest;
        Some(i64::MIN)
    }

    /// A literal, a name, a call, `( )` or `if`.
    fn primary(&mut self, start: TokenSpan) -> Parse<Expr> {
        if let Some((literal, rest)) = self.cursor.literal() {
            let value = self.literal(literal, start)?;
            self.cursor = rest;
            return Ok(value);
        }
        if self.opens(Delimiter::Parenthesis) {
            let (inner, span) = self.group(Delimiter::Parenthesis, "`(`", Self::parenthesised)?;
            let span = TokenSpan { first: span.open(), last: span.close() };
            return Ok(Expr { span, ..inner });
        }
        if self.is_word("if") {
            return self.if_expr(start);
        }
        match self.word() {
            Some(ident) => self.name_or_call(ident),
            None if self.opens(Delimiter::Brace) => {
                Err(self.expected_help("a value", "a block is not a value; use `let` before"))
            }
            None => Err(self.expected("a value")),
        }
    }

    fn parenthesised(&mut self) -> Parse<Expr> {
        let value = self.expr()?;
        if self.punctuation() == Some(",") {
            let here = self.here();
            return Err(self.errors.push(here, "there are no tuples"));
        }
        Ok(value)
    }

    fn literal(&mut self, literal: Literal, at: TokenSpan) -> Parse<Expr> {
        let message = match syn::Lit::new(literal) {
            syn::Lit::Int(digits) if !digits.suffix().is_empty() => {
                let help = format!("leave out `{}`: every number is an integer of one type", digits.suffix());
                return Err(self.errors.push_help(at, "a number with a type", help));
            }
            syn::Lit::Int(digits) => match digits.base10_parse::<i64>() {
                Ok(value) => return self.node(ExprKind::Int(value), at, 1),
                Err(_) => format!("{digits} is out of range: integers have 64 bits"),
            },
            syn::Lit::Float(_) => "numbers are integers".to_owned(),
            _ => "a value is an integer or a boolean".to_owned(),
        };
        Err(self.errors.push(at, message))
    }

    fn name_or_call(&mut self, ident: Ident) -> Parse<Expr> {
        let (word, at) = (ident.to_string(), TokenSpan::from(ident.span()));
        match word.as_str() {
            "true" | "false" => {
                self.take_word();
                return self.node(ExprKind::Bool(word == "true"), at, 1);
            }
            "match" | "loop" | "unsafe" | "async" | "return" | "break" | "continue" | "while" | "for" | "let" => {
                return Err(self.errors.push_help(
                    at,
                    format_args!("`{word}` is not a value in the language"),
                    "a value is made of numbers, names, operators, calls and `if … { } else { }`",
                ));
            }
            _ if word == "_" || words::is_rust_keyword(&word) => return Err(self.expected("a value")),
            _ => {}
        }
        self.take_word();
        if self.punctuation() == Some("::") {
            return Err(self.errors.push_help(
                at.to(self.here()),
                "paths of Rust are not seen by the language",
                "write the number itself; a budget's limit may be a path, alone",
            ));
        }
        if self.punctuation() == Some("!") {
            return Err(self.errors.push(at.to(self.here()), "macros are not called in the language"));
        }
        if !self.opens(Delimiter::Parenthesis) {
            return self.node(ExprKind::Name(ident), at, 1);
        }
        let (args, span) = self.group(Delimiter::Parenthesis, "`(`", Self::arguments)?;
        let height = args.iter().map(|arg| arg.height).max().unwrap_or(0) + 1;
        self.node(ExprKind::Call(ident, args), at.to(span.close().into()), height)
    }

    fn arguments(&mut self) -> Parse<Vec<Expr>> {
        let mut args = Vec::new();
        while !self.at_end() {
            args.push(self.expr()?);
            if !self.at_end() && self.eat(",").is_none() {
                return Err(self.expected("`,` or `)`"));
            }
        }
        Ok(args)
    }

    /// `if c { x } else { y }`
    fn if_expr(&mut self, start: TokenSpan) -> Parse<Expr> {
        self.take_word();
        let cond = self.condition()?;
        let (then, _) = self.group(Delimiter::Brace, "`{` and a value", Self::branch)?;
        if self.eat_word("else").is_none() {
            let here = start.to(self.previous());
            return Err(self.errors.push_help(here, "an `if` that is a value needs an `else`", "add `else { … }`"));
        }
        let otherwise = if self.is_word("if") {
            self.unary()?
        } else {
            self.group(Delimiter::Brace, "`{` and a value, or `if`", Self::branch)?.0
        };
        let height = cond.height.max(then.height).max(otherwise.height) + 1;
        let kind = ExprKind::If(Box::new(cond), Box::new(then), Box::new(otherwise));
        self.node(kind, start.to(self.previous()), height)
    }

    /// The condition of `if` and `while`.
    pub(super) fn condition(&mut self) -> Parse<Expr> {
        if self.is_word("let") {
            let here = self.here();
            return Err(self.errors.push(here, "there are no patterns: a condition is a boolean"));
        }
        self.expr()
    }

    /// One expression between the braces of an `if` that is a value.
    fn branch(&mut self) -> Parse<Expr> {
        let help = "use `let` before, or a helper `fn`";
        if self.is_word("let") {
            let here = self.here();
            return Err(self.errors.push_help(here, "a branch of an `if` that is a value is one expression", help));
        }
        let value = self.expr()?;
        if self.punctuation() == Some(";") {
            let here = self.here();
            let message = "a branch of an `if` that is a value is one expression, without `;`";
            return Err(self.errors.push_help(here, message, help));
        }
        Ok(value)
    }

    /// What Rust has after a value and the language has not.
    fn no_postfix(&mut self, value: &Expr) -> Parse<()> {
        let here = value.span.to(self.here());
        match self.punctuation() {
            Some(".") => {
                let help = "built-in functions are called `min(a, b)`; a peer's chunks are a place, not a value";
                self.eat(".");
                let here = if self.take_word().is_some() { value.span.to(self.previous()) } else { here };
                Err(self.errors.push_help(here, "there are no methods and no fields", help))
            }
            Some("?") => Err(self.errors.push(here, "there is no `?`")),
            _ if self.opens(Delimiter::Bracket) => Err(self.index_of_value(value)),
            _ => Ok(()),
        }
    }

    fn index_of_value(&mut self, value: &Expr) -> Reported {
        let at = value.span;
        match &value.kind {
            ExprKind::Name(name) if words::buffer(&name.to_string()).is_some() => self.errors.push_help(
                at,
                format_args!("chunks of `{name}` are not values"),
                "chunks are copied and reduced, `dst = src;` and `dst += src;`",
            ),
            _ => self.errors.push(at, "only buffers have chunks: `input`, `output`, `scratch`"),
        }
    }

    /// An expression of that height, if the language's limit allows.
    fn node(&mut self, kind: ExprKind, span: TokenSpan, height: usize) -> Parse<Expr> {
        if height > MAX_EXPR_DEPTH { Err(self.too_deep(span)) } else { Ok(Expr { kind, span, height }) }
    }

    fn too_deep(&mut self, at: TokenSpan) -> Reported {
        let message = format!("an expression of more than {MAX_EXPR_DEPTH} levels");
        self.errors.push_help(at, message, "name a part of it with `let`")
    }
}
