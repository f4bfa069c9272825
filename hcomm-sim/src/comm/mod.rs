//! Communicators on a virtual cluster in one process, where data really moves.
//!
//! A [`Cluster`] has devices with memory and streams. [`Communicator`]s are made on it, a rank each, which may be used from
//! a thread of its own. They give what HCOMM gives (threads, channels, engine contexts, the HCCL buffer; facts 2 and 4), and
//! [`Communicator::launch`] runs a lowered program with them. The primitives themselves are a [`DataPlane`].
//!
//! ```
//! use hcomm_core::product::Product;
//! use hcomm_core::dtype::DataType;
//! use hcomm_sim::comm::{Cluster, ClusterConfig, CommConfig, OpCall, launch_all};
//! use std::sync::Arc;
//!
//! let cluster = Cluster::new(ClusterConfig::new(Product::A950, 2)?)?;
//! let comms = cluster.init_all(&[0, 1], &CommConfig::named("pair"))?;
//! let (mut calls, mut streams) = (Vec::new(), Vec::new());
//! for comm in &comms {
//!     let (input, output) = (cluster.alloc(comm.device(), 4)?, cluster.alloc(comm.device(), 8)?);
//!     cluster.memory().write(input, &[comm.rank() as u8 + 1; 4])?;
//!     calls.push(OpCall::new(input, output, 4, DataType::Uint8));
//!     streams.push(cluster.create_stream(comm.device())?);
//! }
//! # let shape = hcomm_core::shape::Shape::new(hcomm_core::shape::Layout::flat(2).unwrap());
//! # let spec = hcomm_algos::MeshAllGather::SPEC;
//! # let program = Arc::new(hcomm_core::lower::aicpu::lower(&hcomm_core::instance::instantiate(&spec, &shape).unwrap()));
//! launch_all(&comms, &program, &calls, &streams)?;
//! cluster.synchronize(streams[1])?;
//! let mut gathered = [0; 8];
//! cluster.memory().read(calls[1].output, &mut gathered)?;
//! assert_eq!(gathered, [1, 1, 1, 1, 2, 2, 2, 2]);
//! # Ok::<(), hcomm_sim::comm::CommError>(())
//! ```
//!
//! [`Communicator::register_window`] makes symmetric windows (facts 7), for programs whose operands peers reach directly;
//! `docs/windows.md` has their rules.
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
mod exchange;
mod fault;
mod group;
mod handle;
mod heap;
mod kernel;
mod launch;
mod memory;
mod monitor;
mod needs;
mod notify;
mod observer;
mod order;
mod p2p;
mod plane;
mod queue;
mod rank;
mod recover;
mod stream;
mod sync;
mod thread;
mod virtual_memory;
mod window;

pub use channel::{CCU_NOTIFIES, ChannelDesc, MAX_CHANNEL_MEMORIES, MAX_CHANNEL_NOTIFIES, MAX_CHANNELS, Protocol};
pub use cluster::{Cluster, ClusterConfig};
pub use communicator::{Communicator, RootInfo, launch_all};
pub use config::{CommConfig, Deterministic, Retry, Timeouts};
pub use context::MAX_TAG;
pub use error::{Code, CommError, Result, Waited};
pub use fault::Fault;
pub use handle::{
    ChannelHandle, CommHandle, EventHandle, MemHandle, PhysicalHandle, StreamHandle, ThreadHandle, WindowHandle,
};
pub use launch::OpCall;
pub use memory::{Memory, Place, Region, Segments};
pub use monitor::{Counters, Entry, InUse, LostRecord, Snapshot};
pub use notify::FlagName;
pub use observer::{Observer, Op, Queued};
pub use p2p::{Message, ONE_SIDED_NOTIFIES};
pub use plane::{BatchTransfer, DEFAULT_NOTIFY_TIMEOUT, DataPlane};
pub use rank::CommStatus;
pub use recover::StatePhase;
pub use thread::{
    CommEngine, DedicatedThread, MAX_DEDICATED_NOTIFIES, MAX_EXPORT, MAX_THREAD_NOTIFIES, MAX_THREADS, Side,
};
pub use virtual_memory::GRANULARITY;
pub use window::{deregister_all, register_all};
