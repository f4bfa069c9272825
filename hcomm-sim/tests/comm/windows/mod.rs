//! Symmetric windows: the rules of A3 and the 950, misuse, and operators in windows.

mod model;
mod operators;
mod rules;
mod virtual_memory;

use crate::support::Rig;
use hcomm_sim::comm::{Cluster, Code, CommEngine, InUse, Result};

/// Fails with a code, and a sentence with these words in it.
#[track_caller]
fn fails<T: std::fmt::Debug>(result: Result<T>, code: Code, words: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code, code, "{error}");
    assert!(error.sentence.contains(words), "{error}");
}

/// Nothing is held any more.
#[track_caller]
fn nothing_is_left(cluster: &Cluster) {
    assert_eq!(cluster.in_use(), InUse::default());
}

/// Copies on a rank's stream, and waits.
fn copy(rig: &Rig<'_>, rank: usize, dst: u64, src: u64, len: u64) -> Result<()> {
    let stream = rig.streams[rank];
    let thread = rig.comms[rank].thread_of_stream(CommEngine::CpuTs, stream, 1)?;
    rig.cluster.data_plane(hcomm_sim::comm::Side::Host).local_copy(thread, dst, src, len)?;
    rig.cluster.synchronize(stream)
}

fn read(cluster: &Cluster, addr: u64) -> u8 {
    let mut byte = [0];
    cluster.memory().read(addr, &mut byte).unwrap();
    byte[0]
}

fn write(cluster: &Cluster, addr: u64, byte: u8) {
    cluster.memory().write(addr, &[byte]).unwrap();
}
