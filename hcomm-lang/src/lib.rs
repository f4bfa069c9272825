//! The front end of `collective!`: tokens to [`SpecBuf`], and from there to the code that holds it.
//!
//! ```text
//! tokens ── parse ──► ast ── lower ──► Parsed ── check ──► expand ──► tokens
//!            syntax        names, types, phases   hcomm-core's verify
//! ```
//!
//! Everything works on `proc_macro2`, so that it runs in tests and under a fuzzer; `hcomm-macros` is a thin wrapper.
//! Parsing never fails as a whole: it gives what could be read and the errors.

mod ast;
mod errors;
mod guard;
mod lower;
mod parse;
mod words;

use hcomm_core::spec::{BudgetField, SpecBuf};
use proc_macro2::{Ident, TokenStream};

pub use errors::TokenSpan;

/// An algorithm as data, and the tokens to report on.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The algorithm.
    pub spec: SpecBuf,
    /// Parallel to `spec.spans`: the tokens to underline.
    pub tokens: Vec<TokenSpan>,
    /// Attributes of the item, other than documentation.
    pub attrs: Vec<TokenStream>,
    /// Documentation attributes of the item.
    pub doc_attrs: Vec<TokenStream>,
    /// The item's visibility; empty if it is private.
    pub vis: TokenStream,
    /// The item's name.
    pub ident: Ident,
    /// Budgets whose limits are constants of the user's.
    pub const_budgets: Vec<ConstBudget>,
    /// Whether the spec is well-formed: no error was found in it.
    pub sound: bool,
}

/// A limit that only the compiler of the user's crate knows.
#[derive(Clone, Debug)]
pub struct ConstBudget {
    /// What it limits.
    pub field: BudgetField,
    /// The path of a constant.
    pub limit: TokenStream,
    /// The entry, `threads: board::THREADS`.
    pub span: TokenSpan,
}

/// Reads a `collective!` block of one algorithm. `file` is for messages that are made later.
///
/// # Errors
/// All mistakes in it, combined; each text begins with its code.
pub fn parse(tokens: TokenStream, file: &str) -> Result<Parsed, syn::Error> {
    let (mut all, errors) = parse_all(tokens, file);
    match (all.pop(), errors) {
        (Some(parsed), None) if all.is_empty() => Ok(parsed),
        (Some(parsed), None) => Err(syn::Error::new(parsed.ident.span(), "H001: more than one algorithm")),
        (_, Some(errors)) => Err(errors),
        (None, None) => Err(syn::Error::new(proc_macro2::Span::call_site(), "H001: no algorithm")),
    }
}

/// Reads a `collective!` block: every algorithm that has at least a name and an operator, and all mistakes.
pub fn parse_all(tokens: TokenStream, file: &str) -> (Vec<Parsed>, Option<syn::Error>) {
    let mut errors = errors::Errors::default();
    let mut all = Vec::new();
    for algorithm in parse::algorithms(tokens, &mut errors) {
        all.push(lower::lower(algorithm, file, &mut errors));
    }
    (all, errors.combined())
}
