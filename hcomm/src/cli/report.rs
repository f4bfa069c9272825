//! Diagnostics for people, in rustc's form, with the source line where the file is there; and for scripts.

use std::ops::Range;
use std::path::Path;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use serde_json::{Value, json};

use super::Failure;
use crate::diag::Diagnostic;
use crate::spec::Span;

/// The longest source file that is shown.
const MAX_SOURCE: u64 = 4 << 20;

/// How text is printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// With colours.
    pub(super) color: bool,
}

/// The failure that diagnostics make of a command.
pub(super) fn failure(file: &str, diagnostics: &[Diagnostic], style: Style) -> Failure {
    let json = json!({
        "ok": false,
        "diagnostics": diagnostics.iter().map(|diagnostic| value(file, diagnostic)).collect::<Vec<_>>(),
    });
    Failure::Fault { text: text(file, diagnostics, style), json }
}

/// Diagnostics as text. `file` is where their places are.
pub(super) fn text(file: &str, diagnostics: &[Diagnostic], style: Style) -> String {
    let source = source(file);
    let renderer = if style.color { Renderer::styled() } else { Renderer::plain() };
    let mut text = String::new();
    for diagnostic in diagnostics {
        text += &renderer.render(&[group(file, source.as_deref(), diagnostic)]);
        text += "\n\n";
    }
    text
}

/// A diagnostic as JSON, by the names of DESIGN section 12.
pub(super) fn value(file: &str, diagnostic: &Diagnostic) -> Value {
    let place = |at: Option<Span>| (at.map(|_| file), at.map(|at| at.line), at.map(|at| at.column));
    let (name, line, column) = place(diagnostic.at);
    let related: Vec<Value> = diagnostic
        .related
        .iter()
        .map(|related| {
            let (file, line, column) = place(related.at);
            json!({ "message": related.message, "file": file, "line": line, "column": column })
        })
        .collect();
    json!({
        "code": diagnostic.code.to_string(),
        "message": diagnostic.message,
        "help": diagnostic.help,
        "ranks": diagnostic.ranks,
        "rank": diagnostic.rank,
        "file": name,
        "line": line,
        "column": column,
        "related": related,
    })
}

/// The source file, if it is one and can be read: a program's file name is only as good as where it comes from.
fn source(file: &str) -> Option<String> {
    let path = Path::new(file);
    let metadata = std::fs::metadata(path).ok()?;
    let sound = path.extension().is_some_and(|extension| extension == "rs") && metadata.is_file();
    if sound && metadata.len() <= MAX_SOURCE { std::fs::read_to_string(path).ok() } else { None }
}

fn group<'a>(file: &'a str, source: Option<&'a str>, diagnostic: &'a Diagnostic) -> Group<'a> {
    let title = Level::ERROR.primary_title(&diagnostic.message).id(diagnostic.code.to_string());
    let places = std::iter::once((diagnostic.at, None))
        .chain(diagnostic.related.iter().map(|related| (related.at, Some(related.message.as_str()))));
    let mut group = Group::with_title(title);
    let in_source = |at: Span| source.and_then(|source| Some((source, range(source, at)?)));
    let (mut snippet, mut others) = (None, Vec::new());
    for (i, (at, label)) in places.enumerate() {
        match at.map(|at| (at, in_source(at))) {
            Some((_, Some((source, range)))) => {
                let kind = if i == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
                let annotation = kind.span(range).label(label.map(str::to_owned));
                let shown = snippet.unwrap_or_else(|| Snippet::source(source).path(file));
                snippet = Some(shown.annotation(annotation));
            }
            Some((at, None)) => others.push((Some(at), label)),
            None => others.push((None, label)),
        }
    }
    if let Some(snippet) = snippet {
        group = group.element(snippet);
    }
    for (at, label) in others {
        match (at, label) {
            (Some(at), None) => {
                group = group.element(Origin::path(file).line(at.line as usize).char_column(at.column as usize));
            }
            (Some(at), Some(label)) => {
                group = group.element(Level::NOTE.message(format!("{label} ({file}:{}:{})", at.line, at.column)));
            }
            (None, Some(label)) => group = group.element(Level::NOTE.message(label)),
            (None, None) => {}
        }
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help));
    }
    group
}

/// The bytes of a place in the source; `None` if the file has changed so that there is no such place.
fn range(source: &str, span: Span) -> Option<Range<usize>> {
    let offset = |line: u32, column: u32| {
        let (line, column) = (line.checked_sub(1)? as usize, column.checked_sub(1)? as usize);
        let start = match line {
            0 => 0,
            _ => source.match_indices('\n').nth(line - 1)?.0 + 1,
        };
        let rest = source[start..].split('\n').next()?;
        let within = rest.char_indices().map(|(i, _)| i).chain([rest.len()]).nth(column)?;
        Some(start + within)
    };
    let (start, end) = (offset(span.line, span.column)?, offset(span.end_line, span.end_column)?);
    (start <= end).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_become_bytes() {
        let at = |line, column, end_line, end_column| Span { line, column, end_line, end_column };
        let source = "äb\ncd\n";
        assert_eq!(range(source, at(1, 2, 1, 3)), Some(2..3));
        assert_eq!(range(source, at(1, 1, 2, 2)), Some(0..5));
        assert_eq!(range(source, at(2, 3, 2, 3)), Some(6..6));
        for gone in [at(0, 1, 1, 1), at(9, 1, 9, 2), at(1, 9, 1, 9), at(2, 1, 1, 1)] {
            assert_eq!(range(source, gone), None, "{gone:?}");
        }
    }
}
