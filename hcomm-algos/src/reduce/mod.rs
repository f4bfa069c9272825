//! Reduce.

mod binomial;
mod mesh;
mod rhd;
mod ring;
mod star;

pub use binomial::BinomialReduce;
pub use mesh::MeshReduce;
pub use rhd::RhdReduce;
pub use ring::RingReduce;
pub use star::StarReduce;
