//! Barrier.

mod dissemination;
mod mesh;

pub use dissemination::DisseminationBarrier;
pub use mesh::MeshBarrier;
