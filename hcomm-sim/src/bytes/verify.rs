//! Outputs compared with what the operator's definition says, computed from the inputs and never from the program.
//!
//! Copies, integers, `max` and `min` must be equal byte for byte. Sums and products of floats depend on the order in
//! which the program reduces, so the reference is computed in `f64` and a result may differ from it by what p − 1
//! roundings can make of it in the worst order: ((1 + u)^(p−1) − 1) · Σ|x| for sums and ((1 + u)^(p−1) − 1) · |Πx| for
//! products, with the type's unit roundoff u; the reference's own error, with the u of `f64`, comes on top. Every
//! second element is such that it is exact in any order (see [`Inputs`]), and must then be equal.
//!
//! Memory stays small: inputs are drawn again block by block. Where there are more bytes than [`LOOK`] to compare, an
//! output that is a run of the very bytes of the input that it must hold is taken to be right without drawing them
//! again, since those never change; the report says how many these were.

use crate::bytes::memory::{Bytes, Part};
use crate::inputs::Inputs;
use crate::report::{Events, Got, Mismatch};
use crate::value::{self, with_element};
use hcomm_core::counts::Extent;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::operator::{Buffer, CountsBy, Expected};
use hcomm_core::program::Program;
use hcomm_core::sizes::Rounds;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Up to how many bytes of outputs, all invocations together, every one is drawn again and compared.
const LOOK: u64 = 256 << 20;
/// Elements that are compared at a time.
const BLOCK: u64 = 8192;
/// How many invocations may be open before the outputs of the oldest are compared without waiting for the others,
/// which then are compared later, with a reference of their own.
const OPEN: usize = 3;

/// Compares outputs as ranks finish. Those of a reduction wait for the other ranks', so that the reference is computed
/// once for all; what is in them does not change while they wait.
#[derive(Debug)]
pub(crate) struct Verifier<'p> {
    program: &'p Program,
    rounds: Rounds,
    inputs: Rc<Inputs>,
    reduce: ReduceOp,
    waiting: BTreeMap<u64, Invocation>,
    /// Whether the very bytes of an input count as right without drawing it again.
    by_identity: bool,
    pub(crate) bytes_checked: u64,
    pub(crate) bytes_identical: u64,
    pub(crate) mismatches: Events<Mismatch>,
}

/// Ranks that have finished an invocation.
#[derive(Debug, Default)]
struct Invocation {
    finished: u32,
    outputs: Vec<Output>,
}

/// What a rank ended with.
#[derive(Debug)]
struct Output {
    rank: u32,
    /// Parts of the output, each with its first byte, and the end.
    parts: Vec<(u64, Part)>,
}

/// What a block of a slot must be.
#[derive(Debug, Default)]
struct Reference {
    /// Exactly these bytes; empty if `near` says what it is.
    exact: Vec<u8>,
    /// A value and a tolerance for each element.
    near: Vec<(f64, f64)>,
    /// An input, in use while it is added.
    drawn: Vec<u8>,
}

/// A block of a slot of an output, and whose it is.
#[derive(Clone, Copy, Debug)]
struct Block {
    invocation: u64,
    slot: u32,
    /// Its first element in the slot.
    first: u64,
    /// How many elements.
    len: u64,
}

impl<'p> Verifier<'p> {
    pub(crate) fn new(
        program: &'p Program,
        rounds: Rounds,
        inputs: Rc<Inputs>,
        reduce: ReduceOp,
        repeat: u64,
    ) -> Verifier<'p> {
        let elements = |rank| u128::from(rounds.counts().elements(program, Buffer::Output, rank));
        let all: u128 = (0..program.num_ranks()).map(elements).sum();
        let bytes = all * u128::from(rounds.element) * u128::from(repeat);
        Verifier {
            program,
            rounds,
            inputs,
            reduce,
            waiting: BTreeMap::new(),
            by_identity: bytes > u128::from(LOOK),
            bytes_checked: 0,
            bytes_identical: 0,
            mismatches: Events::new(),
        }
    }

    /// Takes what is in the output of `rank` at the end of an invocation.
    pub(crate) fn finished(&mut self, invocation: u64, rank: u32, parts: Vec<Part>) {
        let mut end = 0;
        let parts: Vec<(u64, Part)> = parts
            .into_iter()
            .map(|part| {
                let start = end;
                end += part.len();
                (start, part)
            })
            .collect();
        self.bytes_checked += end;
        let output = Output { rank, parts };
        if !self.program.operator.reduces() {
            self.check(invocation, &[output]);
            return;
        }
        let open = self.waiting.entry(invocation).or_default();
        open.finished += 1;
        open.outputs.push(output);
        if open.finished == self.program.num_ranks() {
            self.close(invocation);
        } else if self.waiting.len() > OPEN
            && let Some((&oldest, _)) = self.waiting.first_key_value()
        {
            self.close(oldest);
        }
    }

    /// Compares what still waits for ranks that will not finish.
    pub(crate) fn end(&mut self) {
        while let Some((&invocation, _)) = self.waiting.first_key_value() {
            self.close(invocation);
        }
    }

    fn close(&mut self, invocation: u64) {
        if let Some(open) = self.waiting.remove(&invocation) {
            self.check(invocation, &open.outputs);
        }
    }

    /// Compares outputs of one invocation, slot by slot and block by block. Slots that must hold the same reduction are
    /// compared with one reference.
    fn check(&mut self, invocation: u64, outputs: &[Output]) {
        let (operator, shape) = (self.program.operator, &self.program.shape);
        let mut reductions: BTreeMap<u32, Vec<(u32, &Output)>> = BTreeMap::new();
        let mut reference = Reference::default();
        for output in outputs {
            for slot in 0..operator.output_slots(shape, output.rank) {
                // With one chunk a slot, chunks are slots.
                match operator.expected(shape, 1, output.rank, slot) {
                    Expected::Copy { rank, chunk } => {
                        self.check_copy(invocation, slot, output, (rank, chunk), &mut reference);
                    }
                    Expected::Reduction { chunk } => reductions.entry(chunk).or_default().push((slot, output)),
                }
            }
            if operator.counts() != CountsBy::All {
                self.check_gaps(invocation, output);
            }
        }
        for (chunk, slots) in reductions {
            self.check_reduction(invocation, &slots, chunk, &mut reference);
        }
    }

    fn check_copy(
        &mut self,
        invocation: u64,
        slot: u32,
        output: &Output,
        (rank, chunk): (u32, u32),
        reference: &mut Reference,
    ) {
        let size = self.rounds.element;
        let Extent { count, start } = self.extent(Buffer::Output, output.rank, slot);
        let (base, source) = (start * size, self.extent(Buffer::Input, rank, chunk).start);
        for (start, len, part) in output.parts_in(base, base + count * size) {
            let first = (start - base) / size;
            if self.by_identity
                && let Part::Written(slice) = &part
                && let Bytes::Input(input) = &*slice.bytes
                && (input.invocation, input.rank) == (invocation, rank)
                && slice.start == (source + first) * size
            {
                self.bytes_identical += len;
                continue;
            }
            let last = first + len / size;
            if part.is_lost() && self.mismatches.is_full() {
                self.mismatches.count += last - first;
                continue;
            }
            let mut first = first;
            while first < last {
                let block = Block { invocation, slot, first, len: (last - first).min(BLOCK) };
                reference.near.clear();
                reference.exact.resize((block.len * size) as usize, 0);
                self.inputs.fill(invocation, rank, source + first, &mut reference.exact);
                self.compare(block, output, reference);
                first += block.len;
            }
        }
    }

    fn extent(&self, buffer: Buffer, rank: u32, slot: u32) -> Extent {
        self.rounds.counts().extent(self.program, buffer, rank, slot)
    }

    /// Notes what was written between the slots of an output: that is not the operator's.
    fn check_gaps(&mut self, invocation: u64, output: &Output) {
        let (operator, size) = (self.program.operator, self.rounds.element);
        let slots = operator.output_slots(&self.program.shape, output.rank);
        let mut order: Vec<(Extent, u32)> =
            (0..slots).map(|slot| (self.extent(Buffer::Output, output.rank, slot), slot)).collect();
        order.retain(|(extent, _)| extent.count > 0);
        order.sort_by_key(|(extent, _)| extent.start);
        let mut end = 0;
        for (extent, slot) in order {
            for (start, len, part) in output.parts_in(end * size, extent.start * size) {
                if matches!(part, Part::Written(_)) {
                    let rank = output.rank;
                    // A part may end inside an element.
                    self.mismatches.count += len.div_ceil(size).saturating_sub(1);
                    self.mismatches.add(|| Mismatch {
                        invocation,
                        rank,
                        slot,
                        element: start / size,
                        chunk: u64::from(slot) * u64::from(self.program.split),
                        round: 0,
                        expected: "left alone: it is in the gap before the slot".into(),
                        got: Got::Value("written".into()),
                    });
                }
            }
            end = extent.start + extent.count;
        }
    }

    fn check_reduction(&mut self, invocation: u64, slots: &[(u32, &Output)], chunk: u32, reference: &mut Reference) {
        // What is reduced has the same count and place in every input.
        let Extent { count, start } = self.extent(Buffer::Input, 0, chunk);
        let mut first = 0;
        while first < count {
            let len = (count - first).min(BLOCK);
            self.reduce_inputs(invocation, start + first, len, reference);
            for &(slot, output) in slots {
                self.compare(Block { invocation, slot, first, len }, output, reference);
            }
            first += len;
        }
    }

    /// Computes the reduction over all ranks of `len` elements of their inputs from `first` on.
    fn reduce_inputs(&self, invocation: u64, first: u64, len: u64, reference: &mut Reference) {
        let (dtype, ranks) = (self.inputs.dtype(), self.program.num_ranks());
        let Reference { exact, near, drawn } = reference;
        let bytes = (len * self.rounds.element) as usize;
        exact.clear();
        near.clear();
        drawn.resize(bytes, 0);
        let order_matters = value::rounds(dtype) && matches!(self.reduce, ReduceOp::Sum | ReduceOp::Prod);
        for rank in 0..ranks {
            self.inputs.fill(invocation, rank, first, drawn);
            match (order_matters, rank) {
                (true, 0) => with_element!(dtype, E => near.extend(drawn.chunks_exact(E::SIZE).map(|bytes| {
                    let x = E::load(bytes).to_f64();
                    (x, x.abs())
                }))),
                (true, _) => with_element!(dtype, E => {
                    for ((value, magnitude), bytes) in near.iter_mut().zip(drawn.chunks_exact(E::SIZE)) {
                        let x = E::load(bytes).to_f64();
                        if self.reduce == ReduceOp::Sum {
                            *value += x;
                            *magnitude += x.abs();
                        } else {
                            *value *= x;
                            *magnitude *= x.abs();
                        }
                    }
                }),
                (false, 0) => exact.extend_from_slice(drawn),
                (false, _) => value::reduce(dtype, self.reduce, exact, drawn),
            }
        }
        let roundings = ranks.saturating_sub(1) as i32;
        let worst = |u: f64| (f64::from(roundings) * u.ln_1p()).exp_m1();
        let factor = worst(value::unit_roundoff(dtype)) + worst(value::unit_roundoff(DataType::Fp64));
        for (element, (_, magnitude)) in (first..).zip(near) {
            *magnitude = if self.inputs.is_exact(element) { 0.0 } else { *magnitude * factor };
        }
    }

    /// Compares a block of an output with what it must be.
    fn compare(&mut self, block: Block, output: &Output, reference: &Reference) {
        let size = self.rounds.element;
        let start = (self.extent(Buffer::Output, output.rank, block.slot).start + block.first) * size;
        let mut read = Vec::new();
        for (here, len, part) in output.parts_in(start, start + block.len * size) {
            let (from, first) = ((here - start) as usize, (here - start) / size);
            let slice = match &part {
                Part::Written(slice) if !slice.is_poison() => slice,
                lost => {
                    let got = if matches!(lost, Part::Gap(_)) { Got::Unwritten } else { Got::Poison };
                    for element in first..first + len / size {
                        self.mismatch(block, output.rank, element, reference, || got.clone());
                    }
                    continue;
                }
            };
            let got = match slice.in_memory() {
                Some(bytes) => bytes,
                None => {
                    read.resize(len as usize, 0);
                    slice.read(&mut read);
                    &read
                }
            };
            let dtype = self.inputs.dtype();
            let wrong = |element: u64, bytes: &[u8]| match reference.near.get(element as usize) {
                None => reference.exact.get((element * size) as usize..((element + 1) * size) as usize) != Some(bytes),
                Some((value, tolerance)) => {
                    let got = with_element!(dtype, E => E::load(bytes).to_f64());
                    (got - value).abs().partial_cmp(tolerance).is_none_or(|order| order.is_gt())
                }
            };
            if reference.near.is_empty() && reference.exact.get(from..from + got.len()) == Some(got) {
                continue;
            }
            for (element, bytes) in (first..).zip(got.chunks_exact(size as usize)) {
                if wrong(element, bytes) {
                    self.mismatch(block, output.rank, element, reference, || Got::Value(value::show(dtype, bytes)));
                }
            }
        }
    }

    /// Notes that element `element` of a block is not what it must be.
    fn mismatch(&mut self, block: Block, rank: u32, element: u64, reference: &Reference, got: impl FnOnce() -> Got) {
        let Block { invocation, slot, first, .. } = block;
        let (rounds, split) = (&self.rounds, u64::from(self.program.split));
        let count = self.extent(Buffer::Output, rank, slot).count;
        self.mismatches.add(|| {
            let in_slot = first + element;
            let round = rounds.round_of(in_slot);
            let part = rounds.round(round).chunk_at(count, in_slot * rounds.element).unwrap_or(0);
            let expected = match reference.near.get(element as usize) {
                None => value::show(self.inputs.dtype(), &reference.exact[(element * rounds.element) as usize..]),
                Some((value, 0.0)) => value.to_string(),
                Some((value, tolerance)) => format!("{value} ± {tolerance:.1e}"),
            };
            let chunk = u64::from(slot) * split + part;
            Mismatch { invocation, rank, slot, element: in_slot, chunk, round, expected, got: got() }
        });
    }
}

impl Output {
    /// The parts in `start..end`, each with its first byte and its length there, and cut to it.
    fn parts_in(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64, Part)> + '_ {
        let from = self.parts.partition_point(|(at, part)| at + part.len() <= start);
        // An empty range has no parts, even where a part goes across it.
        self.parts[from..].iter().take_while(move |(at, _)| *at < end && start < end).map(move |(at, part)| {
            let (first, last) = ((*at).max(start), (at + part.len()).min(end));
            let part = match part {
                Part::Written(slice) => Part::Written(slice.cut(first - at, last - first)),
                Part::Gap(_) => Part::Gap(last - first),
            };
            (first, last - first, part)
        })
    }
}
