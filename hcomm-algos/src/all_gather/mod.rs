//! All-gather.

mod ahc;
mod bidirectional_ring;
mod bounded_mesh;
mod hierarchical;
mod mesh;
mod nb;
mod nhr;
mod pipeline;
mod rhd;
mod ring;
mod three_level;
mod zero_copy_mesh;
mod zero_copy_ring;

pub use ahc::AhcAllGather;
pub use bidirectional_ring::BidirectionalRingAllGather;
pub use bounded_mesh::BoundedMeshAllGather;
pub use hierarchical::HierarchicalAllGather;
pub use mesh::MeshAllGather;
pub use nb::NbAllGather;
pub use nhr::NhrAllGather;
pub use pipeline::PipelineAllGather;
pub use rhd::RhdAllGather;
pub use ring::RingAllGather;
pub use three_level::ThreeLevelAllGather;
pub use zero_copy_mesh::ZeroCopyMeshAllGather;
pub use zero_copy_ring::ZeroCopyRingAllGather;
