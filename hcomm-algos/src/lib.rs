//! The library: one algorithm a file, written as a user would write it.
//!
//! Read these to learn the language. [`LIBRARY`] has them all.

// What `collective!` makes names `::hcomm`, which for users is the facade. The facade depends on this crate, so here
// the core stands in for it.
extern crate hcomm_core as hcomm;

mod mesh_all_gather;
mod nhr_all_gather;
mod one_shot_all_reduce;
mod read_send_recv;
mod ring_all_gather;
mod ring_all_reduce;

use hcomm_core::Collective;
use hcomm_core::spec::Spec;

pub use mesh_all_gather::MeshAllGather;
pub use nhr_all_gather::NhrAllGather;
pub use one_shot_all_reduce::OneShotAllReduce;
pub use read_send_recv::ReadSendRecv;
pub use ring_all_gather::RingAllGather;
pub use ring_all_reduce::RingAllReduce;

/// All algorithms of the library, by operator.
pub static LIBRARY: &[&Spec<'static>] = &[
    &<MeshAllGather as Collective>::SPEC,
    &<RingAllGather as Collective>::SPEC,
    &<NhrAllGather as Collective>::SPEC,
    &<OneShotAllReduce as Collective>::SPEC,
    &<RingAllReduce as Collective>::SPEC,
    &<ReadSendRecv as Collective>::SPEC,
];
