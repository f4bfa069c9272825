//! The walk over the statements of a spec, for one rank.

use super::expr::{Budget, Vars, set};
use super::operand::MAX_CHUNKS;
use super::{Context, Event, FUEL, Fault, FaultKind, Step, tri};
use crate::ids::{ExprId, SpanId, VarId};
use crate::shape::{MAX_RANKS, Shape};
use crate::spec::{Block, List, MAX_DEPTH, MAX_VARS, Place, Set, Spec, StmtKind};

/// Room for the frames of the deepest nesting: a statement takes one for itself and one for its block.
const MAX_FRAMES: usize = 2 * MAX_DEPTH + 2;

/// The evaluation of a spec for one rank, one event at a time.
#[derive(Clone, Debug)]
pub struct Machine<'a> {
    context: Context<'a>,
    split: u32,
    scratch: u32,
    vars: Vars,
    budget: Budget,
    frames: [Frame; MAX_FRAMES],
    depth: usize,
}

/// Where the machine is in a statement.
#[derive(Clone, Copy, Debug)]
enum Frame {
    /// In a block: the next place of [`Spec::lists`] and the end.
    Block { next: u32, end: u32 },
    /// In a `for`, before its next turn.
    For { var: VarId, cursor: Cursor, body: Block, span: SpanId },
    /// In a `while`, before its next turn.
    While { condition: ExprId, body: Block, span: SpanId },
    /// In a `par`, before its next lane.
    Par { lanes: List, next: u32, each: Option<Cursor>, dealt: u32, bound: u32, span: SpanId },
}

/// The rest of a set.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    set: Set,
    next: i64,
    end: i64,
}

impl<'a> Machine<'a> {
    /// The machine of rank `rank` of `shape`, before its first step.
    ///
    /// # Errors
    ///
    /// If `split` or `scratch` has no value or an absurd one, or there is no such rank.
    pub const fn new(spec: &'a Spec<'a>, shape: Shape, rank: u32) -> Result<Machine<'a>, Fault> {
        if rank >= shape.ranks()
            || shape.root >= shape.ranks()
            || shape.src >= shape.ranks()
            || shape.dst >= shape.ranks()
        {
            return Err(Fault { kind: FaultKind::NoPeer(rank as i64), span: SpanId(0) });
        }
        let context = Context::new(spec, shape, rank);
        let (vars, mut budget) = ([0; MAX_VARS], Budget::new(FUEL));
        let ranks = shape.ranks();
        let split = match spec.headers.split {
            None if spec.operator.splits_by_ranks() => ranks,
            None => 1,
            Some(split) => {
                let value = tri!(context.eval(split, &vars, &mut budget));
                // One chunk a slot has the fewest length classes, and no buffer has more chunks.
                let least = spec.operator.classes(ranks, 1);
                let slots = if least > ranks { least } else { ranks };
                if value < 1 || value > MAX_CHUNKS / slots as i64 {
                    return Err(Fault { kind: FaultKind::Split(value), span: spec.exprs[split.index()].span });
                }
                value as u32
            }
        };
        let scratch = match spec.headers.scratch {
            None if spec.headers.symmetric => 0,
            None => split * spec.operator.largest_slots(ranks),
            Some(scratch) => {
                let value = tri!(context.eval(scratch, &vars, &mut budget));
                if value < 0 || value > MAX_CHUNKS {
                    return Err(Fault { kind: FaultKind::Scratch(value), span: spec.exprs[scratch.index()].span });
                }
                value as u32
            }
        };
        let mut frames = [Frame::Block { next: 0, end: 0 }; MAX_FRAMES];
        frames[0] = Frame::Block { next: spec.body.start, end: spec.body.start + spec.body.len };
        Ok(Machine { context, split, scratch, vars, budget, frames, depth: 1 })
    }

    /// Chunks a slot.
    pub const fn split(&self) -> u32 {
        self.split
    }

    /// Cells of scratch.
    pub const fn scratch(&self) -> u32 {
        self.scratch
    }

    /// What the rank does next.
    pub const fn step(&mut self) -> Step {
        loop {
            match self.turn() {
                Ok(Some(event)) => return Step::Event(event),
                Ok(None) if self.depth == 0 => return Step::Done,
                Ok(None) => {}
                Err(fault) => return Step::Fault(fault),
            }
        }
    }

    const fn eval(&mut self, id: ExprId) -> Result<i64, Fault> {
        self.context.eval(id, &self.vars, &mut self.budget)
    }

    /// One move of the topmost frame.
    const fn turn(&mut self) -> Result<Option<Event>, Fault> {
        if self.depth == 0 {
            return Ok(None);
        }
        let top = self.depth - 1;
        match self.frames[top] {
            Frame::Block { next, end } => {
                if next >= end {
                    self.depth = top;
                    return Ok(None);
                }
                self.frames[top] = Frame::Block { next: next + 1, end };
                self.statement(next)
            }
            Frame::For { var, mut cursor, body, span } => {
                tri!(self.budget.spend(span));
                match cursor.advance(&self.context) {
                    None => self.depth = top,
                    Some(value) => {
                        self.frames[top] = Frame::For { var, cursor, body, span };
                        tri!(set(&mut self.vars, var, value));
                        tri!(self.push_block(body, span));
                    }
                }
                Ok(None)
            }
            Frame::While { condition, body, span } => {
                tri!(self.budget.spend(span));
                if tri!(self.eval(condition)) == 0 {
                    self.depth = top;
                    return Ok(None);
                }
                tri!(self.push_block(body, span));
                Ok(None)
            }
            Frame::Par { lanes, mut next, mut each, mut dealt, bound, span } => {
                tri!(self.budget.spend(span));
                let mut turn = None;
                while turn.is_none() {
                    let at = (lanes.start + next) as usize;
                    if next >= lanes.len || at >= self.context.spec.lanes.len() {
                        self.depth = top;
                        return Ok(Some(Event::Join { at: span }));
                    }
                    let lane = self.context.spec.lanes[at];
                    match (lane.each, each) {
                        (None, _) => {
                            next += 1;
                            turn = Some(lane.body);
                        }
                        (Some((_, elements)), None) => each = Some(tri!(self.cursor(elements))),
                        (Some((var, _)), Some(mut cursor)) => match cursor.advance(&self.context) {
                            None => {
                                next += 1;
                                each = None;
                            }
                            Some(value) => {
                                each = Some(cursor);
                                tri!(set(&mut self.vars, var, value));
                                turn = Some(lane.body);
                            }
                        },
                    }
                }
                let lane = dealt % bound;
                dealt += 1;
                self.frames[top] = Frame::Par { lanes, next, each, dealt, bound, span };
                if let Some(body) = turn {
                    tri!(self.push_block(body, span));
                }
                Ok(Some(Event::Lane(lane)))
            }
        }
    }

    /// Begins the statement at a place of [`Spec::lists`].
    const fn statement(&mut self, at: u32) -> Result<Option<Event>, Fault> {
        let spec = self.context.spec;
        if at as usize >= spec.lists.len() || spec.lists[at as usize] as usize >= spec.stmts.len() {
            return Err(Fault { kind: FaultKind::Malformed("a statement that is not there"), span: SpanId(0) });
        }
        let stmt = &spec.stmts[spec.lists[at as usize] as usize];
        let span = stmt.span;
        tri!(self.budget.spend(span));
        match stmt.kind {
            StmtKind::Set(var, value) => {
                let value = tri!(self.eval(value));
                tri!(set(&mut self.vars, var, value));
                Ok(None)
            }
            StmtKind::If(condition, then, other) => {
                let branch = if tri!(self.eval(condition)) != 0 { then } else { other };
                tri!(self.push_block(branch, span));
                Ok(None)
            }
            StmtKind::While(condition, body) => {
                tri!(self.push(Frame::While { condition, body, span }, span));
                Ok(None)
            }
            StmtKind::For(var, elements, body) => {
                let cursor = tri!(self.cursor(elements));
                tri!(self.push(Frame::For { var, cursor, body, span }, span));
                Ok(None)
            }
            StmtKind::Par(bound, lanes) => {
                let bound = match bound {
                    None => u32::MAX,
                    Some(bound) => {
                        let value = tri!(self.eval(bound));
                        if value < 1 {
                            return Err(Fault { kind: FaultKind::Lanes(value), span });
                        }
                        if value > u32::MAX as i64 { u32::MAX } else { value as u32 }
                    }
                };
                tri!(self.push(Frame::Par { lanes, next: 0, each: None, dealt: 0, bound, span }, span));
                Ok(Some(Event::Fork { at: span }))
            }
            StmtKind::Phase(_, body) => {
                tri!(self.push_block(body, span));
                Ok(None)
            }
            StmtKind::Signal(peer, notify) => {
                let peer = tri!(self.context.peer(peer, &self.vars, &mut self.budget, span));
                Ok(Some(Event::Signal { peer, notify, at: span }))
            }
            StmtKind::Wait(peer, notify) => {
                let peer = tri!(self.context.peer(peer, &self.vars, &mut self.budget, span));
                Ok(Some(Event::Wait { peer, notify, at: span }))
            }
            StmtKind::Transfer { dst, src, reduce } => self.transfer(&dst, &src, reduce, span),
            StmtKind::Return(_) => {
                Err(Fault { kind: FaultKind::Malformed("a `return` outside a helper function"), span })
            }
        }
    }

    const fn transfer(&mut self, dst: &Place, src: &Place, reduce: bool, at: SpanId) -> Result<Option<Event>, Fault> {
        if dst.peer.is_some() && src.peer.is_some() {
            return Err(Fault { kind: FaultKind::TwoPeers, span: at });
        }
        let (split, scratch) = (self.split, self.scratch);
        let dst = tri!(self.context.operand(dst, split, scratch, &self.vars, &mut self.budget));
        let src = tri!(self.context.operand(src, split, scratch, &self.vars, &mut self.budget));
        if dst.len != src.len {
            return Err(Fault { kind: FaultKind::Lengths { dst: dst.len, src: src.len }, span: at });
        }
        if let Some(chunk) = dst.overlap(&src) {
            return Err(Fault { kind: FaultKind::Overlap { buffer: dst.buffer, chunk }, span: at });
        }
        if dst.len == 0 {
            return Ok(None);
        }
        Ok(Some(Event::Transfer { dst, src, reduce, at }))
    }

    const fn push(&mut self, frame: Frame, span: SpanId) -> Result<(), Fault> {
        if self.depth >= MAX_FRAMES {
            return Err(Fault { kind: FaultKind::TooDeep, span });
        }
        self.frames[self.depth] = frame;
        self.depth += 1;
        Ok(())
    }

    const fn push_block(&mut self, block: Block, span: SpanId) -> Result<(), Fault> {
        self.push(Frame::Block { next: block.start, end: block.start.saturating_add(block.len) }, span)
    }

    const fn cursor(&mut self, elements: Set) -> Result<Cursor, Fault> {
        let (next, end) = match elements {
            Set::Range(start, end) => (tri!(self.eval(start)), tri!(self.eval(end))),
            // An end no set reaches: each ends itself.
            Set::Peers | Set::LocalPeers | Set::NodePeers => (1, MAX_RANKS as i64),
        };
        Ok(Cursor { set: elements, next, end })
    }
}

impl Cursor {
    /// The next element.
    const fn advance(&mut self, context: &Context<'_>) -> Option<i64> {
        let layout = &context.shape.layout;
        loop {
            let at = self.next;
            if at >= self.end {
                return None;
            }
            self.next += 1;
            match self.set {
                Set::Range(..) => return Some(at),
                Set::Peers => {
                    let ranks = layout.ranks() as i64;
                    return if at < ranks { Some((context.rank as i64 + at) % ranks) } else { None };
                }
                Set::LocalPeers => {
                    let locals = match layout.locals_of(context.node) {
                        Some(locals) => locals as i64,
                        None => 0,
                    };
                    if at >= locals {
                        return None;
                    }
                    return Some(layout.first_of(context.node) as i64 + (context.local as i64 + at) % locals);
                }
                Set::NodePeers => {
                    let nodes = layout.nodes() as i64;
                    if at >= nodes {
                        return None;
                    }
                    let node = ((context.node as i64 + at) % nodes) as u32;
                    match layout.locals_of(node) {
                        Some(locals) if context.local < locals => {
                            return Some((layout.first_of(node) + context.local) as i64);
                        }
                        _ => {} // that node has no such place
                    }
                }
            }
        }
    }
}
