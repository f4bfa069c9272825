//! What is checked before a task is queued: threads and their side, channels, addresses, reductions.

use super::{At, DataPlane, Elements};
use crate::comm::channel::ChannelEnd;
use crate::comm::error::{Result, in_status, not_found, not_support, null, para};
use crate::comm::handle::{ChannelHandle, ThreadHandle};
use crate::comm::memory::{Place, Region};
use crate::comm::queue::Hop;
use crate::comm::sync::lock;
use crate::comm::thread::Side;
use hcomm_core::product::{Product, Reduction};
use hcomm_core::program::OpKind;
use std::sync::Arc;

impl DataPlane {
    /// The thread for a task.
    pub(super) fn at(&self, thread: ThreadHandle) -> Result<At> {
        let at = self.at_unbatched(thread)?;
        if self.side == Side::Device && self.batch.is_none() && self.core.product != Product::A950 {
            return Err(in_status(format!(
                "a call outside a batch: on {} a kernel brackets its calls by HcommBatchModeStart and HcommBatchModeEnd",
                self.core.product
            )));
        }
        Ok(at)
    }

    pub(super) fn at_unbatched(&self, handle: ThreadHandle) -> Result<At> {
        let thread = self.core.threads.get(handle)?;
        if thread.side != self.side {
            return Err(para(format!(
                "thread {:#x} is one of {}, used on {}: an exported handle is only for records to it",
                handle.0, thread.side, self.side
            )));
        }
        let Some(rank) = thread.rank.upgrade() else {
            return Err(not_found("the communicator of the thread has been destroyed"));
        };
        rank.is_ready()?;
        Ok(At { thread, rank })
    }

    /// The thread and the channel for a task.
    pub(super) fn on(&self, thread: ThreadHandle, channel: ChannelHandle) -> Result<(At, Arc<ChannelEnd>)> {
        let at = self.at(thread)?;
        let channel = at.rank.own_channel(channel)?;
        channel.check_peer()?;
        Ok((at, channel))
    }

    /// Checks both ends of a local task. Returns the link that it goes over, if one end is a mapped peer's.
    pub(super) fn local_ends(&self, at: &At, dst: u64, src: u64, len: u64) -> Result<Option<Hop>> {
        let mut hop = None;
        for (addr, to) in [(dst, true), (src, false)] {
            let region = Region { addr, size: len };
            let place = self.find(region)?;
            match place {
                Place::Device(device) if device == at.rank.device => {}
                Place::Host => {}
                Place::Device(device) => {
                    self.check_mapped(at, region, device)?;
                    let mine = at.rank.device;
                    hop = Some(if to { Hop { from: mine, to: device } } else { Hop { from: device, to: mine } });
                }
            }
        }
        Ok(hop)
    }

    /// Checks that a channel maps a range of a peer's memory.
    fn check_mapped(&self, at: &At, region: Region, device: u32) -> Result<()> {
        let channels = lock(&at.rank.channels);
        let mut to_there = channels.all.iter().filter(|channel| channel.out.to == device);
        if to_there.any(|channel| channel.protocol.maps_memory() && channel.theirs.lets(region)) {
            return Ok(());
        }
        drop(channels);
        if at.rank.has_mapped(device, region) {
            return Ok(());
        }
        Err(para(format!(
            "{region} are on device {device}, and no channel or symmetric window of {} (device {}) maps them",
            at.rank.who(),
            at.rank.device
        )))
    }

    /// Where a range is, all of it.
    fn find(&self, region: Region) -> Result<Place> {
        if region.addr == 0 {
            return Err(null("the address is null"));
        }
        match self.core.memory.find(region.addr) {
            Some((allocation, place)) if allocation.holds(region) => Ok(place),
            Some((allocation, _)) => Err(para(format!("{region} run over the end of an allocation of {allocation}"))),
            None => Err(para(format!("nothing is allocated at {:#x}", region.addr))),
        }
    }

    pub(super) fn remote_ends(&self, at: &At, channel: &ChannelEnd, theirs: Region, mine: Region) -> Result<()> {
        if theirs.addr == 0 {
            return Err(null("the address at the peer is null"));
        }
        if !at.rank.reaches(channel.peer, theirs) {
            channel.check_remote(theirs)?;
        }
        match self.find(mine)? {
            Place::Device(device) if device != at.rank.device => Err(para(format!(
                "{mine} are on device {device}, and {} is on device {}",
                at.rank.who(),
                at.rank.device
            ))),
            _ => Ok(()),
        }
    }

    pub(super) fn reduces(&self, kind: &OpKind, elements: Elements, by: Reduction) -> Result<()> {
        let Elements { dtype, reduce, .. } = elements;
        let product = self.core.product;
        let found = product.reduction(kind, dtype, reduce);
        if found == by {
            return Ok(());
        }
        let but = match found {
            Reduction::AiCpu => ": the AI CPU does it",
            Reduction::Inline => ": the hardware does it",
            Reduction::None => "",
        };
        Err(not_support(format!("{} of {dtype} with {reduce} is not offered on {product}{but}", kind.name())))
    }

    pub(super) fn fuses(&self) -> Result<()> {
        match self.core.product {
            Product::A950 => Ok(()),
            product => Err(not_support(format!("{product} has no fused write and record: write, then record"))),
        }
    }
}
