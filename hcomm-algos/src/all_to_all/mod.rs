//! All-to-all.

mod grouped_mesh;
mod mesh;
mod pairwise;

pub use grouped_mesh::GroupedMeshAllToAll;
pub use mesh::MeshAllToAll;
pub use pairwise::PairwiseAllToAll;
