//! Lowering for AI CPU (`COMM_ENGINE_AICPU_TS`): lanes become Threads, `par` becomes fork and join by Thread Notifies.
//!
//! Lane `i` is Thread `i`. A `par` whose other lanes do something becomes, for each of those lanes `i`:
//!
//! * fork: the main thread records notify 0 of thread `i`, which waits for it before its first operation;
//! * join: thread `i` records notify `i - 1` of the main thread after its last operation, and the main thread waits
//!   for these in order.
//!
//! So every other thread's queue begins with a wait and ends with a record, as HCCL's checkers require (facts 13,
//! trap 10), and T threads take 2(T-1) thread notifies.

use super::classes;
use crate::instance::{Instance, Run, Task, TaskKind};
use crate::program::{Op, OpKind, Program, RankProgram, Transfer};

/// Lowers an instance to an AI CPU program, without product-specific operations.
pub fn lower(instance: &Instance) -> Program {
    let ranks = instance.ranks.iter().map(|tasks| rank(tasks)).collect();
    finish(frame(instance), ranks)
}

/// [`lower`] of an instance that is not needed any more: the tasks of a rank are gone when its operations are there, so
/// that an instance of millions of tasks and its program are never in memory both.
pub fn lower_owned(mut instance: Instance) -> Program {
    let tasks = std::mem::take(&mut instance.ranks);
    let ranks = tasks.into_iter().map(|tasks| rank(&tasks)).collect();
    finish(frame(&instance), ranks)
}

/// All that is not what ranks do.
fn frame(instance: &Instance) -> Program {
    Program {
        algorithm: instance.algorithm.clone(),
        operator: instance.operator,
        shape: instance.shape,
        split: instance.split,
        scratch: instance.scratch,
        deterministic: instance.deterministic,
        symmetric: instance.symmetric,
        notifies: instance.notifies.clone(),
        source: instance.source.clone(),
        ranks: Vec::new(),
    }
}

fn finish(mut program: Program, ranks: Vec<RankProgram>) -> Program {
    program.ranks = ranks;
    classes::assign(&mut program);
    program
}

/// Lowers the tasks of one rank.
fn rank(tasks: &[Task]) -> RankProgram {
    let busy = |task: &&Task| !matches!(task.kind, TaskKind::Fork | TaskKind::Join);
    let width = tasks.iter().filter(busy).map(|task| task.lane as usize + 1).max().unwrap_or(1);
    let mut threads: Vec<Vec<Op>> = vec![Vec::new(); width];
    // The other lanes of the `par` at hand that do something, ascending.
    let mut lanes: Vec<u32> = Vec::new();
    for (i, task) in tasks.iter().enumerate() {
        let at = task.at;
        match task.kind {
            TaskKind::Fork => {
                let body = tasks[i + 1..].iter().take_while(|task| !matches!(task.kind, TaskKind::Join));
                lanes = body.map(|task| task.lane).filter(|lane| *lane > 0).collect();
                lanes.sort_unstable();
                lanes.dedup();
                for &thread in &lanes {
                    threads[0].push(Op { kind: OpKind::ThreadNotifyRecord { thread, notify: 0 }, at });
                    threads[thread as usize].push(Op { kind: OpKind::ThreadNotifyWait { notify: 0 }, at });
                }
            }
            TaskKind::Join => {
                for &thread in &lanes {
                    let notify = thread - 1;
                    threads[thread as usize].push(Op { kind: OpKind::ThreadNotifyRecord { thread: 0, notify }, at });
                    threads[0].push(Op { kind: OpKind::ThreadNotifyWait { notify }, at });
                }
            }
            _ => threads[task.lane as usize].extend(operation(&task.kind).map(|kind| Op { kind, at })),
        }
    }
    // Programs are kept, and what they grew by is up to half of them.
    threads.iter_mut().for_each(Vec::shrink_to_fit);
    RankProgram { threads }
}

/// The operation that carries a task out; none for the ends of a `par`. Length classes come later.
fn operation(kind: &TaskKind) -> Option<OpKind> {
    let plain = |run: &Run| Transfer { dst: run.dst, src: run.src, len: run.len, class: 0 };
    Some(match kind {
        TaskKind::Copy(run) => OpKind::LocalCopy(plain(run)),
        TaskKind::Reduce(run) => OpKind::LocalReduce(plain(run)),
        TaskKind::Write(peer, run) => OpKind::Write(*peer, plain(run)),
        TaskKind::Read(peer, run) => OpKind::Read(*peer, plain(run)),
        TaskKind::WriteReduce(peer, run) => OpKind::WriteReduce(*peer, plain(run)),
        TaskKind::ReadReduce(peer, run) => OpKind::ReadReduce(*peer, plain(run)),
        TaskKind::Record(peer, notify) => OpKind::ChannelNotifyRecord { peer: *peer, notify: *notify },
        TaskKind::Wait(peer, notify) => OpKind::ChannelNotifyWait { peer: *peer, notify: *notify },
        TaskKind::Fork | TaskKind::Join => return None,
    })
}
