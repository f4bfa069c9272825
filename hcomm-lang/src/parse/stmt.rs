//! Statements and blocks.

use hcomm_core::spec::{MAX_DEPTH, Phase};
use proc_macro2::extra::DelimSpan;
use proc_macro2::{Delimiter, Ident};

use super::expr::assign_op;
use super::{Parse, Parser};
use crate::ast::{Expr, Lane, Place, Sides, Stmt, StmtKind};
use crate::errors::{Reported, TokenSpan};
use crate::words;

impl Parser<'_, '_> {
    /// All statements up to the end. What cannot be read is reported and left out.
    pub(super) fn statements(&mut self) -> Vec<Stmt> {
        let mut all = Vec::new();
        while !self.at_end() {
            if self.eat(";").is_some() {
                continue;
            }
            match self.statement() {
                Ok(statement) => all.extend(statement),
                Err(_) => self.skip_statement(),
            }
        }
        all
    }

    /// `{ … }`
    pub(super) fn block(&mut self, what: &str) -> Parse<(Vec<Stmt>, DelimSpan)> {
        if self.stmt_depth >= MAX_DEPTH {
            let here = self.here();
            let message = format!("statements nest more than {MAX_DEPTH} deep (every `else if` is a level)");
            return Err(self.errors.push(here, message));
        }
        self.stmt_depth += 1;
        let block = self.group(Delimiter::Brace, what, |inside| Ok(inside.statements()));
        self.stmt_depth -= 1;
        block
    }

    /// One statement; `None` if it has been dealt with.
    fn statement(&mut self) -> Parse<Option<Stmt>> {
        let start = self.here();
        let Some(word) = self.word() else {
            return self.value(start);
        };
        let text = word.to_string();
        if let Some(phase) = words::phase(&text) {
            return self.phase(phase, start).map(Some);
        }
        match text.as_str() {
            "let" => self.let_statement(start).map(Some),
            "if" => self.if_statement(start).map(Some),
            "while" => self.while_statement(start).map(Some),
            "for" => self.for_statement(start).map(Some),
            "par" => self.par(start).map(Some),
            "signal" | "wait" => self.sync(text == "wait", start).map(Some),
            "return" => self.return_statement(start).map(Some),
            "fn" => {
                self.late(start, "a helper function");
                self.func().map(|()| None)
            }
            "lane" => {
                Err(self.errors.push_help(start, "a lane outside `par`", "write `par { lane { … } lane { … } }`"))
            }
            "else" => Err(self.errors.push(start, "an `else` without its `if`")),
            "loop" | "match" | "break" | "continue" | "const" | "static" | "use" | "struct" | "unsafe" => {
                let help = "there are `let`, `if`, `for`, `while`, `par` and the phases";
                Err(self.errors.push_help(start, format_args!("`{text}` is not in the language"), help))
            }
            _ if self.at_header() => {
                self.late(start, &format!("the header `{text}`"));
                self.skip_to_semicolon();
                Ok(None)
            }
            _ if self.at_place() => self.transfer(start).map(Some),
            _ => self.assignment_or_value(word, start),
        }
    }

    /// A header or function after the first statement.
    fn late(&mut self, at: TokenSpan, what: &str) {
        let help = "headers and helper functions come first, then the statements";
        self.errors.push_help(at, format_args!("{what} after a statement"), help);
    }

    /// `let x = e;`, `let mut x = e;`
    fn let_statement(&mut self, start: TokenSpan) -> Parse<Stmt> {
        self.take_word();
        let mutable = self.eat_word("mut").is_some();
        let name = self.loop_variable()?;
        if self.punctuation() == Some(":") {
            let here = self.here();
            self.errors.push_help(here, "the type of a variable is found out, not written", "write `let x = …;`");
            while !self.at_end() && !matches!(self.punctuation(), Some("=" | ";")) {
                self.skip_token();
            }
        }
        let value = if self.eat("=").is_some() {
            self.expr_or_error()
        } else {
            let reported = self.expected_help("`=` and a value", "a variable has a value from its beginning");
            self.recovered(reported)
        };
        let span = start.to(value.span);
        if !matches!(value.kind, crate::ast::ExprKind::Error) {
            self.semicolon()?;
        }
        Ok(Stmt { kind: StmtKind::Let { name, mutable, value }, span })
    }

    /// A value; if it cannot be read, what stands in for it, and the statement is skipped.
    fn expr_or_error(&mut self) -> Expr {
        match self.expr() {
            Ok(value) => value,
            Err(reported) => self.recovered(reported),
        }
    }

    /// Skips what cannot be read, up to the next statement.
    fn recovered(&mut self, _: Reported) -> Expr {
        let span = self.previous();
        self.skip_to_semicolon();
        Expr::error(span)
    }

    fn if_statement(&mut self, start: TokenSpan) -> Parse<Stmt> {
        self.take_word();
        let cond = self.condition()?;
        let span = start.to(self.previous());
        let (then, _) = self.block("`{` and statements")?;
        let otherwise = if self.eat_word("else").is_none() {
            Vec::new()
        } else if self.is_word("if") {
            if self.stmt_depth >= MAX_DEPTH {
                let here = self.here();
                let message = format!("statements nest more than {MAX_DEPTH} deep (every `else if` is a level)");
                return Err(self.errors.push(here, message));
            }
            self.stmt_depth += 1;
            let nested = self.here();
            let nested = self.if_statement(nested);
            self.stmt_depth -= 1;
            vec![nested?]
        } else {
            self.block("`{` and statements, or `if`")?.0
        };
        Ok(Stmt { kind: StmtKind::If { cond, then, otherwise }, span })
    }

    fn while_statement(&mut self, start: TokenSpan) -> Parse<Stmt> {
        self.take_word();
        let cond = self.condition()?;
        let span = start.to(self.previous());
        let (body, _) = self.block("`{` and statements")?;
        Ok(Stmt { kind: StmtKind::While { cond, body }, span })
    }

    /// `for x in SET { … }`
    fn for_statement(&mut self, start: TokenSpan) -> Parse<Stmt> {
        self.take_word();
        let (var, set) = self.loop_head()?;
        let span = start.to(self.previous());
        let (body, _) = self.block("`{` and statements")?;
        Ok(Stmt { kind: StmtKind::For { var, set, body }, span })
    }

    /// `x in SET`
    fn loop_head(&mut self) -> Parse<(Option<Ident>, crate::ast::Set)> {
        let var = self.loop_variable()?;
        if self.eat_word("in").is_none() {
            return Err(self.expected("`in` and a set"));
        }
        Ok((var, self.set()?))
    }

    /// `par for x in SET { … }`, `par(e) for …`, `par { lane … }`
    fn par(&mut self, start: TokenSpan) -> Parse<Stmt> {
        self.take_word();
        let bound = if self.opens(Delimiter::Parenthesis) {
            Some(self.group(Delimiter::Parenthesis, "`(`", Self::expr)?.0)
        } else {
            None
        };
        let lanes = if self.eat_word("for").is_some() {
            let each = Some(self.loop_head()?);
            let (body, _) = self.block("`{` and statements")?;
            vec![Lane { each, body, span: start }]
        } else {
            let errors_before = self.errors.len();
            let (lanes, _) = self.group(Delimiter::Brace, "`for x in …` or `{` and lanes", Self::lanes)?;
            if lanes.is_empty() && self.errors.len() == errors_before {
                self.errors.push_help(start, "a `par` without lanes", "`par { lane { … } lane { … } }`");
            }
            lanes
        };
        Ok(Stmt { kind: StmtKind::Par { bound, lanes }, span: start })
    }

    fn lanes(&mut self) -> Parse<Vec<Lane>> {
        let mut lanes = Vec::new();
        while !self.at_end() {
            if self.lane(&mut lanes).is_err() {
                self.skip_statement();
            }
        }
        Ok(lanes)
    }

    /// `lane { … }`, `lane for x in SET { … }`
    fn lane(&mut self, lanes: &mut Vec<Lane>) -> Parse<()> {
        let span = self.here();
        if self.eat_word("lane").is_none() {
            return Err(self.expected_help("`lane`", "in `par { … }` everything is in a lane: `lane { … }`"));
        }
        let each = if self.eat_word("for").is_some() { Some(self.loop_head()?) } else { None };
        let (body, _) = self.block("`{` and the lane's statements, or `for`")?;
        lanes.push(Lane { each, body, span });
        Ok(())
    }

    fn phase(&mut self, phase: Phase, start: TokenSpan) -> Parse<Stmt> {
        self.take_word();
        let (body, _) = self.block("`{` and the phase's statements")?;
        Ok(Stmt { kind: StmtKind::Phase { phase, body }, span: start })
    }

    /// `signal P;`, `wait P.name;`
    fn sync(&mut self, wait: bool, start: TokenSpan) -> Parse<Stmt> {
        let word = if wait { "wait" } else { "signal" };
        self.take_word();
        let help = format!("a peer is a name or `at(…)`: `{word} peer;`, `{word} at(rank + 1);`");
        if self.word().is_none() {
            return Err(self.expected_help("a peer", help));
        }
        let peer = self.peer()?;
        let notify = if self.eat(".").is_some() { Some(self.notify_name()?) } else { None };
        let span = start.to(self.previous());
        let goes_on = self.punctuation() != Some(";") && self.punctuation().is_some();
        // `signal wrap(rank + 1, ranks);`
        if goes_on || self.opens(Delimiter::Parenthesis) {
            return Err(self.expected_help("`;`", help));
        }
        self.semicolon()?;
        Ok(Stmt { kind: StmtKind::Sync { wait, peer, notify }, span })
    }

    fn notify_name(&mut self) -> Parse<Ident> {
        let Some(ident) = self.word() else {
            return Err(self.expected("the name of a notify"));
        };
        let text = ident.to_string();
        if words::buffer(&text).is_some() || words::is_rust_keyword(&text) || text.starts_with("r#") {
            let at = ident.span().into();
            return Err(self.errors.push(at, format_args!("`{text}` cannot name a notify")));
        }
        self.take_word();
        Ok(ident)
    }

    fn return_statement(&mut self, start: TokenSpan) -> Parse<Stmt> {
        self.take_word();
        let value = self.expr()?;
        let span = start.to(value.span);
        self.semicolon()?;
        Ok(Stmt { kind: StmtKind::Return(value), span })
    }

    /// `dst = src;`, `dst += src;`
    fn transfer(&mut self, start: TokenSpan) -> Parse<Stmt> {
        let dst: Place = self.place()?;
        let reduce = match self.punctuation() {
            Some("=") => false,
            Some("+=") => true,
            Some(op) if assign_op(op).is_some() => {
                let here = self.here();
                let at = self.eat(op).unwrap_or(here);
                let help = "`+=` reduces with the reduction that the operator is called with, whatever it is";
                return Err(self.errors.push_help(at, format_args!("chunks have no `{op}`"), help));
            }
            _ => return Err(self.expected("`=` or `+=`")),
        };
        self.eat(if reduce { "+=" } else { "=" });
        let src = self.place()?;
        let span = start.to(src.span);
        self.semicolon()?;
        Ok(Stmt { kind: StmtKind::Transfer { sides: Box::new(Sides { dst, src }), reduce }, span })
    }

    /// `x = e;`, `x += e;`, or a value at the end of a helper function.
    fn assignment_or_value(&mut self, name: Ident, start: TokenSpan) -> Parse<Option<Stmt>> {
        let op = match self.punctuation_after_word() {
            Some("=") => None,
            Some(punctuation) => match assign_op(punctuation) {
                Some(op) => Some(op),
                None => return self.value(start),
            },
            None => return self.value(start),
        };
        self.take_word();
        let taken = self.punctuation().unwrap_or_default();
        self.eat(taken);
        if self.at_place() {
            let at = self.here();
            let message = format!("chunks are not values: `{name}` is a variable");
            return Err(self.errors.push_help(at, message, "chunks are copied to chunks: `scratch[i] = input;`"));
        }
        let value = self.expr()?;
        let span = start.to(value.span);
        self.semicolon()?;
        Ok(Some(Stmt { kind: StmtKind::Assign { name, op, value }, span }))
    }

    /// A value, which only the end of a helper function has a use for.
    fn value(&mut self, start: TokenSpan) -> Parse<Option<Stmt>> {
        let value = self.expr()?;
        if self.at_end() {
            let span = value.span;
            return Ok(Some(Stmt { kind: StmtKind::Tail(value), span }));
        }
        if self.punctuation() == Some("=") {
            let here = self.here();
            let help = "variables `x = …;` and chunks `peer.scratch[i] = …;` are assigned to";
            return Err(self.errors.push_help(start.to(here), "this cannot be assigned to", help));
        }
        let message = "a value that nothing uses";
        let help =
            "statements are `let`, `if`, `for`, `while`, `par`, the phases, and in phases transfers, `signal`, `wait`";
        self.errors.push_help(start.to(value.span), message, help);
        self.skip_to_semicolon();
        Ok(None)
    }
}
