//! The checks of the core, run while the macro expands, and their diagnostics put back onto the author's tokens.

use std::fmt::Write;

use hcomm_core::diag::{Code, Diagnostic};
use hcomm_core::{spec, verify};

use crate::Parsed;
use crate::errors::{Errors, TokenSpan};

/// Checks a sound algorithm at all rank counts and layouts that it is verified for, and counts its resources. One that
/// is not sound, or that cannot be evaluated, loses its statements: whoever evaluates it would only say it again.
pub(crate) fn check(parsed: &mut Parsed, errors: &mut Errors) {
    if !parsed.sound {
        empty(parsed);
        return;
    }
    let (found, counted) = parsed.spec.with_spec(|spec| {
        let found = verify::verify(spec);
        let counted = if found.iter().any(is_fault) { Vec::new() } else { verify::counted(spec) };
        (found, counted)
    });
    parsed.spec.counted = counted;
    for diagnostic in &found {
        errors.add(tokens_at(parsed, diagnostic.at), text(diagnostic));
    }
    if found.iter().any(is_fault) {
        empty(parsed);
    }
}

/// Whether the evaluation itself failed.
fn is_fault(diagnostic: &Diagnostic) -> bool {
    matches!(diagnostic.code, Code::H001 | Code::H303 | Code::H304)
}

/// The tokens of a place; those of the algorithm's name if it has none.
fn tokens_at(parsed: &Parsed, at: Option<spec::Span>) -> TokenSpan {
    let found = at.and_then(|at| parsed.spec.spans.iter().position(|known| *known == at));
    let tokens = found.and_then(|index| parsed.tokens.get(index));
    tokens.or(parsed.tokens.first()).copied().unwrap_or_else(|| parsed.ident.span().into())
}

/// A diagnostic as the text of a compile error.
fn text(diagnostic: &Diagnostic) -> String {
    let mut text = format!("{}: {}", diagnostic.code, diagnostic.message);
    if let Some(ranks) = diagnostic.ranks.filter(|ranks| !says(&diagnostic.message, *ranks)) {
        // Writing into a String cannot fail.
        let _ = write!(text, " (at {ranks} ranks)");
    }
    for related in &diagnostic.related {
        let _ = match related.at {
            Some(at) => write!(text, "\n  line {}: {}", at.line, related.message),
            None => write!(text, "\n  {}", related.message),
        };
    }
    if let Some(help) = &diagnostic.help {
        let _ = write!(text, "\nhelp: {help}");
    }
    text
}

/// Whether a message says the rank count itself: `rank 1 of 4`, `at 4 ranks`.
fn says(message: &str, ranks: u32) -> bool {
    message.contains(&format!("at {ranks} ranks"))
        || message.match_indices(&format!(" of {ranks}")).any(|(at, found)| {
            let rest = message.get(at + found.len()..).unwrap_or_default();
            !rest.starts_with(|next: char| next.is_ascii_digit())
        })
}

/// Leaves the item, its operator and its name.
fn empty(parsed: &mut Parsed) {
    let spec = &mut parsed.spec;
    spec.split = None;
    spec.scratch = None;
    spec.body = spec::Block::default();
    spec.lists.clear();
    spec.exprs.clear();
    spec.stmts.clear();
    spec.lanes.clear();
    spec.funcs.clear();
    spec.budget.clear();
    spec.counted.clear();
    parsed.const_budgets.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_count_is_said_once() {
        assert!(says("division by zero on rank 2 of 3", 3));
        assert!(says("needs 5 threads at 6 ranks, and more", 6));
        assert!(!says("race on output[0] of rank 0", 2));
        assert!(!says("division by zero on rank 2 of 30", 3));
        let diagnostic = Diagnostic::new(Code::H101, "a deadlock", None).on(4, 0).with_related("here", None);
        assert_eq!(text(&diagnostic.with_help("do not")), "H101: a deadlock (at 4 ranks)\n  here\nhelp: do not");
    }
}
