//! The C API of HCOMM, of HCCL's communicator, and of the part of the ACL runtime that operators use, on the communicator
//! of `hcomm-sim`. `docs/stand-in.md` says how to use it, and lists every function.
//!
//! The functions are for C: from Rust, use [`hcomm_sim`]. What can be used from Rust is the recording of what was called.

pub mod record;
