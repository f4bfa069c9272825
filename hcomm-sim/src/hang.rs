//! Who waits for whom when nothing can go on.

use crate::error::Place;
use crate::report::NotifyName;
use hcomm_core::diag::{Code, Diagnostic};
use std::collections::HashSet;
use std::fmt;

/// Nothing can go on, and not every thread has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hang {
    /// Every thread that waits for a notify, by rank and thread.
    pub waiting: Vec<Waiting>,
    /// A cycle of waits, as places in `waiting`: each waits for a record that the next one would come to, and the last
    /// one for the first. Empty if there is none, so that some wait is for a record that nobody has left.
    pub cycle: Vec<usize>,
}

/// A thread that waits for a notify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The wait.
    pub place: Place,
    /// What it waits for.
    pub notify: NotifyName,
    /// Who would record it.
    pub recorder: Recorder,
}

/// Who would record a notify that a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorder {
    /// A thread that has a record of it before it, and does not get there.
    Waits(Place),
    /// AIV: a block that has not come to the meeting of all blocks.
    Missing(Place),
    /// AIV: a block that keeps the core while it waits.
    Keeps(Place),
    /// Nobody: no thread has a record of it left.
    Nobody {
        /// How many records of it were lost because it was still set.
        lost: u32,
    },
}

/// How many waits a report in text lists.
const LISTED: usize = 16;

impl Hang {
    /// The hang as a diagnostic: H101 at the first wait of the cycle, or H102 at a wait that nobody can end.
    pub fn diagnostic(&self, ranks: u32) -> Diagnostic {
        let waits: Vec<&Waiting> = self.cycle.iter().filter_map(|index| self.waiting.get(*index)).collect();
        if let Some((first, others)) = waits.split_first() {
            let message = match others {
                [] => format!("deadlock: {first}, which only it would record"),
                _ => format!("deadlock: {} {}s wait in a circle: {first}", waits.len(), first.place.unit),
            };
            let mut diagnostic = Diagnostic::new(Code::H101, message, first.place.at).on(ranks, first.place.rank);
            for wait in others.iter().take(LISTED) {
                diagnostic = diagnostic.with_related(wait.to_string(), wait.place.at);
            }
            return diagnostic;
        }
        let Some(wait) = self.waiting.iter().find(|wait| matches!(wait.recorder, Recorder::Nobody { .. })) else {
            return Diagnostic::new(Code::H101, format!("deadlock: {} wait", self.waiting.len()), None);
        };
        Diagnostic::new(Code::H102, format!("{wait}{}", wait.recorder), wait.place.at).on(ranks, wait.place.rank)
    }
}

impl fmt::Display for Waiting {
    /// ``rank 0 thread 1 waits for `ready` of rank 0 for rank 1 (line 9, round 2)``
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { rank, unit, thread, op, round, invocation, at, .. } = &self.place;
        write!(f, "rank {rank} {unit} {thread} waits for ")?;
        match &self.notify {
            NotifyName::Thread { notify, .. } => write!(f, "its notify {notify}")?,
            NotifyName::Channel { peer, name, .. } => write!(f, "`{name}` from rank {peer}")?,
            NotifyName::Flag { peer, name, .. } => write!(f, "flag `{name}` from rank {peer}")?,
            NotifyName::Meeting { .. } => f.write_str("all blocks of its rank")?,
            NotifyName::Core { .. } => f.write_str("a core")?,
        }
        match at {
            Some(span) => write!(f, " (line {}", span.line)?,
            None => write!(f, " (operation {op}")?,
        }
        if *round > 0 {
            write!(f, ", round {round}")?;
        }
        if *invocation > 0 {
            write!(f, ", invocation {invocation}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Recorder {
    /// What follows a wait in a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Recorder::Waits(place) => {
                write!(f, ", which rank {} {} {} would record", place.rank, place.unit, place.thread)?;
                place.at.map_or(Ok(()), |span| write!(f, " (line {})", span.line))
            }
            Recorder::Missing(place) => {
                write!(f, ", and {} {} has not come there", place.unit, place.thread)?;
                place.at.map_or(Ok(()), |span| write!(f, " (line {})", span.line))
            }
            Recorder::Keeps(place) => {
                write!(f, ", which {} {} keeps", place.unit, place.thread)?;
                place.at.map_or(Ok(()), |span| write!(f, " (line {})", span.line))
            }
            Recorder::Nobody { lost: 0 } => f.write_str(", and nobody has a record of it left"),
            Recorder::Nobody { lost } => {
                write!(f, ", and nobody has a record of it left: {lost} came while it was still set, and were lost")
            }
        }
    }
}

impl fmt::Display for Hang {
    /// The cycle, if there is one, then the other waits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.waiting.first().map_or("thread", |wait| wait.place.unit);
        writeln!(f, "nothing can go on: {} {}s wait", self.waiting.len(), unit)?;
        if !self.cycle.is_empty() {
            writeln!(f, "a cycle of {} waits:", self.cycle.len())?;
        }
        for wait in self.cycle.iter().take(LISTED).filter_map(|index| self.waiting.get(*index)) {
            writeln!(f, "  {wait}{}", wait.recorder)?;
        }
        let in_cycle: HashSet<usize> = self.cycle.iter().copied().collect();
        let others = self.waiting.iter().enumerate().filter(|(index, _)| !in_cycle.contains(index));
        let count = self.waiting.len() - self.cycle.len();
        if count > 0 && !self.cycle.is_empty() {
            writeln!(f, "beside it:")?;
        }
        for (_, wait) in others.take(LISTED) {
            writeln!(f, "  {wait}{}", wait.recorder)?;
        }
        let more = self.cycle.len().saturating_sub(LISTED) + count.saturating_sub(LISTED);
        if more > 0 {
            writeln!(f, "  and {more} more")?;
        }
        Ok(())
    }
}
