//! Reduce-scatter of slices of different sizes.

mod hierarchical;
mod mesh;
mod nhr;
mod ring;

pub use hierarchical::HierarchicalReduceScatterV;
pub use mesh::MeshReduceScatterV;
pub use nhr::NhrReduceScatterV;
pub use ring::RingReduceScatterV;
