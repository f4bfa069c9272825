//! Bounds on raw tokens, looked at before anything recursive touches them.

use proc_macro2::{TokenStream, TokenTree, token_stream};

use crate::errors::{Errors, TokenSpan};

/// The deepest nesting of `( )`, `[ ]` and `{ }`: more than any program within the limits of the language needs.
const MAX_GROUPS: usize = 160;

/// Whether the groups of `tokens` nest no deeper than the parser can follow; adds an error if they do.
pub(crate) fn nesting_is_bounded(tokens: &TokenStream, errors: &mut Errors) -> bool {
    let mut open: Vec<token_stream::IntoIter> = vec![tokens.clone().into_iter()];
    while let Some(innermost) = open.last_mut() {
        match innermost.next() {
            None => {
                open.pop();
            }
            Some(TokenTree::Group(group)) => {
                if open.len() >= MAX_GROUPS {
                    let at = TokenSpan::from(group.span_open());
                    errors.push(at, format_args!("brackets nest more than {MAX_GROUPS} deep"));
                    return false;
                }
                open.push(group.stream().into_iter());
            }
            Some(_) => {}
        }
    }
    true
}
