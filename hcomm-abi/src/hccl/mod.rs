//! HCCL's communicator and its resources.

mod barrier;
mod channel;
mod comm;
mod layout;
mod rank_graph;
mod recover;
mod res;
mod unsupported;
mod window;
