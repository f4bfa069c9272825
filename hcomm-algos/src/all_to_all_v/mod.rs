//! All-to-all of slices of different sizes.

mod grouped_mesh;
mod hierarchical;
mod mesh;
mod pairwise;

pub use grouped_mesh::GroupedMeshAllToAllV;
pub use hierarchical::HierarchicalAllToAllV;
pub use mesh::MeshAllToAllV;
pub use pairwise::PairwiseAllToAllV;
