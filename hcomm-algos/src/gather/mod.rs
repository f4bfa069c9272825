//! Gather.

mod binomial;
mod hierarchical;
mod mesh;
mod star;

pub use binomial::BinomialGather;
pub use hierarchical::HierarchicalGather;
pub use mesh::MeshGather;
pub use star::StarGather;
