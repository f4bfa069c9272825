//! How many elements each slot has, and where it lies in its buffer: one count for all, or the counts and displacements
//! of the V operators.

use crate::operator::{Buffer, CountsBy};
use crate::program::Program;

/// The largest element count of an operator (facts 2.2: `SYS_MAX_COUNT`).
pub const MAX_COUNT: u64 = 0x7_FFFF_FFFF;

/// Elements and place of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// How many elements.
    pub count: u64,
    /// Its first element in the buffer.
    pub start: u64,
}

/// The counts of an operator's slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Every slot has this many elements, and lies behind the one before.
    Same(u64),
    /// all_gather_v and reduce_scatter_v: the slot of each rank, in the larger buffer. All ranks give the same.
    ByRank(Vec<Extent>),
    /// all_to_all_v, all_to_all_vc and batch_send_recv: slots of every rank's input, by rank and slot, and of every
    /// rank's output.
    ByPair {
        /// `send[r][i]`: what r sends to i, in r's input.
        send: Vec<Vec<Extent>>,
        /// `recv[r][i]`: what r receives from i, in r's output. Its count is `send[i][r]`'s.
        recv: Vec<Vec<Extent>>,
    },
}

/// Why counts do not fit a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountsError {
    /// The operator's counts are of another kind.
    #[error("{operator} takes {wants}")]
    Kind {
        /// The operator.
        operator: crate::operator::Operator,
        /// What it takes.
        wants: &'static str,
    },
    /// There are more or fewer counts than ranks.
    #[error("there are {have} counts for {ranks} ranks")]
    Number {
        /// Counts given.
        have: usize,
        /// Ranks.
        ranks: u32,
    },
    /// A sender and a receiver disagree.
    #[error("rank {from} sends {sent} elements to rank {to}, which receives {received}")]
    Unmatched {
        /// Who sends.
        from: u32,
        /// Who receives.
        to: u32,
        /// Elements sent.
        sent: u64,
        /// Elements received.
        received: u64,
    },
    /// Two slots of a buffer that is written share elements.
    #[error("the slots of ranks {a} and {b} overlap in the output of rank {rank}")]
    Overlap {
        /// Whose output.
        rank: u32,
        /// A slot.
        a: u32,
        /// Another slot.
        b: u32,
    },
    /// The buffer is larger than any operator takes.
    #[error("a buffer of {elements} elements is too large: an operator takes at most {MAX_COUNT}")]
    TooLarge {
        /// Elements of the buffer.
        elements: u64,
    },
}

impl Counts {
    /// Dense slots of these counts, by rank.
    pub fn by_rank(counts: &[u64]) -> Counts {
        Counts::ByRank(dense(counts))
    }

    /// Dense slots of these counts: `counts[r][i]` is what r sends to i.
    pub fn by_pair(counts: &[Vec<u64>]) -> Counts {
        let received =
            |rank: usize| -> Vec<u64> { counts.iter().map(|row| row.get(rank).copied().unwrap_or_default()).collect() };
        let recv = (0..counts.len()).map(|rank| dense(&received(rank))).collect();
        Counts::ByPair { send: counts.iter().map(|row| dense(row)).collect(), recv }
    }

    /// The largest count.
    pub fn largest(&self) -> u64 {
        let most = |slots: &[Extent]| slots.iter().map(|slot| slot.count).max().unwrap_or(0);
        match self {
            Counts::Same(count) => *count,
            Counts::ByRank(slots) => most(slots),
            Counts::ByPair { send, .. } => send.iter().map(|slots| most(slots)).max().unwrap_or(0),
        }
    }

    /// A slot of a rank's `input` or `output`; empty if there is none.
    pub fn extent(&self, program: &Program, buffer: Buffer, rank: u32, slot: u32) -> Extent {
        let one = match buffer {
            Buffer::Input => program.operator.input_slots(&program.shape, rank) == 1,
            _ => program.operator.output_slots(&program.shape, rank) == 1,
        };
        match self {
            Counts::Same(count) => Extent { count: *count, start: count.saturating_mul(u64::from(slot)) },
            Counts::ByRank(slots) => {
                // The buffer that holds the rank's own slot alone holds it at its start.
                let own =
                    one && (buffer == Buffer::Input) == (program.operator == crate::operator::Operator::AllGatherV);
                let extent = slots.get(if own { rank } else { slot } as usize).copied().unwrap_or_default();
                if own { Extent { start: 0, ..extent } } else { extent }
            }
            Counts::ByPair { send, recv } => {
                let table = if buffer == Buffer::Input { send } else { recv };
                table.get(rank as usize).and_then(|slots| slots.get(slot as usize)).copied().unwrap_or_default()
            }
        }
    }

    /// Elements of the slot that chunks of a length class are of.
    pub(crate) fn of_class(&self, class: u32, split: u64) -> u64 {
        let owner = (u64::from(class) / split) as usize;
        match self {
            Counts::Same(count) => *count,
            Counts::ByRank(slots) => slots.get(owner).map_or(0, |slot| slot.count),
            Counts::ByPair { send, .. } => {
                let ranks = send.len().max(1);
                send.get(owner / ranks).and_then(|slots| slots.get(owner % ranks)).map_or(0, |slot| slot.count)
            }
        }
    }

    /// Elements of a rank's `input` or `output`: up to the end of its last slot.
    pub fn elements(&self, program: &Program, buffer: Buffer, rank: u32) -> u64 {
        let slots = match buffer {
            Buffer::Input => program.operator.input_slots(&program.shape, rank),
            Buffer::Output => program.operator.output_slots(&program.shape, rank),
            Buffer::Scratch => 0,
        };
        if let Counts::Same(count) = self {
            return count.saturating_mul(u64::from(slots));
        }
        let end = |slot| {
            let Extent { count, start } = self.extent(program, buffer, rank, slot);
            if count == 0 { 0 } else { start.saturating_add(count) }
        };
        (0..slots).map(end).max().unwrap_or(0)
    }

    /// Checks that the counts fit the program.
    pub(crate) fn check(&self, program: &Program) -> Result<(), CountsError> {
        let (operator, ranks) = (program.operator, program.num_ranks());
        let wants = match (operator.counts(), self) {
            (CountsBy::All, Counts::Same(_))
            | (CountsBy::Rank, Counts::ByRank(_))
            | (CountsBy::Pair, Counts::ByPair { .. }) => None,
            (CountsBy::All, _) => Some("one count"),
            (CountsBy::Rank, _) => Some("a count for each rank"),
            (CountsBy::Pair, _) => Some("a count for each pair of ranks"),
        };
        if let Some(wants) = wants {
            return Err(CountsError::Kind { operator, wants });
        }
        let number = |have: usize| match have == ranks as usize {
            true => Ok(()),
            false => Err(CountsError::Number { have, ranks }),
        };
        match self {
            Counts::Same(_) => {}
            Counts::ByRank(slots) => number(slots.len())?,
            Counts::ByPair { send, recv } => {
                number(send.len())?;
                number(recv.len())?;
                send.iter().chain(recv).try_for_each(|slots| number(slots.len()))?;
                for from in 0..ranks {
                    for to in 0..ranks {
                        let sent = send[from as usize][to as usize].count;
                        let received = recv[to as usize][from as usize].count;
                        if sent != received {
                            return Err(CountsError::Unmatched { from, to, sent, received });
                        }
                    }
                }
            }
        }
        for rank in 0..ranks {
            for buffer in [Buffer::Input, Buffer::Output] {
                let elements = self.elements(program, buffer, rank);
                let most = if matches!(self, Counts::Same(_)) { self.largest() } else { elements };
                if most > MAX_COUNT {
                    return Err(CountsError::TooLarge { elements: most });
                }
            }
            self.check_overlap(program, rank)?;
        }
        Ok(())
    }

    /// Checks that no two slots of a rank's output share elements.
    fn check_overlap(&self, program: &Program, rank: u32) -> Result<(), CountsError> {
        if matches!(self, Counts::Same(_)) {
            return Ok(());
        }
        let slots = program.operator.output_slots(&program.shape, rank);
        let mut order: Vec<(Extent, u32)> =
            (0..slots).map(|slot| (self.extent(program, Buffer::Output, rank, slot), slot)).collect();
        order.retain(|(extent, _)| extent.count > 0);
        order.sort_by_key(|(extent, _)| extent.start);
        match order.windows(2).find(|pair| pair[0].0.start.saturating_add(pair[0].0.count) > pair[1].0.start) {
            Some(pair) => Err(CountsError::Overlap { rank, a: pair[0].1, b: pair[1].1 }),
            None => Ok(()),
        }
    }
}

/// Slots one behind the other.
fn dense(counts: &[u64]) -> Vec<Extent> {
    let mut start = 0u64;
    let mut extent = |count: &u64| {
        let extent = Extent { count: *count, start };
        start = start.saturating_add(*count);
        extent
    };
    counts.iter().map(&mut extent).collect()
}

impl From<u64> for Counts {
    fn from(count: u64) -> Counts {
        Counts::Same(count)
    }
}
