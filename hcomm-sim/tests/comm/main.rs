//! Communicators on a virtual cluster.

#![allow(clippy::unwrap_used, reason = "tests")]

mod conform;
mod support;
