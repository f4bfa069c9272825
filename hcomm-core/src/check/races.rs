//! Conflicting accesses to one chunk that nothing orders (H201, H202).
//!
//! For every chunk, its accesses are walked in the order of one execution and cut into **phases**: runs of accesses
//! that do not conflict with each other (reads; reductions, unless the program is `deterministic`; one write). Every
//! access must come after all of the phase before its own, in every execution. As "before" is transitive, that orders
//! all conflicting accesses, with work linear in their number.
//!
//! * Within a repetition the walk is over one repetition. A second walk, over the next repetition, asks about the
//!   phases that reach over from one to the next. Two repetitions decide it for any number: if x of one is before y
//!   of the next, it is before y of all later ones, because those follow y on its own thread.
//! * `input` and `output` pass to the caller between two invocations. So everything that touches a rank's `input` or
//!   `output` has to come after the start of that rank's main thread and before its end, in the same repetition;
//!   between repetitions there is nothing left to ask.
//!
//! Most questions are answered by comparing two positions on the main thread of the rank whose memory it is: when
//! the whole phase before is over there, and when the access starts from there.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::clash::{self, Clash, Touch};
use super::findings::Findings;
use super::matching::Matching;
use super::memory::Memory;
use super::model::{Model, NONE};
use super::order::{NEVER_FORKED, NEVER_JOINED, Order};
use super::sweep::{Sweep, Unordered};
use crate::ids::SpanId;
use crate::operator::Buffer;
use crate::program::Cell;

/// Up to this many members, a phase is compared one by one before it is decided as a whole.
const ONE_BY_ONE: u32 = 32;

/// How many chunks of a rank are looked at in one go, so that memory stays bounded.
const WINDOW: u32 = 1 << 18;

/// What the checks of one program share.
#[derive(Clone, Copy)]
pub(super) struct Context<'a, 'p> {
    pub(super) model: &'a Model<'p>,
    pub(super) matching: &'a Matching,
    pub(super) order: &'a Order<'a, 'p>,
    pub(super) memory: &'a Memory,
    /// Whether input and output share memory, which is all that is then looked at.
    pub(super) in_place: bool,
}

/// Tells races. The result has the statements that race within a repetition: what they write is anyone's guess.
pub(super) fn check(context: Context<'_, '_>, findings: &mut Findings<'_>) -> FxHashSet<SpanId> {
    let mut walk = Walk::new(context);
    let owners = Owners::new(context.model, context.matching);
    for rank in 0..context.model.num_ranks() {
        walk.rank(rank, owners.of(rank));
    }
    let found = walk.sweep.finish();
    clash::report(context.model, found, findings)
}

/// The operations that touch each rank's memory, in the order of the execution.
struct Owners {
    start: Vec<u32>,
    ops: Vec<u32>,
}

impl Owners {
    fn new(model: &Model<'_>, matching: &Matching) -> Owners {
        let owners_of = |op: u32| {
            let sides = model.op(op).kind.sides(model.rank_of(op));
            sides.map(|(to, from)| (to, Some(from).filter(|&from| from != to)))
        };
        let mut start = vec![0u32; model.num_ranks() as usize + 1];
        for (to, from) in (0..model.num_ops()).filter_map(owners_of) {
            start[to as usize + 1] += 1;
            if let Some(from) = from {
                start[from as usize + 1] += 1;
            }
        }
        for rank in 1..start.len() {
            start[rank] += start[rank - 1];
        }
        let mut ops = vec![0; start.last().map_or(0, |&all| all as usize)];
        let mut next = start.clone();
        let mut push = |rank: u32, op: u32| {
            ops[next[rank as usize] as usize] = op;
            next[rank as usize] += 1;
        };
        for &op in &matching.order {
            if let Some((to, from)) = owners_of(op) {
                push(to, op);
                if let Some(from) = from {
                    push(from, op);
                }
            }
        }
        Owners { start, ops }
    }

    fn of(&self, rank: u32) -> &[u32] {
        &self.ops[self.start[rank as usize] as usize..self.start[rank as usize + 1] as usize]
    }
}

/// Accesses to a chunk that do not conflict with each other.
#[derive(Clone, Copy)]
struct Phase {
    touch: Touch,
    members: u32,
    /// The last member, in the list of all.
    last: u32,
    /// When all members are over, on the main thread of the rank whose memory it is.
    over_by: u32,
    /// The members as a group of the sweep, and in which generation of groups.
    group: Option<(u32, u32)>,
}

const NO_PHASE: Phase = Phase { touch: Touch::Read, members: 0, last: NONE, over_by: 0, group: None };

/// A chunk's present phase and the one before.
#[derive(Clone, Copy)]
struct Chunk {
    before: Phase,
    now: Phase,
}

struct Walk<'a, 'p> {
    context: Context<'a, 'p>,
    deterministic: bool,
    sweep: Sweep<'a, 'p, Clash>,
    /// The chunks that are looked at.
    chunks: Vec<Chunk>,
    /// Members of phases: an operation, and the member before it.
    members: Vec<(u32, u32)>,
    /// How often the sweep has dropped its groups.
    generation: u32,
}

/// An access: an operation that touches a chunk.
#[derive(Clone, Copy)]
struct Access {
    op: u32,
    touch: Touch,
    owner: u32,
    cell: Cell,
    /// When the access starts and is over, on the main thread of the owner.
    starts_after: u32,
    over_by: u32,
}

impl<'a, 'p> Walk<'a, 'p> {
    fn new(context: Context<'a, 'p>) -> Walk<'a, 'p> {
        Walk {
            context,
            deterministic: context.model.program.deterministic,
            sweep: Sweep::new(context.model, context.matching),
            chunks: Vec::new(),
            members: Vec::new(),
            generation: 0,
        }
    }

    fn rank(&mut self, owner: u32, ops: &[u32]) {
        let cells = self.context.memory.len(owner);
        if !self.context.in_place {
            for &op in ops {
                for (access, _) in self.accesses(owner, op).into_iter().flatten() {
                    if access.cell.buffer != Buffer::Scratch {
                        self.within_invocation(&access);
                    }
                }
            }
        }
        for start in (0..cells).step_by(WINDOW as usize) {
            self.window(owner, ops, start..cells.min(start + WINDOW));
        }
    }

    /// Chunks of a rank, by their number on it.
    fn window(&mut self, owner: u32, ops: &[u32], window: Range<u32>) {
        self.chunks.clear();
        self.chunks.resize(window.len(), Chunk { before: NO_PHASE, now: NO_PHASE });
        self.members.clear();
        for next in [false, true] {
            if next && self.context.in_place {
                break;
            }
            for &op in ops {
                for (access, len) in self.accesses(owner, op).into_iter().flatten() {
                    // Nothing but scratch stays from one repetition to the next.
                    if next && access.cell.buffer != Buffer::Scratch {
                        continue;
                    }
                    let memory = self.context.memory;
                    let first = memory.cell(owner, access.cell) - memory.first(owner);
                    for cell in first.max(window.start)..(first + len).min(window.end) {
                        let at = (cell - window.start) as usize;
                        if next {
                            self.visit_next(&access, at, cell - first);
                        } else {
                            self.visit(&access, at, cell - first);
                        }
                    }
                }
            }
        }
    }

    /// What the operation does to the owner's memory: runs of reads and of writes.
    fn accesses(&self, owner: u32, op: u32) -> [Option<(Access, u32)>; 2] {
        let Context { model, order, memory, .. } = self.context;
        let kind = &model.op(op).kind;
        let (Some(transfer), Some((to, from))) = (kind.transfer(), kind.sides(model.rank_of(op))) else {
            return [None; 2];
        };
        let (starts_after, over_by) = (order.starts_after(op, owner), order.over_by(op, owner));
        let access = |touch, cell| (Access { op, touch, owner, cell, starts_after, over_by }, transfer.len);
        // A copy of a chunk onto itself, which there is only in place, does not read what it does not write.
        let is_self = to == from && memory.cell(to, transfer.dst) == memory.cell(from, transfer.src);
        let touch = if kind.reduces() { Touch::Reduce } else { Touch::Write };
        [
            (from == owner && !is_self).then(|| access(Touch::Read, transfer.src)),
            (to == owner).then(|| access(touch, transfer.dst)),
        ]
    }

    /// The access to chunk `j` of its run, which is the one at `at`, in the repetition that the walk is about.
    fn visit(&mut self, access: &Access, at: usize, j: u32) {
        let mut chunk = self.chunks[at];
        if !self.is_compatible(chunk.now, access.touch) {
            chunk = Chunk { before: chunk.now, now: Phase { touch: access.touch, ..NO_PHASE } };
        }
        self.after(&mut chunk.before, access, j, false);
        let now = &mut chunk.now;
        self.members.push((access.op, now.last));
        now.last = self.members.len() as u32 - 1;
        now.members += 1;
        now.touch = access.touch;
        now.over_by = now.over_by.max(access.over_by);
        now.group = None;
        self.chunks[at] = chunk;
    }

    /// The same access in the next repetition: only what is left from the one before is looked at.
    fn visit_next(&mut self, access: &Access, at: usize, j: u32) {
        let mut chunk = self.chunks[at];
        if chunk.before.members == 0 && chunk.now.members == 0 {
            return;
        }
        if !self.is_compatible(chunk.now, access.touch) {
            chunk = Chunk { before: chunk.now, now: Phase { touch: access.touch, ..NO_PHASE } };
        }
        self.after(&mut chunk.before, access, j, true);
        self.chunks[at] = chunk;
    }

    /// Whether an access belongs into the phase.
    fn is_compatible(&self, phase: Phase, touch: Touch) -> bool {
        match touch {
            Touch::Read => phase.touch == Touch::Read,
            Touch::Reduce => phase.touch == Touch::Reduce && !self.deterministic,
            Touch::Write => false,
        }
    }

    /// All of the phase have to come before the access.
    fn after(&mut self, phase: &mut Phase, access: &Access, j: u32, next: bool) {
        if phase.members == 0 {
            return;
        }
        let is_over = if next {
            phase.over_by != NEVER_JOINED && access.starts_after != NEVER_FORKED
        } else {
            phase.over_by <= access.starts_after
        };
        if is_over {
            return;
        }
        let clash = |first| Clash::Accesses {
            owner: access.owner,
            cell: Cell { chunk: access.cell.chunk + j, ..access.cell },
            first,
            second: access.touch,
        };
        let order = self.context.order;
        let shows = |member: u32| {
            // An operation that touches a chunk twice is in order with itself.
            (member == access.op && !next)
                || if next { order.before_next(member, access.op) } else { order.before(member, access.op) }
        };
        let model = self.context.model;
        let at = |op: u32| model.op(op).at;
        if phase.members > ONE_BY_ONE {
            let group = match phase.group.filter(|&(_, generation)| generation == self.generation) {
                Some((group, _)) => group,
                None => self.sweep.group(members(&self.members, phase.last)),
            };
            phase.group = Some((group, self.generation));
            let key = pair(at(access.op), at(self.members[phase.last as usize].0), next);
            self.sweep.ask(group, access.op, next, key, clash(phase.touch));
        } else {
            for member in members(&self.members, phase.last) {
                if !shows(member) {
                    let group = self.sweep.single(member);
                    let key = pair(at(member), at(access.op), next);
                    self.sweep.ask(group, access.op, next, key, clash(phase.touch));
                }
            }
        }
        if self.sweep.answer_if_many() {
            self.generation += 1;
        }
    }

    /// An access to what the caller owns has to be while the owner's main thread runs.
    fn within_invocation(&mut self, access: &Access) {
        let model = self.context.model;
        let main = model.ops_of(model.main_of(access.owner));
        let at = model.op(access.op).at;
        let Access { op, owner, touch, cell, .. } = *access;
        let mut ask = |source: u32, target: u32, key: u64, about: Clash| {
            if main.is_empty() {
                // Nothing comes after the start, or before the end, of a thread that does nothing.
                self.sweep.note(key, Unordered { source: op, target: op, next: false, about });
            } else {
                let group = self.sweep.single(source);
                self.sweep.ask(group, target, false, key, about);
            }
        };
        if access.starts_after == NEVER_FORKED {
            ask(main.start, op, pair(at, SpanId(NONE), false), Clash::BeforeStart { owner, cell, touch });
        }
        if access.over_by == NEVER_JOINED {
            let end = main.end.saturating_sub(1);
            ask(op, end, pair(at, SpanId(NONE - 1), false), Clash::AfterEnd { owner, cell, touch });
        }
    }
}

fn members(all: &[(u32, u32)], last: u32) -> impl Iterator<Item = u32> {
    let mut next = last;
    std::iter::from_fn(move || {
        let &(op, before) = all.get(next as usize)?;
        next = before;
        Some(op)
    })
}

/// Two statements, in whatever order, and the step between their repetitions as a key.
fn pair(a: SpanId, b: SpanId, next: bool) -> u64 {
    let (low, high) = (a.0.min(b.0), a.0.max(b.0));
    (u64::from(high) << 32 | u64::from(low)) ^ (u64::from(next) << 63)
}
