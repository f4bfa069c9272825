//! Counters and events of communicators and of the whole cluster.

use crate::comm::error::{Code, CommError};
use crate::comm::notify::FlagName;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! totals {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Counters, as they count.
        #[derive(Debug, Default)]
        pub(crate) struct Totals {
            $($name: AtomicU64,)*
        }

        /// Counters at a moment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        #[non_exhaustive]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            /// Adds another's.
            pub(crate) fn add(&mut self, other: &Counters) {
                $(self.$name += other.$name;)*
            }
        }

        impl Totals {
            pub(crate) fn add(&self, counters: &Counters) {
                $(self.$name.fetch_add(counters.$name, Ordering::Relaxed);)*
            }

            pub(crate) fn now(&self) -> Counters {
                Counters { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }
    };
}

totals! {
    /// Operators that were launched.
    operators,
    /// Operators that ended well.
    completed,
    /// Rounds of operators.
    rounds,
    /// Operators that were repeated.
    retries,
    /// Bytes that operators had as input.
    bytes,
    /// Tasks of the data plane that were queued.
    tasks,
    /// Notify records that were queued.
    records,
    /// Notify waits that were queued.
    waits,
    /// Waits that found nothing and parked.
    waits_parked,
    /// Bytes that were moved.
    bytes_moved,
    /// Bytes of these that went over a link.
    bytes_over_links,
    /// Records that were lost: the flag was set already, or a fault was injected.
    lost_records,
    /// Threads that were made.
    threads_made,
    /// Channels that were made.
    channels_made,
    /// Channels that were given again.
    channels_reused,
    /// Engine contexts that were made.
    contexts_made,
    /// Operators that found their context.
    contexts_reused,
    /// Operations that failed.
    failures,
    /// Operations that failed because a notify was not set in time.
    timeouts,
    /// Puts, gets, sends and receives.
    one_sided,
    /// Operators that ran through the HCCL buffer since their operands were in no symmetric windows.
    fallbacks,
}

/// Adds one.
macro_rules! ones {
    ($($method:ident $name:ident),* $(,)?) => {
        impl Totals {
            $(pub(crate) fn $method(&self) {
                self.$name.fetch_add(1, Ordering::Relaxed);
            })*
        }
    };
}

ones! {
    completed completed, retried retries, parked waits_parked, lost lost_records,
    threads_made threads_made, channels_made channels_made, channels_reused channels_reused,
    contexts_made contexts_made, contexts_reused contexts_reused, one_sided one_sided, fell_back fallbacks, recorded records, waited waits,
    queued tasks,
}

impl Totals {
    pub(crate) fn launched(&self, rounds: u64, bytes: u64) {
        self.operators.fetch_add(1, Ordering::Relaxed);
        self.rounds.fetch_add(rounds, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn moved(&self, bytes: u64, over_link: bool) {
        self.bytes_moved.fetch_add(bytes, Ordering::Relaxed);
        if over_link {
            self.bytes_over_links.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    pub(crate) fn failed(&self, code: Code) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        if code == Code::Timeout {
            self.timeouts.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A record that did not arrive, or that found its bit set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostRecord {
    /// Whose flag.
    pub flag: FlagName,
    /// Why it is lost.
    pub why: &'static str,
}

/// What is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InUse {
    /// Communicators, a rank each.
    pub communicators: usize,
    /// Threads.
    pub threads: usize,
    /// Thread notifies.
    pub thread_notifies: u64,
    /// Ends of channels.
    pub channels: usize,
    /// Engine contexts.
    pub contexts: usize,
    /// Registered memories.
    pub memories: usize,
    /// Streams (of the cluster).
    pub streams: usize,
    /// Events (of the cluster).
    pub events: usize,
    /// Symmetric windows.
    pub windows: usize,
    /// Ranges of addresses that are reserved, those of communicators included (of the cluster).
    pub reservations: usize,
    /// Physical memories (of the cluster).
    pub physical: usize,
    /// Mappings of these to addresses, those of communicators included (of the cluster).
    pub mappings: usize,
    /// Bytes of memory, on all devices and the host (of the cluster), or of HCCL buffer and contexts.
    pub bytes: u64,
}

/// Something that happened to a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Created,
    Launched {
        algorithm: String,
        count: u64,
        dtype: &'static str,
        rounds: u64,
        reused: bool,
    },
    /// With what its threads waited for then.
    Failed(CommError, Vec<String>),
    Retried {
        algorithm: String,
        attempt: u32,
    },
    NotRetried {
        algorithm: String,
        why: String,
    },
    FellBack {
        from: String,
        to: String,
        why: String,
    },
    Registered {
        window: String,
    },
    Deregistered {
        window: String,
    },
    Suspended,
    Resumed,
    Destroyed,
}

impl Moment {
    fn words(&self) -> (&'static str, String) {
        match self {
            Moment::Created => ("created", String::new()),
            Moment::Launched { algorithm, count, dtype, rounds, reused } => {
                let context = if *reused { "its context reused" } else { "its context made" };
                ("launched", format!("{algorithm}: {count} {dtype} in {rounds} rounds, {context}"))
            }
            Moment::Failed(error, waiting) if waiting.is_empty() => ("failed", error.to_string()),
            Moment::Failed(error, waiting) => ("failed", format!("{error}; still waiting: {}", waiting.join(", "))),
            Moment::Retried { algorithm, attempt } => ("retried", format!("{algorithm}, attempt {attempt}")),
            Moment::NotRetried { algorithm, why } => ("not_retried", format!("{algorithm}: {why}")),
            Moment::FellBack { from, to, why } => ("fell_back", format!("from {from} to {to}: {why}")),
            Moment::Registered { window } => ("window_registered", window.clone()),
            Moment::Deregistered { window } => ("window_deregistered", window.clone()),
            Moment::Suspended => ("suspended", String::new()),
            Moment::Resumed => ("resumed", String::new()),
            Moment::Destroyed => ("destroyed", String::new()),
        }
    }
}

/// The latest events are kept: the newest `KEPT` of them.
const KEPT: usize = 256;

/// Events in the order in which they happened.
#[derive(Debug, Default)]
pub(crate) struct Log {
    moments: VecDeque<(u64, Moment)>,
    number: u64,
}

impl Log {
    pub(crate) fn note(&mut self, moment: Moment) {
        if self.moments.len() == KEPT {
            self.moments.pop_front();
        }
        self.moments.push_back((self.number, moment));
        self.number += 1;
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        let entry = |(number, moment): &(u64, Moment)| {
            let (what, detail) = moment.words();
            Entry { number: *number, what, detail }
        };
        self.moments.iter().map(entry).collect()
    }
}

/// An entry of a communicator's event log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Counts the events of the communicator; the oldest are dropped.
    pub number: u64,
    /// What happened, in a word.
    pub what: &'static str,
    /// More about it.
    pub detail: String,
}

/// A rank's communicator at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// The communicator's name.
    pub name: String,
    /// The rank in it.
    pub rank: u32,
    /// How many ranks it has.
    pub ranks: u32,
    /// `ready`, `failed`, `suspended` or `destroyed`.
    pub status: &'static str,
    /// What failed first since the last resume.
    pub error: Option<String>,
    /// What its threads and streams wait for now.
    pub waiting: Vec<String>,
    /// What it has counted.
    pub counters: Counters,
    /// What it holds.
    pub in_use: InUse,
    /// Its latest events.
    pub log: Vec<Entry>,
}

impl Snapshot {
    /// As JSON.
    pub fn to_json(&self) -> String {
        // Strings and numbers: this cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
