//! An algorithm around its headers, helper functions and statements.

use hcomm_core::operator::Operator;
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

use super::{Parse, Parser};
use crate::ast::{Algorithm, Func, Headers};
use crate::words;

/// The most helper functions of an algorithm.
const MAX_FUNCS: usize = 64;

/// The attributes before an algorithm.
#[derive(Default)]
struct Attributes {
    attrs: Vec<TokenStream>,
    doc_attrs: Vec<TokenStream>,
    doc: Vec<String>,
}

impl Parser<'_, '_> {
    /// Everything in a `collective!` block.
    pub(super) fn algorithms(&mut self) -> Vec<Algorithm> {
        let mut all = Vec::new();
        if self.at_end() {
            let here = self.here();
            self.errors.push_help(
                here,
                "an empty `collective!` block",
                "write `pub Name: all_gather { … }` with the algorithm's statements",
            );
        }
        while !self.at_end() {
            match self.algorithm() {
                Ok(algorithm) => all.push(algorithm),
                Err(_) => self.skip_algorithm(),
            }
        }
        all
    }

    fn skip_algorithm(&mut self) {
        while !self.at_end() {
            let closes = self.opens(Delimiter::Brace);
            self.skip_token();
            if closes {
                return;
            }
        }
    }

    /// `#[doc] pub NAME : OPERATOR { … }`
    fn algorithm(&mut self) -> Parse<Algorithm> {
        let errors_before = self.errors.len();
        let Attributes { attrs, doc_attrs, doc } = self.attributes()?;
        let vis = self.visibility();
        let ident = self.algorithm_name()?;
        if self.eat(":").is_none() {
            return Err(self.expected_help("`:` and an operator", "`pub Name: all_gather { … }`"));
        }
        let operator = self.operator()?;
        let mut headers = Headers::default();
        let (body, _) = self.group(Delimiter::Brace, "`{` and the algorithm", |inside| {
            inside.headers_and_funcs(&mut headers);
            Ok(inside.statements())
        })?;
        let funcs = std::mem::take(&mut self.funcs);
        let whole = self.errors.len() == errors_before;
        Ok(Algorithm { attrs, doc_attrs, doc: doc.join("\n"), vis, ident, operator, headers, funcs, body, whole })
    }

    fn attributes(&mut self) -> Parse<Attributes> {
        let mut found = Attributes::default();
        while let Some(pound) = self.eat("#") {
            let Some((inner, span, after)) = self.cursor.group(Delimiter::Bracket) else {
                return Err(self.expected_help("`[`", "attributes of the algorithm are written `#[…]`"));
            };
            self.cursor = after;
            let mut pound_token = proc_macro2::Punct::new('#', proc_macro2::Spacing::Alone);
            pound_token.set_span(pound.first);
            let mut brackets = proc_macro2::Group::new(Delimiter::Bracket, inner.token_stream());
            brackets.set_span(span.join());
            let attribute: TokenStream =
                [TokenTree::Punct(pound_token), TokenTree::Group(brackets)].into_iter().collect();
            match doc_text(inner) {
                Some(text) => {
                    found
                        .doc
                        .extend(text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()));
                    // A doc comment's empty line is an empty string, and a line all the same.
                    if text.is_empty() {
                        found.doc.push(String::new());
                    }
                    found.doc_attrs.push(attribute);
                }
                None => found.attrs.push(attribute),
            }
        }
        Ok(found)
    }

    /// `pub`, `pub(…)` or nothing.
    fn visibility(&mut self) -> TokenStream {
        let Some((public, rest)) = self.cursor.ident().filter(|(word, _)| word == "pub") else {
            return TokenStream::new();
        };
        self.cursor = rest;
        let mut tokens = vec![TokenTree::Ident(public)];
        if self.opens(Delimiter::Parenthesis)
            && let Some((scope, rest)) = self.cursor.token_tree()
        {
            self.cursor = rest;
            tokens.push(scope);
        }
        tokens.into_iter().collect()
    }

    fn algorithm_name(&mut self) -> Parse<Ident> {
        match self.word() {
            Some(ident) if !words::is_rust_keyword(&ident.to_string()) => {
                self.take_word();
                Ok(ident)
            }
            _ => Err(self.expected_help("the name of an algorithm", "`pub Name: all_gather { … }`")),
        }
    }

    /// `None` if it is unknown, which is reported.
    fn operator(&mut self) -> Parse<Option<Operator>> {
        let Some(ident) = self.take_word() else {
            return Err(self.expected(format_args!("an operator: {}", words::list(&Operator::ALL.map(Operator::name)))));
        };
        let word = ident.to_string();
        let operator = Operator::from_name(&word);
        if operator.is_none() {
            let (message, help) = words::unknown_operator(&word);
            self.errors.push_help(ident.span().into(), message, help);
        }
        Ok(operator)
    }

    /// Headers and helper functions, in any order.
    fn headers_and_funcs(&mut self, headers: &mut Headers) {
        self.funcs.clear();
        let mut seen: Vec<String> = Vec::new();
        while !self.at_end() {
            if self.eat(";").is_some() {
                continue;
            }
            let outcome = if self.is_word("fn") {
                self.func()
            } else if self.at_header() {
                self.header(headers, &mut seen)
            } else {
                return;
            };
            if outcome.is_err() {
                self.skip_statement();
            }
        }
    }

    /// `fn name(a, b) { … }`
    pub(super) fn func(&mut self) -> Parse<()> {
        let keyword = self.here();
        self.take_word();
        let name = self.new_name("a helper function")?;
        if self.funcs.iter().any(|known| known.name == name) {
            self.errors.push(name.span().into(), format_args!("two helper functions are called `{name}`"));
        }
        if self.funcs.len() >= MAX_FUNCS {
            return Err(self.errors.push(keyword, format_args!("more than {MAX_FUNCS} helper functions")));
        }
        let params = self.group(Delimiter::Parenthesis, "`(` and parameters", Self::params).map(|(params, _)| params);
        if self.punctuation() == Some("->") {
            let arrow = self.here();
            self.errors.push_help(
                arrow,
                "the type of a helper function is found out, not written",
                "leave out `->` and what follows",
            );
            while !self.at_end() && !self.opens(Delimiter::Brace) {
                self.skip_token();
            }
        }
        let errors_before = self.errors.len();
        let (body, _) = self.block("`{` and the helper function's statements")?;
        let whole = self.errors.len() == errors_before;
        self.funcs.push(Func { name, params: params.ok(), body, whole });
        Ok(())
    }

    fn params(&mut self) -> Parse<Vec<Ident>> {
        let mut params: Vec<Ident> = Vec::new();
        while !self.at_end() {
            if let Some(at) = self.eat_word("mut") {
                self.errors.push_help(at, "a parameter cannot be assigned to", "copy it: `let mut x = a;`");
            }
            let name = self.new_name("a parameter")?;
            if params.contains(&name) {
                self.errors.push(name.span().into(), format_args!("two parameters are called `{name}`"));
            }
            params.push(name);
            if self.punctuation() == Some(":") {
                let at = self.here();
                self.errors.push_help(at, "parameters are integers and take no type", "write the name alone");
                while !self.at_end() && self.punctuation() != Some(",") {
                    self.skip_token();
                }
            }
            if !self.at_end() && self.eat(",").is_none() {
                return Err(self.expected("`,` or `)`"));
            }
        }
        Ok(params)
    }
}

/// The text of `doc = "…"`.
fn doc_text(attribute: syn::buffer::Cursor<'_>) -> Option<String> {
    let (word, rest) = attribute.ident()?;
    let (equals, rest) = rest.punct()?;
    let (literal, rest) = rest.literal()?;
    if word != "doc" || equals.as_char() != '=' || !rest.eof() {
        return None;
    }
    match syn::Lit::new(literal) {
        syn::Lit::Str(text) => Some(text.value()),
        _ => None,
    }
}
