//! The core of hcomm: an algorithm as data, its one evaluator, and all that follows from it.
//!
//! ```text
//! Spec ── eval ──► Instance ──► TaskGraph
//!            │         └──────► Program ──► listing, JSON, simulator
//!            └──────► Resources
//! ```

pub mod check;
pub mod diag;
pub mod dtype;
pub mod ids;
pub mod operator;
pub mod program;
pub mod resources;
pub mod shape;
pub mod sizes;
pub mod spec;
