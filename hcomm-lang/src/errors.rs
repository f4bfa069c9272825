//! Errors are gathered and reported together: one run shows several mistakes, one mistake gives one error.

use std::fmt::Display;

use hcomm_core::diag::Code;
use hcomm_core::spec;
use proc_macro2::{Punct, Spacing, Span, TokenStream};
use quote::ToTokens;

/// Errors beyond this many are dropped: nobody reads them, and hostile input could make millions.
const MOST_ERRORS: usize = 64;

/// From a first to a last token.
///
/// Two spans cannot be joined on a stable toolchain inside a procedural macro, so both ends are kept.
#[derive(Clone, Copy, Debug)]
pub struct TokenSpan {
    /// The first token.
    pub first: Span,
    /// The last token.
    pub last: Span,
}

impl TokenSpan {
    /// From this one's first token to the other's last.
    pub(crate) fn to(self, last: TokenSpan) -> TokenSpan {
        TokenSpan { first: self.first, last: last.last }
    }

    /// Lines and columns from 1, the end exclusive.
    pub fn place(self) -> spec::Span {
        let (start, end) = (self.first.start(), self.last.end());
        let at = |line: usize, column: usize| {
            (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column.saturating_add(1)).unwrap_or(u32::MAX))
        };
        let ((line, column), (end_line, end_column)) = (at(start.line, start.column), at(end.line, end.column));
        spec::Span { line, column, end_line, end_column }
    }

    /// An error that underlines these tokens.
    pub(crate) fn error(self, text: impl Display) -> syn::Error {
        syn::Error::new_spanned(self, text)
    }
}

impl From<Span> for TokenSpan {
    fn from(span: Span) -> Self {
        TokenSpan { first: span, last: span }
    }
}

impl ToTokens for TokenSpan {
    /// Two tokens that stand where the first and the last one do: all that an error needs of them.
    fn to_tokens(&self, tokens: &mut TokenStream) {
        for span in [self.first, self.last] {
            let mut token = Punct::new(';', Spacing::Alone);
            token.set_span(span);
            tokens.extend([proc_macro2::TokenTree::Punct(token)]);
        }
    }
}

/// The error is in the collector already; whoever gets this only has to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported;

/// The errors so far.
#[derive(Debug, Default)]
pub(crate) struct Errors(Vec<(TokenSpan, syn::Error)>);

impl Errors {
    /// Adds a language error.
    pub(crate) fn push(&mut self, at: TokenSpan, message: impl Display) -> Reported {
        self.add(at, format_args!("{}: {message}", Code::H001))
    }

    /// Adds a language error with what would fix it.
    pub(crate) fn push_help(&mut self, at: TokenSpan, message: impl Display, help: impl Display) -> Reported {
        self.push(at, format_args!("{message}\nhelp: {help}"))
    }

    /// Adds an error whose text begins with its code.
    pub(crate) fn add(&mut self, at: TokenSpan, text: impl Display) -> Reported {
        if self.0.len() < MOST_ERRORS {
            self.0.push((at, at.error(text)));
        }
        Reported
    }

    /// How many there are: to see whether a part of the work added some.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them as one, in the order of the source.
    pub(crate) fn combined(mut self) -> Option<syn::Error> {
        self.0.sort_by_key(|(at, _)| at.place());
        self.0.into_iter().map(|(_, error)| error).reduce(|mut all, next| {
            all.combine(next);
            all
        })
    }
}
