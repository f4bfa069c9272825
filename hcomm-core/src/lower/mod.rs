//! Lowering: from what every rank does to HCOMM operations.

pub mod aicpu;
mod classes;
pub mod fuse;
