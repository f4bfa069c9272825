//! Reduce-scatter.

mod ahc;
mod hierarchical;
mod mesh;
mod nb;
mod nhr;
mod pipeline;
mod rhd;
mod ring;
mod three_level;
mod zero_copy_mesh;

pub use ahc::AhcReduceScatter;
pub use hierarchical::HierarchicalReduceScatter;
pub use mesh::MeshReduceScatter;
pub use nb::NbReduceScatter;
pub use nhr::NhrReduceScatter;
pub use pipeline::PipelineReduceScatter;
pub use rhd::RhdReduceScatter;
pub use ring::RingReduceScatter;
pub use three_level::ThreeLevelReduceScatter;
pub use zero_copy_mesh::ZeroCopyMeshReduceScatter;
