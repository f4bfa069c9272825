//! Communicators on a virtual cluster.

#![allow(clippy::unwrap_used, reason = "tests")]

mod by_hand;
mod conform;
mod faults;
mod misuse;
mod p2p;
#[path = "../it/support.rs"]
mod programs;
mod resources;
mod soak;
mod support;
mod windows;
