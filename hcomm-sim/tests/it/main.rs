//! Tests of whole runs, on programs made by hand.

#![allow(clippy::unwrap_used, reason = "tests")]

mod operators;
mod support;
