//! The lowered program for AIV: per rank, blocks of kernel operations.

use std::collections::BTreeSet;

use crate::ids::SpanId;
use crate::product::Product;
use crate::program::{self, Cell};

use super::tags::Tags;
use super::{UB_DATA, UB_SIZE};

/// What every rank does in one launch, which is one pass (round) over the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What does not depend on the engine: operator, shape, chunks, names of flags, source. Its `ranks` are empty.
    pub frame: program::Program,
    /// How many parts a chunk is cut into where several blocks share a statement, at least 1. Flags have at most as many.
    pub parts: u32,
    /// How the values of flags change from launch to launch.
    pub tags: Tags,
    /// How data goes through the Unified Buffer.
    pub ub: UnifiedBuffer,
    /// How the blocks of a rank meet.
    pub sync: Sync,
    /// One per rank, by rank.
    pub ranks: Vec<Rank>,
}

/// How data goes through the Unified Buffer of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnifiedBuffer {
    /// Bytes of a piece: a multiple of 32.
    pub piece: u32,
    /// Pieces that are under way at once: 1, or 2 with double buffering.
    pub buffers: u32,
}

/// How the blocks of a rank meet in `SyncAll`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Sync {
    /// `SyncAll<true>()`, by the hardware: the 950's. HCCL's sample makes it a pipe barrier where it is compiled for the
    /// cores of A2 and A3 (DAV_C220), which no block waits in for another one (facts 5.1).
    #[default]
    Hard,
    /// `SyncAll(gm, ub, blocks)`, as HCCL's kernels for A3 have it: every block writes 32 bytes of global memory and polls
    /// those of all others, through 32 bytes of its Unified Buffer for each.
    Soft,
}

/// What one rank does.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Rank {
    /// Operations of each block, in order. As many blocks as on any other rank.
    pub blocks: Vec<Vec<Op>>,
}

/// One operation of a block and the statement that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// The statement, in the source of the frame.
    pub at: SpanId,
}

/// What an operation of a block does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// `CpGM2GM`: from global memory to global memory through the Unified Buffer; a reduction in the atomic mode.
    Copy(Copy),
    /// `SetAtomicAdd`, `Max` or `Min`, as the reduction is: until the mode is reset, what is copied is reduced.
    SetAtomic,
    /// `SetAtomicNone`: what is copied replaces again what was there.
    SetAtomicNone,
    /// `PipeBarrier<PIPE_ALL>`: all copies of this block are over, and none of the next ones has begun.
    PipeBarrier,
    /// Write the flag's value into the peer's flag area.
    Record(Flag),
    /// Poll a flag of this rank's area until it has the value.
    Wait(Flag),
    /// `SyncAll`: wait until all blocks of this rank are there, as [`Program::sync`] says.
    SyncAll,
}

/// A run of chunks that a block copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Where to.
    pub dst: Gm,
    /// Where from. At most one of the two is another rank's.
    pub src: Gm,
    /// How many chunks, at least 1.
    pub len: u32,
    /// The length class of the first chunk, as in [`program::Transfer`].
    pub class: u32,
    /// Which parts of every chunk; all of it if none.
    pub part: Option<Parts>,
    /// Whether lengths and addresses that are not multiples of 32 bytes go by `DataCopyPad`. A plain `DataCopy` cannot
    /// move them.
    pub padded: bool,
}

/// Neighbouring parts of a chunk, of [`Program::parts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    /// The first one.
    pub first: u32,
    /// How many, at least 1.
    pub len: u32,
}

impl Parts {
    /// Where in a chunk of so many bytes they begin, and their bytes, where it is cut into `parts`: whole 32 bytes, but
    /// for the last part that is not empty.
    pub const fn bytes(self, parts: u32, chunk: u64) -> (u64, u64) {
        let parts = if parts == 0 { 1 } else { parts as u64 };
        let unit = chunk.div_ceil(parts).next_multiple_of(super::BLOCK_SIZE);
        let start = unit.saturating_mul(self.first as u64);
        let start = if start < chunk { start } else { chunk };
        let bytes = unit.saturating_mul(self.len as u64);
        (start, if bytes < chunk - start { bytes } else { chunk - start })
    }

    /// The part after the last one.
    pub const fn end(self) -> u32 {
        self.first.saturating_add(self.len)
    }
}

/// Chunks in the global memory of a rank: with memory semantics, a peer's is an address like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gm {
    /// Whose memory.
    pub rank: u32,
    /// The first chunk.
    pub cell: Cell,
}

/// A flag and the value that is written or waited for. It is one of the waiter's, for one recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flag {
    /// The rank at the other end: the waiter of a record, the recorder of a wait.
    pub peer: u32,
    /// Which notify of the frame.
    pub notify: u32,
    /// Which part, below [`Program::parts`].
    pub part: u32,
    /// The use of the flag in the launch, from 0: [`Program::value`] makes the value of it.
    pub step: u32,
}

impl Sync {
    /// How blocks meet on a product.
    pub const fn of(product: Product) -> Sync {
        match product {
            Product::A2 | Product::A3 => Sync::Soft,
            Product::A950 => Sync::Hard,
        }
    }
}

impl UnifiedBuffer {
    /// One piece of 190 KB at a time.
    pub const SINGLE: UnifiedBuffer = UnifiedBuffer { piece: UB_DATA, buffers: 1 };
    /// Two pieces of 95 KB, one read while the other is written.
    pub const DOUBLE: UnifiedBuffer = UnifiedBuffer { piece: UB_DATA / 2, buffers: 2 };

    /// Bytes that it takes, two flags included: one to write from, one to poll into.
    pub const fn bytes(&self) -> u64 {
        self.piece as u64 * self.buffers as u64 + 2 * super::FLAG_SIZE as u64
    }

    /// Whether a Unified Buffer holds it, in pieces that a plain `DataCopy` moves.
    pub const fn fits(&self) -> bool {
        let whole = (self.piece as u64).is_multiple_of(super::BLOCK_SIZE);
        self.piece > 0 && whole && self.buffers >= 1 && self.buffers <= 2 && self.bytes() <= UB_SIZE as u64
    }
}

impl OpKind {
    /// The name in a kernel.
    pub const fn name(&self) -> &'static str {
        match self {
            OpKind::Copy(_) => "CpGM2GM",
            OpKind::SetAtomic => "SetAtomic<OP, T>",
            OpKind::SetAtomicNone => "SetAtomicNone",
            OpKind::PipeBarrier => "PipeBarrier<PIPE_ALL>",
            OpKind::Record(_) => "Record",
            OpKind::Wait(_) => "Wait",
            OpKind::SyncAll => "SyncAll",
        }
    }
}

impl Program {
    /// How many ranks.
    pub fn num_ranks(&self) -> u32 {
        self.frame.num_ranks()
    }

    /// How many blocks a rank has: of the first one, as all have the same.
    pub fn num_blocks(&self) -> u32 {
        self.ranks.first().map_or(0, |rank| rank.blocks.len() as u32)
    }

    /// The program for a product: its blocks meet as they can there.
    #[must_use]
    pub fn on(mut self, product: Product) -> Program {
        self.sync = Sync::of(product);
        self
    }

    /// The program with pieces of 95 KB, one read while the other is written.
    #[must_use]
    pub fn double_buffered(mut self) -> Program {
        self.ub = UnifiedBuffer::DOUBLE;
        self
    }

    /// Bytes of a block's Unified Buffer that it takes: pieces, two flags, and what `SyncAll` needs.
    pub fn ub_bytes(&self) -> u64 {
        let sync = match self.sync {
            Sync::Hard => 0,
            Sync::Soft => u64::from(self.num_blocks()) * u64::from(super::FLAG_SIZE),
        };
        self.ub.bytes() + sync
    }

    /// Whether a Unified Buffer holds all that, in pieces that a plain `DataCopy` moves.
    pub fn ub_fits(&self) -> bool {
        self.ub.fits() && self.ub_bytes() <= u64::from(UB_SIZE)
    }

    /// The flags of 32 bytes that a rank waits for, in its own memory.
    pub fn flags_of(&self, rank: u32) -> u32 {
        let ops = self.ranks.get(rank as usize).map_or(&[][..], |rank| &rank.blocks).iter().flatten();
        let awaited: BTreeSet<(u32, u32, u32)> = ops
            .filter_map(|op| match op.kind {
                OpKind::Wait(flag) => Some((flag.peer, flag.notify, flag.part)),
                _ => None,
            })
            .collect();
        awaited.len() as u32
    }

    /// Operations of all ranks, in one launch.
    pub fn num_ops(&self) -> u64 {
        self.ranks.iter().flat_map(|rank| &rank.blocks).map(|block| block.len() as u64).sum()
    }

    /// All operations, with rank and block.
    pub fn ops(&self) -> impl Iterator<Item = (u32, u32, &Op)> {
        (0..).zip(&self.ranks).flat_map(|(rank, blocks)| {
            (0..).zip(&blocks.blocks).flat_map(move |(block, ops)| ops.iter().map(move |op| (rank, block, op)))
        })
    }

    /// How many parts a flag has at most: one more than the last one that is named.
    pub fn flag_parts(&self) -> u32 {
        let parts = self.ops().filter_map(|(_, _, op)| match op.kind {
            OpKind::Record(flag) | OpKind::Wait(flag) => Some(flag.part.saturating_add(1)),
            _ => None,
        });
        parts.max().unwrap_or(1)
    }

    /// How many uses of one flag there are at most in a launch.
    pub fn steps(&self) -> u32 {
        let steps = self.ops().filter_map(|(_, _, op)| match op.kind {
            OpKind::Record(flag) | OpKind::Wait(flag) => Some(flag.step.saturating_add(1)),
            _ => None,
        });
        steps.max().unwrap_or(0)
    }
}
