//! Headers: `split: expr;` and so on.

use hcomm_core::shape::MAX_RANKS;
use hcomm_core::spec::{BudgetField, Engine};
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

use super::{Parse, Parser};
use crate::ast::{Headers, Limit};
use crate::words;

impl Parser<'_, '_> {
    /// Whether a header begins here, known or not.
    pub(super) fn at_header(&self) -> bool {
        self.punctuation_after_word() == Some(":")
            || (self.is_word("deterministic") && self.punctuation_after_word() == Some(";"))
    }

    /// `name: value;`
    pub(super) fn header(&mut self, headers: &mut Headers, seen: &mut Vec<String>) -> Parse<()> {
        let Some(ident) = self.take_word() else {
            return Err(self.expected("a header"));
        };
        let (name, at) = (ident.to_string(), ident.span().into());
        if !words::HEADERS.contains(&name.as_str()) {
            let help = words::one_of(&name, &words::HEADERS);
            self.errors.push_help(at, format_args!("unknown header `{name}`"), help);
            self.skip_to_semicolon();
            return Ok(());
        }
        if seen.contains(&name) {
            self.errors.push(at, format_args!("the header `{name}` is there twice"));
            self.skip_to_semicolon();
            return Ok(());
        }
        let value = self.header_value(&name, headers);
        seen.push(name);
        match value {
            Ok(()) => self.semicolon(),
            Err(_) => {
                self.skip_to_semicolon();
                Ok(())
            }
        }
    }

    fn header_value(&mut self, name: &str, headers: &mut Headers) -> Parse<()> {
        if name == "deterministic" {
            headers.deterministic = true;
            return Ok(());
        }
        self.eat(":");
        match name {
            "split" => headers.split = Some(self.expr()?),
            "scratch" => headers.scratch = Some(self.expr()?),
            "memory" => self.memory(headers)?,
            "max_ranks" => {
                let what = format!("a number of ranks from 1 to {MAX_RANKS}");
                headers.max_ranks = Some(self.number(1, MAX_RANKS, &what)?);
            }
            "budget" => self.budget(headers)?,
            "engines" => self.engines(headers)?,
            _ => headers.verify = Some(self.verify()?),
        }
        Ok(())
    }

    /// `memory: symmetric;`
    fn memory(&mut self, headers: &mut Headers) -> Parse<()> {
        let Some(at) = self.eat_word("symmetric") else {
            return Err(self.expected("`symmetric`"));
        };
        headers.symmetric = Some(at);
        Ok(())
    }

    /// `{ threads: 40, channels: ranks - 1, scratch: board::CELLS }`
    fn budget(&mut self, headers: &mut Headers) -> Parse<()> {
        let mut entries = Vec::new();
        self.group(Delimiter::Brace, "`{` and limits such as `threads: 40`", |inside| {
            while !inside.at_end() {
                let start = inside.here();
                if let Some(field) = inside.budget_field(&entries)? {
                    let limit = inside.limit()?;
                    entries.push((field, limit, start.to(inside.previous())));
                }
                if !inside.at_end() && inside.eat(",").is_none() {
                    return Err(inside.expected("`,` or `}`"));
                }
            }
            Ok(())
        })?;
        headers.budget = entries;
        Ok(())
    }

    /// The field and its `:`. `None` if there is no such field, which is reported; its value is skipped.
    fn budget_field(
        &mut self,
        entries: &[(BudgetField, Limit, crate::errors::TokenSpan)],
    ) -> Parse<Option<BudgetField>> {
        let Some(ident) = self.take_word() else {
            return Err(self.expected("a field of a budget, such as `threads`"));
        };
        if self.eat(":").is_none() {
            return Err(self.expected("`:` and a limit"));
        }
        let (word, at) = (ident.to_string(), ident.span().into());
        match words::BUDGET_FIELDS.iter().find(|(name, _)| *name == word) {
            Some((_, field)) if entries.iter().any(|(known, _, _)| known == field) => {
                self.errors.push(at, format_args!("the budget limits `{word}` twice"));
            }
            Some((_, field)) => return Ok(Some(*field)),
            None => {
                let help = words::one_of(&word, &words::BUDGET_FIELDS.map(|(name, _)| name));
                self.errors.push_help(at, format_args!("a budget has no field `{word}`"), help);
            }
        }
        while !self.at_end() && self.punctuation() != Some(",") {
            self.skip_token();
        }
        Ok(None)
    }

    /// An expression of the language, or the path of a constant of the user's, alone.
    fn limit(&mut self) -> Parse<Limit> {
        let start = self.cursor;
        let mut path: Vec<TokenTree> = Vec::new();
        let mut segments = 0;
        loop {
            let before = self.cursor;
            if self.eat("::").is_some() {
                let mut colons = before;
                while let Some((colon, rest)) = colons.punct().filter(|_| path.len() < 1024 && colons != self.cursor) {
                    path.push(colon.into());
                    colons = rest;
                }
            } else if segments > 0 {
                break;
            }
            let Some(segment) = self.take_word() else { break };
            segments += 1;
            path.push(segment.into());
        }
        let ends = self.at_end() || self.punctuation() == Some(",");
        if ends && segments > 0 && !self.is_language_name(&path) {
            return Ok(Limit::Const(path.into_iter().collect::<TokenStream>()));
        }
        self.cursor = start;
        if !ends && path.len() > 1 {
            return Err(self.expected_help(
                "one path or an expression of the language",
                "the language does not see constants of Rust: give the result a name of its own, \
                 `const LIMIT: u32 = …;`, and write that",
            ));
        }
        self.expr().map(Limit::Expr)
    }

    /// Whether a limit that is one word is a value of the language.
    fn is_language_name(&self, path: &[TokenTree]) -> bool {
        match path {
            [TokenTree::Ident(word)] => {
                let word = word.to_string();
                words::reserved(&word).is_some() && !matches!(word.as_str(), "Self" | "self" | "crate" | "super")
            }
            _ => false,
        }
    }

    /// `ai_cpu, aiv`
    fn engines(&mut self, headers: &mut Headers) -> Parse<()> {
        loop {
            let Some(ident) = self.take_word() else {
                return Err(
                    self.expected(format_args!("an engine: {}", words::list(&words::ENGINES.map(Engine::name))))
                );
            };
            self.engine(&ident, headers);
            if self.eat(",").is_none() || self.punctuation() == Some(";") {
                return Ok(());
            }
        }
    }

    fn engine(&mut self, ident: &Ident, headers: &mut Headers) {
        let (word, at) = (ident.to_string(), ident.span().into());
        match words::ENGINES.into_iter().find(|engine| engine.name() == word) {
            Some(engine) if headers.engines.iter().any(|(known, _)| *known == engine) => {
                self.errors.push(at, format_args!("the engine `{word}` is there twice"));
            }
            Some(engine) => headers.engines.push((engine, at)),
            None => {
                let help = words::one_of(&word, &words::ENGINES.map(Engine::name));
                self.errors.push_help(at, format_args!("unknown engine `{word}`"), help);
            }
        }
    }

    /// A literal from `least` to `most`.
    pub(super) fn number(&mut self, least: u32, most: u32, what: &str) -> Parse<u32> {
        let Some((literal, rest)) = self.cursor.literal() else {
            return Err(self.expected(what));
        };
        let value = match syn::Lit::new(literal) {
            syn::Lit::Int(digits) if digits.suffix().is_empty() => digits.base10_parse::<u32>().ok(),
            _ => None,
        };
        match value.filter(|value| (least..=most).contains(value)) {
            Some(value) => {
                self.cursor = rest;
                Ok(value)
            }
            None => Err(self.expected(what)),
        }
    }
}
