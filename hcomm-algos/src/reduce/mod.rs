//! Reduce.

mod binomial;
mod hierarchical;
mod mesh;
mod rhd;
mod ring;
mod star;
mod three_level;

pub use binomial::BinomialReduce;
pub use hierarchical::HierarchicalReduce;
pub use mesh::MeshReduce;
pub use rhd::RhdReduce;
pub use ring::RingReduce;
pub use star::StarReduce;
pub use three_level::ThreeLevelReduce;
