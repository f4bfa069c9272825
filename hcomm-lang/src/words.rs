//! The words of the language, and the closest one to a word that is not.

use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::spec::{BudgetField, Builtin, Engine, Name, Phase};

/// Words with a place in the grammar that are not Rust keywords.
const SYNTAX: [&str; 11] = [
    "at",
    "par",
    "lane",
    "signal",
    "wait",
    "copy_in",
    "pre_sync",
    "post_sync",
    "copy_out",
    "local_peers",
    "node_peers",
];

const RUST_KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "Self", "static", "struct", "super", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// The phases, in their usual order.
pub(crate) const PHASES: [Phase; 5] = [Phase::CopyIn, Phase::PreSync, Phase::Move, Phase::PostSync, Phase::CopyOut];

/// The headers.
pub(crate) const HEADERS: [&str; 8] =
    ["split", "scratch", "memory", "deterministic", "max_ranks", "budget", "engines", "verify"];

/// The engines.
pub(crate) const ENGINES: [Engine; 2] = [Engine::AiCpu, Engine::Aiv];

/// The fields of a budget.
pub(crate) const BUDGET_FIELDS: [(&str, BudgetField); 9] = [
    ("threads", BudgetField::Threads),
    ("notify_num_per_thread", BudgetField::NotifyNumPerThread),
    ("thread_notifies", BudgetField::ThreadNotifies),
    ("channels", BudgetField::Channels),
    ("notify_num_per_channel", BudgetField::NotifyNumPerChannel),
    ("channel_notifies", BudgetField::ChannelNotifies),
    ("scratch", BudgetField::Scratch),
    ("blocks", BudgetField::Blocks),
    ("flags", BudgetField::Flags),
];

/// The names that the operator or the layout gives.
pub(crate) const NAMES: [(&str, Name); 11] = [
    ("rank", Name::Rank),
    ("ranks", Name::Ranks),
    ("root", Name::Root),
    ("src", Name::Src),
    ("dst", Name::Dst),
    ("node", Name::Node),
    ("nodes", Name::Nodes),
    ("local", Name::Local),
    ("locals", Name::Locals),
    ("pod", Name::Pod),
    ("pods", Name::Pods),
];

/// The sets that are not ranges.
pub(crate) const SETS: [&str; 3] = ["peers", "local_peers", "node_peers"];

/// The name that the operator or the layout gives, if `word` is one.
pub(crate) fn name(word: &str) -> Option<Name> {
    NAMES.iter().find(|(known, _)| *known == word).map(|(_, name)| *name)
}

/// Whether programs of `operator` have the name.
pub(crate) fn operator_gives(operator: Operator, name: Name) -> bool {
    match name {
        Name::Root => operator.has_root(),
        Name::Src | Name::Dst => operator.has_src_dst(),
        _ => true,
    }
}

/// The buffer, if `word` is one.
pub(crate) fn buffer(word: &str) -> Option<Buffer> {
    Buffer::ALL.into_iter().find(|buffer| buffer.name() == word)
}

/// The phase, if `word` is one.
pub(crate) fn phase(word: &str) -> Option<Phase> {
    PHASES.into_iter().find(|phase| phase.name() == word)
}

/// The built-in function, if `word` is one.
pub(crate) fn builtin(word: &str) -> Option<Builtin> {
    Builtin::ALL.into_iter().find(|builtin| builtin.name() == word)
}

/// Whether Rust keeps the word to itself.
pub(crate) fn is_rust_keyword(word: &str) -> bool {
    RUST_KEYWORDS.contains(&word)
}

/// What the language means by `word`, if it means something: then it cannot name a variable or a function.
pub(crate) fn reserved(word: &str) -> Option<&'static str> {
    if name(word).is_some() {
        Some("a name that the language gives")
    } else if buffer(word).is_some() {
        Some("a buffer")
    } else if builtin(word).is_some() {
        Some("a built-in function")
    } else if SETS.contains(&word) {
        Some("a set of the language")
    } else if SYNTAX.contains(&word) || is_rust_keyword(word) {
        Some("a word of the language")
    } else {
        None
    }
}

/// Why an operator's name is refused: the ones there are, and the closest.
pub(crate) fn unknown_operator(word: &str) -> (String, String) {
    let known = Operator::ALL.map(Operator::name);
    (format!("unknown operator `{word}`"), one_of(word, &known))
}

/// `did you mean …?`, or the list of `known` words.
pub(crate) fn one_of(word: &str, known: &[&str]) -> String {
    match closest(word, known.iter().copied()) {
        Some(close) => format!("did you mean `{close}`? There are {}", list(known)),
        None => format!("there are {}", list(known)),
    }
}

/// `a`, `b`, `c`
pub(crate) fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

/// The word of `known` that `word` was most likely meant to be.
pub(crate) fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Distances take the product of the lengths: nobody mistypes a word of this length.
    if word.len() > 64 {
        return None;
    }
    let most = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .filter(|candidate| *candidate != word && candidate.len() <= 64)
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        // A one-letter word is one edit away from every other.
        .filter(|(distance, candidate)| *distance <= most && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `mesh_all_gather` for `MeshAllGather`.
pub(crate) fn snake_case(camel: &str) -> String {
    let letters: Vec<char> = camel.chars().collect();
    let mut snake = String::with_capacity(camel.len() + 4);
    for (i, &letter) in letters.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|at| letters.get(at)).copied();
        let after_is_lower = letters.get(i + 1).is_some_and(|next| next.is_lowercase());
        let starts_word =
            letter.is_uppercase() && before.is_some_and(|last| last != '_' && (last.is_lowercase() || after_is_lower));
        if starts_word {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snake_case_splits_words_not_letters() {
        for (camel, snake) in [
            ("MeshAllGather", "mesh_all_gather"),
            ("NhrAllGather", "nhr_all_gather"),
            ("NHRAllGather", "nhr_all_gather"),
            ("Mesh2DAllGather", "mesh2d_all_gather"),
            ("Mesh2D", "mesh2d"),
            ("Ring2All", "ring2_all"),
            ("already_snake", "already_snake"),
            ("A", "a"),
        ] {
            assert_eq!(snake_case(camel), snake);
        }
    }

    #[test]
    fn the_closest_word_is_close() {
        let known = ["all_gather", "all_reduce", "barrier"];
        assert_eq!(closest("all_gahter", known), Some("all_gather"));
        assert_eq!(closest("allreduce", known), Some("all_reduce"));
        assert_eq!(closest("scan", known), None);
        assert_eq!(closest("x", ["y", "rank"]), None);
        assert_eq!(closest(&"x".repeat(100_000), known), None);
    }
}
