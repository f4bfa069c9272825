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
mod check;
mod errors;
mod expand;
mod guard;
mod lower;
mod parse;
mod words;

use hcomm_core::spec::{BudgetField, SpecBuf};
use proc_macro2::{Ident, TokenStream};

use errors::Errors;
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

/// Reads a `collective!` block. `file` is for messages that are made later.
///
/// # Errors
///
/// All mistakes in it, combined; each text begins with its code.
pub fn parse(tokens: TokenStream, file: &str) -> Result<Vec<Parsed>, syn::Error> {
    match parse_all(tokens, file) {
        (all, None) => Ok(all),
        (_, Some(errors)) => Err(errors),
    }
}

/// Reads a `collective!` block: every algorithm that has at least a name and an operator, and all mistakes.
pub fn parse_all(tokens: TokenStream, file: &str) -> (Vec<Parsed>, Option<syn::Error>) {
    let mut errors = Errors::default();
    let all = read(tokens, file, &mut errors);
    (all, errors.combined())
}

/// What `collective!` makes of a block: the items, and `compile_error!`s beside them for all that is wrong.
///
/// An algorithm with a mistake is emitted all the same, so that one mistake gives one error.
pub fn expand(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut all = read(tokens, "", &mut errors);
    let mut expanded = TokenStream::new();
    for parsed in &mut all {
        check::check(parsed, &mut errors);
        expanded.extend(expand::item(parsed));
    }
    expanded.extend(errors.combined().map(|errors| errors.to_compile_error()));
    expanded
}

fn read(tokens: TokenStream, file: &str, errors: &mut Errors) -> Vec<Parsed> {
    let mut all = Vec::new();
    for algorithm in parse::algorithms(tokens, errors) {
        all.push(lower::lower(algorithm, file, errors));
    }
    all
}
