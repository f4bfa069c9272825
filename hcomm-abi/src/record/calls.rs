//! A record cut into the calls of an operator: a launch on every rank, and what belongs to it.

use super::{Record, What};
use std::collections::BTreeMap;

/// The records of the calls of an operator, in their order. `None` if ranks have launched differently often.
pub(super) fn of(record: &Record) -> Option<Vec<Record>> {
    let mut launches: BTreeMap<u32, Vec<u32>> = (0..record.ranks).map(|rank| (rank, Vec::new())).collect();
    for call in &record.calls {
        if let What::Launch { id, .. } = &call.what {
            launches.entry(call.rank).or_default().push(*id);
        }
    }
    let count = launches.values().next().map_or(0, Vec::len);
    if launches.values().any(|launches| launches.len() != count) {
        return None;
    }
    let part = |calls| Record { name: record.name.clone(), ranks: record.ranks, calls };
    let mut parts: Vec<Record> = (0..count).map(|_| part(Vec::new())).collect();
    // How many launches a rank's host has come to.
    let mut begun = vec![0; record.ranks as usize];
    for call in &record.calls {
        let begun = &mut begun[call.rank as usize];
        let which = match (&call.what, call.launch) {
            (What::Launch { .. }, _) => {
                *begun += 1;
                *begun - 1
            }
            (_, Some(launch)) => match launches[&call.rank].iter().position(|id| *id == launch) {
                Some(which) => which,
                None => continue,
            },
            // The host signals the start before it launches, and waits for the end after it.
            (What::Record(_), None) => *begun,
            (_, None) => begun.saturating_sub(1),
        };
        if let Some(part) = parts.get_mut(which) {
            part.calls.push(call.clone());
        }
    }
    Some(parts)
}
