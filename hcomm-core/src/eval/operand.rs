//! Chunks of buffers: what a place in a transfer means on a rank.

use super::expr::{Budget, Vars};
use super::{Context, Fault, FaultKind, tri};
use crate::ids::{ExprId, SpanId};
use crate::operator::Buffer;
use crate::spec::{Index, Place};

/// The most chunks of a buffer.
pub(crate) const MAX_CHUNKS: i64 = 1 << 26;

/// A run of chunks of one rank's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Whose.
    pub rank: u32,
    /// Which buffer.
    pub buffer: Buffer,
    /// The first chunk.
    pub start: u32,
    /// How many, in the buffer.
    pub len: u32,
}

impl<'a> Context<'a> {
    /// Chunks of a buffer on a rank, with `split` chunks a slot and `scratch` cells.
    pub(super) const fn chunks(&self, buffer: Buffer, rank: u32, split: u32, scratch: u32) -> u32 {
        match buffer {
            Buffer::Input => self.spec.operator.input_slots(&self.shape, rank).saturating_mul(split),
            Buffer::Output => self.spec.operator.output_slots(&self.shape, rank).saturating_mul(split),
            Buffer::Scratch => scratch,
        }
    }

    /// A rank that is not this one and exists.
    pub(super) const fn peer(&self, id: ExprId, vars: &Vars, budget: &mut Budget, span: SpanId) -> Result<u32, Fault> {
        let peer = tri!(self.eval(id, vars, budget));
        if peer < 0 || peer >= self.shape.ranks() as i64 {
            return Err(Fault { kind: FaultKind::NoPeer(peer), span });
        }
        if peer == self.rank as i64 {
            return Err(Fault { kind: FaultKind::OwnPeer, span });
        }
        Ok(peer as u32)
    }

    /// The chunks that a place names. The operand's length may be zero.
    pub(super) const fn operand(
        &self,
        place: &Place,
        split: u32,
        scratch: u32,
        vars: &Vars,
        budget: &mut Budget,
    ) -> Result<Operand, Fault> {
        let (buffer, span) = (place.buffer, place.span);
        let rank = match place.peer {
            None => self.rank,
            Some(peer) => {
                if !matches!(buffer, Buffer::Scratch) && !self.spec.headers.symmetric {
                    return Err(Fault { kind: FaultKind::NotShared(buffer), span });
                }
                tri!(self.peer(peer, vars, budget, span))
            }
        };
        let have = self.chunks(buffer, rank, split, scratch);
        let (start, end) = match place.index {
            Index::Whole => {
                if have == 0 {
                    return Err(Fault { kind: FaultKind::Bounds { buffer, start: 0, end: 1, have, rank }, span });
                }
                (0, have as i64)
            }
            Index::One(at) => {
                let at = tri!(self.eval(at, vars, budget));
                (at, at.saturating_add(1))
            }
            Index::Run(from, to) => (tri!(self.eval(from, vars, budget)), tri!(self.eval(to, vars, budget))),
        };
        if start < 0 || end < start || end > have as i64 {
            return Err(Fault { kind: FaultKind::Bounds { buffer, start, end, have, rank }, span });
        }
        Ok(Operand { rank, buffer, start: start as u32, len: (end - start) as u32 })
    }
}

impl Operand {
    /// The first chunk that both name, if any.
    pub(super) const fn overlap(&self, other: &Operand) -> Option<u32> {
        if self.rank != other.rank || self.buffer as u8 != other.buffer as u8 {
            return None;
        }
        let first = if self.start > other.start { self.start } else { other.start };
        if first < self.start + self.len && first < other.start + other.len { Some(first) } else { None }
    }
}
