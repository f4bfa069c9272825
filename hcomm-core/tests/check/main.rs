//! The checks of programs: what they must reject, and what they must accept.
#![allow(clippy::unwrap_used, reason = "tests")]

mod accept;
mod builders;
mod hostile;
mod in_place;
mod mutants;
mod oracle;
mod reject;
mod source;
mod wild;
mod windows;
