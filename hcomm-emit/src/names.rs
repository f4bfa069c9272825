//! Names of the source as names of C++.

use std::collections::BTreeSet;

/// Words that a variable or function of C++ may not have as its name: keywords, macros of common headers, and what the
/// emitted code uses itself.
const TAKEN: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "assert",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dstSlot",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "hcomm_op",
    "if",
    "inline",
    "int",
    "int64_t",
    "linux",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "srcSlot",
    "static",
    "static_assert",
    "static_cast",
    "std",
    "stderr",
    "stdin",
    "stdout",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "uint32_t",
    "uint64_t",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
];

/// Names of the classes and members that a schedule is written in. All begin with a capital letter.
const MEMBERS: &[&str] = &[
    "Abs",
    "Add",
    "Buffer",
    "Cells",
    "Chunks",
    "Copy",
    "Counts",
    "CountsBy",
    "Div",
    "DivCeil",
    "Dst",
    "Fail",
    "Gcd",
    "Goes",
    "HasWindows",
    "Input",
    "IsPow2",
    "Kind",
    "Lane",
    "Layout",
    "Lcm",
    "Lengths",
    "Local",
    "LocalOf",
    "LocalPeers",
    "Locals",
    "LocalsOf",
    "Log2Ceil",
    "Log2Floor",
    "Mul",
    "Neg",
    "Node",
    "NodeOf",
    "NodePeers",
    "Nodes",
    "Ok",
    "Output",
    "Par",
    "Peer",
    "Peers",
    "Place",
    "Pod",
    "PodOf",
    "Pods",
    "Pow2",
    "Problem",
    "Queue",
    "Rank",
    "RankOf",
    "Ranks",
    "Read",
    "ReadReduce",
    "Reduce",
    "Rem",
    "Root",
    "Round",
    "Run",
    "RunOneRound",
    "Schedule",
    "Scratch",
    "Segment",
    "Segments",
    "Shl",
    "Shr",
    "Signal",
    "Slot",
    "SlotOf",
    "Split",
    "Src",
    "Sub",
    "Transfer",
    "Wait",
    "Wrap",
    "Write",
    "WriteReduce",
];

/// A name of the source as an identifier of C++ that nothing else has.
pub(crate) fn identifier(name: &str) -> String {
    let mut word = String::new();
    for c in name.strip_prefix("r#").unwrap_or(name).chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => word.push(c),
            // Two underscores in a row belong to the compiler.
            '_' if !word.ends_with('_') && !word.is_empty() => word.push('_'),
            '_' => {}
            other => word += &format!("u{:x}", u32::from(other)),
        }
    }
    if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
        word.insert(0, 'v');
    }
    let constant = word.len() > 1 && !word.contains(|c: char| c.is_ascii_lowercase());
    if TAKEN.contains(&word.as_str()) || MEMBERS.contains(&word.as_str()) || constant {
        word += if word.ends_with('_') { "v" } else { "_" };
    }
    word
}

/// `name`, or with a number behind it the first that is not in `taken`.
pub(crate) fn unique(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let mut word = name.to_owned();
    let mut number = 2;
    while taken(&word) {
        word = format!("{}{}{number}", name, if name.ends_with('_') { "" } else { "_" });
        number += 1;
    }
    word
}

/// The names of the channel notifies as constants, `NOTIFY_READY`.
pub(crate) fn notifies(names: &[&str]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    names
        .iter()
        .map(|name| {
            let word = unique(&format!("NOTIFY_{}", identifier(name).to_uppercase()), |word| taken.contains(word));
            taken.insert(word.clone());
            word
        })
        .collect()
}

/// `NhrAllGather` as `NHR_ALL_GATHER`: for guards and constants.
pub(crate) fn constant(snake: &str) -> String {
    identifier(snake).to_uppercase()
}

/// Text of the source as the text of a comment line.
pub(crate) fn comment(text: &str) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    // Neither the end of a comment, nor another one's begin, nor a line that goes on, nor a trigraph for it.
    line = line.replace("*/", "* /").replace("/*", "/ *").replace("??/", "?? /").trim_end().to_owned();
    if line.ends_with('\\') {
        line.push('.');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers() {
        for (name, word) in [
            ("chunk", "chunk"),
            ("new", "new_"),
            ("r#for", "for_"),
            ("_x", "x"),
            ("a__b", "a_b"),
            ("_", "v"),
            ("größe", "gruf6udfe"),
            ("Copy", "Copy_"),
            ("NULL", "NULL_"),
            ("x1", "x1"),
            ("N", "N"),
        ] {
            assert_eq!(identifier(name), word);
        }
    }

    #[test]
    fn notifies_have_names_of_their_own() {
        assert_eq!(notifies(&["ready", "a", "A"]), ["NOTIFY_READY", "NOTIFY_A", "NOTIFY_A_2"]);
    }

    #[test]
    fn comments_end_with_their_line() {
        assert_eq!(comment("a \\"), "a \\.");
        assert_eq!(comment("??/"), "?? /");
        assert_eq!(comment("a\r\nb"), "a  b");
        assert_eq!(comment("x */ y /*"), "x * / y / *");
    }
}
