//! What goes through a rank's HCCL buffer on different streams follows each other: operators, and messages around them.
//!
//! Messages of one direction to one peer follow each other too, since they take the same slot and the same notifies.
//! Others do not wait for each other: a rank may send on one stream and receive on another.

use crate::comm::core::Core;
use crate::comm::error::Result;
use crate::comm::handle::{EventHandle, StreamHandle};
use std::collections::BTreeMap;

/// Which messages: whether they are sent, and to or from whom.
pub(crate) type Way = (bool, u32);

/// The end of what was called last: on which stream, and an event that is recorded there.
type End = (StreamHandle, EventHandle);

/// What was called last of each kind.
#[derive(Debug, Default)]
pub(crate) struct Order {
    operator: Option<End>,
    messages: BTreeMap<Way, End>,
}

impl Order {
    /// An operator comes after all that was called.
    pub(crate) fn before_operator(&self, core: &Core, stream: StreamHandle) -> Result<()> {
        after(core, stream, self.operator.iter().chain(self.messages.values()))
    }

    /// An operator was called, whose end the event tells.
    pub(crate) fn after_operator(&mut self, core: &Core, stream: StreamHandle, event: EventHandle) -> Result<()> {
        self.operator = Some((stream, event));
        core.record_event(event, stream)
    }

    /// Messages come after the operator before, and the messages that went the same ways.
    pub(crate) fn before_messages(&self, core: &Core, stream: StreamHandle, ways: &[Way]) -> Result<()> {
        let messages = ways.iter().filter_map(|way| self.messages.get(way));
        after(core, stream, self.operator.iter().chain(messages))
    }

    /// Messages were called.
    pub(crate) fn after_messages(&mut self, core: &Core, stream: StreamHandle, ways: &[Way]) -> Result<()> {
        for way in ways {
            let event = match self.messages.get(way) {
                Some((_, event)) => *event,
                None => core.create_event()?,
            };
            self.messages.insert(*way, (stream, event));
            core.record_event(event, stream)?;
        }
        Ok(())
    }

    /// Nothing is under way any more.
    pub(crate) fn restart(&mut self) {
        self.operator = None;
    }

    /// Forgets everything. Returns the events of messages, to give back.
    pub(crate) fn clear(&mut self) -> Vec<EventHandle> {
        self.operator = None;
        std::mem::take(&mut self.messages).into_values().map(|(_, event)| event).collect()
    }
}

/// Lets a stream wait for what was called on other streams.
fn after<'e>(core: &Core, stream: StreamHandle, ends: impl Iterator<Item = &'e End>) -> Result<()> {
    for (_, event) in ends.filter(|(other, _)| *other != stream) {
        core.wait_event(stream, *event)?;
    }
    Ok(())
}
