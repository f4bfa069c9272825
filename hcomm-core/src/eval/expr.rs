//! Values of expressions and of helper functions.

use super::{Context, Fault, FaultKind, tri};
use crate::ids::{ExprId, SpanId, VarId};
use crate::spec::{BinaryOp, Block, Builtin, Expr, ExprKind, List, MAX_VARS, Name, Set, Stmt, StmtKind, UnaryOp};

/// The deepest nesting of expressions, calls and blocks together, as the evaluator recurses.
const MAX_NESTING: u32 = 256;

/// What is left of a rank's budgets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) fuel: u32,
    nesting: u32,
}

impl Budget {
    pub(super) const fn new(fuel: u32) -> Budget {
        Budget { fuel, nesting: 0 }
    }

    /// One step.
    pub(super) const fn spend(&mut self, span: SpanId) -> Result<(), Fault> {
        if self.fuel == 0 {
            return Err(Fault { kind: FaultKind::Runaway, span });
        }
        self.fuel -= 1;
        Ok(())
    }

    const fn enter(&mut self, span: SpanId) -> Result<(), Fault> {
        if self.nesting >= MAX_NESTING {
            return Err(Fault { kind: FaultKind::TooDeep, span });
        }
        self.nesting += 1;
        self.spend(span)
    }
}

/// The variables of the body or of one call.
pub(super) type Vars = [i64; MAX_VARS];

/// How a block of a helper function ended.
enum Flow {
    Next,
    Return(i64),
}

const fn malformed(what: &'static str) -> Fault {
    Fault { kind: FaultKind::Malformed(what), span: SpanId(0) }
}

impl<'a> Context<'a> {
    /// The value of an expression.
    pub(super) const fn eval(&self, id: ExprId, vars: &Vars, budget: &mut Budget) -> Result<i64, Fault> {
        if id.index() >= self.spec.exprs.len() {
            return Err(malformed("an expression that is not there"));
        }
        let Expr { kind, span } = self.spec.exprs[id.index()];
        // The leaves first: they are most of a program.
        match kind {
            ExprKind::Int(value) => return Ok(value),
            ExprKind::Bool(value) => return Ok(value as i64),
            ExprKind::Var(var) => {
                if var.index() >= MAX_VARS {
                    return Err(malformed("a variable that is not there"));
                }
                return Ok(vars[var.index()]);
            }
            ExprKind::Name(name) => return Ok(self.name(name)),
            _ => {}
        }
        tri!(budget.enter(span));
        let value = match kind {
            ExprKind::Unary(op, arg) => {
                let value = tri!(self.eval(arg, vars, budget));
                tri!(unary(op, value, span))
            }
            ExprKind::Binary(op, left, right) => {
                let left = tri!(self.eval(left, vars, budget));
                match (op, left) {
                    (BinaryOp::And, 0) => 0,
                    (BinaryOp::Or, 1) => 1,
                    _ => {
                        let right = tri!(self.eval(right, vars, budget));
                        tri!(binary(op, left, right, span))
                    }
                }
            }
            ExprKind::If(condition, then, other) => {
                let branch = if tri!(self.eval(condition, vars, budget)) != 0 { then } else { other };
                tri!(self.eval(branch, vars, budget))
            }
            ExprKind::Builtin(builtin, args) => {
                if args.len != builtin.arity() {
                    return Err(malformed("a call with a wrong number of arguments"));
                }
                let first = tri!(self.arg(args, 0, vars, budget));
                let second = if args.len > 1 { tri!(self.arg(args, 1, vars, budget)) } else { 0 };
                tri!(self.builtin(builtin, first, second, span))
            }
            ExprKind::Call(func, args) => {
                if func.index() >= self.spec.funcs.len() {
                    return Err(malformed("a function that is not there"));
                }
                let func = self.spec.funcs[func.index()];
                if args.len != func.arity || args.len as usize > MAX_VARS {
                    return Err(malformed("a call with a wrong number of arguments"));
                }
                let (mut inner, mut i) = ([0; MAX_VARS], 0);
                while i < args.len {
                    inner[i as usize] = tri!(self.arg(args, i, vars, budget));
                    i += 1;
                }
                match tri!(self.exec(func.body, &mut inner, budget)) {
                    Flow::Return(value) => value,
                    Flow::Next => return Err(Fault { kind: FaultKind::NoValue, span: func.span }),
                }
            }
            _ => 0, // the leaves, above
        };
        budget.nesting -= 1;
        Ok(value)
    }

    const fn name(&self, name: Name) -> i64 {
        let layout = &self.shape.layout;
        (match name {
            Name::Rank => self.rank,
            Name::Ranks => layout.ranks(),
            Name::Root => self.shape.root,
            Name::Src => self.shape.src,
            Name::Dst => self.shape.dst,
            Name::Node => self.node,
            Name::Nodes => layout.nodes(),
            Name::Local => self.local,
            Name::Locals => match layout.locals_of(self.node) {
                Some(locals) => locals,
                None => 0,
            },
            Name::Pod => layout.pod_of(self.node),
            Name::Pods => layout.pods(),
        }) as i64
    }

    const fn arg(&self, args: List, i: u32, vars: &Vars, budget: &mut Budget) -> Result<i64, Fault> {
        let at = (args.start + i) as usize;
        if at >= self.spec.lists.len() {
            return Err(malformed("an argument that is not there"));
        }
        self.eval(ExprId(self.spec.lists[at]), vars, budget)
    }

    const fn builtin(&self, builtin: Builtin, a: i64, b: i64, span: SpanId) -> Result<i64, Fault> {
        let overflow = Fault { kind: FaultKind::Overflow, span };
        let fault_a = Fault { kind: FaultKind::Argument(builtin, a), span };
        let fault_b = Fault { kind: FaultKind::Argument(builtin, b), span };
        let value = match builtin {
            Builtin::Min => Some(if a < b { a } else { b }),
            Builtin::Max => Some(if a > b { a } else { b }),
            Builtin::Abs => a.checked_abs(),
            Builtin::Gcd => small(gcd(a, b)),
            Builtin::Lcm => match gcd(a, b) {
                0 => Some(0),
                divisor => match (a.unsigned_abs() / divisor).checked_mul(b.unsigned_abs()) {
                    Some(value) => small(value),
                    None => None,
                },
            },
            Builtin::IsPow2 => Some((a > 0 && (a & (a - 1)) == 0) as i64),
            Builtin::Log2Floor if a < 1 => return Err(fault_a),
            Builtin::Log2Floor => Some(a.ilog2() as i64),
            Builtin::Log2Ceil if a < 1 => return Err(fault_a),
            Builtin::Log2Ceil => Some(if a == 1 { 0 } else { (a - 1).ilog2() as i64 + 1 }),
            Builtin::Pow2 if a < 0 || a > 62 => return Err(fault_a),
            Builtin::Pow2 => Some(1 << a),
            Builtin::DivCeil if b < 1 => return Err(fault_b),
            Builtin::DivCeil => Some(a.div_euclid(b) + (a.rem_euclid(b) != 0) as i64),
            Builtin::Wrap if b < 1 => return Err(fault_b),
            Builtin::Wrap => Some(a.rem_euclid(b)),
            Builtin::LocalsOf => match self.locals_of(a) {
                Some(locals) => Some(locals as i64),
                None => return Err(fault_a),
            },
            Builtin::NodeOf | Builtin::LocalOf | Builtin::PodOf => {
                if a < 0 || a >= self.shape.ranks() as i64 {
                    return Err(fault_a);
                }
                let (node, local) = self.shape.layout.place(a as u32);
                Some(match builtin {
                    Builtin::NodeOf => node,
                    Builtin::LocalOf => local,
                    _ => self.shape.layout.pod_of(node),
                } as i64)
            }
            Builtin::RankOf => match self.locals_of(a) {
                None => return Err(fault_a),
                Some(locals) if b < 0 || b >= locals as i64 => return Err(fault_b),
                Some(_) => Some(self.shape.layout.first_of(a as u32) as i64 + b),
            },
        };
        match value {
            Some(value) => Ok(value),
            None => Err(overflow),
        }
    }

    const fn locals_of(&self, node: i64) -> Option<u32> {
        if node < 0 || node > u32::MAX as i64 { None } else { self.shape.layout.locals_of(node as u32) }
    }

    /// Runs a block of a helper function.
    const fn exec(&self, block: Block, vars: &mut Vars, budget: &mut Budget) -> Result<Flow, Fault> {
        let mut i = 0;
        while i < block.len {
            let at = (block.start + i) as usize;
            i += 1;
            if at >= self.spec.lists.len() || self.spec.lists[at] as usize >= self.spec.stmts.len() {
                return Err(malformed("a statement that is not there"));
            }
            let Stmt { kind, span } = self.spec.stmts[self.spec.lists[at] as usize];
            tri!(budget.enter(span));
            match kind {
                StmtKind::Return(value) => {
                    let value = tri!(self.eval(value, vars, budget));
                    budget.nesting -= 1;
                    return Ok(Flow::Return(value));
                }
                StmtKind::Set(var, value) => {
                    let value = tri!(self.eval(value, vars, budget));
                    tri!(set(vars, var, value));
                }
                StmtKind::If(condition, then, other) => {
                    let branch = if tri!(self.eval(condition, vars, budget)) != 0 { then } else { other };
                    if let Flow::Return(value) = tri!(self.exec(branch, vars, budget)) {
                        budget.nesting -= 1;
                        return Ok(Flow::Return(value));
                    }
                }
                StmtKind::While(condition, body) => {
                    while tri!(self.eval(condition, vars, budget)) != 0 {
                        tri!(budget.spend(span));
                        if let Flow::Return(value) = tri!(self.exec(body, vars, budget)) {
                            budget.nesting -= 1;
                            return Ok(Flow::Return(value));
                        }
                    }
                }
                StmtKind::For(var, Set::Range(start, end), body) => {
                    let mut next = tri!(self.eval(start, vars, budget));
                    let end = tri!(self.eval(end, vars, budget));
                    while next < end {
                        tri!(budget.spend(span));
                        tri!(set(vars, var, next));
                        next += 1;
                        if let Flow::Return(value) = tri!(self.exec(body, vars, budget)) {
                            budget.nesting -= 1;
                            return Ok(Flow::Return(value));
                        }
                    }
                }
                _ => return Err(malformed("a helper function that does more than compute")),
            }
            budget.nesting -= 1;
        }
        Ok(Flow::Next)
    }
}

/// Sets a variable.
pub(super) const fn set(vars: &mut Vars, var: VarId, value: i64) -> Result<(), Fault> {
    if var.index() >= MAX_VARS {
        return Err(malformed("a variable that is not there"));
    }
    vars[var.index()] = value;
    Ok(())
}

const fn unary(op: UnaryOp, value: i64, span: SpanId) -> Result<i64, Fault> {
    match op {
        UnaryOp::BitNot => Ok(!value),
        UnaryOp::Not => Ok((value == 0) as i64),
        UnaryOp::Neg => match value.checked_neg() {
            Some(value) => Ok(value),
            None => Err(Fault { kind: FaultKind::Overflow, span }),
        },
    }
}

const fn binary(op: BinaryOp, a: i64, b: i64, span: SpanId) -> Result<i64, Fault> {
    let value = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::Div | BinaryOp::Rem if b == 0 => return Err(Fault { kind: FaultKind::DivisionByZero, span }),
        BinaryOp::Div => a.checked_div(b),
        BinaryOp::Rem => a.checked_rem(b),
        BinaryOp::Shl | BinaryOp::Shr if b < 0 || b > 63 => return Err(Fault { kind: FaultKind::Shift(b), span }),
        // A left shift that drops bits is an overflow, unlike in Rust.
        BinaryOp::Shl => {
            let value = a << b;
            if value >> b == a { Some(value) } else { None }
        }
        BinaryOp::Shr => Some(a >> b),
        BinaryOp::BitAnd => Some(a & b),
        BinaryOp::BitOr => Some(a | b),
        BinaryOp::BitXor => Some(a ^ b),
        BinaryOp::Eq => Some((a == b) as i64),
        BinaryOp::Ne => Some((a != b) as i64),
        BinaryOp::Lt => Some((a < b) as i64),
        BinaryOp::Le => Some((a <= b) as i64),
        BinaryOp::Gt => Some((a > b) as i64),
        BinaryOp::Ge => Some((a >= b) as i64),
        BinaryOp::And | BinaryOp::Or => Some((b != 0) as i64), // what is left of them after the short circuit
    };
    match value {
        Some(value) => Ok(value),
        None => Err(Fault { kind: FaultKind::Overflow, span }),
    }
}

const fn gcd(a: i64, b: i64) -> u64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

const fn small(value: u64) -> Option<i64> {
    if value > i64::MAX as u64 { None } else { Some(value as i64) }
}
