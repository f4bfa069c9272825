//! Ranks that tell each other something: each gets what all have said.

use crate::comm::error::{Result, in_status, timeout};
use crate::comm::rank::RankState;
use crate::comm::sync::{Mutex, lock};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, PoisonError};
use std::time::{Duration, Instant};

/// How long to sleep between two looks at whether the cluster is still there.
const LOOK: Duration = Duration::from_millis(20);

/// What was said, by rank.
pub(crate) type Said<T> = Arc<BTreeMap<u32, T>>;

#[derive(Debug)]
pub(crate) struct Exchange<T> {
    state: Mutex<State<T>>,
    came: Condvar,
}

#[derive(Debug)]
struct State<T> {
    round: u64,
    came: BTreeMap<u32, T>,
    /// Rounds that are over, and how many have not seen it yet.
    over: BTreeMap<u64, (Said<T>, usize)>,
}

impl<T> Default for Exchange<T> {
    fn default() -> Self {
        Exchange {
            state: Mutex::new(State { round: 0, came: BTreeMap::new(), over: BTreeMap::new() }),
            came: Condvar::new(),
        }
    }
}

impl<T> Exchange<T> {
    /// Says something, and waits until all of `members` have that have not been destroyed, for as long as the connect
    /// timeout. Either all get the same, or nobody does who is still waiting.
    pub(crate) fn run(&self, me: &RankState, members: &[u32], say: T, what: &str) -> Result<Said<T>> {
        let until = me.core.after(me.config.timeouts.meet());
        let mut state = lock(&self.state);
        if state.came.insert(me.rank, say).is_some() {
            return Err(in_status(format!("{} is doing this already: {what}", me.who())));
        }
        let round = state.round;
        loop {
            if let Some((said, left)) = state.over.get_mut(&round) {
                let said = said.clone();
                *left -= 1;
                if *left == 0 {
                    state.over.remove(&round);
                }
                return Ok(said);
            }
            let waits_for = |rank: &u32| !state.came.contains_key(rank) && me.group.is_there(*rank);
            let missing: Vec<String> = members.iter().filter(|rank| waits_for(rank)).map(u32::to_string).collect();
            if missing.is_empty() {
                let came = std::mem::take(&mut state.came);
                let left = came.len();
                state.over.insert(round, (Arc::new(came), left));
                state.round += 1;
                self.came.notify_all();
                continue;
            }
            let gone = me.is_there().err();
            let left = until.checked_duration_since(Instant::now());
            let (Some(left), None) = (left, &gone) else {
                state.came.remove(&me.rank);
                let (who, seconds, ranks) = (me.who(), me.config.timeouts.meet(), missing.join(", "));
                return Err(gone.unwrap_or_else(|| {
                    timeout(format!(
                        "{who} waited {seconds} s for rank {ranks}: all ranks must {what} at the same time"
                    ))
                }));
            };
            state = self.came.wait_timeout(state, left.min(LOOK)).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Wakes who waits for a rank that will not come.
    pub(crate) fn wake(&self) {
        drop(lock(&self.state));
        self.came.notify_all();
    }
}
