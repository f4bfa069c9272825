//! Streams and events of devices, as ACL has them.

use crate::comm::core::Core;
use crate::comm::error::{CommError, Result, timeout};
use crate::comm::handle::{EventHandle, StreamHandle};
use crate::comm::notify::Event;
use crate::comm::queue::{Action, Call, Queue, QueueKind, Task};
use std::sync::Arc;
use std::time::Instant;

/// A stream.
#[derive(Debug)]
pub(crate) struct StreamState {
    pub(crate) queue: Arc<Queue>,
}

impl Core {
    pub(crate) fn create_stream(&self, device: u32) -> Result<StreamHandle> {
        self.is_open()?;
        self.is_device(device)?;
        let (handle, _) = self
            .streams
            .insert(|_: StreamHandle| Arc::new(StreamState { queue: Queue::new(device, QueueKind::Stream) }));
        Ok(handle)
    }

    pub(crate) fn is_device(&self, device: u32) -> Result<()> {
        let devices = self.layout.ranks();
        if device >= devices {
            return Err(crate::comm::error::para(format!("there is no device {device}: there are {devices}")));
        }
        Ok(())
    }

    /// Waits for its tasks, and removes it.
    pub(crate) fn destroy_stream(&self, stream: StreamHandle, until: Option<Instant>) -> Result<()> {
        self.is_open()?;
        let state = self.streams.get(stream)?;
        let result = self.synchronize(stream, until);
        self.is_open()?;
        self.streams.remove(stream)?;
        state.queue.close(self);
        result
    }

    /// Blocks until the tasks that the stream has now are done.
    pub(crate) fn synchronize(&self, stream: StreamHandle, until: Option<Instant>) -> Result<()> {
        self.is_open()?;
        let state = self.streams.get(stream)?;
        let number = state.queue.queued();
        if !state.queue.until_done(number, until) {
            let waits = state.queue.waits_for().map_or(String::new(), |flag| format!(": it waits for {flag}"));
            return Err(timeout(format!("the stream has not finished in time{waits}")));
        }
        self.is_open()?;
        first(state.queue.take_failed())
    }

    pub(crate) fn push_to_stream(&self, stream: StreamHandle, action: Action) -> Result<()> {
        self.is_open()?;
        match self.streams.get(stream) {
            Ok(state) => state.queue.push(self, [Task { action, owner: None }]),
            Err(error) => {
                Queue::abandon(self, [Task { action, owner: None }]);
                return Err(error);
            }
        }
        Ok(())
    }

    /// A call on a stream, on a thread of its own: it may block.
    pub(crate) fn launch_call(&self, stream: StreamHandle, call: Call) -> Result<()> {
        self.push_to_stream(stream, Action::Kernel(call))
    }

    pub(crate) fn create_event(&self) -> Result<EventHandle> {
        self.is_open()?;
        Ok(self.events.insert(|_: EventHandle| Arc::new(Event::default())).0)
    }

    pub(crate) fn record_event(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        let event = self.events.get(event)?;
        // A record that no stream takes is not to be waited for.
        self.is_open()?;
        self.streams.get(stream)?;
        let number = event.queue_record();
        self.push_to_stream(stream, Action::Reach(event, number))
    }

    pub(crate) fn wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        let event = self.events.get(event)?;
        match event.latest() {
            0 => Ok(()),
            number => self.push_to_stream(stream, Action::Await(event, number)),
        }
    }
}

fn first(failed: Vec<CommError>) -> Result<()> {
    failed.into_iter().next().map_or(Ok(()), Err)
}
