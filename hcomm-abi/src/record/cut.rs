//! Byte ranges as chunks: the finest partition by all boundaries that occur.
//!
//! A boundary inside the source of a copy is one inside its destination too, and the other way round, so that what moves
//! is whole chunks at both ends.

use super::operands::Operands;
use super::{Bytes, Memory, Record, What};
use hcomm_core::operator::Buffer;
use std::collections::{BTreeMap, BTreeSet};

/// The most boundaries that are made by carrying them over from one end of a copy to the other.
const MOST: usize = 1 << 18;

/// Chunks of all ranks.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    ranks: Vec<RankChunks>,
    /// Whether every range has as many chunks at its source as at its destination.
    pub(super) exact: bool,
}

#[derive(Debug, Default)]
struct RankChunks {
    /// Boundaries, by address. The pieces between them that are used are the chunks.
    cuts: BTreeSet<u64>,
    /// The chunk that starts at an address.
    numbers: BTreeMap<u64, u32>,
    /// By memory, from the first byte on: which buffer it is taken for.
    buffers: BTreeMap<u64, Buffer>,
    /// Chunks of input, output and scratch.
    counts: [u32; 3],
}

pub(super) fn moves(record: &Record) -> impl Iterator<Item = (&Bytes, &Bytes)> {
    record.calls.iter().filter_map(|call| match &call.what {
        What::Move { dst, src, .. } if dst.len > 0 => Some((dst, src)),
        _ => None,
    })
}

impl Chunks {
    pub(super) fn new(record: &Record) -> Chunks {
        let mut chunks = Chunks { ranks: Vec::new(), exact: true };
        chunks.ranks.resize_with(record.ranks as usize, RankChunks::default);
        for (dst, src) in moves(record) {
            for bytes in [dst, src] {
                let rank = &mut chunks.ranks[bytes.rank as usize];
                rank.cuts.extend([bytes.addr, bytes.addr + bytes.len]);
                rank.buffers.entry(bytes.base).or_insert(match bytes.memory {
                    Memory::HcclBuffer => Buffer::Scratch,
                    Memory::Allocation => Buffer::Input,
                });
            }
            if dst.memory == Memory::Allocation {
                chunks.ranks[dst.rank as usize].buffers.insert(dst.base, Buffer::Output);
            }
        }
        chunks.carry_over(record);
        chunks.number(record);
        chunks
    }

    /// Chunks as an operator has them: the slots of inputs and outputs are all cut alike. The second number is how many
    /// chunks a slot has.
    pub(super) fn of_operator(record: &Record, operands: &Operands) -> (Chunks, u32) {
        let mut chunks = Chunks::new(record);
        let mut split = 0;
        loop {
            // Where slots are cut anywhere, all are.
            let mut offsets = BTreeSet::from([0]);
            for (rank, _, start, slots) in operands.all() {
                let inside = chunks.ranks[rank].cuts.range(start..start + slots * operands.slot);
                offsets.extend(inside.map(|cut| (cut - start) % operands.slot));
            }
            if offsets.len() == split || !chunks.exact {
                break;
            }
            split = offsets.len();
            for (rank, _, start, slots) in operands.all() {
                let starts = (0..slots).map(|slot| start + slot * operands.slot);
                let cuts = starts.flat_map(|start| offsets.iter().map(move |offset| start + offset));
                chunks.ranks[rank].cuts.extend(cuts.chain([start + slots * operands.slot]));
            }
            chunks.carry_over(record);
        }
        for rank in &mut chunks.ranks {
            *rank = RankChunks {
                cuts: std::mem::take(&mut rank.cuts),
                buffers: std::mem::take(&mut rank.buffers),
                ..RankChunks::default()
            };
        }
        chunks.number(record);
        // Operands have all their chunks, those that nothing touches too.
        for (rank, buffer, start, slots) in operands.all() {
            let rank = &mut chunks.ranks[rank];
            let cuts = rank.cuts.range(start..start + slots * operands.slot);
            let numbers: Vec<(u64, u32)> = cuts.copied().zip(0..).collect();
            rank.counts[buffer as usize] = numbers.len() as u32;
            rank.numbers.extend(numbers);
        }
        (chunks, split as u32)
    }

    /// Carries boundaries over copies until there are no new ones.
    fn carry_over(&mut self, record: &Record) {
        let mut made = 0;
        loop {
            let before = made;
            for (dst, src) in moves(record) {
                for (from, to) in [(dst, src), (src, dst)] {
                    let inside: Vec<u64> = self.inside(from).map(|cut| cut - from.addr + to.addr).collect();
                    let cuts = &mut self.ranks[to.rank as usize].cuts;
                    made += inside.into_iter().filter(|cut| cuts.insert(*cut)).count();
                    if made > MOST {
                        self.exact = false;
                        return;
                    }
                }
            }
            if made == before {
                return;
            }
        }
    }

    fn inside(&self, bytes: &Bytes) -> impl Iterator<Item = u64> {
        self.ranks[bytes.rank as usize].cuts.range(bytes.addr + 1..bytes.addr + bytes.len).copied()
    }

    fn number(&mut self, record: &Record) {
        let mut used: Vec<BTreeMap<u64, (u64, u64)>> = vec![BTreeMap::new(); record.ranks as usize];
        for (dst, src) in moves(record) {
            for bytes in [dst, src] {
                let end = bytes.addr + bytes.len;
                let known = used[bytes.rank as usize].entry(bytes.addr).or_insert((end, bytes.base));
                known.0 = known.0.max(end);
            }
        }
        for (rank, used) in self.ranks.iter_mut().zip(used) {
            let mut numbered_to = 0;
            for (from, (to, base)) in used {
                let buffer = rank.buffers[&base];
                // What lies in a range before has been numbered with it.
                for cut in rank.cuts.range(from.max(numbered_to).min(to)..to) {
                    let count = &mut rank.counts[buffer as usize];
                    rank.numbers.insert(*cut, *count);
                    *count += 1;
                }
                numbered_to = numbered_to.max(to);
            }
        }
    }

    /// The chunks of a range: which buffer, the first chunk, and how many.
    pub(super) fn of(&self, bytes: &Bytes) -> (Buffer, u32, u32) {
        let rank = &self.ranks[bytes.rank as usize];
        let buffer = rank.buffers.get(&bytes.base).copied().unwrap_or(Buffer::Output);
        let first = rank.numbers.get(&bytes.addr).copied().unwrap_or(0);
        (buffer, first, self.inside(bytes).count() as u32 + 1)
    }

    /// The most chunks that a buffer has on any rank.
    pub(super) fn most(&self, buffer: Buffer) -> u32 {
        self.ranks.iter().map(|rank| rank.counts[buffer as usize]).max().unwrap_or(0)
    }
}
