//! Tokens to [`ast`](crate::ast): syntax only, one mistake an error, and on to the next statement.

mod expr;
mod header;
mod item;
mod place;
mod stmt;
mod verify;

use std::fmt::Display;

use proc_macro2::extra::DelimSpan;
use proc_macro2::{Delimiter, Ident, TokenStream};
use syn::buffer::{Cursor, TokenBuffer};

use crate::ast;
use crate::errors::{Errors, Reported, TokenSpan};
use crate::{guard, words};

/// `Err` when the error is in the collector already.
pub(crate) type Parse<T> = Result<T, Reported>;

/// Punctuation that the language or its error messages know, longest first.
const PUNCTUATION: [&str; 43] = [
    "<<=", ">>=", "..=", "...", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "+=", "-=", "*=", "/=", "%=", "&=",
    "|=", "^=", "..", "->", "=>", "::", "+", "-", "*", "/", "%", "!", "&", "|", "^", "=", "<", ">", ".", ",", ";", ":",
    "#", "?", "@",
];

/// The algorithms of one `collective!` block, as far as they could be read.
pub(crate) fn algorithms(tokens: TokenStream, errors: &mut Errors) -> Vec<ast::Algorithm> {
    if !guard::nesting_is_bounded(&tokens, errors) {
        return Vec::new();
    }
    let buffer = TokenBuffer::new2(tokens);
    let mut parser =
        Parser { cursor: buffer.begin(), errors, funcs: Vec::new(), brackets: 0, stmt_depth: 0, expr_depth: 0 };
    parser.algorithms()
}

/// A place in the tokens, and how deep it is.
struct Parser<'a, 'e> {
    cursor: Cursor<'a>,
    errors: &'e mut Errors,
    /// Helper functions of the algorithm around the cursor.
    funcs: Vec<ast::Func>,
    /// Brackets around the cursor.
    brackets: usize,
    /// Blocks around the cursor.
    stmt_depth: usize,
    /// Expressions around the cursor.
    expr_depth: usize,
}

impl<'a> Parser<'a, '_> {
    /// Whether the brackets around the cursor, or the whole block, end here.
    fn at_end(&self) -> bool {
        self.cursor.eof()
    }

    /// The next token; the closing bracket, or the last token, at an end.
    fn here(&self) -> TokenSpan {
        if let Some((_, delimiter, span, _)) = self.cursor.any_group()
            && delimiter != Delimiter::None
        {
            return span.open().into();
        }
        if self.at_end() && self.brackets == 0 { self.previous() } else { self.cursor.span().into() }
    }

    /// The last token that was taken.
    fn previous(&self) -> TokenSpan {
        self.cursor.prev_span().into()
    }

    /// The word here.
    fn word(&self) -> Option<Ident> {
        self.cursor.ident().map(|(ident, _)| ident)
    }

    fn is_word(&self, word: &str) -> bool {
        self.cursor.ident().is_some_and(|(ident, _)| ident == word)
    }

    /// Takes the word here.
    fn take_word(&mut self) -> Option<Ident> {
        let (ident, rest) = self.cursor.ident()?;
        self.cursor = rest;
        Some(ident)
    }

    /// Takes `word` if it is here.
    fn eat_word(&mut self, word: &str) -> Option<TokenSpan> {
        if self.is_word(word) { self.take_word().map(|ident| ident.span().into()) } else { None }
    }

    /// The longest punctuation here.
    fn punctuation(&self) -> Option<&'static str> {
        self.punctuation_at(self.cursor)
    }

    /// The longest punctuation after the token here.
    fn punctuation_after_word(&self) -> Option<&'static str> {
        self.cursor.ident().and_then(|(_, rest)| self.punctuation_at(rest))
    }

    fn punctuation_at(&self, mut cursor: Cursor<'a>) -> Option<&'static str> {
        let mut run = String::new();
        while let Some((punct, rest)) = cursor.punct() {
            run.push(punct.as_char());
            if run.len() >= 3 || punct.spacing() == proc_macro2::Spacing::Alone {
                break;
            }
            cursor = rest;
        }
        PUNCTUATION.into_iter().find(|known| run.starts_with(known))
    }

    /// Takes `punctuation` if it is here.
    fn eat(&mut self, punctuation: &str) -> Option<TokenSpan> {
        if self.punctuation() != Some(punctuation) {
            return None;
        }
        let first = self.here();
        for _ in punctuation.chars() {
            let (_, rest) = self.cursor.punct()?;
            self.cursor = rest;
        }
        Some(first.to(self.previous()))
    }

    /// Whether a bracket of this kind opens here.
    fn opens(&self, delimiter: Delimiter) -> bool {
        self.cursor.group(delimiter).is_some()
    }

    /// Whether a bracket of this kind opens after the word here.
    fn opens_after_word(&self, delimiter: Delimiter) -> bool {
        self.cursor.ident().is_some_and(|(_, rest)| rest.group(delimiter).is_some())
    }

    /// Takes the brackets here, with what `inside` makes of all that is in them.
    fn group<T>(
        &mut self,
        delimiter: Delimiter,
        what: &str,
        inside: impl FnOnce(&mut Self) -> Parse<T>,
    ) -> Parse<(T, DelimSpan)> {
        let Some((inner, span, after)) = self.cursor.group(delimiter) else {
            return Err(self.expected(what));
        };
        self.cursor = inner;
        self.brackets += 1;
        let result = match inside(self) {
            Ok(value) if self.at_end() => Ok((value, span)),
            Ok(_) => Err(self.unexpected()),
            Err(reported) => Err(reported),
        };
        self.brackets -= 1;
        self.cursor = after;
        result
    }

    /// What is here, for a message.
    fn found(&self) -> String {
        if let Some(punctuation) = self.punctuation() {
            return format!("`{punctuation}`");
        }
        if let Some((_, delimiter, _, _)) = self.cursor.any_group() {
            return match delimiter {
                Delimiter::Parenthesis => "`(`".to_owned(),
                Delimiter::Brace => "`{`".to_owned(),
                Delimiter::Bracket => "`[`".to_owned(),
                Delimiter::None => "an expression".to_owned(),
            };
        }
        match self.cursor.token_tree() {
            Some((token, _)) => {
                let text: String = token.to_string().chars().take(40).collect();
                format!("`{text}`")
            }
            None => "the end".to_owned(),
        }
    }

    /// Where something is missing: the next token, or the last one before an end.
    fn missing_at(&self) -> TokenSpan {
        if self.at_end() { self.previous() } else { self.here() }
    }

    fn expected(&mut self, what: impl Display) -> Reported {
        let (here, found) = (self.missing_at(), self.found());
        self.errors.push(here, format_args!("expected {what}, found {found}"))
    }

    fn expected_help(&mut self, what: impl Display, help: impl Display) -> Reported {
        let (here, found) = (self.missing_at(), self.found());
        self.errors.push_help(here, format_args!("expected {what}, found {found}"), help)
    }

    fn unexpected(&mut self) -> Reported {
        let (here, found) = (self.here(), self.found());
        self.errors.push(here, format_args!("{found} is not expected here"))
    }

    /// A name of the author's: not a word of the language.
    fn new_name(&mut self, what: &str) -> Parse<Ident> {
        let Some(ident) = self.word().filter(|word| word != "_") else {
            return Err(self.expected(format_args!("the name of {what}")));
        };
        let text = ident.to_string();
        let at = ident.span().into();
        if text.starts_with("r#") {
            return Err(self.errors.push(at, format_args!("`{text}`: raw identifiers are not in the language")));
        }
        if let Some(meaning) = words::reserved(&text) {
            let message = format!("`{text}` is {meaning} and cannot name {what}");
            return Err(self.errors.push_help(at, message, "choose another name"));
        }
        self.take_word();
        Ok(ident)
    }

    /// Takes a `;`. One that was forgotten at the end of a line does not take the next statement with it.
    fn semicolon(&mut self) -> Parse<()> {
        if self.eat(";").is_some() {
            return Ok(());
        }
        let (last, next) = (self.previous(), self.here());
        if self.at_end() || last.place().end_line < next.place().line {
            self.errors.push(last, "expected `;` after this");
            return Ok(());
        }
        Err(self.expected("`;`"))
    }

    /// Skips what is left of a statement that could not be read.
    fn skip_statement(&mut self) {
        while let Some((token, rest)) = self.cursor.token_tree() {
            self.cursor = rest;
            match token {
                proc_macro2::TokenTree::Punct(punct) if punct.as_char() == ';' => return,
                // What follows an `if` goes with it.
                proc_macro2::TokenTree::Group(group)
                    if group.delimiter() == Delimiter::Brace && !self.is_word("else") =>
                {
                    return;
                }
                _ => {}
            }
        }
    }

    /// Skips to the `;` that ends a statement, and takes it.
    fn skip_to_semicolon(&mut self) {
        while !self.at_end() && self.eat(";").is_none() {
            self.skip_token();
        }
    }

    fn skip_token(&mut self) {
        if let Some((_, rest)) = self.cursor.token_tree() {
            self.cursor = rest;
        }
    }
}
