//! Broadcast.

mod binomial;
mod hierarchical;
mod mesh;
mod nb;
mod nhr;
mod rhd;
mod ring;
mod star;
mod three_level;

pub use binomial::BinomialBroadcast;
pub use hierarchical::HierarchicalBroadcast;
pub use mesh::MeshBroadcast;
pub use nb::NbBroadcast;
pub use nhr::NhrBroadcast;
pub use rhd::RhdBroadcast;
pub use ring::RingBroadcast;
pub use star::StarBroadcast;
pub use three_level::ThreeLevelBroadcast;
