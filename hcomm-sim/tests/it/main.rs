//! Tests of whole runs, on programs made by hand.

#![allow(clippy::unwrap_used, reason = "tests")]

mod faults;
mod hostile;
mod kernels;
mod operators;
mod outputs;
mod support;
mod time;
