//! A second opinion that shares nothing with the checks: it runs programs, one interleaving after the other.
//!
//! Memory holds contributions tagged with the repetition; every rank's main thread hands its buffers over before
//! and after each of three repetitions, which compares the output, spoils it, and brings new input. A race is two
//! operations of two threads that could both run next and touch one chunk. Nothing here knows happens-before.

use std::collections::HashSet;

use hcomm_core::operator::{Buffer, Expected, Operator};
use hcomm_core::program::{Cell, Op, OpKind, Program};

const REPETITIONS: usize = 3;

/// What is known about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    /// Some interleaving misbehaves: how.
    Harmful(String),
    /// No interleaving does; all were tried.
    Harmless,
    /// None of those that were tried does.
    Unknown,
}

/// A step of a thread: an operation, or the hand-over of the caller's buffers before repetition n.
#[derive(Clone, Copy)]
enum Step {
    Op(Op),
    HandOver(usize),
}

/// Rank, chunk of its input, repetition; sorted. None of them: nothing was written, or the caller spoilt it.
type Value = Vec<(u32, u32, usize)>;

struct Machine {
    program: Program,
    /// Rank, number on the rank, steps.
    threads: Vec<(u32, u32, Vec<Step>)>,
    flags: Vec<Flag>,
    /// Of every step: what it touches.
    touches: Vec<Vec<Vec<(usize, Touch)>>>,
    first_cell: Vec<[usize; 3]>,
    cells: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    Read,
    Reduce,
    Write,
}

/// Of a thread (rank, thread, index), or of a channel's end (rank, peer, index).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Flag {
    Thread(u32, u32, u32),
    Channel(u32, u32, u32),
}

#[derive(Clone)]
struct State {
    at: Vec<u16>,
    set: Vec<bool>,
    memory: Vec<Value>,
    /// How many hand-overs every rank has had.
    handed: Vec<usize>,
}

impl Machine {
    fn new(program: &Program) -> Machine {
        let mut first_cell = Vec::new();
        let mut cells = 0;
        for rank in 0..program.num_ranks() {
            let mut first = [0; 3];
            for buffer in Buffer::ALL {
                first[buffer as usize] = cells;
                cells += program.chunks(buffer, rank) as usize;
            }
            first_cell.push(first);
        }
        let mut threads = Vec::new();
        for (rank, queues) in (0..).zip(&program.ranks) {
            for (thread, queue) in (0..).zip(&queues.threads) {
                let mut steps = Vec::new();
                for repetition in 0..REPETITIONS {
                    if thread == 0 {
                        steps.push(Step::HandOver(repetition));
                    }
                    steps.extend(queue.iter().map(|&op| Step::Op(op)));
                }
                if thread == 0 {
                    steps.push(Step::HandOver(REPETITIONS));
                }
                threads.push((rank, thread, steps));
            }
        }
        let mut machine =
            Machine { program: program.clone(), threads, flags: Vec::new(), touches: Vec::new(), first_cell, cells };
        let mut flags = HashSet::new();
        for (rank, thread, steps) in &machine.threads {
            for step in steps {
                if let Step::Op(op) = step {
                    flags.extend(sets(*rank, &op.kind));
                    flags.extend(waits(*rank, *thread, &op.kind));
                }
            }
        }
        machine.flags = flags.into_iter().collect();
        machine.touches = machine
            .threads
            .iter()
            .map(|(rank, _, steps)| steps.iter().map(|step| machine.touches_of(*rank, step)).collect())
            .collect();
        machine
    }

    fn cell(&self, rank: u32, cell: Cell) -> usize {
        self.first_cell[rank as usize][cell.buffer as usize] + cell.chunk as usize
    }

    fn touches_of(&self, rank: u32, step: &Step) -> Vec<(usize, Touch)> {
        let op = match step {
            Step::HandOver(_) => {
                let first = self.first_cell[rank as usize];
                return (first[0]..first[2]).map(|cell| (cell, Touch::Write)).collect();
            }
            Step::Op(op) => op,
        };
        let (Some(transfer), Some((to, from))) = (op.kind.transfer(), op.kind.sides(rank)) else { return Vec::new() };
        let (dst, src) = (self.cell(to, transfer.dst), self.cell(from, transfer.src));
        let touch = if op.kind.reduces() { Touch::Reduce } else { Touch::Write };
        (0..transfer.len as usize).flat_map(|j| [(src + j, Touch::Read), (dst + j, touch)]).collect()
    }

    fn start(&self) -> State {
        State {
            at: vec![0; self.threads.len()],
            set: vec![false; self.flags.len()],
            memory: vec![Vec::new(); self.cells],
            handed: vec![0; self.program.num_ranks() as usize],
        }
    }

    fn flag(&self, flag: Flag) -> usize {
        self.flags.iter().position(|&other| other == flag).unwrap()
    }

    fn next(&self, state: &State, thread: usize) -> Option<&Step> {
        self.threads[thread].2.get(state.at[thread] as usize)
    }

    fn is_enabled(&self, state: &State, thread: usize) -> bool {
        let (rank, local, _) = self.threads[thread];
        match self.next(state, thread) {
            None => false,
            Some(Step::HandOver(_)) => true,
            Some(Step::Op(op)) => waits(rank, local, &op.kind).is_none_or(|flag| state.set[self.flag(flag)]),
        }
    }

    fn enabled(&self, state: &State) -> Vec<usize> {
        (0..self.threads.len()).filter(|&thread| self.is_enabled(state, thread)).collect()
    }

    /// What is wrong with the state itself.
    fn fault(&self, state: &State, enabled: &[usize]) -> Option<String> {
        if enabled.is_empty() {
            if let Some(thread) = (0..self.threads.len()).find(|&thread| self.next(state, thread).is_some()) {
                return Some(format!("hang: thread {} of rank {}", self.threads[thread].1, self.threads[thread].0));
            }
            return state.set.iter().any(|&set| set).then(|| "a flag is left set".into());
        }
        for (i, &a) in enabled.iter().enumerate() {
            for &b in &enabled[i + 1..] {
                let touches = |thread: usize| &self.touches[thread][state.at[thread] as usize];
                for (cell, one) in touches(a) {
                    for (other_cell, other) in touches(b) {
                        let conflicts = match (one, other) {
                            (Touch::Read, Touch::Read) => false,
                            (Touch::Reduce, Touch::Reduce) => self.program.deterministic,
                            _ => true,
                        };
                        if cell == other_cell && conflicts {
                            return Some(format!("race of threads {a} and {b}"));
                        }
                    }
                }
            }
        }
        None
    }

    /// Runs the thread's next step.
    fn run(&self, state: &mut State, thread: usize) -> Result<(), String> {
        let (rank, local, steps) = &self.threads[thread];
        let step = steps[state.at[thread] as usize];
        state.at[thread] += 1;
        let op = match step {
            Step::HandOver(repetition) => return self.hand_over(state, *rank, repetition),
            Step::Op(op) => op,
        };
        if let Some(flag) = waits(*rank, *local, &op.kind) {
            state.set[self.flag(flag)] = false;
        }
        if let (Some(transfer), Some((to, from))) = (op.kind.transfer(), op.kind.sides(*rank)) {
            let (dst, src) = (self.cell(to, transfer.dst), self.cell(from, transfer.src));
            for j in 0..transfer.len {
                let mut value = state.memory[src + j as usize].clone();
                if value.is_empty() {
                    return Err("a chunk that nothing wrote is read".into());
                }
                let split = self.program.split;
                let class = (transfer.class + j) % split;
                let place = |cell: Cell| cell.buffer == Buffer::Scratch || (cell.chunk + j) % split == class;
                if !place(transfer.dst) || !place(transfer.src) || value[0].1 % split != class {
                    return Err("lengths differ".into());
                }
                if op.kind.reduces() {
                    let old = &state.memory[dst + j as usize];
                    if old.is_empty() {
                        return Err("a chunk that nothing wrote is added to".into());
                    }
                    if old[0].1 % split != class {
                        return Err("lengths of summands differ".into());
                    }
                    value.extend(old);
                    value.sort_unstable();
                }
                state.memory[dst + j as usize] = value;
            }
        }
        if let Some(flag) = sets(*rank, &op.kind) {
            let flag = self.flag(flag);
            if std::mem::replace(&mut state.set[flag], true) {
                return Err("a record is lost".into());
            }
        }
        Ok(())
    }

    fn hand_over(&self, state: &mut State, rank: u32, repetition: usize) -> Result<(), String> {
        let p = &self.program;
        if repetition > 0 {
            for chunk in 0..p.chunks(Buffer::Output, rank) {
                let expected: Value = match p.operator.expected(&p.shape, p.split, rank, chunk) {
                    Expected::Copy { rank, chunk } => vec![(rank, chunk, repetition - 1)],
                    Expected::Reduction { chunk } => {
                        (0..p.num_ranks()).map(|rank| (rank, chunk, repetition - 1)).collect()
                    }
                };
                let cell = self.cell(rank, Cell { buffer: Buffer::Output, chunk });
                if state.memory[cell] != expected {
                    return Err(format!("output[{chunk}] of rank {rank} is {:?}", state.memory[cell]));
                }
                state.memory[cell].clear();
            }
            if p.operator == Operator::Barrier && state.handed.iter().any(|&handed| handed < repetition) {
                return Err(format!("rank {rank} leaves the barrier early"));
            }
        }
        for chunk in 0..p.chunks(Buffer::Input, rank) {
            state.memory[self.cell(rank, Cell { buffer: Buffer::Input, chunk })] = vec![(rank, chunk, repetition)];
        }
        state.handed[rank as usize] = repetition + 1;
        Ok(())
    }
}

fn sets(rank: u32, kind: &OpKind) -> Option<Flag> {
    match *kind {
        OpKind::ThreadNotifyRecord { thread, notify } => Some(Flag::Thread(rank, thread, notify)),
        OpKind::ChannelNotifyRecord { peer, notify }
        | OpKind::WriteWithNotify(peer, _, notify)
        | OpKind::WriteReduceWithNotify(peer, _, notify) => Some(Flag::Channel(peer, rank, notify)),
        _ => None,
    }
}

fn waits(rank: u32, thread: u32, kind: &OpKind) -> Option<Flag> {
    match *kind {
        OpKind::ThreadNotifyWait { notify } => Some(Flag::Thread(rank, thread, notify)),
        OpKind::ChannelNotifyWait { peer, notify } => Some(Flag::Channel(rank, peer, notify)),
        _ => None,
    }
}

/// Tries all interleavings if they have no more than `states` states, and otherwise `tries` random ones.
pub(crate) fn truth(program: &Program, states: usize, tries: u64) -> Truth {
    let machine = Machine::new(program);
    // Random runs find most faults at once.
    for seed in 0..tries.min(16) {
        if let Err(fault) = random(&machine, seed) {
            return Truth::Harmful(fault);
        }
    }
    match exhaust(&machine, states) {
        Some(Ok(())) => Truth::Harmless,
        Some(Err(fault)) => Truth::Harmful(fault),
        None => match (16..tries).find_map(|seed| random(&machine, seed).err()) {
            Some(fault) => Truth::Harmful(fault),
            None => Truth::Unknown,
        },
    }
}

/// All interleavings. Until a race shows, what threads have done decides all the rest of the state.
fn exhaust(machine: &Machine, states: usize) -> Option<Result<(), String>> {
    let mut seen: HashSet<Vec<u16>> = HashSet::new();
    let mut stack = vec![machine.start()];
    while let Some(state) = stack.pop() {
        if !seen.insert(state.at.clone()) {
            continue;
        }
        if seen.len() > states {
            return None;
        }
        let enabled = machine.enabled(&state);
        if let Some(fault) = machine.fault(&state, &enabled) {
            return Some(Err(fault));
        }
        for thread in enabled {
            let mut next = state.clone();
            if let Err(fault) = machine.run(&mut next, thread) {
                return Some(Err(fault));
            }
            if !seen.contains(&next.at) {
                stack.push(next);
            }
        }
    }
    Some(Ok(()))
}

/// One interleaving: even seeds pick any thread at every step, odd ones let threads run ahead by priority.
fn random(machine: &Machine, seed: u64) -> Result<(), String> {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut priority: Vec<u64> = machine.threads.iter().map(|_| random.next()).collect();
    let mut state = machine.start();
    loop {
        let enabled = machine.enabled(&state);
        if let Some(fault) = machine.fault(&state, &enabled) {
            return Err(fault);
        }
        if enabled.is_empty() {
            return Ok(());
        }
        let thread = if seed.is_multiple_of(2) {
            enabled[(random.next() % enabled.len() as u64) as usize]
        } else {
            enabled.iter().copied().max_by_key(|&thread| priority[thread]).unwrap()
        };
        if random.next().is_multiple_of(8) {
            priority[thread] = random.next() >> 1;
        }
        machine.run(&mut state, thread)?;
    }
}

/// xorshift64*: small, and the same everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 8
    }
}
