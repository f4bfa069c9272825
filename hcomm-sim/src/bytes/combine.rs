//! The reduction of what was read into what is there.

use crate::bytes::memory::{Bytes, Meter, Part, Slice};
use crate::value;
use hcomm_core::dtype::{DataType, ReduceOp};
use std::rc::Rc;

/// Replaces `source` by destination ⊕ source, which are `len` bytes each. What is poison on either side is poison. `read`
/// is kept to be used again.
///
/// # Errors
///
/// How many bytes would be alive, if the meter does not allow so many.
pub(crate) fn combine(
    (dtype, reduce): (DataType, ReduceOp),
    source: &mut Vec<Part>,
    destination: &[Part],
    len: usize,
    (meter, poison): (&Rc<Meter>, &Rc<Bytes>),
    read: &mut Vec<u8>,
) -> Result<(), u64> {
    let mut result = match destination {
        [Part::Written(slice)] if slice.in_memory().is_some() => slice.in_memory().unwrap_or_default().to_vec(),
        parts => {
            let mut all = vec![0; len];
            gather(parts, &mut all);
            all
        }
    };
    match source.as_slice() {
        [Part::Written(slice)] if slice.in_memory().is_some() => {
            value::reduce(dtype, reduce, &mut result, slice.in_memory().unwrap_or_default());
        }
        parts => {
            read.resize(len, 0);
            gather(parts, read);
            value::reduce(dtype, reduce, &mut result, read);
        }
    }
    let poisoned = poisoned(source, destination);
    let result = Slice::whole(meter.keep(result)?, len as u64);
    source.clear();
    let mut at = 0;
    for (start, end) in poisoned {
        if start > at {
            source.push(Part::Written(result.cut(at, start - at)));
        }
        if end > at {
            let start = start.max(at);
            source.push(Part::Written(Slice::whole(poison.clone(), end - start)));
            at = end;
        }
    }
    if at < len as u64 {
        source.push(Part::Written(result.cut(at, len as u64 - at)));
    }
    Ok(())
}

/// Copies the bytes of parts, one after the other, to `out`, which is as long as all of them.
fn gather(parts: &[Part], mut out: &mut [u8]) {
    for part in parts {
        let (here, rest) = out.split_at_mut((part.len() as usize).min(out.len()));
        if let Part::Written(slice) = part {
            slice.read(here);
        }
        out = rest;
    }
}

/// The ranges that are poison in either of two runs of parts, by their start.
fn poisoned(one: &[Part], other: &[Part]) -> Vec<(u64, u64)> {
    let mut ranges = Vec::new();
    for parts in [one, other] {
        let mut at = 0;
        for part in parts {
            if part.is_lost() {
                ranges.push((at, at + part.len()));
            }
            at += part.len();
        }
    }
    ranges.sort_unstable();
    ranges
}
