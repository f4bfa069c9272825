//! Scatter.

mod binomial;
mod hierarchical;
mod mesh;
mod nb;
mod nhr;
mod star;

pub use binomial::BinomialScatter;
pub use hierarchical::HierarchicalScatter;
pub use mesh::MeshScatter;
pub use nb::NbScatter;
pub use nhr::NhrScatter;
pub use star::StarScatter;
