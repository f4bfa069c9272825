//! Reduce-scatter.

mod mesh;
mod nb;
mod nhr;
mod rhd;
mod ring;

pub use mesh::MeshReduceScatter;
pub use nb::NbReduceScatter;
pub use nhr::NhrReduceScatter;
pub use rhd::RhdReduceScatter;
pub use ring::RingReduceScatter;
