//! Whether the program is one at all: numbers in range, before anything else relies on them (H303, H304).

use super::findings::Findings;
use super::memory::Memory;
use super::model::{Model, peer_of};
use super::words::{self, run};
use super::{MAX_MOVED, MAX_OPS};
use crate::diag::{Code, Diagnostic};
use crate::operator::Buffer;
use crate::program::{Cell, Op, OpKind, Program, Transfer};

/// Says what is out of range. If it says nothing, the other parts can take every number for granted.
pub(super) fn check(program: &Program, findings: &mut Findings<'_>) {
    check_whole(program, findings);
    if !findings.is_empty() {
        return;
    }
    for (rank, queues) in (0u32..).zip(&program.ranks) {
        for op in queues.threads.iter().flatten() {
            check_op(program, rank, queues.threads.len() as u32, op, findings);
        }
    }
}

/// The numbers that are not an operation's.
fn check_whole(program: &Program, findings: &mut Findings<'_>) {
    let ranks = program.num_ranks();
    let mut fault = |code, message: String| {
        let mut diagnostic = Diagnostic::new(code, message, None);
        diagnostic.ranks = Some(ranks);
        findings.add_global(diagnostic);
    };
    if program.ranks.len() != ranks as usize {
        fault(Code::H304, format!("the program is for {ranks} ranks, but describes {}", program.ranks.len()));
    }
    if program.split == 0 {
        fault(Code::H303, "the program cuts a slot into 0 chunks; the least is 1".into());
        return;
    }
    let (shape, operator) = (&program.shape, program.operator);
    let roles = [
        ("root", shape.root, operator.has_root()),
        ("src", shape.src, operator.has_src_dst()),
        ("dst", shape.dst, operator.has_src_dst()),
    ];
    for (name, rank, is_used) in roles {
        if is_used && rank >= ranks {
            fault(Code::H304, format!("{name} is rank {rank}, and there are {ranks} ranks (0 to {})", ranks - 1));
        }
    }
    if let Err(cells) = Memory::size(program) {
        let most = super::MAX_CELLS;
        fault(Code::H303, format!("the buffers have {cells} chunks in all; the checks take at most {most}"));
    }
    let ops = program.num_ops();
    if ops > MAX_OPS {
        fault(Code::H303, format!("the program has {ops} operations; the checks take at most {MAX_OPS}"));
    }
    let all = program.ranks.iter().flat_map(|rank| rank.threads.iter().flatten());
    let moved: u64 = all.filter_map(|op| op.kind.transfer()).map(|transfer| u64::from(transfer.len)).sum();
    if moved > MAX_MOVED {
        fault(Code::H303, format!("the operations move {moved} chunks; the checks take at most {MAX_MOVED}"));
    }
}

/// What an operation can be wrong about by itself. The kinds set faults with one code apart.
fn check_op(program: &Program, rank: u32, threads: u32, op: &Op, findings: &mut Findings<'_>) {
    let ranks = program.num_ranks();
    let at = findings.span(op.at);
    let mut fault = |code, kind, message: String, help: String| {
        findings.add(code, kind, [op.at; 2], || Diagnostic::new(code, message, at).with_help(help).on(ranks, rank));
    };
    if let Some(peer) = peer_of(&op.kind) {
        if peer == rank {
            let message = format!("rank {rank} of {ranks} names itself as a peer");
            fault(Code::H304, 0, message, "a rank has no channel to itself: leave the case `peer == rank` out".into());
            return;
        }
        if peer >= ranks {
            let message =
                format!("rank {rank} names rank {peer} as a peer, and there are {ranks} (0 to {})", ranks - 1);
            fault(Code::H304, 1, message, format!("wrap the number round with `wrap(…, ranks)`, or skip rank {peer}"));
            return;
        }
    }
    let notify = match op.kind {
        OpKind::ChannelNotifyRecord { notify, .. }
        | OpKind::ChannelNotifyWait { notify, .. }
        | OpKind::WriteWithNotify(_, _, notify)
        | OpKind::WriteReduceWithNotify(_, _, notify) => Some(notify),
        OpKind::ThreadNotifyRecord { thread, .. } if thread >= threads => {
            let message = format!("rank {rank} sets a notify of its thread {thread}, and has {threads} threads");
            fault(Code::H304, 2, message, "name one of the threads that the program gives the rank".into());
            None
        }
        _ => None,
    };
    if let Some(notify) = notify
        && notify as usize >= program.notifies.len()
    {
        let named = program.notifies.len();
        let message = format!("rank {rank} uses channel notify {notify}, and the program names {named} of them");
        fault(Code::H304, 3, message, "give every channel notify a name in the program's list".into());
    }
    if let (Some(transfer), Some((writes, reads))) = (op.kind.transfer(), op.kind.sides(rank)) {
        check_transfer(program, rank, (writes, reads), transfer, &mut fault);
    }
}

fn check_transfer(
    program: &Program,
    rank: u32,
    (dst_rank, src_rank): (u32, u32),
    transfer: &Transfer,
    fault: &mut impl FnMut(Code, u32, String, String),
) {
    if transfer.len == 0 {
        let help = "leave the operation out; its handshake stays".into();
        fault(Code::H303, 0, format!("rank {rank} moves a run of no chunks"), help);
        return;
    }
    if transfer.class >= program.classes() {
        let (class, classes) = (transfer.class, program.classes());
        let help = format!("the length class of a run is that of its first chunk, 0 to {}", classes - 1);
        fault(Code::H303, 1, format!("rank {rank} moves chunks of length class {class} of {classes}"), help);
    }
    let ends = [("to", transfer.dst, dst_rank), ("from", transfer.src, src_rank)];
    for (kind, (way, cell, owner)) in (2..).zip(ends) {
        let chunks = program.chunks(cell.buffer, owner);
        if u64::from(cell.chunk) + u64::from(transfer.len) > u64::from(chunks) {
            let message = format!(
                "rank {rank} moves {} chunk{} {way} {}, which is outside {}",
                transfer.len,
                words::plural(transfer.len),
                run(cell, transfer.len, owner, rank),
                match chunks {
                    0 => format!("{}: rank {owner} has none", cell.buffer),
                    1 => format!("{}: it has 1 chunk", cell.buffer),
                    _ => format!("{}: it has {chunks} chunks (0 to {})", cell.buffer, chunks - 1),
                }
            );
            fault(Code::H303, kind, message, bounds_help(program, cell, chunks));
        }
        if owner != rank && cell.buffer != Buffer::Scratch && !program.symmetric {
            let message = format!("rank {rank} reaches into the {} of rank {owner}", cell.buffer);
            let help = "peers may touch only `scratch`: copy through it";
            fault(Code::H304, 4, message, help.into());
        }
    }
    if transfer.dst.buffer == Buffer::Input {
        let message = format!("rank {rank} writes to {}", run(transfer.dst, transfer.len, dst_rank, rank));
        fault(
            Code::H304,
            5,
            message,
            "`input` belongs to the caller and is only read; use `output` or `scratch`".into(),
        );
    }
    let (dst, src) = (transfer.dst, transfer.src);
    if dst_rank == src_rank && dst.buffer == src.buffer && dst.chunk.abs_diff(src.chunk) < transfer.len {
        let message = format!(
            "rank {rank} moves {} to {}: source and destination overlap",
            run(src, transfer.len, src_rank, rank),
            run(dst, transfer.len, dst_rank, rank)
        );
        let help = "one task may not read what it writes: go through other chunks, or move fewer at a time";
        fault(Code::H303, 4, message, help.into());
    }
}

/// In place, operations whose source and destination overlap without being the same. A copy onto itself is harmless.
pub(super) fn check_overlap(model: &Model<'_>, memory: &Memory, findings: &mut Findings<'_>) {
    for op in 0..model.num_ops() {
        let (kind, rank) = (&model.op(op).kind, model.rank_of(op));
        let (Some(transfer), Some((to, from))) = (kind.transfer(), kind.sides(rank)) else { continue };
        let &Transfer { dst, src, len, .. } = transfer;
        let (cell_to, cell_from) = (memory.cell(to, dst), memory.cell(from, src));
        if cell_to.abs_diff(cell_from) >= len || (cell_to == cell_from && !kind.reduces()) {
            continue;
        }
        let at = model.op(op).at;
        let span = findings.span(at);
        findings.add(Code::H303, 4, [at; 2], || {
            let message = format!(
                "source and destination overlap: rank {rank} moves {} to {}",
                run(src, len, from, rank),
                run(dst, len, to, rank)
            );
            let help = "one task may not read what it writes: go through scratch";
            Diagnostic::new(Code::H303, message, span).with_help(help).on(model.num_ranks(), rank)
        });
    }
}

fn bounds_help(program: &Program, cell: Cell, chunks: u32) -> String {
    match cell.buffer {
        Buffer::Scratch if chunks == 0 => "give the algorithm scratch: the header `scratch: …;` says how much".into(),
        Buffer::Scratch => "use a chunk that exists, or ask for more with the header `scratch: …;`".into(),
        Buffer::Input | Buffer::Output if chunks == 0 => format!(
            "`{}` of {} exists only on the rank that {} it",
            cell.buffer,
            program.operator,
            if cell.buffer == Buffer::Input { "gives" } else { "gets" }
        ),
        Buffer::Input | Buffer::Output => format!(
            "`{}` of {} has {} for every slot, and {} here",
            cell.buffer,
            program.operator,
            words::count(program.split, "chunk"),
            words::count(chunks / program.split.max(1), "slot")
        ),
    }
}
