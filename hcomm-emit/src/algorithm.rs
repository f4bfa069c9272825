//! The class of an algorithm: a header and its source.

use std::fmt::Write as _;

use hcomm_core::spec::{Span, Spec};

use crate::{body, lengths, names};

/// Why an algorithm cannot be emitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EmitError {
    /// What is wrong, and what would help.
    pub message: String,
    /// The statement, if one is to blame.
    pub at: Option<Span>,
}

impl EmitError {
    pub(crate) fn new(message: impl Into<String>, at: Option<Span>) -> EmitError {
        EmitError { message: message.into(), at }
    }
}

/// The class of an algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Its name in C++.
    pub name: String,
    /// `nhr_all_gather.h`, say.
    pub header: String,
    /// And `nhr_all_gather.cc`.
    pub source: String,
}

/// Prints an algorithm as a class on `schedule.h`.
///
/// # Errors
///
/// If it is for symmetric memory, or the lengths of what a statement moves follow no rule.
pub fn class(spec: &Spec<'_>) -> Result<Class, EmitError> {
    let at = spec.spans.first().copied();
    if spec.headers.symmetric {
        let message =
            format!("`{}` is for symmetric memory, which is not emitted yet: take a form with scratch", spec.snake);
        return Err(EmitError::new(message, at));
    }
    let rules = lengths::rules(spec).map_err(|none| {
        let message = "no rule was found for the lengths of the chunks that this moves: let a cell of scratch always \
                       hold the same chunk, or move from `input` or to `output`";
        EmitError::new(message, Some(spec.span(none.at)))
    })?;
    if spec.operator == hcomm_core::operator::Operator::BatchSendRecv
        && let Some((at, _)) = rules.iter().next()
    {
        let message = "a rank knows the lengths of its own items alone, and this moves what may be another's";
        return Err(EmitError::new(message, Some(spec.span(*at))));
    }
    let mut name = names::identifier(spec.name);
    if name.ends_with('_') {
        name += "Op";
    }
    let notifies = names::notifies(spec.notifies);
    let body = body::print(spec, &rules, &notifies);
    let guard = format!("HCOMM_OP_{}_H", names::constant(spec.snake));

    let mut doc: String = spec.doc.lines().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{}", format!("/// {}", names::comment(line.trim())).trim_end());
        text
    });
    if doc.is_empty() {
        doc = format!("/// {}.\n", names::comment(spec.snake));
    }
    let span = spec.span(hcomm_core::ids::SpanId(0));
    let _ = writeln!(doc, "///\n/// Written in {}:{}.", names::comment(spec.file), span.line);

    let mut header = format!(
        "#ifndef {guard}\n#define {guard}\n\n#include \"schedule.h\"\n\nnamespace hcomm_op {{\n\n{doc}class {name} : public Schedule {{\npublic:\n    using Schedule::Schedule;\n\n"
    );
    if !notifies.is_empty() {
        header += "    /// Notifies of a channel. Each is one bit at each end.\n    enum Notify : uint32_t {\n";
        for notify in &notifies {
            let _ = writeln!(header, "        {notify},");
        }
        header += "    };\n\n";
    }
    header += "private:\n    void Round() override;\n    int64_t Split() override;\n    int64_t Cells() override;\n";
    for (signature, _) in &body.funcs {
        let _ = writeln!(header, "    {};", signature.replacen('@', "", 1));
    }
    let _ = write!(header, "}};\n\n}} // namespace hcomm_op\n\n#endif // {guard}\n");

    let mut source = format!("#include \"{}.h\"\n\n", names::identifier(spec.snake));
    if body.uses_min_max() {
        source += "#include <algorithm>\n\n";
    }
    source += "namespace hcomm_op {\n\n";
    let _ = write!(source, "int64_t {name}::Split()\n{{\n    return {};\n}}\n\n", body.split);
    let _ = write!(source, "int64_t {name}::Cells()\n{{\n    return {};\n}}\n\n", body.cells);
    for (signature, text) in &body.funcs {
        let _ = write!(source, "{}\n{{\n{text}}}\n\n", signature.replacen('@', &format!("{name}::"), 1));
    }
    let _ = write!(source, "void {name}::Round()\n{{\n{}}}\n\n}} // namespace hcomm_op\n", body.round);
    Ok(Class { name, header, source })
}

impl body::Body {
    fn uses_min_max(&self) -> bool {
        let texts = [&self.round, &self.split, &self.cells];
        texts.into_iter().chain(self.funcs.iter().map(|(_, text)| text)).any(|text| text.contains("std::m"))
    }
}
