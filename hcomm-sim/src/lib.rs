//! Runs lowered programs on real bytes, and compares every output with the operator's definition.
//!
//! [`run`] takes a [`Program`](hcomm_core::program::Program) as HCOMM would: every thread of every rank is an in-order
//! queue, a notify is one bit, a record of a notify that is still set is lost, a wait blocks until the bit is set and
//! clears it. The program's operations are repeated for every round that the count takes, and for every invocation.
//! What comes of it is a [`Report`]: outputs that are wrong, reads of bytes that nothing had written, records that were
//! lost, and if nothing could go on, who waits for whom.
//!
//! * Programs are not trusted: one that names a chunk, thread, peer or notify that does not exist is an error.
//! * Time and memory are bounded by limits in the [`Config`].
//! * The result is determined by program, configuration and schedule. [`Schedule::Random`] explores other
//!   interleavings, to expose races and lost notifies that the usual order hides.
//! * A thread starts its next round, and its next invocation, on its own, as soon as it has got there. For the caller an
//!   invocation ends when the rank's main thread has: then its output is compared, and the next one gets an output that
//!   nothing has written yet, and other inputs; scratch is what it was.
//!
//! Bytes that are only moved are shared and never duplicated, so that 64 ranks can gather 4 MB each although all of
//! their outputs would take 16 GB.

pub mod aiv;
pub mod bound;
mod bytes;
pub mod cluster;
pub mod comm;
mod config;
mod error;
mod hang;
mod inputs;
mod mix;
pub mod picture;
mod report;
mod scheduler;

pub mod time;
pub mod tune;
pub mod value;

pub use bytes::{Finished, Observer, run, run_with};
pub use config::{Config, Schedule};
pub use error::{OperationFault, Place, ProgramFault, RunError};
pub use hang::{Hang, Recorder, Waiting};
pub use inputs::Inputs;
pub use report::{Events, Got, Misaligned, Mismatch, Moved, NotifyEvent, NotifyName, Report, UninitialisedRead};
pub use scheduler::{Fifo, Random, Scheduler, Turn};
