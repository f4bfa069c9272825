//! Point-to-point and one-sided operations: on the thread of a stream, over channels of their own.
//!
//! Send and receive go through the sender's HCCL buffer, in which every rank has a slot of the same size: the sender
//! copies a piece into the receiver's slot and says so, the receiver reads it and says so (facts 3.5, one-way read).

use crate::comm::channel::ChannelDesc;
use crate::comm::error::{Result, in_status, para};
use crate::comm::group::Group;
use crate::comm::handle::{ChannelHandle, StreamHandle, ThreadHandle};
use crate::comm::memory::{Place, Region};
use crate::comm::order::Way;
use crate::comm::plane::DataPlane;
use crate::comm::rank::RankState;
use crate::comm::sync::lock;
use crate::comm::thread::{CommEngine, Side};
use hcomm_core::sizes::{ALIGN, MAX_TRANSFER};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Notifies of a channel for one-sided operations.
const NOTIFIES: u32 = 16;
/// What a sender sets: the piece is there.
const READY: u32 = 0;
/// What a receiver sets: the piece has been read.
const TAKEN: u32 = 1;
/// The first notify that users have.
const FIRST: u32 = 2;

/// How many notifies put, signal and wait have on the connection to a rank.
pub const ONE_SIDED_NOTIFIES: u32 = NOTIFIES - FIRST;

/// A message to send or to receive (`HcclSendRecvItem`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// To a rank.
    Send {
        /// The rank.
        to: u32,
        /// What.
        memory: Region,
    },
    /// From a rank.
    Recv {
        /// The rank.
        from: u32,
        /// Where to.
        memory: Region,
    },
}

/// Sends and receives of a pair of ranks that the other rank has not called yet, by sender and receiver.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    open: BTreeMap<(u32, u32), VecDeque<(bool, u64)>>,
}

impl Messages {
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }

    /// Compares the two ends of a message.
    fn agree(&mut self, (from, to): (u32, u32), sends: bool, bytes: u64) -> Result<()> {
        let open = self.open.entry((from, to)).or_default();
        match open.front().copied() {
            Some((other_sends, other)) if other_sends != sends => {
                open.pop_front();
                let (sent, received) = if sends { (bytes, other) } else { (other, bytes) };
                match sent == received {
                    true => Ok(()),
                    false => {
                        Err(para(format!("rank {from} sends {sent} bytes to rank {to}, which receives {received}")))
                    }
                }
            }
            _ => {
                open.push_back((sends, bytes));
                Ok(())
            }
        }
    }
}

impl Message {
    fn pair(&self, me: u32) -> (u32, u32) {
        match self {
            Message::Send { to, .. } => (me, *to),
            Message::Recv { from, .. } => (*from, me),
        }
    }

    fn memory(&self) -> Region {
        match self {
            Message::Send { memory, .. } | Message::Recv { memory, .. } => *memory,
        }
    }

    fn sends(&self) -> bool {
        matches!(self, Message::Send { .. })
    }
}

impl Group {
    /// The slot of each rank in an HCCL buffer of `size` bytes.
    fn slot(&self, size: u64) -> u64 {
        (size / u64::from(self.size()) / ALIGN * ALIGN).min(MAX_TRANSFER)
    }
}

impl RankState {
    /// Channels for one-sided operations, which both ends must ask for.
    pub(crate) fn connect(self: &Arc<Self>, peers: &[u32]) -> Result<Vec<ChannelHandle>> {
        let descs: Vec<ChannelDesc> = peers.iter().map(|peer| ChannelDesc::new(*peer, NOTIFIES)).collect();
        let channels = self.acquire_channels(CommEngine::CpuTs, &descs)?;
        let mut connected = lock(&self.connected);
        connected.extend(peers.iter().copied().zip(channels.iter().copied()));
        Ok(channels)
    }

    fn connection(&self, peer: u32) -> Result<ChannelHandle> {
        let found = lock(&self.connected).get(&peer).copied();
        found.ok_or_else(|| {
            in_status(format!("{} is not connected to rank {peer}: connect both ranks first", self.who()))
        })
    }

    /// Sends and receives at once.
    pub(crate) fn exchange(self: &Arc<Self>, messages: &[Message], stream: StreamHandle) -> Result<()> {
        self.is_ready()?;
        let me = self.rank;
        for message in messages {
            let (from, to) = message.pair(me);
            let peer = if message.sends() { to } else { from };
            if peer >= self.group.size() || peer == me {
                return Err(para(format!("a message from rank {from} to rank {to} of {}", self.group.name)));
            }
            let memory = message.memory();
            if memory.size == 0 {
                continue;
            }
            let message = format!("a message from rank {from} to rank {to}");
            match self.core.memory.find(memory.addr).filter(|(allocation, _)| allocation.holds(memory)) {
                None => return Err(para(format!("{memory} of {message} are not allocated"))),
                Some((_, Place::Device(device))) if device != self.device => {
                    let (who, mine) = (self.who(), self.device);
                    return Err(para(format!(
                        "{memory} of {message} are on device {device}, and {who} on device {mine}"
                    )));
                }
                Some(_) => {}
            }
        }
        // Messages without bytes are not there, as operators without elements are not.
        let messages: Vec<Message> = messages.iter().filter(|message| message.memory().size > 0).copied().collect();
        let mut peers: Vec<u32> = messages
            .iter()
            .map(|message| message.pair(me))
            .map(|(from, to)| if from == me { to } else { from })
            .collect();
        peers.sort_unstable();
        peers.dedup();
        peers.retain(|peer| !lock(&self.connected).contains_key(peer));
        if !peers.is_empty() {
            self.connect(&peers)?;
        }
        for message in &messages {
            let (pair, bytes) = (message.pair(me), message.memory().size);
            let agreed = lock(&self.group.messages).agree(pair, message.sends(), bytes);
            if let Err(error) = agreed {
                self.disagree(&error);
                return Err(error);
            }
        }
        let thread = self.thread_of_stream(CommEngine::CpuTs, stream, 0)?;
        messages.iter().for_each(|_| self.totals.one_sided());
        let buffer = self.hccl_buffer()?;
        let slot = self.group.slot(buffer.size);
        if slot == 0 {
            return Err(para(format!("an HCCL buffer of {} bytes has no slot for each rank", buffer.size)));
        }
        // The pieces of each pair follow each other, whatever message they are of.
        let mut pieces: BTreeMap<(bool, u32), VecDeque<Region>> = BTreeMap::new();
        for message in &messages {
            let (from, to) = message.pair(me);
            let key = (message.sends(), if message.sends() { to } else { from });
            let Region { addr, size } = message.memory();
            let all = (0..size.div_ceil(slot)).map(|piece| piece * slot);
            let all = all.map(|at| Region { addr: addr + at, size: slot.min(size - at) });
            pieces.entry(key).or_default().extend(all);
        }
        let ways: Vec<Way> = pieces.keys().copied().collect();
        let mut order = lock(&self.order);
        // Again, with the lock: whoever suspends takes it too, and drops what was queued before.
        self.is_ready()?;
        order.before_messages(&self.core, stream, &ways)?;
        let mut plane = DataPlane::new(self.core.clone(), Side::Host);
        plane.batch_start("exchange")?;
        while !pieces.is_empty() {
            self.exchange_pieces(&mut plane, thread, &mut pieces, (buffer.addr, slot))?;
            pieces.retain(|_, pieces| !pieces.is_empty());
        }
        plane.batch_end("exchange")?;
        order.after_messages(&self.core, stream, &ways)
    }

    /// The next piece of every pair: all are staged before any is waited for, so that ranks that send to each other do not
    /// wait for each other.
    fn exchange_pieces(
        &self,
        plane: &mut DataPlane,
        thread: ThreadHandle,
        pieces: &mut BTreeMap<(bool, u32), VecDeque<Region>>,
        (buffer, slot): (u64, u64),
    ) -> Result<()> {
        let timeout = self.config.timeouts.exec;
        let mut sent = Vec::new();
        let mut received = Vec::new();
        for ((sends, peer), pieces) in pieces {
            let (Some(piece), channel) = (pieces.pop_front(), self.connection(*peer)?) else {
                continue;
            };
            if *sends {
                let staged = buffer + u64::from(*peer) * slot;
                plane.local_copy(thread, staged, piece.addr, piece.size)?;
                plane.channel_notify_record(thread, channel, READY)?;
                sent.push(channel);
            } else {
                received.push((channel, piece));
            }
        }
        for (channel, piece) in received {
            let staged = self.own_channel(channel)?.remote_buffer().addr + u64::from(self.rank) * slot;
            plane.channel_notify_wait(thread, channel, READY, timeout)?;
            plane.read(thread, channel, piece.addr, staged, piece.size)?;
            plane.channel_notify_record(thread, channel, TAKEN)?;
        }
        for channel in sent {
            plane.channel_notify_wait(thread, channel, TAKEN, timeout)?;
        }
        Ok(())
    }

    fn one_sided(
        self: &Arc<Self>,
        peer: u32,
        notify: Option<u32>,
        stream: StreamHandle,
        call: impl FnOnce(&mut DataPlane, ThreadHandle, ChannelHandle, Option<u32>) -> Result<()>,
    ) -> Result<()> {
        self.is_ready()?;
        if let Some(notify) = notify.filter(|notify| *notify >= ONE_SIDED_NOTIFIES) {
            return Err(para(format!("notify {notify}: one-sided operations have {ONE_SIDED_NOTIFIES}")));
        }
        let channel = self.connection(peer)?;
        let thread = self.thread_of_stream(CommEngine::CpuTs, stream, 0)?;
        self.totals.one_sided();
        let mut plane = DataPlane::new(self.core.clone(), Side::Host);
        call(&mut plane, thread, channel, notify.map(|notify| notify + FIRST))
    }

    pub(crate) fn put(
        self: &Arc<Self>,
        peer: u32,
        dst: u64,
        src: Region,
        notify: Option<u32>,
        stream: StreamHandle,
    ) -> Result<()> {
        self.one_sided(peer, notify, stream, |plane, thread, channel, notify| {
            plane.write(thread, channel, dst, src.addr, src.size)?;
            notify.map_or(Ok(()), |notify| plane.channel_notify_record(thread, channel, notify))
        })
    }

    pub(crate) fn get(
        self: &Arc<Self>,
        peer: u32,
        dst: Region,
        src: u64,
        notify: Option<u32>,
        stream: StreamHandle,
    ) -> Result<()> {
        self.one_sided(peer, notify, stream, |plane, thread, channel, notify| {
            plane.read(thread, channel, dst.addr, src, dst.size)?;
            notify.map_or(Ok(()), |notify| plane.channel_notify_record(thread, channel, notify))
        })
    }

    pub(crate) fn signal(self: &Arc<Self>, peer: u32, notify: u32, stream: StreamHandle) -> Result<()> {
        self.one_sided(peer, Some(notify), stream, |plane, thread, channel, notify| {
            notify.map_or(Ok(()), |notify| plane.channel_notify_record(thread, channel, notify))
        })
    }

    pub(crate) fn await_signal(self: &Arc<Self>, peer: u32, notify: u32, stream: StreamHandle) -> Result<()> {
        let timeout = self.config.timeouts.exec;
        self.one_sided(peer, Some(notify), stream, |plane, thread, channel, notify| {
            notify.map_or(Ok(()), |notify| plane.channel_notify_wait(thread, channel, notify, timeout))
        })
    }
}
