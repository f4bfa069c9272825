//! Communicators on a virtual cluster in one process, where data really moves.
//!
//! A [`Cluster`] has devices with memory and streams. [`Communicator`]s are made on it, a rank each, which may be used from
//! a thread of its own. They give what HCOMM gives (threads, channels, engine contexts, the HCCL buffer; facts 2 and 4), and
//! [`Communicator::launch`] runs a lowered program with them. The primitives themselves are a [`DataPlane`].
//!
//! ```
//! use hcomm_core::product::Product;
//! use hcomm_sim::comm::{Cluster, ClusterConfig, CommConfig};
//!
//! let cluster = Cluster::new(ClusterConfig::new(Product::A950, 2)?)?;
//! let comms = cluster.init_all(&[0, 1], &CommConfig::named("pair"))?;
//! assert_eq!((comms[1].rank(), comms[1].size(), comms[1].name()), (1, 2, "pair"));
//! # Ok::<(), hcomm_sim::comm::CommError>(())
//! ```
//!
//! `docs/communicator.md` has the life of an operator, the error codes, and what differs from hardware.

mod channel;
mod cluster;
mod communicator;
mod config;
mod context;
mod core;
mod engine;
mod error;
mod fault;
mod group;
mod handle;
mod kernel;
mod launch;
mod memory;
mod monitor;
mod notify;
mod observer;
mod plane;
mod queue;
mod rank;
mod stream;
mod sync;
mod thread;

pub use channel::{CCU_NOTIFIES, ChannelDesc, MAX_CHANNEL_NOTIFIES, Protocol};
pub use cluster::{Cluster, ClusterConfig};
pub use communicator::{Communicator, RootInfo, launch_all};
pub use config::{CommConfig, Deterministic, Retry, Timeouts};
pub use context::MAX_TAG;
pub use error::{Code, CommError, Result, Waited};
pub use fault::Fault;
pub use handle::{ChannelHandle, CommHandle, EventHandle, MemHandle, StreamHandle, ThreadHandle};
pub use launch::OpCall;
pub use memory::{Memory, Place, Region, Segments};
pub use monitor::{Counters, Entry, InUse, LostRecord, Snapshot};
pub use notify::FlagName;
pub use observer::{Observer, Op, Queued};
pub use plane::{BatchTransfer, DEFAULT_NOTIFY_TIMEOUT, DataPlane};
pub use rank::CommStatus;
pub use thread::{CommEngine, DedicatedThread, MAX_EXPORT, MAX_THREAD_NOTIFIES, MAX_THREADS, Side};
