//! Gather.

mod binomial;
mod mesh;
mod star;

pub use binomial::BinomialGather;
pub use mesh::MeshGather;
pub use star::StarGather;
