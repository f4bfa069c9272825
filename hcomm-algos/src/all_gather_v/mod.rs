//! All-gather of slices of different sizes.

mod bounded_mesh;
mod hierarchical;
mod mesh;
mod nhr;
mod ring;

pub use bounded_mesh::BoundedMeshAllGatherV;
pub use hierarchical::HierarchicalAllGatherV;
pub use mesh::MeshAllGatherV;
pub use nhr::NhrAllGatherV;
pub use ring::RingAllGatherV;
