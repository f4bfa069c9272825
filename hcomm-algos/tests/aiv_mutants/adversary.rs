//! Schedulers that look for trouble: who goes on, and what becomes of copies that no barrier holds.

use hcomm_sim::{Scheduler, Turn};

/// Which block goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocks {
    /// Any.
    Any(u64),
    /// The one that could go on last: one block at a time runs as far ahead as it can.
    Lifo,
    /// Those of a rank only when nobody else can go on.
    StarveRank(u32),
    /// One only when nobody else can go on.
    Starve(u32),
    /// One at one operation only when nobody else can go on, in every launch.
    Hold(u32, usize),
}

/// What the pipes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pipes {
    /// Nothing before a barrier makes them.
    Late,
    /// Read at once, write when a barrier makes them.
    ReadEarly,
    /// All that they can before any block goes on.
    Eager,
    /// Read at once, and write the newest piece where an older one waits.
    NewestFirst,
    /// Anything at any time.
    Any,
}

pub(crate) const PIPES: [Pipes; 5] = [Pipes::Late, Pipes::ReadEarly, Pipes::Eager, Pipes::NewestFirst, Pipes::Any];

/// Both at work.
pub(crate) struct Adversary {
    blocks: Blocks,
    pipes: Pipes,
    /// Blocks of all ranks, and of one.
    number: u32,
    per_rank: u32,
    random: u64,
    ready: Vec<Turn>,
}

impl Adversary {
    pub(crate) fn new(blocks: Blocks, pipes: Pipes, number: u32, per_rank: u32) -> Adversary {
        let seed = if let Blocks::Any(seed) = blocks { seed } else { 1 };
        let random = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Adversary { blocks, pipes, number, per_rank, random, ready: Vec::new() }
    }

    /// xorshift64*: small, and the same everywhere.
    fn draw(&mut self, below: usize) -> usize {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        ((self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 8) % below as u64) as usize
    }

    fn is_kept(&self, turn: &Turn) -> bool {
        let block = turn.thread % self.number;
        match self.blocks {
            Blocks::Any(_) | Blocks::Lifo => false,
            Blocks::StarveRank(rank) => block / self.per_rank == rank,
            Blocks::Starve(starved) => block == starved,
            Blocks::Hold(held, op) => (block, turn.op) == (held, op),
        }
    }

    /// How urgent: the lowest goes first.
    fn class(&self, turn: &Turn) -> u32 {
        let kept = u32::from(self.is_kept(turn));
        // Where its block is kept, so are its pipes.
        let at_once = 1 + 2 * kept;
        match (self.pipes, turn.thread / self.number) {
            (Pipes::Any, _) | (_, 0) => 2 + kept,
            (Pipes::ReadEarly | Pipes::Eager | Pipes::NewestFirst, 1) | (Pipes::Eager, 2) | (Pipes::NewestFirst, 3) => {
                at_once
            }
            _ => 4,
        }
    }
}

impl Scheduler for Adversary {
    fn ready(&mut self, _: u32) {
        unreachable!("the engine says where blocks are");
    }

    fn ready_at(&mut self, turn: Turn) {
        self.ready.push(turn);
    }

    fn next(&mut self) -> Option<u32> {
        let first = self.ready.iter().map(|turn| self.class(turn)).min()?;
        let among: Vec<usize> = (0..self.ready.len()).filter(|&at| self.class(&self.ready[at]) == first).collect();
        let at = match self.blocks {
            Blocks::Lifo => among[among.len() - 1],
            _ => among[self.draw(among.len())],
        };
        Some(self.ready.remove(at).thread)
    }

    fn runs_until_blocked(&self) -> bool {
        false
    }
}
