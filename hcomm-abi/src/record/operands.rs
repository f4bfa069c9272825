//! What an operator is called with, found out from what its calls touch.

use super::cut::moves;
use super::{Memory, Record};
use hcomm_core::operator::{Buffer, CountsBy, Operator};
use hcomm_core::shape::{Layout, Shape};
use std::collections::BTreeMap;

/// An operator that a program says it is, with its roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Which operator.
    pub operator: Operator,
    /// The root, or the source.
    pub from: u32,
    /// The destination.
    pub to: u32,
}

impl Claim {
    /// `all_gather`, `broadcast:2` (root), `send_recv:0:1` (source, destination).
    pub fn parse(text: &str) -> Option<Claim> {
        let mut parts = text.split(':');
        let operator = Operator::from_name(parts.next()?)?;
        let roles: Option<Vec<u32>> = parts.map(|part| part.parse().ok()).collect();
        let (from, to) = match (&roles?[..], operator.has_root(), operator.has_src_dst()) {
            ([], false, false) => (0, 0),
            ([root], true, _) => (*root, 0),
            ([src, dst], _, true) => (*src, *dst),
            _ => return None,
        };
        Some(Claim { operator, from, to })
    }

    /// Who takes part, if the roles are ranks.
    pub(super) fn shape(&self, ranks: u32) -> Option<Shape> {
        let layout = Layout::flat(ranks)?;
        let (root, src) = if self.operator.has_root() { (self.from, 0) } else { (0, self.from) };
        (self.from < ranks && self.to < ranks).then_some(Shape { layout, root, src, dst: self.to })
    }
}

/// The inputs and outputs of all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operands {
    /// Bytes of a slot.
    pub(super) slot: u64,
    /// By rank and buffer: the first byte, and how many slots.
    starts: BTreeMap<(u32, u8), (u64, u64)>,
}

/// What a call of the operator touches of an allocation.
#[derive(Clone, Copy)]
struct Touched {
    from: u64,
    to: u64,
    written: bool,
}

impl Operands {
    /// The operands of one call of an operator. The error says why they cannot be told.
    pub(super) fn find(record: &Record, claim: &Claim, shape: &Shape) -> Result<Operands, String> {
        let operator = claim.operator;
        if operator.counts() != CountsBy::All || operator == Operator::Barrier {
            return Err(format!("the counts of {operator} are not in its calls"));
        }
        let mut touched: BTreeMap<(u32, u64), Touched> = BTreeMap::new();
        for (dst, src) in moves(record) {
            for (bytes, written) in [(dst, true), (src, false)] {
                if bytes.memory == Memory::HcclBuffer {
                    continue;
                }
                let (from, to) = (bytes.addr, bytes.addr + bytes.len);
                let known = touched.entry((bytes.rank, bytes.base)).or_insert(Touched { from, to, written });
                *known =
                    Touched { from: known.from.min(from), to: known.to.max(to), written: known.written || written };
            }
        }
        let mut found: BTreeMap<(u32, u8), (u64, Touched)> = BTreeMap::new();
        for ((rank, base), touched) in touched {
            let buffer = if touched.written { Buffer::Output } else { Buffer::Input };
            if found.insert((rank, buffer as u8), (base, touched)).is_some() {
                return Err(format!("rank {rank} has several allocations that may be its {buffer}"));
            }
        }
        let slots = |rank, buffer| match buffer {
            Buffer::Input => u64::from(operator.input_slots(shape, rank)),
            _ => u64::from(operator.output_slots(shape, rank)),
        };
        let each = || (0..record.ranks).flat_map(|rank| [(rank, Buffer::Input), (rank, Buffer::Output)]);
        let mut slot = 0;
        for (rank, buffer) in each() {
            match (found.get(&(rank, buffer as u8)), slots(rank, buffer)) {
                (Some((_, touched)), slots @ 1..) => slot = slot.max((touched.to - touched.from).div_ceil(slots)),
                (None, 0) => {}
                (None, _) => return Err(format!("nothing that rank {rank} touches can be its {buffer}")),
                (Some(_), 0) => return Err(format!("rank {rank} has no {buffer}, and touches what may be one")),
            }
        }
        let mut starts = BTreeMap::new();
        for (rank, buffer) in each() {
            let (Some((base, touched)), slots @ 1..) = (found.get(&(rank, buffer as u8)), slots(rank, buffer)) else {
                continue;
            };
            // Where not all of it is touched, it is taken to start where the allocation does.
            let whole = touched.to - touched.from == slots * slot;
            let start = if whole { touched.from } else { *base };
            if touched.to > start + slots * slot {
                return Err(format!("what rank {rank} touches of its {buffer} has not {slots} slots of {slot} bytes"));
            }
            starts.insert((rank, buffer as u8), (start, slots));
        }
        Ok(Operands { slot, starts })
    }

    /// Rank, buffer, first byte and slots of each.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, Buffer, u64, u64)> {
        self.starts.iter().map(|(&(rank, buffer), &(start, slots))| {
            let buffer = if buffer == Buffer::Input as u8 { Buffer::Input } else { Buffer::Output };
            (rank as usize, buffer, start, slots)
        })
    }
}
