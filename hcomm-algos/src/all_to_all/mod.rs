//! All-to-all.

mod grouped_mesh;
mod hierarchical;
mod mesh;
mod pairwise;
mod zero_copy_mesh;

pub use grouped_mesh::GroupedMeshAllToAll;
pub use hierarchical::HierarchicalAllToAll;
pub use mesh::MeshAllToAll;
pub use pairwise::PairwiseAllToAll;
pub use zero_copy_mesh::ZeroCopyMeshAllToAll;
