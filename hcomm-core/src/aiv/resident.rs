//! Fewer cores than blocks: a block that polls keeps its core, and one that has none does not start.
//!
//! A core takes the next block when it has ended one. Who is stuck does not depend on who is fast, so one execution tells.

use rustc_hash::FxHashMap;

use super::program::{OpKind, Program};
use crate::diag::{Code, Diagnostic};

/// A block that runs.
struct Running {
    rank: u32,
    block: u32,
    op: usize,
}

/// Of each rank.
#[derive(Clone, Copy, Default)]
struct Launch {
    /// Blocks that have a core or had one.
    started: u32,
    ended: u32,
    /// Blocks that wait for all others, in this meeting.
    arrived: u32,
    /// Meetings that are over.
    met: u32,
}

/// Says who waits for a block that has no core, where `cores` are fewer than the blocks. The program has no deadlock
/// where every block has a core.
pub(super) fn check(program: &Program, cores: u32) -> Option<Diagnostic> {
    let blocks = program.num_blocks();
    let cores = cores.max(1);
    if cores >= blocks {
        return None;
    }
    let mut launches = vec![Launch::default(); program.ranks.len()];
    let mut set: FxHashMap<(u32, u32, u32, u32), u32> = FxHashMap::default();
    let mut running: Vec<(Running, u32)> = Vec::new();
    for (rank, launch) in (0..).zip(&mut launches) {
        launch.started = cores;
        running.extend((0..cores).map(|block| (Running { rank, block, op: 0 }, 0)));
    }
    loop {
        let (mut moved, mut next) = (false, Vec::new());
        for (mut block, mut meetings) in running {
            let launch = &mut launches[block.rank as usize];
            let ops = &program.ranks[block.rank as usize].blocks[block.block as usize];
            let stays = loop {
                let Some(op) = ops.get(block.op) else { break false };
                match op.kind {
                    OpKind::Record(flag) => {
                        *set.entry((flag.peer, block.rank, flag.notify, flag.part)).or_default() += 1;
                    }
                    OpKind::Wait(flag) => match set.get_mut(&(block.rank, flag.peer, flag.notify, flag.part)) {
                        Some(count) if *count > 0 => *count -= 1,
                        _ => break true,
                    },
                    OpKind::SyncAll if meetings == launch.met => {
                        // Arrives once; the last one opens the door.
                        launch.arrived += 1;
                        meetings += 1;
                        moved = true;
                        if launch.arrived == blocks {
                            (launch.arrived, launch.met) = (0, launch.met + 1);
                        } else {
                            break true;
                        }
                    }
                    OpKind::SyncAll if meetings > launch.met => break true,
                    _ => {}
                }
                moved = true;
                block.op += 1;
            };
            if stays {
                next.push((block, meetings));
                continue;
            }
            moved = true;
            launch.ended += 1;
            if launch.started < blocks {
                next.push((Running { rank: block.rank, block: launch.started, op: 0 }, 0));
                launch.started += 1;
            }
        }
        running = next;
        if running.is_empty() {
            return None;
        }
        if !moved {
            break;
        }
    }
    let (stuck, _) = running.iter().find(|(stuck, _)| launches[stuck.rank as usize].started < blocks)?;
    let op = program.ranks[stuck.rank as usize].blocks[stuck.block as usize].get(stuck.op)?;
    let started = launches[stuck.rank as usize].started;
    let plural = if cores == 1 { "" } else { "s" };
    let message = format!(
        "deadlock: rank {} has {cores} core{} for {blocks} blocks: block {} keeps its core while it waits, and block {started} \
         has none",
        stuck.rank, plural, stuck.block
    );
    let at = program.frame.source.spans.get(op.at.index()).copied();
    let help = format!("lower to {cores} block{plural}: lanes share blocks where there are fewer");
    Some(Diagnostic::new(Code::H101, message, at).with_help(help).on(program.num_ranks(), stuck.rank))
}
