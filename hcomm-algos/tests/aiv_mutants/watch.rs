//! Races by observation: two conflicting accesses that came in one order in one run, and in the other in another. Bytes
//! do not show every race: two copies of the same bytes to the same place come out the same in either order. Nothing
//! here knows happens-before.

use std::collections::{BTreeMap, HashMap};

use hcomm_core::operator::Buffer;
use hcomm_sim::aiv::{Access, Touch};

/// Which access of a run: block, operation, round, invocation.
type Key = (u32, usize, u64, u64);

/// What was seen so far.
#[derive(Default)]
pub(crate) struct Watch {
    is_deterministic: bool,
    seen: HashMap<(Key, Key, Buffer), u8>,
}

impl Watch {
    pub(crate) fn new(is_deterministic: bool) -> Watch {
        Watch { is_deterministic, seen: HashMap::new() }
    }

    /// Takes in a run that came to its end. Returns a pair that came in either order.
    pub(crate) fn look(&mut self, log: &[Access]) -> Option<String> {
        let mut places: BTreeMap<(u32, u8), Vec<&Access>> = BTreeMap::new();
        for access in log.iter().filter(|access| access.len > 0) {
            places.entry((access.rank, access.buffer as u8)).or_default().push(access);
        }
        for accesses in places.values() {
            for (i, first) in accesses.iter().enumerate() {
                for second in &accesses[i + 1..] {
                    if !self.conflict(first, second) {
                        continue;
                    }
                    let key = |access: &Access| (access.block, access.op, access.round, access.invocation);
                    let (a, b) = (key(first), key(second));
                    let (pair, order) = if a < b { ((a, b), 1) } else { ((b, a), 2) };
                    let seen = self.seen.entry((pair.0, pair.1, first.buffer)).or_default();
                    *seen |= order;
                    if *seen == 3 {
                        return Some(format!("{first:?} and {second:?} in either order"));
                    }
                }
            }
        }
        None
    }

    fn conflict(&self, a: &Access, b: &Access) -> bool {
        let together = a.start < b.start + b.len && b.start < a.start + a.len;
        let touches = match (a.touch, b.touch) {
            (Touch::Read, Touch::Read) => false,
            (Touch::Reduce, Touch::Reduce) => self.is_deterministic,
            _ => true,
        };
        // The two of one copy are in order; what the caller does between invocations is not seen.
        let own = (a.block, a.op) == (b.block, b.op);
        let apart = a.buffer != Buffer::Scratch && a.invocation != b.invocation;
        together && touches && !own && !apart
    }
}
