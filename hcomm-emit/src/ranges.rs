//! Which arithmetic can go wrong: bounds of every expression, for all shapes.
//!
//! C++ has plain operators where the bounds say that the value fits, and checked functions elsewhere. The bounds only
//! decide how an expression is printed, never what it means.

use std::collections::BTreeSet;

use hcomm_core::ids::{ExprId, FuncId, VarId};
use hcomm_core::shape::MAX_RANKS;
use hcomm_core::spec::{
    BinaryOp, Block, Builtin, ExprKind, Index, List, MAX_VARS, Name, Place, Set, Spec, StmtKind, UnaryOp,
};

/// How deep calls of helper functions are followed. Deeper, arguments may be anything.
const DEPTH: u32 = 6;

/// The smallest and largest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) low: i128,
    pub(crate) high: i128,
}

const ANY: Range = Range { low: i64::MIN as i128, high: i64::MAX as i128 };
const RANK: Range = Range { low: 0, high: MAX_RANKS as i128 - 1 };
const NUMBER: Range = Range { low: 1, high: MAX_RANKS as i128 };

impl Range {
    fn new(low: i128, high: i128) -> Range {
        Range { low: low.clamp(ANY.low, ANY.high), high: high.clamp(low.clamp(ANY.low, ANY.high), ANY.high) }
    }

    fn join(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn magnitude(self) -> i128 {
        self.low.abs().max(self.high.abs())
    }

    fn contains(self, value: i128) -> bool {
        self.low <= value && value <= self.high
    }

    /// Of the four values at the corners.
    fn corners(self, other: Range, f: impl Fn(i128, i128) -> i128) -> (i128, i128) {
        let all = [f(self.low, other.low), f(self.low, other.high), f(self.high, other.low), f(self.high, other.high)];
        (all.into_iter().min().unwrap_or(0), all.into_iter().max().unwrap_or(0))
    }
}

/// What is known of a spec's expressions.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    /// Expressions whose operator has to be checked.
    checked: BTreeSet<ExprId>,
    /// Loops over a range that may be long, by their variable: `None` for the body.
    long: BTreeSet<(Option<FuncId>, VarId)>,
}

impl Ranges {
    /// The ranges of a well-formed spec.
    pub(crate) fn of(spec: &Spec<'_>) -> Ranges {
        let mut walk = Walk { spec, found: Ranges::default(), depth: 0, func: None, many: assigned(spec, spec.body) };
        let mut vars = [ANY; MAX_VARS];
        for header in [spec.headers.split, spec.headers.scratch].into_iter().flatten() {
            walk.expr(header, &vars);
        }
        walk.block(spec.body, &mut vars, &mut None);
        walk.found
    }

    /// Whether the operator of an expression can be plain.
    pub(crate) fn is_plain(&self, id: ExprId) -> bool {
        !self.checked.contains(&id)
    }

    /// Whether the loop of a variable may have very many turns.
    pub(crate) fn is_long(&self, func: Option<FuncId>, var: VarId) -> bool {
        self.long.contains(&(func, var))
    }
}

/// The variables that are set by more than one statement of a block.
pub(crate) fn assigned(spec: &Spec<'_>, block: Block) -> BTreeSet<VarId> {
    fn count(spec: &Spec<'_>, block: Block, once: &mut BTreeSet<VarId>, many: &mut BTreeSet<VarId>) {
        for stmt in crate::tree::statements(spec, block) {
            if let StmtKind::Set(var, _) = stmt.kind
                && !once.insert(var)
            {
                many.insert(var);
            }
            for inner in crate::tree::blocks(spec, &stmt.kind) {
                count(spec, inner, once, many);
            }
        }
    }
    let (mut once, mut many) = (BTreeSet::new(), BTreeSet::new());
    count(spec, block, &mut once, &mut many);
    many
}

struct Walk<'s> {
    spec: &'s Spec<'s>,
    found: Ranges,
    depth: u32,
    func: Option<FuncId>,
    /// Variables that are set in several places, and may have any value.
    many: BTreeSet<VarId>,
}

type Vars = [Range; MAX_VARS];

impl Walk<'_> {
    fn block(&mut self, block: Block, vars: &mut Vars, result: &mut Option<Range>) {
        for stmt in crate::tree::statements(self.spec, block) {
            match stmt.kind {
                StmtKind::Set(var, value) => {
                    let value = self.expr(value, vars);
                    self.set(var, value, vars);
                }
                StmtKind::If(condition, then, other) => {
                    self.expr(condition, vars);
                    self.block(then, vars, result);
                    self.block(other, vars, result);
                }
                StmtKind::While(condition, body) => {
                    self.expr(condition, vars);
                    self.block(body, vars, result);
                }
                StmtKind::For(var, set, body) => {
                    let elements = self.elements(var, set, vars);
                    self.set(var, elements, vars);
                    self.block(body, vars, result);
                }
                StmtKind::Par(bound, lanes) => {
                    if let Some(bound) = bound {
                        self.expr(bound, vars);
                    }
                    for lane in crate::tree::lanes(self.spec, lanes) {
                        if let Some((var, set)) = lane.each {
                            let elements = self.elements(var, set, vars);
                            self.set(var, elements, vars);
                        }
                        self.block(lane.body, vars, result);
                    }
                }
                StmtKind::Phase(_, body) => self.block(body, vars, result),
                StmtKind::Transfer { dst, src, .. } => {
                    self.place(&dst, vars);
                    self.place(&src, vars);
                }
                StmtKind::Signal(peer, _) | StmtKind::Wait(peer, _) => {
                    self.expr(peer, vars);
                }
                StmtKind::Return(value) => {
                    let value = self.expr(value, vars);
                    *result = Some(result.map_or(value, |known| known.join(value)));
                }
            }
        }
    }

    fn set(&mut self, var: VarId, value: Range, vars: &mut Vars) {
        if let Some(slot) = vars.get_mut(var.index()) {
            *slot = if self.many.contains(&var) { ANY } else { value };
        }
    }

    fn place(&mut self, place: &Place, vars: &Vars) {
        if let Some(peer) = place.peer {
            self.expr(peer, vars);
        }
        match place.index {
            Index::Whole => {}
            Index::One(at) => {
                self.expr(at, vars);
            }
            Index::Run(from, to) => {
                self.expr(from, vars);
                self.expr(to, vars);
            }
        }
    }

    fn elements(&mut self, var: VarId, set: Set, vars: &Vars) -> Range {
        match set {
            Set::Range(start, end) => {
                let (start, end) = (self.expr(start, vars), self.expr(end, vars));
                if end.high - start.low > 1 << 20 {
                    self.found.long.insert((self.func, var));
                }
                Range::new(start.low, (end.high - 1).max(start.low))
            }
            Set::Peers | Set::LocalPeers | Set::NodePeers => RANK,
        }
    }

    /// `value` if it fits; otherwise the expression is checked.
    fn fits(&mut self, id: ExprId, (low, high): (i128, i128)) -> Range {
        if low < ANY.low || high > ANY.high {
            self.found.checked.insert(id);
            return ANY;
        }
        Range { low, high }
    }

    fn expr(&mut self, id: ExprId, vars: &Vars) -> Range {
        let Some(expr) = self.spec.exprs.get(id.index()) else { return ANY };
        match expr.kind {
            ExprKind::Int(value) => Range::new(value.into(), value.into()),
            ExprKind::Bool(_) => Range::new(0, 1),
            ExprKind::Name(name) => match name {
                Name::Ranks | Name::Nodes | Name::Locals | Name::Pods => NUMBER,
                Name::Rank | Name::Root | Name::Src | Name::Dst | Name::Node | Name::Local | Name::Pod => RANK,
            },
            ExprKind::Var(var) => vars.get(var.index()).copied().unwrap_or(ANY),
            ExprKind::Unary(op, arg) => {
                let arg = self.expr(arg, vars);
                match op {
                    UnaryOp::Neg => self.fits(id, (-arg.high, -arg.low)),
                    UnaryOp::BitNot => Range::new(-arg.high - 1, -arg.low - 1),
                    UnaryOp::Not => Range::new(0, 1),
                }
            }
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.expr(left, vars), self.expr(right, vars));
                self.binary(id, op, left, right)
            }
            ExprKind::If(condition, then, other) => {
                self.expr(condition, vars);
                let then = self.expr(then, vars);
                then.join(self.expr(other, vars))
            }
            ExprKind::Builtin(builtin, args) => {
                let args = self.args(args, vars);
                builtin_range(builtin, &args)
            }
            ExprKind::Call(func, args) => {
                let args = self.args(args, vars);
                self.call(func, &args)
            }
        }
    }

    fn args(&mut self, args: List, vars: &Vars) -> Vec<Range> {
        crate::tree::args(self.spec, args).map(|arg| self.expr(arg, vars)).collect()
    }

    fn call(&mut self, id: FuncId, args: &[Range]) -> Range {
        let Some(func) = self.spec.funcs.get(id.index()) else { return ANY };
        if self.depth > DEPTH {
            return ANY;
        }
        let mut vars = [ANY; MAX_VARS];
        if self.depth < DEPTH {
            vars.iter_mut().zip(args).for_each(|(var, arg)| *var = *arg);
        }
        let many = std::mem::replace(&mut self.many, assigned(self.spec, func.body));
        let caller = self.func.replace(id);
        self.depth += 1;
        let mut result = None;
        self.block(func.body, &mut vars, &mut result);
        self.depth -= 1;
        self.func = caller;
        self.many = many;
        result.unwrap_or(ANY)
    }

    fn binary(&mut self, id: ExprId, op: BinaryOp, a: Range, b: Range) -> Range {
        match op {
            BinaryOp::Add => self.fits(id, (a.low + b.low, a.high + b.high)),
            BinaryOp::Sub => self.fits(id, (a.low - b.high, a.high - b.low)),
            // Both fit 64 bits, so the product fits 128.
            BinaryOp::Mul => self.fits(id, a.corners(b, |x, y| x * y)),
            BinaryOp::Div => {
                if b.contains(0) || (b.contains(-1) && a.low == ANY.low) {
                    self.found.checked.insert(id);
                }
                // A quotient is nearest to zero for the largest divisors and furthest for those next to zero.
                if b.low >= 1 {
                    let (low, high) = a.corners(b, |x, y| x / y);
                    Range::new(low, high)
                } else {
                    Range::new(-a.magnitude(), a.magnitude())
                }
            }
            BinaryOp::Rem => {
                if b.contains(0) || (b.contains(-1) && a.low == ANY.low) {
                    self.found.checked.insert(id);
                }
                let most = a.magnitude().min((b.magnitude() - 1).max(0));
                Range::new(if a.low < 0 { -most } else { 0 }, if a.high > 0 { most } else { 0 })
            }
            BinaryOp::Shl => {
                if a.low < 0 || b.low < 0 || b.high > 62 || a.high << b.high.clamp(0, 62) > ANY.high {
                    self.found.checked.insert(id);
                    // `1 << x` is printed as `Pow2(x)`, which is never less than 1.
                    return if a == Range::new(1, 1) { Range::new(1, ANY.high) } else { ANY };
                }
                Range::new(a.low << b.low, a.high << b.high)
            }
            BinaryOp::Shr => {
                if b.low < 0 || b.high > 63 {
                    self.found.checked.insert(id);
                }
                Range::new(a.low.min(0), a.high.max(0))
            }
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                if a.low < 0 || b.low < 0 {
                    return ANY;
                }
                let bits = 128 - a.high.max(b.high).leading_zeros();
                Range::new(0, (1 << bits) - 1)
            }
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::And
            | BinaryOp::Or => Range::new(0, 1),
        }
    }
}

/// The range of a built-in function; where it may have no value, with what the emitted function answers then.
fn builtin_range(builtin: Builtin, args: &[Range]) -> Range {
    let at = |i: usize| args.get(i).copied().unwrap_or(ANY);
    let (a, b) = (at(0), at(1));
    let log = |value: i128| i128::from(127 - value.max(1).leading_zeros());
    match builtin {
        Builtin::Min => Range::new(a.low.min(b.low), a.high.min(b.high)),
        Builtin::Max => Range::new(a.low.max(b.low), a.high.max(b.high)),
        Builtin::Abs => Range::new(0, a.magnitude()),
        Builtin::Gcd => Range::new(0, a.magnitude().max(b.magnitude())),
        Builtin::Lcm => Range::new(0, a.magnitude() * b.magnitude()),
        Builtin::IsPow2 => Range::new(0, 1),
        Builtin::Log2Floor => Range::new(if a.low < 1 { 0 } else { log(a.low) }, log(a.high)),
        Builtin::Log2Ceil => Range::new(if a.low < 1 { 0 } else { log(a.low) }, log(a.high) + 1),
        Builtin::Pow2 => Range::new(1 << if a.high > 62 { 0 } else { a.low.clamp(0, 62) }, 1 << a.high.clamp(0, 62)),
        Builtin::DivCeil => {
            let divisor = Range::new(b.low.max(1), b.high.max(1));
            let (low, high) = a.corners(divisor, |x, y| x.div_euclid(y) + i128::from(x.rem_euclid(y) != 0));
            let range = Range::new(low, high);
            if b.low < 1 { range.join(Range::new(0, 0)) } else { range }
        }
        Builtin::Wrap => Range::new(0, (b.high - 1).max(0)),
        Builtin::LocalsOf => NUMBER,
        Builtin::RankOf | Builtin::NodeOf | Builtin::LocalOf | Builtin::PodOf => RANK,
    }
}
