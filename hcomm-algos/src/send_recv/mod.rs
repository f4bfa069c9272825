//! Send and receive.

mod read;
mod write;

pub use read::ReadSendRecv;
pub use write::WriteSendRecv;
