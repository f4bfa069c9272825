//! How long a program takes on a cluster: α–β–γ with links shared fairly, and where the time goes.
//!
//! The model (`docs/clusters.md` has it in words and with its limits):
//!
//! * A thread carries its operations out in order. Each costs what [`Engine`](crate::cluster::Engine) says; threads of a
//!   rank do not get into each other's way but on links.
//! * A transfer pays its engine cost for each piece, then the latency of its path, then its bytes flow. It holds every
//!   link of its path at once and gets its max-min fair share of them; the directions of a link are apart. A transfer
//!   right behind another one on the same path does not pay the latency again: its bytes follow.
//! * A reduction at the receiver, and local copies and reductions, share what their rank does of the kind.
//! * A notify is one bit. A record arrives after the latency of its path, or with the data that it is fused to.
//! * Each thread goes on to its next round by itself.
//!
//! The result is determined by the arguments alone. Equal times are equal (up to 1e-12), and what happens at one time
//! happens in the order of threads.

mod any;
mod exec;
mod fault;
mod flows;
mod kernel;
mod launch;
mod queue;
mod record;
mod schedule;
mod stuck;

use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::sizes::Rounds;
use hcomm_core::spec;

use crate::bytes::plan::Notify;
use crate::cluster::{Cluster, Link, Network};
use crate::config::Config;
use crate::error::{Place, RunError};
use crate::report::NotifyName;
use exec::{Costs, Engine, Lose, Setup};
use flows::Flows;
use schedule::{Schedule, Signal};

pub use any::{AnyProgram, Operation, Work};
pub use fault::{Fault, Stuck, StuckTransfer, StuckWait};
pub use flows::Load;
pub use record::{Event, LAUNCH, Recording, Share, Stretch, shares};

/// The seconds that a wait lasts by default (facts 2.3: `HCCL_EXEC_TIMEOUT`).
pub const NOTIFY_TIMEOUT: f64 = 1836.0;
/// The seconds that an AIV kernel lasts at most (facts 5.4: launch attributes).
pub const KERNEL_TIMEOUT: f64 = 1091.0;

/// What to simulate beside the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Record at most so many operations, for the critical path and for pictures: 64 bytes each.
    pub record: Option<usize>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// After which time to give up, in nanoseconds.
    pub stop_after: f64,
    /// How long a wait (AIV: a kernel) lasts on hardware, in seconds; 0 is for ever. The engine's default if it is not given.
    pub timeout: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        let (record, faults, timeout) = Default::default();
        Options { record, faults, stop_after: f64::INFINITY, timeout }
    }
}

/// How long a program took.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Timing {
    /// From the call until the last rank has ended, in nanoseconds. Where something is stuck or it was stopped: until then.
    pub time: f64,
    /// When each rank ended, in nanoseconds.
    pub ranks: Vec<f64>,
    /// Rounds.
    pub rounds: u64,
    /// Operations that were carried out.
    pub operations: u64,
    /// Every link that the program uses.
    pub links: Vec<LinkUse>,
    /// What was done when, if it was to be recorded.
    pub recording: Option<Recording>,
    /// That there was more than was to be recorded.
    pub is_truncated: bool,
    /// Where everything stands, if a fault keeps it from ending.
    pub stuck: Option<Box<Stuck>>,
    /// That it would take longer than [`Options::stop_after`].
    pub is_stopped: bool,
}

/// A link and what it has carried.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkUse {
    /// Which one.
    pub link: Link,
    /// Its name, for people.
    pub name: String,
    /// What it gives, in GB/s.
    pub gbps: f64,
    /// What it has carried.
    pub load: Load,
}

/// Why there is no time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// The program cannot be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The cluster does not join the ranks.
    #[error("{0}")]
    Cluster(String),
    /// A fault names a rank, notify or record that the program does not have.
    #[error("{0}")]
    Fault(String),
    /// A wait, or a transfer, that nothing ends.
    #[error("{0}")]
    Stuck(Box<Stuck>),
    /// A record that no wait takes.
    #[error("{0} is set at the end: no wait takes its last record")]
    LeftSet(NotifyName),
    /// A record of a notify that is still set.
    #[error("{place} records {notify} while it is still set: the record is lost{}", if *count > 1 { format!(" ({count} times in all)") } else { String::new() })]
    Overrun {
        /// The record.
        place: Box<Place>,
        /// The notify.
        notify: NotifyName,
        /// How often it happened.
        count: u64,
    },
}

/// A program made ready for a cluster, to be timed with any count.
#[derive(Debug)]
pub struct Prepared<'p, 'c> {
    cluster: &'c Cluster,
    network: Network<'c>,
    schedule: Schedule<'p>,
    element: u32,
}

/// How long a program takes on a cluster. [`Config::repeat`] and all that concerns data have no meaning here.
///
/// # Errors
///
/// If the program is not well-formed or the count does not fit, if the cluster does not join its ranks, and if without a
/// fault something is left that nobody meets: a wait, a record, a notify that is set.
pub fn simulate<'p>(
    program: impl Into<AnyProgram<'p>>,
    cluster: &Cluster,
    config: &Config,
    options: &Options,
) -> Result<Timing, TimeError> {
    Prepared::new(program, cluster, config.dtype, config.reduce)?.run(config, options)
}

impl<'p, 'c> Prepared<'p, 'c> {
    /// Checks a program and finds its paths.
    ///
    /// # Errors
    ///
    /// If it is not well-formed, or the cluster does not join its ranks.
    pub fn new(
        program: impl Into<AnyProgram<'p>>,
        cluster: &'c Cluster,
        dtype: DataType,
        reduce: ReduceOp,
    ) -> Result<Prepared<'p, 'c>, TimeError> {
        let code = program.into();
        let mut network = Network::new(cluster, code.frame().shape.layout).map_err(TimeError::Cluster)?;
        let schedule = match code {
            AnyProgram::Threads(program) => Schedule::new(program, &mut network, cluster, (dtype, reduce))?,
            AnyProgram::Blocks(program) => Schedule::of_blocks(program, &mut network, cluster, dtype)?,
        };
        Ok(Prepared { cluster, network, schedule, element: dtype.size() })
    }

    /// [`simulate`]. The type and reduction of `config` are those that it was made with.
    ///
    /// # Errors
    ///
    /// As [`simulate`].
    pub fn run(&self, config: &Config, options: &Options) -> Result<Timing, TimeError> {
        let program = self.schedule.program;
        let rounds = Rounds::new(program, config.counts.clone(), self.element, config.hccl_buffer)
            .map_err(|error| TimeError::Run(error.into()))?;
        let need = self.schedule.operations(&rounds);
        if need > u128::from(config.operation_limit) || rounds.rounds > u64::from(u32::MAX) {
            return Err(TimeError::Run(RunError::Operations { need, limit: config.operation_limit }));
        }
        let mut network = None;
        let (stalls, lose) = self.faults(options, &mut network)?;
        let network = network.as_ref().unwrap_or(&self.network);
        let flows = Flows::new(network, self.schedule.threads.len());
        let number = rounds.rounds;
        let record = options.record.map(|most| most.min(u32::MAX as usize - 1));
        let of_engine = self.schedule.code.engine();
        let (costs, stop_after) = (Costs::of(self.cluster, of_engine), options.stop_after);
        let timeout = options.timeout.unwrap_or(match of_engine {
            spec::Engine::AiCpu => NOTIFY_TIMEOUT,
            spec::Engine::Aiv => KERNEL_TIMEOUT,
        });
        let cores = config.cores.unwrap_or(u32::MAX);
        let setup = Setup { costs, cores, rounds, record, stalls, lose, stop_after };
        let mut engine = Engine::new(&self.schedule, flows, setup);
        engine.run();
        let stuck = if engine.is_stopped { None } else { stuck::stuck(&engine, network, timeout) };
        if options.faults.is_empty() && !engine.is_stopped {
            self.errors(&engine, stuck.as_ref())?;
        }
        // A run that ends has made all its records.
        if stuck.is_none()
            && !engine.is_stopped
            && let Some(lose) = engine.setup.lose.iter().find(|lose| !lose.is_done)
        {
            let notify = stuck::name(program, self.schedule.signals[lose.notify as usize]);
            return Err(TimeError::Fault(format!(
                "a fault loses record {} of {notify}, which is never made: they count from 0, and there are {}",
                lose.nth,
                lose.nth - lose.after
            )));
        }
        let mut ranks = vec![0f64; program.num_ranks() as usize];
        for (thread, task) in self.schedule.threads.iter().zip(&engine.tasks) {
            let end = &mut ranks[thread.rank as usize];
            *end = end.max(task.clock);
        }
        let time = ranks.iter().copied().fold(engine.now, f64::max);
        let loads = engine.flows.loads(time);
        let links = (0..).zip(network.links()).zip(loads).map(|((number, (link, gbps)), load)| LinkUse {
            link: *link,
            name: network.name(number),
            gbps: *gbps,
            load,
        });
        Ok(Timing {
            time,
            ranks,
            rounds: number,
            operations: engine.steps,
            links: links.collect(),
            is_truncated: engine.is_full,
            stuck: stuck.map(Box::new),
            is_stopped: engine.is_stopped,
            recording: options.record.map(|_| engine.recording),
        })
    }

    /// What a correct program on a cluster without faults does not leave behind.
    fn errors(&self, engine: &Engine<'_, '_>, stuck: Option<&Stuck>) -> Result<(), TimeError> {
        if let (count, Some(overrun)) = engine.overruns
            && let Some(signal) = self.schedule.signal(overrun.step)
        {
            let mut place = stuck::place(&self.schedule, overrun.thread, overrun.step);
            place.round = overrun.round.into();
            let notify = stuck::name(self.schedule.program, signal);
            return Err(TimeError::Overrun { place: Box::new(place), notify, count });
        }
        if let Some(stuck) = stuck {
            return Err(TimeError::Stuck(Box::new(stuck.clone())));
        }
        match engine.set_flags().next() {
            Some(notify) => {
                let signal = self.schedule.signals[notify as usize];
                Err(TimeError::LeftSet(stuck::name(self.schedule.program, signal)))
            }
            None => Ok(()),
        }
    }

    /// What faults mean to the simulation. Links that are slower are changed in a copy of the network.
    fn faults(
        &self,
        options: &Options,
        network: &mut Option<Network<'c>>,
    ) -> Result<(Option<Vec<f64>>, Vec<Lose>), TimeError> {
        let ranks = self.schedule.program.num_ranks();
        let check = |rank: u32| match rank < ranks {
            true => Ok(()),
            false => Err(TimeError::Fault(format!("a fault names rank {rank}: ranks are 0 to {}", ranks - 1))),
        };
        let (mut stalls, mut lose) = (None, Vec::new());
        for fault in &options.faults {
            match *fault {
                Fault::Link { from, to, part } => {
                    check(from)?;
                    check(to)?;
                    let network = network.get_or_insert_with(|| self.network.clone());
                    let path = network.known_path(from, to).ok_or_else(|| {
                        let name = &self.schedule.program.algorithm;
                        TimeError::Fault(format!("{name} moves nothing from rank {from} to rank {to}"))
                    })?;
                    if let Some(link) = network.routes()[path as usize].hops().first().copied() {
                        let gbps = network.links()[link as usize].1 * part.clamp(0.0, 1.0);
                        network.set_gbps(link, gbps);
                    }
                }
                Fault::Stall { rank, at } => {
                    check(rank)?;
                    let stalls = stalls.get_or_insert_with(|| vec![f64::INFINITY; ranks as usize]);
                    stalls[rank as usize] = at.min(stalls[rank as usize]);
                }
                Fault::LostRecord { rank, peer, notify, nth } => {
                    check(rank)?;
                    check(peer)?;
                    let wanted = match self.schedule.code {
                        AnyProgram::Threads(_) => Signal::Notify(Notify::Channel { rank: peer, peer: rank, notify }),
                        AnyProgram::Blocks(_) => Signal::Flag((peer, rank, notify, 0)),
                    };
                    let found = self.schedule.signals.iter().position(|signal| *signal == wanted);
                    let notify = found.ok_or_else(|| {
                        TimeError::Fault(format!("rank {rank} never records notify {notify} of rank {peer}"))
                    })?;
                    lose.push(Lose { notify: notify as u32, nth, after: nth, is_done: false });
                }
            }
        }
        Ok((stalls, lose))
    }
}

impl LinkUse {
    /// Which part of what the link could have carried in `time` nanoseconds it has.
    pub fn utilisation(&self, time: f64) -> f64 {
        if time > 0.0 && self.gbps > 0.0 { self.load.bytes / (self.gbps * time) } else { 0.0 }
    }
}
