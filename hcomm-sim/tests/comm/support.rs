//! A cluster with a communicator, and operators run on it and compared with their definition.

#![allow(clippy::unwrap_used, reason = "tests")]

use hcomm_core::counts::{Counts, Extent};
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu::lower;
use hcomm_core::operator::{Buffer, CountsBy, Expected, Operator};
use hcomm_core::product::Product;
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::Spec;
use hcomm_sim::comm::{
    Cluster, ClusterConfig, CommConfig, Communicator, OpCall, PhysicalHandle, Region, Result, StreamHandle,
    WindowHandle, deregister_all, launch_all, register_all,
};
use hcomm_sim::{Inputs, value};
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn cluster(product: Product, devices: u32) -> Cluster {
    let config = ClusterConfig::new(product, devices).unwrap();
    Cluster::new(config.second(Duration::from_millis(10))).unwrap()
}

pub(crate) fn program(spec: &Spec<'_>, shape: &Shape) -> Arc<Program> {
    Arc::new(lower(&instantiate(spec, shape).unwrap()))
}

pub(crate) fn flat(spec: &Spec<'_>, ranks: u32) -> Arc<Program> {
    program(spec, &Shape::new(Layout::flat(ranks).unwrap()))
}

/// A communicator over all of some devices, with a stream a rank.
pub(crate) struct Rig<'c> {
    pub(crate) cluster: &'c Cluster,
    pub(crate) comms: Vec<Communicator>,
    pub(crate) streams: Vec<StreamHandle>,
}

/// An operator's buffers, and what is to be in them.
pub(crate) struct Buffers {
    pub(crate) calls: Vec<OpCall>,
    inputs: Inputs,
    invocation: u64,
    /// The windows that they are in, if the program is for such.
    windows: Option<Windows>,
}

/// A symmetric window of all ranks over memory of its own.
pub(crate) struct Windows {
    pub(crate) handles: Vec<WindowHandle>,
    pub(crate) regions: Vec<Region>,
    /// What is mapped there, on A3.
    physical: Vec<PhysicalHandle>,
}

impl Windows {
    /// Of so many bytes at least.
    pub(crate) fn new(rig: &Rig<'_>, bytes: u64) -> Windows {
        let (mut regions, mut physical) = (Vec::new(), Vec::new());
        for comm in &rig.comms {
            let addr = match rig.cluster.product() {
                Product::A3 => {
                    let (addr, handle) = rig.cluster.map_new(comm.device(), bytes).unwrap();
                    physical.push(handle);
                    addr
                }
                _ => rig.cluster.alloc(comm.device(), bytes.max(1)).unwrap(),
            };
            regions.push(Region { addr, size: bytes.max(1) });
        }
        let handles = register_all(&rig.comms, &regions).unwrap();
        Windows { handles, regions, physical }
    }

    pub(crate) fn free(self, rig: &Rig<'_>) {
        deregister_all(&rig.comms, &self.handles).unwrap();
        self.free_memory(rig);
    }

    pub(crate) fn free_memory(self, rig: &Rig<'_>) {
        (0..self.regions.len()).for_each(|rank| self.free_of(rig.cluster, rank));
    }

    /// The memory of one rank.
    pub(crate) fn free_of(&self, cluster: &Cluster, rank: usize) {
        let addr = self.regions[rank].addr;
        match self.physical.get(rank) {
            Some(physical) => cluster.unmap_all(addr, *physical).unwrap(),
            None => cluster.memory().free(addr).unwrap(),
        }
    }
}

impl<'c> Rig<'c> {
    pub(crate) fn new(cluster: &'c Cluster, devices: &[u32], config: &CommConfig) -> Rig<'c> {
        let comms = cluster.init_all(devices, config).unwrap();
        Rig::of(cluster, comms)
    }

    pub(crate) fn of(cluster: &'c Cluster, comms: Vec<Communicator>) -> Rig<'c> {
        let streams = comms.iter().map(|comm| cluster.create_stream(comm.device()).unwrap()).collect();
        Rig { cluster, comms, streams }
    }

    /// Buffers for an operator, with inputs that a seed decides.
    pub(crate) fn buffers(
        &self,
        program: &Program,
        counts: &Counts,
        (dtype, reduce): (DataType, ReduceOp),
        in_place: bool,
        seed: u64,
    ) -> Buffers {
        let operator = program.operator;
        let reduced = operator.reduces().then_some(reduce);
        let inputs = Inputs::new(seed, dtype, reduced, program.num_ranks());
        let size = u64::from(dtype.size());
        let room = |buffer| {
            let bytes = (0..program.num_ranks()).map(|rank| counts.elements(program, buffer, rank) * size);
            bytes.max().unwrap_or(0).next_multiple_of(512)
        };
        let windows = (program.symmetric && program.num_ranks() > 1)
            .then(|| Windows::new(self, room(Buffer::Input) + room(Buffer::Output)));
        let calls = (0..).zip(&self.comms).map(|(rank, comm)| {
            let bytes = |buffer| counts.elements(program, buffer, rank) * size;
            let (in_bytes, out_bytes) = (bytes(Buffer::Input), bytes(Buffer::Output));
            let mut next = windows.as_ref().map(|windows| windows.regions[rank as usize].addr);
            let mut alloc = |bytes: u64| match (bytes, &mut next) {
                (0, _) => 0,
                (_, Some(next)) => {
                    let addr = *next;
                    *next += bytes.next_multiple_of(512);
                    addr
                }
                _ => self.cluster.alloc(comm.device(), bytes).unwrap(),
            };
            let (input, output) = match (in_place, counts) {
                (true, Counts::Same(count)) => {
                    let own = u64::from(rank) * count * size;
                    let slots =
                        (operator.input_slots(&program.shape, rank), operator.output_slots(&program.shape, rank));
                    match slots {
                        (0, _) | (_, 0) => (alloc(in_bytes), alloc(out_bytes)),
                        (1, 1) => {
                            let both = alloc(in_bytes.max(out_bytes));
                            (both, both)
                        }
                        (1, _) => {
                            let output = alloc(out_bytes);
                            (output + own, output)
                        }
                        _ => {
                            let input = alloc(in_bytes);
                            (input, input + own)
                        }
                    }
                }
                _ => (alloc(in_bytes), alloc(out_bytes)),
            };
            OpCall { input, output, counts: counts.clone(), dtype, reduce }
        });
        let calls = calls.collect();
        let buffers = Buffers { calls, inputs, invocation: 0, windows };
        buffers.fill(self, program);
        buffers
    }

    pub(crate) fn launch(&self, program: &Arc<Program>, buffers: &Buffers) -> Result<()> {
        launch_all(&self.comms, program, &buffers.calls, &self.streams)
    }

    /// What failed on each stream.
    pub(crate) fn wait(&self) -> Vec<Result<()>> {
        self.streams.iter().map(|stream| self.cluster.synchronize(*stream)).collect()
    }

    /// Runs an operator and compares.
    pub(crate) fn check(
        &self,
        program: &Arc<Program>,
        counts: &Counts,
        elements: (DataType, ReduceOp),
        in_place: bool,
        seed: u64,
    ) {
        let buffers = self.buffers(program, counts, elements, in_place, seed);
        self.launch(program, &buffers).unwrap();
        for (rank, result) in self.wait().into_iter().enumerate() {
            result.unwrap_or_else(|error| panic!("{} {elements:?} rank {rank}: {error}", program.algorithm));
        }
        if let Some(wrong) = buffers.wrong(self, program) {
            panic!("{} {counts:?} {elements:?} in place {in_place} seed {seed}: {wrong}", program.algorithm);
        }
        buffers.free(self);
    }

    /// Destroys communicators and streams.
    pub(crate) fn end(self) {
        for comm in &self.comms {
            comm.destroy().unwrap();
        }
        for stream in self.streams {
            self.cluster.destroy_stream(stream).unwrap();
        }
    }
}

impl Buffers {
    /// Writes the inputs of an invocation.
    pub(crate) fn fill(&self, rig: &Rig<'_>, program: &Program) {
        for (rank, call) in (0..).zip(&self.calls) {
            let elements = call.counts.elements(program, Buffer::Input, rank);
            let mut bytes = vec![0; (elements * u64::from(call.dtype.size())) as usize];
            self.inputs.fill(self.invocation, rank, 0, &mut bytes);
            if !bytes.is_empty() {
                rig.cluster.memory().write(call.input, &bytes).unwrap();
            }
        }
    }

    /// The first output that is not what the operator's definition says.
    pub(crate) fn wrong(&self, rig: &Rig<'_>, program: &Program) -> Option<String> {
        let (operator, shape) = (program.operator, &program.shape);
        if operator == Operator::Barrier {
            return None;
        }
        for (rank, call) in (0..).zip(&self.calls) {
            let size = u64::from(call.dtype.size());
            for slot in 0..operator.output_slots(shape, rank) {
                let Extent { count, start } = call.counts.extent(program, Buffer::Output, rank, slot);
                if count == 0 {
                    continue;
                }
                let mut got = vec![0; (count * size) as usize];
                rig.cluster.memory().read(call.output + start * size, &mut got).unwrap();
                let input = |rank: u32, chunk: u32| {
                    let from = call.counts.extent(program, Buffer::Input, rank, chunk).start;
                    let mut bytes = vec![0; got.len()];
                    self.inputs.fill(self.invocation, rank, from, &mut bytes);
                    (bytes, from)
                };
                let ((expected, from), ordered) = match operator.expected(shape, 1, rank, slot) {
                    Expected::Copy { rank, chunk } => (input(rank, chunk), false),
                    Expected::Reduction { chunk } => {
                        let (mut sum, from) = input(0, chunk);
                        for rank in 1..program.num_ranks() {
                            value::reduce(call.dtype, call.reduce, &mut sum, &input(rank, chunk).0);
                        }
                        let ordered =
                            matches!(call.reduce, ReduceOp::Sum | ReduceOp::Prod) && value::rounds(call.dtype);
                        ((sum, from), ordered)
                    }
                };
                for (element, (got, expected)) in
                    got.chunks(size as usize).zip(expected.chunks(size as usize)).enumerate()
                {
                    // Of floats that are added, those of odd elements depend on the order; the others are exact.
                    let exact = !ordered || (from + element as u64).is_multiple_of(2);
                    let (got_words, expected_words) = (value::show(call.dtype, got), value::show(call.dtype, expected));
                    let close = || {
                        let (got, expected): (f64, f64) = (got_words.parse().unwrap(), expected_words.parse().unwrap());
                        (got - expected).abs() <= 0.2 * f64::from(program.num_ranks())
                    };
                    if got != expected && (exact || !close()) {
                        return Some(format!(
                            "rank {rank} slot {slot} element {element}: {got_words}, not {expected_words}"
                        ));
                    }
                }
            }
        }
        None
    }

    /// After the communicators were destroyed, which took their windows along.
    pub(crate) fn free_memory(self, rig: &Rig<'_>) {
        match self.windows {
            Some(windows) => windows.free_memory(rig),
            None => self.free(rig),
        }
    }

    pub(crate) fn free(self, rig: &Rig<'_>) {
        if let Some(windows) = self.windows {
            return windows.free(rig);
        }
        let memory = rig.cluster.memory();
        for call in &self.calls {
            let mut starts: Vec<u64> = [call.input, call.output]
                .into_iter()
                .filter(|addr| *addr > 0)
                .filter_map(|addr| memory.find(addr).map(|(region, _)| region.addr))
                .collect();
            starts.dedup();
            starts.into_iter().for_each(|start| memory.free(start).unwrap());
        }
    }
}

/// Draws, run by run the same.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn bits(&mut self) -> u64 {
        // SplitMix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.bits() % end.max(1)
    }

    pub(crate) fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }
}

/// Counts of at most `most` elements, which differ in the V operators.
pub(crate) fn counts(operator: Operator, ranks: u32, most: u64, draw: &mut Draw) -> Counts {
    let count = |draw: &mut Draw| if draw.below(4) == 0 { 0 } else { draw.below(most + 1) };
    match operator.counts() {
        CountsBy::All => Counts::Same(most),
        CountsBy::Rank => Counts::by_rank(&(0..ranks).map(|_| count(draw)).collect::<Vec<_>>()),
        CountsBy::Pair => {
            let rows: Vec<Vec<u64>> = (0..ranks).map(|_| (0..ranks).map(|_| count(draw)).collect()).collect();
            Counts::by_pair(&rows)
        }
    }
}
