//! All-reduce.

mod ahc;
mod bidirectional_ring;
mod hierarchical;
mod nb;
mod nhr;
mod one_shot;
mod pipeline;
mod rhd;
mod ring;
mod three_level;
mod two_shot;
mod zero_copy_mesh;

pub use ahc::AhcAllReduce;
pub use bidirectional_ring::BidirectionalRingAllReduce;
pub use hierarchical::HierarchicalAllReduce;
pub use nb::NbAllReduce;
pub use nhr::NhrAllReduce;
pub use one_shot::OneShotAllReduce;
pub use pipeline::PipelineAllReduce;
pub use rhd::RhdAllReduce;
pub use ring::RingAllReduce;
pub use three_level::ThreeLevelAllReduce;
pub use two_shot::TwoShotAllReduce;
pub use zero_copy_mesh::ZeroCopyMeshAllReduce;
