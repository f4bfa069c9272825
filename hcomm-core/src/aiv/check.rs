//! The checks of AIV programs: what is special to the engine here, and all else by the checks of threads.

use super::pipes::Pipes;
use super::program::{Copy, Flag, Op, OpKind, Program};
use super::translate::{translate, translate_loose};
use super::{MAX_BLOCKS, MAX_STEPS, flags, resident, words};
use crate::check;
use crate::diag::{Code, Diagnostic};
use crate::listing::Cells;
use crate::spec::Span;

/// What a program is checked for beside itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// Vector cores of a rank that are free, if fewer than there are blocks.
    pub cores: Option<u32>,
}

/// The most parts of a chunk times chunks of a slot or of scratch.
const MAX_PARTS: u32 = 1 << 26;
/// The most chunks, or parts of chunks, that all copies together may move.
const MAX_MOVED: u64 = 1 << 23;

/// Everything that is wrong with the program: each distinct fault once, by place in the source.
pub fn check(program: &Program, options: &Options) -> Vec<Diagnostic> {
    all(program, options, |threads| check::Report { diagnostics: check::check(threads), in_place: Vec::new() })
        .diagnostics
}

/// [`check()`], and what is wrong if input and output overlap.
pub fn report(program: &Program, options: &Options) -> check::Report {
    all(program, options, check::report)
}

fn all(
    program: &Program,
    options: &Options,
    of_threads: impl Fn(&crate::program::Program) -> check::Report,
) -> check::Report {
    let (found, loose) = structure(program);
    if !found.is_empty() {
        let mut diagnostics = found;
        diagnostics.extend(loose);
        diagnostics.sort_by_key(|diagnostic| (diagnostic.at.is_none(), diagnostic.at));
        return check::Report { diagnostics, in_place: Vec::new() };
    }
    let mut threads = translate(program);
    let mut report = of_threads(&threads);
    if report.diagnostics.is_empty() && !loose.is_empty() {
        // It does what it should if copies stay where they stand. What nothing keeps there may move.
        let moving = translate_loose(program).map(|threads| (of_threads(&threads), threads));
        match moving.filter(|(report, _)| report.diagnostics.is_empty()) {
            Some(both) => (report, threads) = both,
            None => return check::Report { diagnostics: loose, in_place: Vec::new() },
        }
    }
    let of_blocks = |all: Vec<Diagnostic>| -> Vec<Diagnostic> {
        all.into_iter().map(|one| words::of_blocks(one, program.parts)).collect()
    };
    report.diagnostics = of_blocks(report.diagnostics);
    report.in_place = of_blocks(report.in_place);
    if report.diagnostics.is_empty() {
        report.diagnostics = flags::check(program, &threads);
    }
    if report.diagnostics.is_empty() {
        report.diagnostics.extend(options.cores.and_then(|cores| resident::check(program, cores)));
    }
    if !report.diagnostics.is_empty() {
        report.in_place.clear();
    }
    report
}

/// Faults of the kernel itself, before anything else relies on it; and where barriers are missing, which may be no fault.
fn structure(program: &Program) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let found = whole(program);
    if !found.is_empty() {
        return (found.into_iter().map(|(code, message)| Diagnostic::new(code, message, None)).collect(), Vec::new());
    }
    let mut findings = Findings { program, found: Vec::new() };
    for (rank, blocks) in (0..).zip(&program.ranks) {
        for (block, ops) in (0..).zip(&blocks.blocks) {
            Walk { program, rank, block, pipes: Pipes::default(), atomic: None }.run(ops, &mut findings);
        }
        meetings(rank, &blocks.blocks, &mut findings);
    }
    let mut found = findings.found;
    found.sort_by_key(|diagnostic| (diagnostic.at.is_none(), diagnostic.at));
    // Before any translation, nothing else is told with this code.
    found.into_iter().partition(|diagnostic| diagnostic.code != Code::H201)
}

/// The numbers that are not an operation's.
fn whole(program: &Program) -> Vec<(Code, String)> {
    let (ranks, blocks) = (program.num_ranks(), program.num_blocks());
    let mut found = Vec::new();
    if program.ranks.len() != ranks as usize {
        found.push((Code::H304, format!("the program is for {ranks} ranks, but describes {}", program.ranks.len())));
    }
    if blocks == 0 || blocks > MAX_BLOCKS {
        found.push((Code::H401, format!("a rank has {blocks} blocks: a kernel has between 1 and {MAX_BLOCKS}")));
    }
    if let Some((rank, other)) = (0..).zip(&program.ranks).find(|(_, rank)| rank.blocks.len() != blocks as usize) {
        let other = other.blocks.len();
        found.push((
            Code::H401,
            format!("rank {rank} has {other} blocks and rank 0 {blocks}: the number is the same on all ranks"),
        ));
    }
    if !program.ub_fits() {
        let (ub, need) = (&program.ub, program.ub_bytes());
        found.push((
            Code::H401,
            format!(
                "{} pieces of {} bytes at once, and flags, take {need} bytes: a Unified Buffer has {}, and pieces are \
                 multiples of {} bytes",
                ub.buffers,
                ub.piece,
                super::UB_SIZE,
                super::BLOCK_SIZE
            ),
        ));
    }
    let (parts, frame) = (program.parts, &program.frame);
    let chunks = u64::from(frame.classes().max(frame.scratch).max(frame.split.saturating_mul(ranks)));
    if parts == 0 || u64::from(parts) * chunks > u64::from(MAX_PARTS) {
        found.push((
            Code::H303,
            format!("chunks are cut into {parts} parts: at least 1, and at most {MAX_PARTS} in all"),
        ));
    }
    let copies = program.ops().filter_map(|(_, _, op)| match op.kind {
        OpKind::Copy(copy) => Some(u64::from(copy.len)),
        _ => None,
    });
    let moved: u64 = copies.sum();
    if moved > MAX_MOVED {
        found.push((Code::H303, format!("the copies move {moved} chunks; the checks take at most {MAX_MOVED}")));
    }
    if u64::from(parts) * frame.notifies.len() as u64 > u64::from(MAX_PARTS) {
        found.push((Code::H304, format!("{} flags of {parts} parts are too many", frame.notifies.len())));
    }
    found
}

/// Faults, each kind once for a statement.
struct Findings<'p> {
    program: &'p Program,
    found: Vec<Diagnostic>,
}

/// The most faults that are told.
const MOST: usize = 64;

impl Findings<'_> {
    fn add(&mut self, code: Code, rank: u32, op: Option<&Op>, message: String, help: &str) {
        let at: Option<Span> = op.and_then(|op| self.program.frame.source.spans.get(op.at.index()).copied());
        let known = |known: &Diagnostic| known.code == code && known.at == at;
        if self.found.len() < MOST && !(at.is_some() && self.found.iter().any(known)) {
            let fault = Diagnostic::new(code, message, at).on(self.program.num_ranks(), rank);
            self.found.push(fault.with_help(help));
        }
    }
}

/// All blocks must come to as many meetings.
fn meetings(rank: u32, blocks: &[Vec<Op>], findings: &mut Findings<'_>) {
    let count = |ops: &Vec<Op>| ops.iter().filter(|op| op.kind == OpKind::SyncAll).count();
    let Some(first) = blocks.first().map(count) else { return };
    if let Some((block, ops)) = blocks.iter().enumerate().find(|(_, ops)| count(ops) != first) {
        let message = format!(
            "block {block} of rank {rank} comes to {} SyncAll and block 0 to {first}: all blocks wait for all",
            count(ops)
        );
        let last = ops.iter().chain(&blocks[0]).rfind(|op| op.kind == OpKind::SyncAll);
        findings.add(Code::H102, rank, last, message, "let every block come to every SyncAll");
    }
}

/// A block under way.
struct Walk<'p> {
    program: &'p Program,
    rank: u32,
    block: u32,
    pipes: Pipes,
    /// Where the atomic mode was set.
    atomic: Option<&'p Op>,
}

impl<'p> Walk<'p> {
    fn run(&mut self, ops: &'p [Op], findings: &mut Findings<'_>) {
        for op in ops {
            match &op.kind {
                OpKind::SetAtomic => self.atomic = Some(op),
                OpKind::SetAtomicNone => self.atomic = None,
                OpKind::PipeBarrier => self.pipes.barrier(),
                OpKind::Record(flag) => {
                    self.flag(flag, op, findings);
                    self.atomic_is_off(op, "a flag is recorded", findings);
                    self.signal(op, "the flag", findings);
                }
                OpKind::Wait(flag) => {
                    self.flag(flag, op, findings);
                    self.atomic_is_off(op, "a flag is waited for", findings);
                    self.pipes.meet();
                }
                OpKind::SyncAll => {
                    self.atomic_is_off(op, "all blocks meet", findings);
                    self.signal(op, "SyncAll", findings);
                    self.pipes.meet();
                }
                OpKind::Copy(copy) => self.copy(copy, op, findings),
            }
        }
        if let Some(op) = self.atomic {
            let message =
                format!("the atomic mode is left on at the end of block {} of rank {}", self.block, self.rank);
            findings.add(Code::H402, self.rank, Some(op), message, RESET);
        }
    }

    /// Flags are copied like data: in the atomic mode their values would be added up.
    fn atomic_is_off(&self, op: &Op, when: &str, findings: &mut Findings<'_>) {
        if self.atomic.is_some() {
            let message = format!("the atomic mode is on in block {} of rank {} where {when}", self.block, self.rank);
            findings.add(Code::H402, self.rank, Some(op), message, RESET);
        }
    }

    fn signal(&self, op: &Op, what: &str, findings: &mut Findings<'_>) {
        if self.pipes.before_signal() {
            let message = format!(
                "block {} of rank {}: {what} may come before the copies that it stands for are over",
                self.block, self.rank
            );
            findings.add(Code::H201, self.rank, Some(op), message, BARRIER);
        }
    }

    fn flag(&self, flag: &Flag, op: &Op, findings: &mut Findings<'_>) {
        let (rank, ranks) = (self.rank, self.program.num_ranks());
        let Flag { peer, notify, part, step } = *flag;
        if peer == rank || peer >= ranks {
            let message = format!("rank {rank} of {ranks} names rank {peer} at the other end of a flag");
            findings.add(Code::H304, rank, Some(op), message, "name another rank");
        } else if notify as usize >= self.program.frame.notifies.len() || part >= self.program.parts {
            let message = format!("rank {rank} uses part {part} of flag {notify}, which there is not");
            findings.add(Code::H304, rank, Some(op), message, "give every flag a name in the program's list");
        } else if step >= MAX_STEPS {
            let message = format!("rank {rank} comes to use {step} of a flag: there are values for {MAX_STEPS}");
            findings.add(Code::H401, rank, Some(op), message, "use more than one flag");
        }
    }

    fn copy(&mut self, copy: &Copy, op: &Op, findings: &mut Findings<'_>) {
        let (rank, ranks) = (self.rank, self.program.num_ranks());
        let Copy { dst, src, part, .. } = *copy;
        let mut fault = |code, message: String, help: &str| findings.add(code, rank, Some(op), message, help);
        if dst.rank >= ranks || src.rank >= ranks || (dst.rank != rank && src.rank != rank) {
            let message = format!(
                "rank {rank} copies from rank {} to rank {}: one of them must be itself, and there are {ranks} ranks",
                src.rank, dst.rank
            );
            fault(Code::H304, message, "copy to or from this rank's own memory");
            return;
        }
        if let Some(part) = part.filter(|part| part.len == 0 || part.end() > self.program.parts) {
            let (first, end, parts) = (part.first, part.end(), self.program.parts);
            let message = format!("rank {rank} copies parts {first}..{end} of chunks that are cut into {parts}");
            fault(Code::H303, message, "parts are numbered from 0");
        }
        let frame = &self.program.frame;
        for gm in [dst, src] {
            let chunks = frame.chunks(gm.cell.buffer, gm.rank);
            if copy.len == 0 || u64::from(gm.cell.chunk) + u64::from(copy.len) > u64::from(chunks) {
                let message = format!(
                    "rank {rank} copies {}: {} of rank {} has {chunks} chunks",
                    Cells(gm.cell, copy.len),
                    gm.cell.buffer,
                    gm.rank
                );
                fault(Code::H303, message, "move chunks that exist");
                return;
            }
        }
        if copy.class >= frame.classes() {
            let message = format!("rank {rank} copies chunks of length class {} of {}", copy.class, frame.classes());
            fault(Code::H303, message, "the length class of a run is that of its first chunk");
            return;
        }
        if !copy.padded {
            let message = format!(
                "rank {rank} copies by plain DataCopy, which moves multiples of {} bytes: chunks have any length",
                super::BLOCK_SIZE
            );
            fault(Code::H402, message, "let the tail go by DataCopyPad");
        }
        if self.pipes.before_copy(copy) {
            let (block, before) = (self.block, self.pipes.what_is_before(copy));
            fault(Code::H201, format!("block {block} of rank {rank}: the copy may begin before {before}"), BARRIER);
        }
        self.pipes.copy(copy);
    }
}

const RESET: &str = "reset it with SetAtomicNone right after the copies that reduce";
const BARRIER: &str = "put PipeBarrier<PIPE_ALL> between the two";
