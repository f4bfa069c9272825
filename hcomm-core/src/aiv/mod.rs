//! The second engine, AIV: Vector cores that move the data themselves (facts section 5).
//!
//! ```text
//! Instance ── lower ──► Program ──► listing, JSON, simulator
//!                          └── translate ──► program::Program ──► check
//! ```
//!
//! A rank runs one kernel, on a number of **blocks** that is the same on all ranks. A block copies from global memory to
//! global memory through its Unified Buffer, reduces by copying in an atomic mode, and meets the others by **flags**: 32
//! bytes in the waiter's memory that hold a value, which the recorder writes and the waiter polls for. Every round is a
//! launch of its own, so that all blocks of a rank begin a round together and end it together.

mod check;
mod deal;
mod flags;
mod json;
mod listing;
mod lower;
mod pipes;
mod product;
mod program;
mod resident;
mod schedule;
mod tags;
mod translate;
mod words;

pub use check::{Options, check, report};
pub use deal::{default_blocks, lanes};
pub use json::SCHEMA;
pub use listing::{Line, OneRank};
pub use lower::{lower, lower_default, uses_fit};
pub use product::{admits, admits_kernel, admits_layout};
pub use program::{Copy, Flag, Gm, Op, OpKind, Parts, Program, Rank, Sync, UnifiedBuffer};
pub use tags::{MAX_COUNTER, MAX_STEPS, Tags};
pub use translate::translate;

/// The most blocks of a kernel: the Vector cores of a device (facts 5: `MAX_NUM_BLOCKS`).
pub const MAX_BLOCKS: u32 = 48;
/// Bytes of a flag.
pub const FLAG_SIZE: u32 = 32;
/// What a plain `DataCopy` moves in multiples of, in bytes.
pub const BLOCK_SIZE: u64 = 32;
/// Bytes of a Unified Buffer.
pub const UB_SIZE: u32 = 192 << 10;
/// Bytes of a Unified Buffer that data may take; the rest is for flags.
pub const UB_DATA: u32 = 190 << 10;
