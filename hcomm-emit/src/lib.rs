//! C++ operator packages for HCOMM.
//!
//! The body of an emitted operator has the loops of the source: it is printed from the [`Spec`](hcomm_core::spec::Spec),
//! for every rank count, count and type. That it means what the evaluator means is tested by running it (`tests/`).

mod algorithm;
mod body;
mod entry;
mod expr;
pub mod lengths;
mod names;
mod package;
mod ranges;
mod runtime;
mod testcase;
mod tree;

pub use algorithm::{Class, EmitError, class};
pub use package::{MARK, Options, Package, package};
pub use runtime::SCHEDULE;
