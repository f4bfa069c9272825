//! All-to-all.

mod grouped_mesh;
mod hierarchical;
mod mesh;
mod pairwise;

pub use grouped_mesh::GroupedMeshAllToAll;
pub use hierarchical::HierarchicalAllToAll;
pub use mesh::MeshAllToAll;
pub use pairwise::PairwiseAllToAll;
