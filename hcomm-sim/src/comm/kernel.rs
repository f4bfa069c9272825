//! The kernel of an operator: reads the context and queues the operator's tasks, round after round.

use crate::comm::error::{Result, internal, not_support, para};
use crate::comm::handle::{ChannelHandle, ThreadHandle};
use crate::comm::launch::{DONE, Job};
use crate::comm::memory::Region;
use crate::comm::plane::DataPlane;
use crate::comm::rank::RankState;
use crate::comm::thread::Side;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::Buffer;
use hcomm_core::product::Reduction;
use hcomm_core::program::{OpKind, Transfer};
use hcomm_core::sizes::Round;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a kernel finds in its context.
struct Unpacked {
    threads: Vec<ThreadHandle>,
    channels: BTreeMap<u32, (ChannelHandle, u64)>,
    scratch: u64,
}

impl Unpacked {
    fn read(rank: &RankState, context: Region) -> Result<Unpacked> {
        let mut bytes = vec![0; context.size as usize];
        rank.core.memory.read(context.addr, &mut bytes)?;
        let mut words = bytes.chunks_exact(8).map(|word| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(word);
            u64::from_le_bytes(bytes)
        });
        let mut next = || words.next().ok_or_else(|| internal("the engine context is too short"));
        let number = next()?;
        let threads = (0..number).map(|_| next().map(ThreadHandle)).collect::<Result<_>>()?;
        let number = next()?;
        let mut channels = BTreeMap::new();
        for _ in 0..number {
            channels.insert(next()? as u32, (ChannelHandle(next()?), next()?));
        }
        Ok(Unpacked { threads, channels, scratch: next()? })
    }
}

/// The kernel: queues the operator's tasks for all rounds. If the rank is stopped meanwhile, to repeat the operator, none of
/// them is carried out: `epoch` says when the kernel was queued.
pub(crate) fn kernel(rank: &RankState, job: &Arc<Job>, epoch: u64) -> Result<()> {
    let unpacked = Unpacked::read(rank, job.context)?;
    let mut plane = DataPlane::new(rank.core.clone(), Side::Device).of_attempt(epoch);
    let timeout = rank.config.timeouts.exec;
    plane.set_notify_wait_timeout(timeout);
    plane.batch_start(&job.program.algorithm)?;
    let main = unpacked.threads[0];
    plane.thread_notify_wait(main, job.start, timeout)?;
    let mut body = Body { rank, job, unpacked: &unpacked, plane: &mut plane };
    if let Some(greeting) = job.greeting {
        body.fence(main, greeting)?;
    }
    for round in 0..job.rounds.rounds {
        let round = job.rounds.round(round);
        for (thread, ops) in job.program.ranks[rank.rank as usize].threads.iter().enumerate() {
            for op in ops {
                body.op(unpacked.threads[thread], &op.kind, &round)?;
            }
        }
    }
    // Between its peers and the next operator: none of them touches this rank's buffer any more.
    body.fence(main, job.fence())?;
    let ended = job.clone();
    plane.call(
        main,
        Box::new(move || {
            ended.finish();
            Ok(())
        }),
    )?;
    plane.thread_notify_record(main, job.done, DONE)?;
    plane.batch_end(&job.program.algorithm)
}

struct Body<'k> {
    rank: &'k RankState,
    job: &'k Job,
    unpacked: &'k Unpacked,
    plane: &'k mut DataPlane,
}

impl Body<'_> {
    fn op(&mut self, thread: ThreadHandle, kind: &OpKind, round: &Round) -> Result<()> {
        match *kind {
            OpKind::LocalCopy(ref transfer) => {
                self.moves(transfer, kind, round, |body, dst, src, len| body.plane.local_copy(thread, dst, src, len))
            }
            OpKind::LocalReduce(ref transfer) => {
                let (dtype, reduce) = self.elements();
                let on_ai_cpu = self.rank.core.product.reduction(kind, dtype, reduce) == Reduction::AiCpu;
                self.moves(transfer, kind, round, |body, dst, src, len| {
                    let count = len / u64::from(dtype.size());
                    match on_ai_cpu {
                        true => body.plane.local_reduce_on_ai_cpu(thread, dst, src, count, dtype, reduce),
                        false => body.plane.local_reduce(thread, dst, src, count, dtype, reduce),
                    }
                })
            }
            OpKind::Write(peer, ref transfer) => {
                let channel = self.channel(peer)?;
                self.moves(transfer, kind, round, |body, dst, src, len| {
                    body.plane.write(thread, channel, dst, src, len)
                })
            }
            OpKind::Read(peer, ref transfer) => {
                let channel = self.channel(peer)?;
                self.moves(transfer, kind, round, |body, dst, src, len| body.plane.read(thread, channel, dst, src, len))
            }
            OpKind::WriteReduce(peer, ref transfer) => {
                let (channel, (dtype, reduce)) = (self.channel(peer)?, self.elements());
                self.moves(transfer, kind, round, |body, dst, src, len| {
                    let count = len / u64::from(dtype.size());
                    body.plane.write_reduce(thread, channel, dst, src, count, dtype, reduce)
                })
            }
            OpKind::ReadReduce(peer, ref transfer) => {
                let (channel, (dtype, reduce)) = (self.channel(peer)?, self.elements());
                self.moves(transfer, kind, round, |body, dst, src, len| {
                    let count = len / u64::from(dtype.size());
                    body.plane.read_reduce(thread, channel, dst, src, count, dtype, reduce)
                })
            }
            OpKind::WriteWithNotify(peer, ref transfer, notify) => {
                self.fused(thread, peer, transfer, kind, round, notify)
            }
            OpKind::WriteReduceWithNotify(peer, ref transfer, notify) => {
                self.fused(thread, peer, transfer, kind, round, notify)
            }
            OpKind::ThreadNotifyRecord { thread: to, notify } => {
                let to = self.unpacked.threads.get(to as usize).copied();
                let to = to.ok_or_else(|| para("a record to a thread that is not there"))?;
                self.plane.thread_notify_record(thread, to, notify)
            }
            OpKind::ThreadNotifyWait { notify } => {
                let timeout = self.plane.notify_wait_timeout();
                self.plane.thread_notify_wait(thread, notify, timeout)
            }
            OpKind::ChannelNotifyRecord { peer, notify } => {
                let channel = self.channel(peer)?;
                self.plane.channel_notify_record(thread, channel, notify)
            }
            OpKind::ChannelNotifyWait { peer, notify } => {
                let (channel, timeout) = (self.channel(peer)?, self.plane.notify_wait_timeout());
                self.plane.channel_notify_wait(thread, channel, notify, timeout)
            }
        }
    }

    /// All peers have come here too.
    fn fence(&mut self, main: ThreadHandle, notify: u32) -> Result<()> {
        let (channels, timeout) = (&self.unpacked.channels, self.plane.notify_wait_timeout());
        for (channel, _) in channels.values() {
            self.plane.channel_notify_record(main, *channel, notify)?;
        }
        for (channel, _) in channels.values() {
            self.plane.channel_notify_wait(main, *channel, notify, timeout)?;
        }
        Ok(())
    }

    fn elements(&self) -> (DataType, ReduceOp) {
        (self.job.call.dtype, self.job.call.reduce)
    }

    fn channel(&self, peer: u32) -> Result<ChannelHandle> {
        let found = self.unpacked.channels.get(&peer);
        found.map(|(channel, _)| *channel).ok_or_else(|| para(format!("there is no channel to rank {peer}")))
    }

    /// Where a rank's buffer starts.
    fn base(&self, buffer: Buffer, rank: u32) -> Result<u64> {
        match (buffer, rank == self.rank.rank) {
            (Buffer::Input, true) => Ok(self.job.call.input),
            (Buffer::Output, true) => Ok(self.job.call.output),
            (Buffer::Scratch, true) => Ok(self.unpacked.scratch),
            (Buffer::Scratch, false) => {
                let found = self.unpacked.channels.get(&rank);
                found.map(|(_, buffer)| *buffer).ok_or_else(|| para(format!("there is no channel to rank {rank}")))
            }
            (_, false) => match &self.job.operands {
                Some(operands) => operands.peer_address(buffer, rank),
                None => Err(not_support(format!("the {} of rank {rank} is in no symmetric window", buffer.name()))),
            },
        }
    }

    /// Queues a task for each segment of a transfer: destination, source, bytes.
    fn moves(
        &mut self,
        transfer: &Transfer,
        kind: &OpKind,
        round: &Round,
        mut each: impl FnMut(&mut Self, u64, u64, u64) -> Result<()>,
    ) -> Result<()> {
        let (to, from) = kind.sides(self.rank.rank).unwrap_or((self.rank.rank, self.rank.rank));
        let (dst, src) = (self.base(transfer.dst.buffer, to)?, self.base(transfer.src.buffer, from)?);
        for segment in round.segments_iter(transfer, to, from) {
            each(self, dst + segment.dst, src + segment.src, segment.len)?;
        }
        Ok(())
    }

    /// The last segment takes the record along; if there is none, the record goes alone.
    fn fused(
        &mut self,
        thread: ThreadHandle,
        peer: u32,
        transfer: &Transfer,
        kind: &OpKind,
        round: &Round,
        notify: u32,
    ) -> Result<()> {
        let (channel, (dtype, reduce)) = (self.channel(peer)?, self.elements());
        let reduces = kind.reduces();
        let mut segments = Vec::new();
        self.moves(transfer, kind, round, |_, dst, src, len| {
            segments.push((dst, src, len));
            Ok(())
        })?;
        let Some(((dst, src, len), before)) = segments.split_last().map(|(last, before)| (*last, before)) else {
            return self.plane.channel_notify_record(thread, channel, notify);
        };
        let count = |len: u64| len / u64::from(dtype.size());
        for (dst, src, len) in before {
            match reduces {
                true => self.plane.write_reduce(thread, channel, *dst, *src, count(*len), dtype, reduce)?,
                false => self.plane.write(thread, channel, *dst, *src, *len)?,
            }
        }
        match reduces {
            true => self.plane.write_reduce_with_notify(thread, channel, dst, src, count(len), dtype, reduce, notify),
            false => self.plane.write_with_notify(thread, channel, dst, src, len, notify),
        }
    }
}
