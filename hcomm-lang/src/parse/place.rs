//! Chunks of buffers, peers, and sets.

use hcomm_core::operator::Buffer;
use proc_macro2::{Delimiter, Ident};

use super::{Parse, Parser};
use crate::ast::{Expr, ExprKind, Index, Place, Set};
use crate::errors::TokenSpan;
use crate::words;

/// How a peer is written, for messages.
const PEER: &str = "a peer: a name, or `at(…)` around an expression";

impl Parser<'_, '_> {
    /// Whether chunks begin here: `scratch…`, `peer.…` or `at(…)…`.
    pub(super) fn at_place(&self) -> bool {
        self.word().is_some_and(|word| {
            words::buffer(&word.to_string()).is_some()
                || self.punctuation_after_word() == Some(".")
                || (word == "at" && self.opens_after_word(Delimiter::Parenthesis))
        })
    }

    /// `B`, `B[i]`, `B[i..j]`, each perhaps after `P.`.
    pub(super) fn place(&mut self) -> Parse<Place> {
        let start = self.here();
        if !self.at_place() {
            let word = self.word().map(|word| word.to_string()).unwrap_or_default();
            let help = match words::closest(&word, Buffer::ALL.map(Buffer::name)) {
                Some(close) => format!("did you mean `{close}`?"),
                None => {
                    "chunks are `scratch`, `scratch[i]`, `scratch[i..j]`, and a peer's `peer.scratch[i]`".to_owned()
                }
            };
            return Err(self.expected_help("chunks", help));
        }
        let local = self.word().and_then(|word| words::buffer(&word.to_string()));
        let (peer, buffer) = match local {
            Some(buffer) => {
                self.take_word();
                (None, buffer)
            }
            None => {
                let peer = self.peer()?;
                if self.eat(".").is_none() {
                    return Err(self.expected("`.` and a buffer"));
                }
                let buffer = self.word().and_then(|word| words::buffer(&word.to_string()));
                let Some(buffer) = buffer else {
                    return Err(self.expected("a buffer: `input`, `output` or `scratch`"));
                };
                self.take_word();
                (Some(peer), buffer)
            }
        };
        let index = if self.opens(Delimiter::Bracket) {
            self.group(Delimiter::Bracket, "`[`", Self::index)?.0
        } else {
            Index::Whole
        };
        Ok(Place { peer, buffer, index, span: start.to(self.previous()) })
    }

    /// `name` or `at(expr)`.
    pub(super) fn peer(&mut self) -> Parse<Expr> {
        if self.is_word("at") && self.opens_after_word(Delimiter::Parenthesis) {
            let start = self.here();
            self.take_word();
            let (peer, _) = self.group(Delimiter::Parenthesis, "`(`", Self::expr)?;
            return Ok(Expr { span: start.to(self.previous()), ..peer });
        }
        let Some(ident) = self.word().filter(|word| !words::is_rust_keyword(&word.to_string())) else {
            return Err(self.expected(PEER));
        };
        self.take_word();
        let span = TokenSpan::from(ident.span());
        Ok(Expr { kind: ExprKind::Name(ident), span, height: 1 })
    }

    /// What is between the brackets of `B[…]`.
    fn index(&mut self) -> Parse<Index> {
        if matches!(self.punctuation(), Some(".." | "..=")) {
            return Err(
                self.expected_help("the first chunk", "a run has both ends, `B[i..j]`; the whole buffer is `B`")
            );
        }
        let from = self.expr()?;
        let Some((closed, to)) = self.range_end()? else {
            return Ok(Index::One(from));
        };
        Ok(Index::Run { from, to, closed })
    }

    /// `..j` or `..=j`, if one is here; whether it is closed, and the end.
    fn range_end(&mut self) -> Parse<Option<(bool, Expr)>> {
        let closed = match self.punctuation() {
            Some("..") => false,
            Some("..=") => true,
            _ => return Ok(None),
        };
        self.eat(if closed { "..=" } else { ".." });
        if self.at_end() || self.opens(Delimiter::Brace) {
            return Err(self.expected_help("the end of the range", "ranges have both ends: `a..b` or `a..=b`"));
        }
        Ok(Some((closed, self.expr()?)))
    }

    /// What a loop runs over.
    pub(super) fn set(&mut self) -> Parse<Set> {
        if let Some(ident) = self.word().filter(|word| words::SETS.iter().any(|set| word == set)) {
            self.take_word();
            return Ok(Set::Named(ident));
        }
        let from = self.expr()?;
        match self.range_end()? {
            Some((closed, to)) => Ok(Set::Range { from, to, closed }),
            None => {
                let message = "a loop runs over a set";
                let help = format!("sets are `a..b`, `a..=b`, {}", words::list(&words::SETS));
                Err(self.errors.push_help(from.span, message, help))
            }
        }
    }

    /// The variable of a loop; `None` for `_`.
    pub(super) fn loop_variable(&mut self) -> Parse<Option<Ident>> {
        if self.eat_word("_").is_some() {
            return Ok(None);
        }
        self.new_name("a variable").map(Some)
    }
}
