//! A buffer as a rope of shared, immutable bytes.
//!
//! A copy shares the bytes of its source, so a collective that only moves data costs no memory but its inputs, and
//! those are not even drawn until a reduction looks at them. What was never written is known to be so.

use crate::inputs::Inputs;
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Bytes that never change.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// The input of a rank.
    Input(Input),
    /// The result of a reduction.
    Stored(Stored),
    /// What became of bytes that nothing had written: of any length, with no value.
    Poison,
}

/// The input of a rank in an invocation, drawn when it is first read.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) invocation: u64,
    pub(crate) rank: u32,
    len: u64,
    inputs: Rc<Inputs>,
    meter: Rc<Meter>,
    /// The drawn bytes. They stay if there is room; otherwise they are drawn anew each time.
    drawn: OnceCell<Box<[u8]>>,
}

/// The result of a reduction.
#[derive(Debug)]
pub(crate) struct Stored {
    bytes: Box<[u8]>,
    meter: Rc<Meter>,
}

/// How much memory inputs and the results of reductions take, and may take.
#[derive(Debug)]
pub(crate) struct Meter {
    live: Cell<u64>,
    limit: u64,
    /// What is left for results when inputs are kept.
    reserve: u64,
}

/// What an allocation takes beside its bytes.
const OVERHEAD: u64 = 96;

impl Meter {
    /// A meter of which inputs leave `reserve` to results.
    pub(crate) fn new(limit: u64, reserve: u64) -> Rc<Meter> {
        Rc::new(Meter { live: Cell::new(0), limit, reserve })
    }

    /// Counts `len` more bytes if `limit` allows it, and otherwise says how many there would be.
    fn take(&self, len: u64, limit: u64) -> Result<(), u64> {
        let live = self.live.get().saturating_add(len).saturating_add(OVERHEAD);
        if live > limit {
            return Err(live);
        }
        self.live.set(live);
        Ok(())
    }

    fn give_back(&self, len: u64) {
        self.live.set(self.live.get().saturating_sub(len.saturating_add(OVERHEAD)));
    }

    /// Keeps a result, or says how many bytes would be alive if the limit allowed it.
    pub(crate) fn keep(self: &Rc<Meter>, bytes: Vec<u8>) -> Result<Rc<Bytes>, u64> {
        self.take(bytes.len() as u64, self.limit)?;
        Ok(Rc::new(Bytes::Stored(Stored { bytes: bytes.into(), meter: self.clone() })))
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        self.meter.give_back(self.bytes.len() as u64);
    }
}

impl Input {
    /// All of its bytes, if there is room for them.
    fn all(&self) -> Option<&[u8]> {
        if self.drawn.get().is_none() {
            self.meter.take(self.len, self.meter.limit.saturating_sub(self.meter.reserve)).ok()?;
        }
        Some(self.drawn.get_or_init(|| {
            let mut all = vec![0; self.len as usize];
            self.inputs.fill(self.invocation, self.rank, 0, &mut all);
            all.into()
        }))
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if self.drawn.get().is_some() {
            self.meter.give_back(self.len);
        }
    }
}

impl Bytes {
    /// The input of `rank`, of `len` bytes.
    pub(crate) fn input(inputs: &Rc<Inputs>, meter: &Rc<Meter>, invocation: u64, rank: u32, len: u64) -> Rc<Bytes> {
        let (inputs, meter) = (inputs.clone(), meter.clone());
        Rc::new(Bytes::Input(Input { invocation, rank, len, inputs, meter, drawn: OnceCell::new() }))
    }
}

/// A run of [`Bytes`].
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) bytes: Rc<Bytes>,
    pub(crate) start: u64,
    pub(crate) len: u64,
}

impl Slice {
    /// All of `bytes`, which are `len`.
    pub(crate) fn whole(bytes: Rc<Bytes>, len: u64) -> Slice {
        Slice { bytes, start: 0, len }
    }

    /// `len` bytes of it from its byte `from` on.
    pub(crate) fn cut(&self, from: u64, len: u64) -> Slice {
        Slice { bytes: self.bytes.clone(), start: self.start + from, len }
    }

    pub(crate) fn is_poison(&self) -> bool {
        matches!(*self.bytes, Bytes::Poison)
    }

    /// Whether `next` is what comes after it.
    fn continues(&self, next: &Slice) -> bool {
        Rc::ptr_eq(&self.bytes, &next.bytes) && (self.start + self.len == next.start || self.is_poison())
    }

    /// Its bytes, if they are in memory or can stay there.
    pub(crate) fn in_memory(&self) -> Option<&[u8]> {
        let all = match &*self.bytes {
            Bytes::Stored(stored) => &*stored.bytes,
            Bytes::Input(input) => input.all()?,
            Bytes::Poison => return None,
        };
        all.get(self.start as usize..)?.get(..self.len as usize)
    }

    /// Copies its bytes to `out`, which is as long. Poison has none, and leaves `out` alone. Offset and length are
    /// whole elements, as those of every chunk are.
    pub(crate) fn read(&self, out: &mut [u8]) {
        if let Some(bytes) = self.in_memory() {
            out.copy_from_slice(bytes);
        } else if let Bytes::Input(input) = &*self.bytes {
            let first = self.start / u64::from(input.inputs.dtype().size());
            input.inputs.fill(input.invocation, input.rank, first, out);
        }
    }
}

/// A part of a range that was read.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Written(Slice),
    /// So many bytes that nothing has written.
    Gap(u64),
}

impl Part {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Part::Written(slice) => slice.len,
            Part::Gap(len) => *len,
        }
    }

    /// Whether there is no value: nothing was written, or only what came of that.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Part::Written(slice) => slice.is_poison(),
            Part::Gap(_) => true,
        }
    }
}

/// A buffer: pieces by offset, which do not overlap. Neighbours that continue each other are one piece.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pieces: BTreeMap<u64, Slice>,
}

impl Memory {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
    }

    /// Writes `slice`, which is not empty, at `at`.
    pub(crate) fn write(&mut self, at: u64, slice: Slice) {
        let end = at + slice.len;
        // The usual case, the same chunk again, without moving anything in the tree.
        let same = self.pieces.get(&at).is_some_and(|piece| piece.len == slice.len);
        if !same {
            self.make_room(at, end);
        }
        let next = self.pieces.get(&end).filter(|next| slice.continues(next)).map(|next| next.len);
        let before = self.pieces.range_mut(..at).next_back();
        let joined = before.filter(|(start, before)| **start + before.len == at && before.continues(&slice));
        match joined {
            Some((_, before)) => {
                before.len += slice.len + next.unwrap_or(0);
                if same {
                    self.pieces.remove(&at);
                }
            }
            None => {
                let len = slice.len + next.unwrap_or(0);
                self.pieces.insert(at, Slice { len, ..slice });
            }
        }
        if next.is_some() {
            self.pieces.remove(&end);
        }
    }

    /// Removes what lies in `at..end`, and cuts off what reaches into it.
    fn make_room(&mut self, at: u64, end: u64) {
        while let Some((&start, piece)) = self.pieces.range_mut(..end).next_back() {
            let stop = start + piece.len;
            if stop <= at {
                break;
            }
            let tail = (stop > end).then(|| piece.cut(end - start, stop - end));
            if start < at {
                piece.len = at - start;
            } else {
                self.pieces.remove(&start);
            }
            if let Some(tail) = tail {
                self.pieces.insert(end, tail);
            }
        }
    }

    /// Appends what is in `at..at + len` to `parts`, in order and without holes.
    pub(crate) fn read(&self, at: u64, len: u64, parts: &mut Vec<Part>) {
        let end = at + len;
        let mut here = at;
        let before = self.pieces.range(..at).next_back();
        for (&start, piece) in before.into_iter().chain(self.pieces.range(at..end)) {
            let stop = (start + piece.len).min(end);
            if stop <= here {
                continue;
            }
            if start > here {
                parts.push(Part::Gap(start - here));
            }
            let from = start.max(here);
            parts.push(Part::Written(piece.cut(from - start, stop - from)));
            here = stop;
        }
        if here < end {
            parts.push(Part::Gap(end - here));
        }
    }
}

#[cfg(test)]
mod tests;
