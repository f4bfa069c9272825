//! Expressions as C++.

use std::collections::BTreeMap;

use hcomm_core::ids::{ExprId, FuncId, VarId};
use hcomm_core::spec::{BinaryOp, Builtin, Engine, ExprKind, Name, Spec, StmtKind, UnaryOp};

use crate::names;
use crate::ranges::Ranges;
use crate::tree;

/// Whether a value is a number or a truth value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// `int64_t`
    Int,
    /// `bool`
    Bool,
}

impl Type {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Type::Int => "int64_t",
            Type::Bool => "bool",
        }
    }
}

/// What expressions of C++ are made with.
#[derive(Debug)]
pub(crate) struct Exprs<'s> {
    pub(crate) spec: &'s Spec<'s>,
    pub(crate) ranges: Ranges,
    pub(crate) engine: Engine,
    /// The names of helper functions.
    pub(crate) funcs: Vec<String>,
    /// The types of their results.
    results: Vec<Type>,
}

/// The variables that are visible.
#[derive(Clone, Debug, Default)]
pub(crate) struct Visible {
    pub(crate) names: BTreeMap<VarId, (String, Type)>,
    /// Whether names of the operator and the layout are locals here (`rank`), and not calls (`Rank()`).
    pub(crate) locals: bool,
}

/// How tightly an operator binds, where C++ and Rust agree without parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Comparison,
    Sum,
    Product,
    Atom,
}

/// A printed expression and how tightly its outermost operator binds; `None` for one that always takes parentheses.
type Printed = (String, Option<Level>);

impl<'s> Exprs<'s> {
    pub(crate) fn new(spec: &'s Spec<'s>, engine: Engine) -> Exprs<'s> {
        let mut funcs: Vec<String> = Vec::new();
        for func in spec.funcs {
            let name = names::unique(&names::identifier(func.name), |word| funcs.iter().any(|known| known == word));
            funcs.push(name);
        }
        let mut exprs = Exprs { spec, ranges: Ranges::of(spec), engine, results: vec![Type::Int; funcs.len()], funcs };
        // A result may be that of another function: as many passes as there are functions settle all.
        for _ in 0..spec.funcs.len() {
            exprs.results = spec.funcs.iter().map(|func| exprs.result(func.body)).collect();
        }
        exprs
    }

    /// The type of what a helper function's block returns.
    fn result(&self, block: hcomm_core::spec::Block) -> Type {
        let mut types = BTreeMap::new();
        self.returns(block, &mut types).unwrap_or(Type::Int)
    }

    fn returns(&self, block: hcomm_core::spec::Block, types: &mut BTreeMap<VarId, (String, Type)>) -> Option<Type> {
        for stmt in tree::statements(self.spec, block) {
            match stmt.kind {
                StmtKind::Return(value) => return Some(self.type_of(value, types)),
                StmtKind::Set(var, value) => {
                    let ty = self.type_of(value, types);
                    types.insert(var, (String::new(), ty));
                }
                _ => {
                    for inner in tree::blocks(self.spec, &stmt.kind) {
                        if let Some(found) = self.returns(inner, types) {
                            return Some(found);
                        }
                    }
                }
            }
        }
        None
    }

    pub(crate) fn result_of(&self, func: FuncId) -> Type {
        self.results.get(func.index()).copied().unwrap_or(Type::Int)
    }

    pub(crate) fn type_of(&self, id: ExprId, vars: &BTreeMap<VarId, (String, Type)>) -> Type {
        let Some(expr) = self.spec.exprs.get(id.index()) else { return Type::Int };
        match expr.kind {
            ExprKind::Bool(_) | ExprKind::Unary(UnaryOp::Not, _) | ExprKind::Builtin(Builtin::IsPow2, _) => Type::Bool,
            ExprKind::Binary(op, left, _) => match op {
                BinaryOp::Eq
                | BinaryOp::Ne
                | BinaryOp::Lt
                | BinaryOp::Le
                | BinaryOp::Gt
                | BinaryOp::Ge
                | BinaryOp::And
                | BinaryOp::Or => Type::Bool,
                BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => self.type_of(left, vars),
                _ => Type::Int,
            },
            ExprKind::Var(var) => vars.get(&var).map_or(Type::Int, |(_, ty)| *ty),
            ExprKind::If(_, then, _) => self.type_of(then, vars),
            ExprKind::Call(func, _) => self.result_of(func),
            _ => Type::Int,
        }
    }

    /// An expression.
    pub(crate) fn text(&self, id: ExprId, vars: &Visible) -> String {
        self.print(id, vars).0
    }

    /// An expression as an operand of something that binds tightly.
    fn operand(&self, id: ExprId, vars: &Visible, least: Level) -> String {
        match self.print(id, vars) {
            (text, Some(level)) if level >= least => text,
            (text, _) => format!("({text})"),
        }
    }

    fn atom(&self, id: ExprId, vars: &Visible) -> String {
        self.operand(id, vars, Level::Atom)
    }

    fn print(&self, id: ExprId, vars: &Visible) -> Printed {
        let Some(expr) = self.spec.exprs.get(id.index()) else { return ("0".into(), Some(Level::Atom)) };
        let atom = |text: String| (text, Some(Level::Atom));
        match expr.kind {
            ExprKind::Int(value) => match value {
                i64::MIN => atom("INT64_MIN".into()),
                0..=0x7fff_ffff => atom(value.to_string()),
                -0x7fff_ffff..0 => (value.to_string(), None),
                _ => atom(format!("INT64_C({value})")),
            },
            ExprKind::Bool(value) => atom(value.to_string()),
            ExprKind::Name(name) => atom(self.name(name, vars)),
            ExprKind::Var(var) => atom(vars.names.get(&var).map_or("0".into(), |(name, _)| name.clone())),
            ExprKind::Unary(op, arg) => match op {
                UnaryOp::Neg if !self.ranges.is_plain(id) => atom(format!("Neg({})", self.text(arg, vars))),
                UnaryOp::Neg => (format!("-{}", self.atom(arg, vars)), None),
                UnaryOp::BitNot => (format!("~{}", self.atom(arg, vars)), None),
                UnaryOp::Not => atom(format!("!{}", self.atom(arg, vars))),
            },
            ExprKind::Binary(op, left, right) => self.binary(id, op, (left, right), vars),
            ExprKind::If(condition, then, other) => {
                let condition = self.operand(condition, vars, Level::Or);
                let (then, other) = (self.operand(then, vars, Level::Sum), self.operand(other, vars, Level::Sum));
                (format!("{condition} ? {then} : {other}"), None)
            }
            ExprKind::Builtin(builtin, args) => {
                let args: Vec<String> = tree::args(self.spec, args).map(|arg| self.text(arg, vars)).collect();
                atom(format!("{}({})", builtin_name(builtin, self.engine), args.join(", ")))
            }
            ExprKind::Call(func, args) => {
                let args: Vec<String> = tree::args(self.spec, args).map(|arg| self.text(arg, vars)).collect();
                let name = self.funcs.get(func.index()).map_or("0", String::as_str);
                atom(format!("{name}({})", args.join(", ")))
            }
        }
    }

    fn binary(&self, id: ExprId, op: BinaryOp, (left, right): (ExprId, ExprId), vars: &Visible) -> Printed {
        let sides = || (self.text(left, vars), self.text(right, vars));
        if op == BinaryOp::Shl && matches!(self.spec.exprs.get(left.index()), Some(one) if one.kind == ExprKind::Int(1))
        {
            return (format!("Pow2({})", sides().1), Some(Level::Atom));
        }
        let checked = match op {
            BinaryOp::Add => "Add",
            BinaryOp::Sub => "Sub",
            BinaryOp::Mul => "Mul",
            BinaryOp::Div => "Div",
            BinaryOp::Rem => "Rem",
            BinaryOp::Shl => "Shl",
            BinaryOp::Shr => "Shr",
            _ => "",
        };
        if !checked.is_empty() && !self.ranges.is_plain(id) {
            let (left, right) = sides();
            return (format!("{checked}({left}, {right})"), Some(Level::Atom));
        }
        // What binds as in C++ and reads so to everybody; all else takes parentheses.
        let (sign, level, left_level, right_level) = match op {
            BinaryOp::Add => ("+", Some(Level::Sum), Level::Sum, Level::Product),
            BinaryOp::Sub => ("-", Some(Level::Sum), Level::Sum, Level::Product),
            BinaryOp::Mul => ("*", Some(Level::Product), Level::Product, Level::Atom),
            BinaryOp::Div => ("/", Some(Level::Product), Level::Product, Level::Atom),
            BinaryOp::Rem => ("%", Some(Level::Product), Level::Product, Level::Atom),
            BinaryOp::Shl => ("<<", None, Level::Atom, Level::Atom),
            BinaryOp::Shr => (">>", None, Level::Atom, Level::Atom),
            BinaryOp::BitAnd => ("&", None, Level::Atom, Level::Atom),
            BinaryOp::BitOr => ("|", None, Level::Atom, Level::Atom),
            BinaryOp::BitXor => ("^", None, Level::Atom, Level::Atom),
            BinaryOp::Eq => ("==", Some(Level::Comparison), Level::Sum, Level::Sum),
            BinaryOp::Ne => ("!=", Some(Level::Comparison), Level::Sum, Level::Sum),
            BinaryOp::Lt => ("<", Some(Level::Comparison), Level::Sum, Level::Sum),
            BinaryOp::Le => ("<=", Some(Level::Comparison), Level::Sum, Level::Sum),
            BinaryOp::Gt => (">", Some(Level::Comparison), Level::Sum, Level::Sum),
            BinaryOp::Ge => (">=", Some(Level::Comparison), Level::Sum, Level::Sum),
            BinaryOp::And => ("&&", Some(Level::And), Level::And, Level::Comparison),
            BinaryOp::Or => ("||", None, Level::Comparison, Level::Comparison),
        };
        let (left, right) = (self.operand(left, vars, left_level), self.operand(right, vars, right_level));
        (format!("{left} {sign} {right}"), level.or((op == BinaryOp::Or).then_some(Level::Or)))
    }

    /// A name of the operator or the layout.
    fn name(&self, name: Name, vars: &Visible) -> String {
        let (local, call) = name_words(name);
        if vars.locals { local.to_owned() } else { format!("{call}()") }
    }
}

/// A name of the language, as a local and as the member function.
pub(crate) fn name_words(name: Name) -> (&'static str, &'static str) {
    match name {
        Name::Rank => ("rank", "Rank"),
        Name::Ranks => ("ranks", "Ranks"),
        Name::Root => ("root", "Root"),
        Name::Src => ("src", "Src"),
        Name::Dst => ("dst", "Dst"),
        Name::Node => ("node", "Node"),
        Name::Nodes => ("nodes", "Nodes"),
        Name::Local => ("local", "Local"),
        Name::Locals => ("locals", "Locals"),
        Name::Pod => ("pod", "Pod"),
        Name::Pods => ("pods", "Pods"),
    }
}

fn builtin_name(builtin: Builtin, engine: Engine) -> &'static str {
    match builtin {
        // A kernel has no standard library.
        Builtin::Min if engine == Engine::Aiv => "Min",
        Builtin::Max if engine == Engine::Aiv => "Max",
        Builtin::Min => "std::min<int64_t>",
        Builtin::Max => "std::max<int64_t>",
        Builtin::Abs => "Abs",
        Builtin::Gcd => "Gcd",
        Builtin::Lcm => "Lcm",
        Builtin::IsPow2 => "IsPow2",
        Builtin::Log2Floor => "Log2Floor",
        Builtin::Log2Ceil => "Log2Ceil",
        Builtin::Pow2 => "Pow2",
        Builtin::DivCeil => "DivCeil",
        Builtin::Wrap => "Wrap",
        Builtin::RankOf => "RankOf",
        Builtin::LocalsOf => "LocalsOf",
        Builtin::NodeOf => "NodeOf",
        Builtin::LocalOf => "LocalOf",
        Builtin::PodOf => "PodOf",
    }
}

/// The names of the language that are locals of the body.
pub(crate) const ALL_NAMES: [&str; 11] =
    ["rank", "ranks", "root", "src", "dst", "node", "nodes", "local", "locals", "pod", "pods"];
