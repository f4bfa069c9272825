//! Where the buffers of every rank are, and which of them are the same memory in the in-place form.

use crate::bytes::memory::{Bytes, Memory, Meter, Part, Slice};
use crate::error::RunError;
use crate::inputs::Inputs;
use hcomm_core::operator::Buffer;
use hcomm_core::program::Program;
use hcomm_core::sizes::Rounds;
use std::rc::Rc;

/// The buffers of all ranks.
#[derive(Debug)]
pub(crate) struct Space {
    memories: Vec<Memory>,
    /// By rank and buffer.
    places: Vec<Place>,
    inputs: Rc<Inputs>,
    meter: Rc<Meter>,
}

/// A buffer: a range of a memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) memory: u32,
    pub(crate) base: u64,
    pub(crate) len: u64,
}

impl Space {
    pub(crate) fn new(
        program: &Program,
        rounds: &Rounds,
        in_place: bool,
        inputs: Rc<Inputs>,
        meter: Rc<Meter>,
    ) -> Result<Space, RunError> {
        let operator = program.operator;
        if in_place && !operator.has_in_place() {
            return Err(RunError::InPlace { operator });
        }
        let mut places = Vec::with_capacity(program.num_ranks() as usize * Buffer::ALL.len());
        for rank in 0..program.num_ranks() {
            for buffer in Buffer::ALL {
                let memory = places.len() as u32;
                places.push(Place { memory, base: 0, len: bytes_of(program, rounds, rank, buffer) });
            }
            if in_place {
                overlap(program, rounds, rank, &mut places);
            }
        }
        let memories = places.iter().map(|_| Memory::default()).collect();
        Ok(Space { memories, places, inputs, meter })
    }

    pub(crate) fn place(&self, rank: u32, buffer: Buffer) -> Place {
        self.places[rank as usize * Buffer::ALL.len() + buffer as usize]
    }

    /// Gives `rank` the input of an invocation, and an output that nothing has written. Scratch stays as it is.
    pub(crate) fn start(&mut self, rank: u32, invocation: u64) {
        let (input, output) = (self.place(rank, Buffer::Input), self.place(rank, Buffer::Output));
        self.memories[input.memory as usize].clear();
        self.memories[output.memory as usize].clear();
        if input.len > 0 {
            let bytes = Bytes::input(&self.inputs, &self.meter, invocation, rank, input.len);
            self.memories[input.memory as usize].write(input.base, Slice::whole(bytes, input.len));
        }
    }

    pub(crate) fn memory(&self, place: Place) -> &Memory {
        &self.memories[place.memory as usize]
    }

    pub(crate) fn memory_mut(&mut self, place: Place) -> &mut Memory {
        &mut self.memories[place.memory as usize]
    }

    /// What is in the output of a rank.
    pub(crate) fn output(&self, rank: u32) -> Vec<Part> {
        let output = self.place(rank, Buffer::Output);
        let mut parts = Vec::new();
        self.memory(output).read(output.base, output.len, &mut parts);
        parts
    }
}

/// How large a buffer is.
pub(crate) fn bytes_of(program: &Program, rounds: &Rounds, rank: u32, buffer: Buffer) -> u64 {
    match buffer {
        // The first round has the longest chunks.
        Buffer::Scratch => u64::from(program.scratch) * rounds.round(0).cell(),
        _ => rounds.counts().elements(program, buffer, rank) * rounds.element,
    }
}

/// Puts the smaller of a rank's input and output into the larger, at the slot that is the rank's own.
fn overlap(program: &Program, rounds: &Rounds, rank: u32, places: &mut [Place]) {
    let first = rank as usize * Buffer::ALL.len();
    let (input, output) = (first + Buffer::Input as usize, first + Buffer::Output as usize);
    let own = u64::from(rank) * rounds.count * rounds.element;
    let slots =
        (program.operator.input_slots(&program.shape, rank), program.operator.output_slots(&program.shape, rank));
    match slots {
        (0, _) | (_, 0) => {}
        (1, 1) => places[input].memory = places[output].memory,
        (1, _) => (places[input].memory, places[input].base) = (places[output].memory, own),
        _ => (places[output].memory, places[output].base) = (places[input].memory, own),
    }
}
