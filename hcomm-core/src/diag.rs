//! What is wrong, where, the numbers that matter, and what would fix it.

use crate::spec::Span;

/// The kind of a diagnostic (DESIGN section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// Language: names, types, phases, arithmetic.
    H001,
    /// Deadlock: a cycle of waits.
    H101,
    /// A record nobody waits for, a wait nobody records, a notify left set.
    H102,
    /// A notify recorded again before it was consumed, or used by two lanes.
    H103,
    /// A data race.
    H201,
    /// Unordered reductions into one chunk under `deterministic`.
    H202,
    /// A read of a chunk that nothing wrote.
    H301,
    /// A wrong result.
    H302,
    /// Chunks outside their buffer, of different lengths, or overlapping in one task.
    H303,
    /// A peer, or a peer's buffer, that may not be reached.
    H304,
    /// Resources over the budget or the product's limit.
    H401,
    /// An operation, data type or reduction that the engine and product do not offer.
    H402,
}

impl Code {
    /// One or two words for a heading.
    pub const fn title(self) -> &'static str {
        match self {
            Code::H001 => "language",
            Code::H101 => "deadlock",
            Code::H102 => "unmatched",
            Code::H103 => "notify reuse",
            Code::H201 => "race",
            Code::H202 => "order",
            Code::H301 => "uninitialised",
            Code::H302 => "result",
            Code::H303 => "bounds",
            Code::H304 => "access",
            Code::H401 => "budget",
            Code::H402 => "engine",
        }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}

/// How the message of an evaluation that did not end begins.
pub(crate) const ENDLESS: &str = "this goes on without end";

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its kind.
    pub code: Code,
    /// What is wrong, with the numbers that matter. One sentence, no full stop.
    pub message: String,
    /// The place at fault.
    pub at: Option<Span>,
    /// The other places involved, each with what it has to do with it.
    pub related: Vec<Related>,
    /// What would fix it.
    pub help: Option<String>,
    /// The rank count that it was found at; the smallest that fails, where several were tried.
    pub ranks: Option<u32>,
    /// The rank that it was found on: an example.
    pub rank: Option<u32>,
}

/// Another place involved in a [`Diagnostic`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// What it has to do with it.
    pub message: String,
    /// The place.
    pub at: Option<Span>,
}

impl Diagnostic {
    /// A diagnostic at a place.
    pub fn new(code: Code, message: impl Into<String>, at: Option<Span>) -> Diagnostic {
        Diagnostic { code, message: message.into(), at, related: Vec::new(), help: None, ranks: None, rank: None }
    }

    /// Whether it is that evaluation did not end: to find it takes its time.
    pub(crate) fn is_endless(&self) -> bool {
        self.message.starts_with(ENDLESS)
    }

    /// Adds what would fix it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Adds another place involved.
    #[must_use]
    pub fn with_related(mut self, message: impl Into<String>, at: Option<Span>) -> Diagnostic {
        self.related.push(Related { message: message.into(), at });
        self
    }

    /// Adds where it was found.
    #[must_use]
    pub fn on(mut self, ranks: u32, rank: u32) -> Diagnostic {
        self.ranks = Some(ranks);
        self.rank = Some(rank);
        self
    }
}

/// Adds a diagnostic if its fault, by code and place, is not there yet.
pub fn add(found: &mut Vec<Diagnostic>, new: Diagnostic) {
    if !found.iter().any(|old| old.code == new.code && old.at == new.at) {
        found.push(new);
    }
}

impl std::fmt::Display for Diagnostic {
    /// `H303: message` on one line, without places.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        if let Some(help) = &self.help {
            write!(f, " (help: {help})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
