//! `HcclBarrier`: streams that wait for each other.

use crate::state::lock;
use hcomm_sim::comm::{Code, CommError, Result};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Who has come, and how many barriers have been passed, by communicator.
static MEETINGS: Mutex<BTreeMap<String, (Vec<u32>, u64)>> = Mutex::new(BTreeMap::new());
static MET: Condvar = Condvar::new();

/// Blocks until all ranks have come, or for `timeout`; 0 is for ever.
pub(super) fn meet(name: &str, rank: u32, ranks: u32, timeout: Duration) -> Result<()> {
    let until = (!timeout.is_zero()).then(|| Instant::now() + timeout);
    let mut meetings = lock(&MEETINGS);
    let meeting = meetings.entry(name.to_owned()).or_default();
    meeting.0.push(rank);
    let round = meeting.1;
    if meeting.0.len() as u32 == ranks {
        *meeting = (Vec::new(), round + 1);
        MET.notify_all();
        return Ok(());
    }
    loop {
        match meetings.get(name) {
            Some((_, now)) if *now == round => {}
            _ => return Ok(()),
        }
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            let came = meetings.get_mut(name).map(|meeting| {
                meeting.0.retain(|other| *other != rank);
                meeting.0.clone()
            });
            let came = came.unwrap_or_default();
            let missing: Vec<String> = (0..ranks)
                .filter(|other| *other != rank && !came.contains(other))
                .map(|rank| rank.to_string())
                .collect();
            let sentence = format!("rank {rank} of {name} waited in HcclBarrier for rank {}", missing.join(", "));
            return Err(CommError::new(Code::Timeout, sentence));
        }
        meetings = match left {
            Some(left) => MET.wait_timeout(meetings, left).unwrap_or_else(PoisonError::into_inner).0,
            None => MET.wait(meetings).unwrap_or_else(PoisonError::into_inner),
        };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn ranks_meet_or_say_who_did_not_come() {
        std::thread::scope(|scope| {
            for rank in 0..3 {
                scope.spawn(move || {
                    for _ in 0..5 {
                        assert_eq!(meet("three", rank, 3, Duration::from_secs(60)), Ok(()));
                    }
                });
            }
        });
        let alone = meet("alone", 1, 3, Duration::from_millis(5)).unwrap_err();
        assert_eq!(alone.sentence, "rank 1 of alone waited in HcclBarrier for rank 0, 2");
    }
}
