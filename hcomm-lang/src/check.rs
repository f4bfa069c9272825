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
    for related in &diagnostic.related {
        // Writing into a String cannot fail.
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
