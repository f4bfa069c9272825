//! Slips of the pen: an algorithm with one statement or expression changed.

use std::path::Path;

use hcomm_core::ids::{ExprId, NotifyId, SpanId};
use hcomm_core::spec::{BinaryOp, Builtin, Expr, ExprKind, Index, List, Name, Place, Set, Spec, SpecBuf, StmtKind};

/// An algorithm with a slip.
pub(crate) struct Slip {
    /// What kind of slip.
    pub(crate) kind: &'static str,
    /// What it is done to, as it is written.
    pub(crate) text: String,
    /// How often the same was done to the same text before, further up.
    pub(crate) nth: usize,
    pub(crate) spec: SpecBuf,
}

/// All slips of an algorithm.
pub(crate) fn slips(spec: &Spec<'_>) -> Vec<Slip> {
    let mut maker = Maker { original: SpecBuf::from(spec), source: source(spec), all: Vec::new() };
    for block in blocks(&maker.original) {
        maker.block(block);
    }
    maker.all
}

/// The lines of the file that an algorithm is written in.
fn source(spec: &Spec<'_>) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(spec.file);
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// The blocks of the body that can be reached, in the order of the source.
fn blocks(spec: &SpecBuf) -> Vec<List> {
    let (mut all, mut stack) = (Vec::new(), vec![spec.body]);
    while let Some(block) = stack.pop() {
        all.push(block);
        let mut inner = Vec::new();
        for place in block.start..block.start + block.len {
            match spec.stmts[spec.lists[place as usize] as usize].kind {
                StmtKind::If(_, then, other) => inner.extend([then, other]),
                StmtKind::While(_, body) | StmtKind::For(_, _, body) | StmtKind::Phase(_, body) => inner.push(body),
                StmtKind::Par(_, lanes) => {
                    let lanes = &spec.lanes[lanes.start as usize..(lanes.start + lanes.len) as usize];
                    inner.extend(lanes.iter().map(|lane| lane.body));
                }
                _ => {}
            }
        }
        stack.extend(inner.into_iter().rev());
    }
    all
}

struct Maker {
    original: SpecBuf,
    source: Vec<String>,
    all: Vec<Slip>,
}

/// Another expression in the place of one: itself plus or minus one, as it is or round a number.
#[derive(Clone, Copy)]
enum Shift {
    By(i64),
    Round(i64, Name),
}

impl Shift {
    fn make(self, spec: &mut SpecBuf, id: ExprId) -> ExprId {
        let span = spec.exprs[id.index()].span;
        let mut push = |kind| {
            spec.exprs.push(Expr { kind, span });
            ExprId(spec.exprs.len() as u32 - 1)
        };
        let (Shift::By(by) | Shift::Round(by, _)) = self;
        let one = push(ExprKind::Int(by));
        let sum = push(ExprKind::Binary(BinaryOp::Add, id, one));
        let Shift::Round(_, name) = self else { return sum };
        let round = push(ExprKind::Name(name));
        let start = spec.lists.len() as u32;
        spec.lists.extend([sum.0, round.0]);
        spec.exprs.push(Expr { kind: ExprKind::Builtin(Builtin::Wrap, List { start, len: 2 }), span });
        ExprId(spec.exprs.len() as u32 - 1)
    }
}

impl Maker {
    /// What is written at a place, on one line.
    fn text(&self, span: SpanId) -> String {
        let span = self.original.spans[span.index()];
        let mut text = String::new();
        for line in span.line..=span.end_line {
            let chars = self.source[line as usize - 1].chars();
            let from = if line == span.line { span.column as usize - 1 } else { 0 };
            let to = if line == span.end_line { span.end_column as usize - 1 } else { usize::MAX };
            text.extend(chars.take(to).skip(from));
            text.push(' ');
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn add(&mut self, kind: &'static str, text: &str, change: impl FnOnce(&mut SpecBuf)) {
        let mut spec = self.original.clone();
        change(&mut spec);
        let nth = self.all.iter().filter(|slip| (slip.kind, slip.text.as_str()) == (kind, text)).count();
        self.all.push(Slip { kind, text: text.to_owned(), nth, spec });
    }

    fn block(&mut self, block: List) {
        let places: Vec<usize> = (block.start as usize..(block.start + block.len) as usize).collect();
        for &place in &places {
            self.statement(self.original.lists[place] as usize);
        }
        for pair in places.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|place| self.original.stmts[self.original.lists[place] as usize]);
            let kind = match (a.kind, b.kind) {
                (StmtKind::Phase(..), StmtKind::Phase(..)) => "swap phases",
                (StmtKind::Signal(..) | StmtKind::Wait(..), StmtKind::Signal(..) | StmtKind::Wait(..)) => {
                    "swap signal and wait"
                }
                _ => continue,
            };
            let text = format!("{} {}", self.text(a.span), self.text(b.span));
            self.add(kind, &text, |spec| spec.lists.swap(pair[0], pair[1]));
        }
    }

    fn statement(&mut self, id: usize) {
        let stmt = self.original.stmts[id];
        let text = self.text(stmt.span);
        let absence = match stmt.kind {
            StmtKind::Signal(..) => "no signal",
            StmtKind::Wait(..) => "no wait",
            _ => "no statement",
        };
        self.add(absence, &text, |spec| {
            // A loop that never runs in its place.
            spec.exprs.push(Expr { kind: ExprKind::Bool(false), span: stmt.span });
            let never = ExprId(spec.exprs.len() as u32 - 1);
            spec.stmts[id].kind = StmtKind::While(never, List::default());
        });
        match stmt.kind {
            StmtKind::Transfer { dst, src, reduce } => {
                self.chunks(id, dst, true);
                self.chunks(id, src, false);
                self.add("other kind", &text, |spec| {
                    spec.stmts[id].kind = StmtKind::Transfer { dst, src, reduce: !reduce };
                });
                for (place, is_dst) in [(dst, true), (src, false)] {
                    let Some(peer) = place.peer else { continue };
                    for by in [1, -1] {
                        self.add("other peer", &self.text(place.span), |spec| {
                            let peer = Some(Shift::Round(by, Name::Ranks).make(spec, peer));
                            set_place(spec, id, is_dst, Place { peer, ..place });
                        });
                    }
                }
            }
            StmtKind::Signal(peer, notify) => self.handshake(id, peer, notify, StmtKind::Signal),
            StmtKind::Wait(peer, notify) => self.handshake(id, peer, notify, StmtKind::Wait),
            StmtKind::Set(var, value) if self.is_number(value) => {
                for by in [1, -1] {
                    self.add("other value", &text, |spec| {
                        spec.stmts[id].kind = StmtKind::Set(var, Shift::By(by).make(spec, value));
                    });
                }
            }
            StmtKind::For(var, Set::Range(from, to), body) => {
                for (from_by, to_by) in [(1, 0), (0, -1), (0, 1)] {
                    let head = format!("for … in {}..{}", self.expr(from), self.expr(to));
                    self.add("other range", &head, |spec| {
                        let from = if from_by == 0 { from } else { Shift::By(from_by).make(spec, from) };
                        let to = if to_by == 0 { to } else { Shift::By(to_by).make(spec, to) };
                        spec.stmts[id].kind = StmtKind::For(var, Set::Range(from, to), body);
                    });
                }
            }
            _ => {}
        }
    }

    /// Another peer, and another notify.
    fn handshake(&mut self, id: usize, peer: ExprId, notify: NotifyId, kind: fn(ExprId, NotifyId) -> StmtKind) {
        let text = self.text(self.original.stmts[id].span);
        for by in [1, -1] {
            self.add("other peer", &text, |spec| {
                spec.stmts[id].kind = kind(Shift::Round(by, Name::Ranks).make(spec, peer), notify);
            });
        }
        for other in (0..self.original.notifies.len() as u32).map(NotifyId).filter(|other| *other != notify) {
            self.add("other notify", &text, |spec| spec.stmts[id].kind = kind(peer, other));
        }
    }

    fn expr(&self, id: ExprId) -> String {
        self.text(self.original.exprs[id.index()].span)
    }

    /// Booleans are not shifted.
    fn is_number(&self, id: ExprId) -> bool {
        use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
        match self.original.exprs[id.index()].kind {
            ExprKind::Bool(_) | ExprKind::Builtin(Builtin::IsPow2, _) => false,
            ExprKind::Binary(op, ..) => !matches!(op, And | Eq | Ge | Gt | Le | Lt | Ne | Or),
            ExprKind::Unary(op, _) => op != hcomm_core::spec::UnaryOp::Not,
            ExprKind::If(_, then, _) => self.is_number(then),
            _ => true,
        }
    }

    /// The chunk index of one side of a transfer, by one.
    fn chunks(&mut self, id: usize, place: Place, is_dst: bool) {
        let shifts = [Shift::By(1), Shift::By(-1), Shift::Round(1, Name::Ranks), Shift::Round(-1, Name::Ranks)];
        for shift in shifts {
            match place.index {
                Index::Whole => {}
                Index::One(at) => self.add("other chunk", &self.text(place.span), |spec| {
                    let index = Index::One(shift.make(spec, at));
                    set_place(spec, id, is_dst, Place { index, ..place });
                }),
                Index::Run(from, to) => {
                    if let Shift::By(_) = shift {
                        self.add("other chunk", &self.text(place.span), |spec| {
                            let index = Index::Run(shift.make(spec, from), shift.make(spec, to));
                            set_place(spec, id, is_dst, Place { index, ..place });
                        });
                    }
                }
            }
        }
    }
}

fn set_place(spec: &mut SpecBuf, id: usize, is_dst: bool, place: Place) {
    if let StmtKind::Transfer { dst, src, .. } = &mut spec.stmts[id].kind {
        *(if is_dst { dst } else { src }) = place;
    }
}
