//! The offsets of a symmetric heap: free ranges, the first that fits. Ranks that ask for the same in the same order get
//! the same offsets.

use std::collections::BTreeMap;

#[derive(Debug)]
pub(crate) struct Heap {
    size: u64,
    /// Free ranges by offset; two of them never touch.
    free: BTreeMap<u64, u64>,
}

impl Heap {
    pub(crate) fn new(size: u64) -> Heap {
        let free = if size > 0 { BTreeMap::from([(0, size)]) } else { BTreeMap::new() };
        Heap { size, free }
    }

    /// The lowest offset, a multiple of `align`, with `size` free bytes.
    pub(crate) fn reserve(&mut self, size: u64, align: u64) -> Option<u64> {
        let (start, offset, end) = self.free.iter().find_map(|(start, free)| {
            let (offset, end) = (start.checked_next_multiple_of(align)?, start + free);
            offset.checked_add(size).is_some_and(|last| last <= end).then_some((*start, offset, end))
        })?;
        self.free.remove(&start);
        if offset > start {
            self.free.insert(start, offset - start);
        }
        if offset + size < end {
            self.free.insert(offset + size, end - offset - size);
        }
        Some(offset)
    }

    /// Gives back what [`reserve`](Heap::reserve) gave.
    pub(crate) fn release(&mut self, offset: u64, size: u64) {
        let (mut start, mut end) = (offset, offset + size);
        debug_assert!(end <= self.size, "{offset} + {size} of {}", self.size);
        if let Some(after) = self.free.remove(&end) {
            end += after;
        }
        if let Some((before, free)) = self.free.range(..start).next_back().map(|(before, free)| (*before, *free))
            && before + free == start
        {
            start = before;
        }
        self.free.insert(start, end - start);
    }

    /// Free bytes, and the most of them in one piece.
    pub(crate) fn left(&self) -> (u64, u64) {
        (self.free.values().sum(), self.free.values().copied().max().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_that_fits() {
        let mut heap = Heap::new(10);
        assert_eq!([heap.reserve(3, 1), heap.reserve(3, 1), heap.reserve(3, 1)], [Some(0), Some(3), Some(6)]);
        heap.release(0, 3);
        heap.release(6, 3);
        // Seven bytes are free, in pieces of three and four.
        assert_eq!((heap.left(), heap.reserve(5, 1)), ((7, 4), None));
        assert_eq!(heap.reserve(2, 1), Some(0));
        assert_eq!(heap.reserve(2, 4), Some(8));
        heap.release(3, 3);
        assert_eq!(heap.left(), (6, 6));
        assert_eq!(Heap::new(0).reserve(1, 1), None);
        assert_eq!(Heap::new(10).reserve(u64::MAX, 4), None);
    }

    proptest! {
        /// Against a map of bytes.
        #[test]
        fn is_like_a_map_of_bytes(steps in proptest::collection::vec((any::<bool>(), 1u64..9, 0u32..3), 1..80)) {
            let mut heap = Heap::new(32);
            let mut bytes = [false; 32];
            let mut held: Vec<(u64, u64)> = Vec::new();
            for (takes, size, align) in steps {
                let align = 1 << align;
                if takes || held.is_empty() {
                    let first = (0..=32 - size).step_by(align as usize).find(|at| {
                        bytes[*at as usize..(at + size) as usize].iter().all(|taken| !taken)
                    });
                    prop_assert_eq!(heap.reserve(size, align), first);
                    if let Some(at) = first {
                        bytes[at as usize..(at + size) as usize].fill(true);
                        held.push((at, size));
                    }
                } else {
                    let (at, size) = held.swap_remove(size as usize % held.len());
                    heap.release(at, size);
                    bytes[at as usize..(at + size) as usize].fill(false);
                }
                let longest = bytes.split(|taken| *taken).map(|free| free.len() as u64).max().unwrap_or(0);
                prop_assert_eq!(heap.left(), (bytes.iter().filter(|taken| !**taken).count() as u64, longest));
            }
        }
    }
}
