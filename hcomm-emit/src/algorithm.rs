//! The class of an algorithm: a header and its source.

use std::fmt::Write as _;

use hcomm_core::spec::{Engine, Span, Spec};

use hcomm_core::operator::CountsBy;

use crate::lengths::Rule;
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
/// If the lengths of what a statement moves follow no rule, or it has windows where the operator has none.
pub fn class(spec: &Spec<'_>) -> Result<Class, EmitError> {
    let at = spec.spans.first().copied();
    if spec.headers.symmetric && !spec.operator.has_windows() {
        let message = format!(
            "{} has no symmetric windows: all_gather, reduce_scatter, all_reduce and all_to_all have",
            spec.operator
        );
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
    let body = body::print(spec, &rules, &notifies, Engine::AiCpu);
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
    if spec.headers.symmetric {
        header += "    bool HasWindows() const override\n    {\n        return true;\n    }\n";
    }
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

/// Prints an algorithm as a kernel class on `aiv_schedule.h`: a header.
///
/// # Errors
///
/// As [`class`], and if the operator has counts by rank or by pair, or a rule for lengths needs what was held before.
pub(crate) fn kernel(spec: &Spec<'_>) -> Result<String, EmitError> {
    let at = spec.spans.first().copied();
    if spec.operator.counts() != CountsBy::All {
        let message = format!("{} is not emitted for aiv yet: use ai-cpu", spec.operator);
        return Err(EmitError::new(message, at));
    }
    let rules = lengths::rules(spec).unwrap_or_default();
    if let Some((at, _)) = rules.iter().find(|(_, rule)| matches!(rule, Rule::HeldBySource | Rule::HeldByDestination)) {
        let message = "the length of what this moves depends on what was there before, which a kernel does not keep: use \
                       ai-cpu, or let a cell of scratch always hold the same chunk";
        return Err(EmitError::new(message, Some(spec.span(*at))));
    }
    let Class { name, .. } = class(spec)?;
    let notifies = names::notifies(spec.notifies);
    let body = body::print(spec, &rules, &notifies, Engine::Aiv);
    let guard = format!("HCOMM_OP_{}_KERNEL_H", names::constant(spec.snake));
    let mut text = format!(
        "/// The schedule of `common/{snake}.cc` as a kernel of Vector cores.\n#ifndef {guard}\n#define {guard}\n\n#include \"aiv_schedule.h\"\n\nnamespace hcomm_op {{\n\nclass {name}Kernel : public AivSchedule {{\npublic:\n    __aicore__ inline explicit {name}Kernel(const AivParam &param) : AivSchedule(param) {{}}\n\n    /// One round, by all blocks.\n    __aicore__ inline void Round();\n\nprivate:\n",
        snake = names::identifier(spec.snake),
    );
    if !notifies.is_empty() {
        text += "    enum Notify : uint32_t {\n";
        for notify in &notifies {
            let _ = writeln!(text, "        {notify},");
        }
        text += "    };\n\n";
    }
    for (signature, _) in &body.funcs {
        let _ = writeln!(text, "    __aicore__ inline {};", signature.replacen('@', "", 1));
    }
    text += "};\n\n";
    for (signature, inner) in &body.funcs {
        let signature = signature.replacen('@', &format!("{name}Kernel::"), 1);
        let _ = write!(text, "__aicore__ inline {signature}\n{{\n{inner}}}\n\n");
    }
    let _ = write!(
        text,
        "__aicore__ inline void {name}Kernel::Round()\n{{\n{}}}\n\n}} // namespace hcomm_op\n\n#endif // {guard}\n",
        body.round
    );
    Ok(text)
}
