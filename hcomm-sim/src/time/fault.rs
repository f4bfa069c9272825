//! Things that go wrong on hardware, and what becomes of a run in which they do.

use std::fmt;
use std::str::FromStr;

use crate::error::Place;
use crate::hang::Recorder;
use crate::report::NotifyName;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The first link on the path from a rank to another gives this part of what it should: 0 if it is dead. In a mesh
    /// that is their link, at a switch the sender's ports.
    Link {
        /// Who sends.
        from: u32,
        /// Who receives.
        to: u32,
        /// The part that is left, from 0 to 1.
        part: f64,
    },
    /// A rank starts no operation from a time on, in nanoseconds.
    Stall {
        /// The rank.
        rank: u32,
        /// The time.
        at: f64,
    },
    /// A record of a channel notify never arrives.
    LostRecord {
        /// Who records.
        rank: u32,
        /// Who waits.
        peer: u32,
        /// Which of their notifies, by index.
        notify: u32,
        /// Which of the records, from 0.
        nth: u64,
    },
}

/// Where everything stands when nothing goes on any more.
#[derive(Clone, Debug, PartialEq)]
pub struct Stuck {
    /// When the last thing happened, in nanoseconds.
    pub at: f64,
    /// Ranks that have ended all the same.
    pub completed: Vec<u32>,
    /// Waits that no record will end, by rank and thread.
    pub waits: Vec<StuckWait>,
    /// Transfers on dead links.
    pub transfers: Vec<StuckTransfer>,
    /// Ranks that stopped.
    pub stalled: Vec<u32>,
    /// How long a wait lasts, in seconds: 0 is for ever.
    pub timeout: f64,
}

/// A wait that no record will end.
#[derive(Clone, Debug, PartialEq)]
pub struct StuckWait {
    /// The wait.
    pub place: Place,
    /// What it waits for.
    pub notify: NotifyName,
    /// Who would record it.
    pub recorder: Recorder,
    /// Since when, in nanoseconds.
    pub since: f64,
}

/// A transfer that does not end.
#[derive(Clone, Debug, PartialEq)]
pub struct StuckTransfer {
    /// The transfer.
    pub place: Place,
    /// The dead link.
    pub link: String,
    /// Since when, in nanoseconds.
    pub since: f64,
}

/// How many waits a text lists.
const LISTED: usize = 16;

impl Stuck {
    /// The wait that times out first.
    pub fn first_timeout(&self) -> Option<&StuckWait> {
        self.waits.iter().min_by(|a, b| a.since.total_cmp(&b.since))
    }
}

fn us(ns: f64) -> String {
    format!("{:.3} us", ns / 1000.0)
}

/// HCOMM's call, or the kernel's function.
fn call(place: &Place) -> String {
    if place.unit == "block" { place.name.to_owned() } else { format!("Hcomm{}OnThread", place.name) }
}

fn line(place: &Place) -> String {
    place.at.map_or_else(String::new, |span| format!(" (line {})", span.line))
}

impl fmt::Display for Stuck {
    /// In the order in which hardware would report: dead links, then timeouts, the first one first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "nothing goes on after {}", us(self.at))?;
        for StuckTransfer { place, link, since } in self.transfers.iter().take(LISTED) {
            let Place { rank, unit, thread, .. } = place;
            writeln!(
                f,
                "rank {rank} {unit} {thread}: {} on the dead link {link} does not complete, since {}{}",
                call(place),
                us(*since),
                line(place)
            )?;
        }
        for rank in self.stalled.iter().take(LISTED) {
            writeln!(f, "rank {rank}: stalled, starts no operation")?;
        }
        let mut waits: Vec<&StuckWait> = self.waits.iter().collect();
        waits.sort_by(|a, b| a.since.total_cmp(&b.since));
        for StuckWait { place, notify, recorder, since } in waits.iter().take(LISTED) {
            let Place { rank, unit, thread, round, .. } = place;
            write!(f, "rank {rank} {unit} {thread}: {}", call(place))?;
            match notify {
                NotifyName::Thread { notify, .. } => write!(f, " of its notify {notify}")?,
                NotifyName::Channel { peer, name, .. } => write!(f, " of `{name}` from rank {peer}")?,
                NotifyName::Flag { peer, name, part, .. } => {
                    write!(f, " of flag `{name}` from rank {peer}")?;
                    if *part > 0 {
                        write!(f, ", part {part}")?;
                    }
                }
                NotifyName::Meeting { .. } => {}
                other => write!(f, " of {other}")?,
            }
            match (self.timeout, *unit) {
                (0.0, _) => write!(f, " waits for ever")?,
                (timeout, "block") => write!(f, " keeps its kernel until that times out after {timeout} s")?,
                (timeout, _) => write!(f, " times out after {timeout} s")?,
            }
            write!(f, ", waiting since {}", us(*since))?;
            if *round > 0 {
                write!(f, " in round {round}")?;
            }
            writeln!(f, "{}{recorder}", line(place))?;
        }
        let more = self.waits.len().saturating_sub(LISTED) + self.transfers.len().saturating_sub(LISTED);
        if more > 0 {
            writeln!(f, "and {more} more")?;
        }
        match self.completed.len() {
            0 => writeln!(f, "no rank completes"),
            1..=LISTED => writeln!(f, "ranks that complete: {:?}", self.completed),
            n => writeln!(f, "{n} ranks complete"),
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    /// `dead:0>1`, `slow:0>1:0.5`, `stall:3`, `stall:3:100` (microseconds), `lose:0>1:done`-like `lose:0>1:1` (notify
    /// index) or `lose:0>1:1:2` (of which the record with that number, from 0).
    fn from_str(text: &str) -> Result<Fault, String> {
        let wrong = || {
            format!(
                "`{text}` is not a fault: dead:FROM>TO, slow:FROM>TO:PART, stall:RANK[:MICROSECONDS] or \
                 lose:FROM>TO:NOTIFY[:NTH], with PART from 0 to 1"
            )
        };
        let parts: Vec<&str> = text.split(':').collect();
        let pair = |text: &str| -> Option<(u32, u32)> {
            let (from, to) = text.split_once('>')?;
            Some((from.trim().parse().ok()?, to.trim().parse().ok()?))
        };
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        let fault =
            match parts[..] {
                ["dead", ends] => pair(ends).map(|(from, to)| Fault::Link { from, to, part: 0.0 }),
                ["slow", ends, part] => pair(ends)
                    .zip(number(part).filter(|part| *part <= 1.0))
                    .map(|((from, to), part)| Fault::Link { from, to, part }),
                ["stall", rank] => rank.parse().ok().map(|rank| Fault::Stall { rank, at: 0.0 }),
                ["stall", rank, at] => {
                    rank.parse().ok().zip(number(at)).map(|(rank, at)| Fault::Stall { rank, at: at * 1000.0 })
                }
                ["lose", ends, notify] | ["lose", ends, notify, _] => {
                    let nth = parts.get(3).map_or(Some(0), |nth| nth.parse().ok());
                    pair(ends)
                        .zip(notify.parse().ok())
                        .zip(nth)
                        .map(|(((rank, peer), notify), nth)| Fault::LostRecord { rank, peer, notify, nth })
                }
                _ => None,
            };
        fault.ok_or_else(wrong)
    }
}
