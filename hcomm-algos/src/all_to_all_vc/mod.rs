//! All-to-all of slices of different sizes, all of which every rank knows.

mod grouped_mesh;
mod hierarchical;
mod mesh;
mod pairwise;

pub use grouped_mesh::GroupedMeshAllToAllVc;
pub use hierarchical::HierarchicalAllToAllVc;
pub use mesh::MeshAllToAllVc;
pub use pairwise::PairwiseAllToAllVc;
