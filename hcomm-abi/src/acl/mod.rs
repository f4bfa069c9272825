//! The ACL runtime: devices, streams, events, memory, kernels.

mod device;
mod event;
mod kernel;
mod memory;
mod stream;
mod virtual_memory;

pub(crate) use kernel::block::elements;
