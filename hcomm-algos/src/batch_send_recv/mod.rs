//! Several sends and receives at once.

mod grouped_mesh;
mod pairwise;

pub use grouped_mesh::GroupedMeshBatchSendRecv;
pub use pairwise::PairwiseBatchSendRecv;
