//! Operators in symmetric windows: where their operands are, and whether they are in any.

use crate::comm::channel::ChannelDesc;
use crate::comm::communicator::Communicator;
use crate::comm::error::{CommError, Result, not_support, para};
use crate::comm::handle::StreamHandle;
use crate::comm::launch::OpCall;
use crate::comm::memory::Region;
use crate::comm::monitor::Moment;
use crate::comm::needs::peers_of;
use crate::comm::rank::RankState;
use crate::comm::thread::CommEngine;
use crate::comm::window::{Kind, Window};
use hcomm_core::operator::Buffer;
use hcomm_core::program::Program;
use std::sync::Arc;

/// Where the operands of an operator are.
#[derive(Debug, Default)]
pub(crate) struct Operands {
    input: Option<(Arc<Window>, u64)>,
    output: Option<(Arc<Window>, u64)>,
}

/// A place that ranks must have in common: an operand's name, its window's number or place in the heap, and the byte.
pub(crate) type Place = (&'static str, u64, u64);

impl Operands {
    fn of(&self, buffer: Buffer) -> Option<&(Arc<Window>, u64)> {
        match buffer {
            Buffer::Input => self.input.as_ref(),
            Buffer::Output => self.output.as_ref(),
            Buffer::Scratch => None,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Window>> {
        [&self.input, &self.output].into_iter().flatten().map(|(window, _)| window)
    }

    pub(crate) fn uses(&self, window: &Window) -> bool {
        self.all().any(|other| other.handle == window.handle)
    }

    /// Where a peer has an operand: there, as this rank has it, in its part of the window.
    pub(crate) fn peer_address(&self, buffer: Buffer, peer: u32) -> Result<u64> {
        let missing = || para(format!("the {} is in no symmetric window", buffer.name()));
        let (window, offset) = self.of(buffer).ok_or_else(missing)?;
        window.peer_address(*offset, peer)
    }

    /// The places of operands that peers reach: they must be the same on all ranks, since a rank finds a peer's by its
    /// own.
    pub(crate) fn places(&self, program: &Program) -> Vec<Place> {
        let mut reached = [false; 2];
        for (rank, threads) in (0..).zip(&program.ranks) {
            for op in threads.threads.iter().flatten() {
                let (Some(transfer), Some((to, from))) = (op.kind.transfer(), op.kind.sides(rank)) else { continue };
                for (buffer, at) in [(transfer.dst.buffer, to), (transfer.src.buffer, from)] {
                    match buffer {
                        Buffer::Input if at != rank => reached[0] = true,
                        Buffer::Output if at != rank => reached[1] = true,
                        _ => {}
                    }
                }
            }
        }
        let place = |buffer: Buffer| {
            let (window, offset) = self.of(buffer)?;
            Some(match &window.kind {
                // Windows over one memory are the same place.
                Kind::Hccs(slot) => (buffer.name(), 0, slot.offset + offset),
                _ => (buffer.name(), window.serial, *offset),
            })
        };
        let buffers = [Buffer::Input, Buffer::Output].into_iter().zip(reached);
        buffers.filter(|(_, reached)| *reached).filter_map(|(buffer, _)| place(buffer)).collect()
    }
}

impl RankState {
    /// The windows of a symmetric program's operands. `None` where no window is needed.
    pub(crate) fn operands(&self, program: &Program, input: Region, output: Region) -> Result<Option<Operands>> {
        if !program.symmetric || self.group.size() == 1 {
            return Ok(None);
        }
        let find = |buffer: Buffer, region: Region| {
            match region.size {
            0 => Ok(None),
            _ => self.find_window(region).map(Some).ok_or_else(|| {
                para(format!(
                    "the {} of `{}` on {}, {region}, is in no symmetric window: register the memory it is in on all ranks",
                    buffer.name(),
                    program.algorithm,
                    self.who()
                ))
            }),
        }
        };
        Ok(Some(Operands { input: find(Buffer::Input, input)?, output: find(Buffer::Output, output)? }))
    }

    /// Whether peers' parts of windows are still to be asked for. Then a launch may block.
    pub(crate) fn must_ask(&self, program: &Program) -> bool {
        program.symmetric
            && self.core.is_v2()
            && peers_of(program, self.rank).iter().any(|peer| !self.untold(*peer).is_empty())
    }

    /// Asks the peers for their parts of the operands' windows, where this rank does not know them.
    pub(crate) fn ask_for(self: &Arc<Self>, program: &Program, operands: &Operands, notifies: u32) -> Result<()> {
        let unknown = |peer: &u32| operands.all().any(|window| window.must_learn(*peer));
        let descs: Vec<ChannelDesc> = peers_of(program, self.rank)
            .into_iter()
            .filter(unknown)
            .map(|peer| ChannelDesc::new(peer, notifies))
            .collect();
        if !descs.is_empty() {
            self.acquire_channels(CommEngine::AiCpuTs, &descs)?;
        }
        Ok(())
    }

    /// Why a symmetric program cannot run on a call, if it cannot.
    fn lacks_windows(&self, program: &Program, call: &OpCall) -> Result<Option<CommError>> {
        if !program.symmetric {
            return Ok(None);
        }
        if let Err(diagnostic) = self.core.product.admits_operations(program) {
            return Ok(Some(not_support(diagnostic.message)));
        }
        let region = |buffer: Buffer, addr: u64| {
            let elements = call.counts.elements(program, buffer, self.rank);
            let size = elements.saturating_mul(u64::from(call.dtype.size()));
            Region { addr, size }
        };
        let found = self.operands(program, region(Buffer::Input, call.input), region(Buffer::Output, call.output));
        Ok(found.err())
    }
}

impl Communicator {
    /// Launches `program`, which is for symmetric windows, if the product has them and the operands of this rank are in
    /// some, and `buffered` otherwise, which HCCL does without a word. All ranks must come to the same.
    ///
    /// Returns why it was `buffered`, or `None` if it was not.
    ///
    /// # Errors
    ///
    /// As [`launch`](Communicator::launch).
    pub fn launch_or(
        &self,
        program: &Arc<Program>,
        buffered: &Arc<Program>,
        call: &OpCall,
        stream: StreamHandle,
    ) -> Result<Option<CommError>> {
        let state = &self.state;
        state.is_ready()?;
        let why = state.lacks_windows(program, call)?;
        match &why {
            None => self.launch(program, call, stream)?,
            Some(why) => {
                self.launch(buffered, call, stream)?;
                state.totals.fell_back();
                let why = why.sentence.clone();
                state.note(Moment::FellBack { from: program.algorithm.clone(), to: buffered.algorithm.clone(), why });
            }
        }
        Ok(why)
    }
}
