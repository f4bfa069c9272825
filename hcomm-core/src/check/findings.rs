//! What was found: each distinct fault once, in a stable order.

use rustc_hash::FxHashSet;

use crate::diag::{Code, Diagnostic};
use crate::ids::SpanId;
use crate::program::Program;
use crate::spec::Span;

/// The most diagnostics of one check: nobody reads more, and a hostile program has no end of them.
const MOST: usize = 64;

/// Collects diagnostics of one program.
pub(super) struct Findings<'p> {
    program: &'p Program,
    seen: FxHashSet<(Code, u32, [u32; 2])>,
    found: Vec<Diagnostic>,
}

impl<'p> Findings<'p> {
    pub(super) fn new(program: &'p Program) -> Findings<'p> {
        Findings { program, seen: FxHashSet::default(), found: Vec::new() }
    }

    /// Adds what `make` says, unless the same was found before: the same code and `kind` (what sets apart two
    /// faults with one code) at the same statements.
    pub(super) fn add(&mut self, code: Code, kind: u32, at: [SpanId; 2], make: impl FnOnce() -> Diagnostic) {
        if self.seen.insert((code, kind, [at[0].0, at[1].0])) && self.found.len() < MOST {
            self.found.push(make());
        }
    }

    /// Adds a fault of the program as a whole.
    pub(super) fn add_global(&mut self, diagnostic: Diagnostic) {
        if self.found.len() < MOST {
            self.found.push(diagnostic);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Where a statement is written, if the program says.
    pub(super) fn span(&self, at: SpanId) -> Option<Span> {
        self.program.source.spans.get(at.index()).copied()
    }

    /// In the order of the source; for one place, in the order in which they were found.
    pub(super) fn finish(self) -> Vec<Diagnostic> {
        let mut found = self.found;
        found.sort_by_key(|diagnostic| (diagnostic.at.is_none(), diagnostic.at));
        found
    }
}
