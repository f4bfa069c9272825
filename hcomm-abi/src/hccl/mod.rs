//! HCCL's communicator and its resources.

mod barrier;
mod channel;
mod comm;
mod layout;
mod rank_graph;
mod res;
mod unsupported;
