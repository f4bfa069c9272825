//! The statements of an algorithm as the member functions of a C++ class.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use hcomm_core::ids::{ExprId, FuncId, SpanId, VarId};
use hcomm_core::operator::Buffer;
use hcomm_core::spec::{Block, Engine, Expr, ExprKind, Index, Lane, List, Name, Place, Set, Spec, Stmt, StmtKind};

use crate::expr::{Exprs, Visible, name_words};
use crate::lengths::{Rule, Who};
use crate::names;
use crate::{ranges, tree};

/// How long lines of C++ may be.
const WIDTH: usize = 120;

/// The parts of the class.
#[derive(Debug)]
pub(crate) struct Body {
    /// `int64_t first_of(int64_t member)`, by helper function, and their definitions' bodies.
    pub(crate) funcs: Vec<(String, String)>,
    /// The body of `Round`.
    pub(crate) round: String,
    /// The values of `Split` and `Cells`.
    pub(crate) split: String,
    /// See `split`.
    pub(crate) cells: String,
}

/// Prints a spec, with the rules for lengths, for `schedule.h` or for `aiv_schedule.h`.
pub(crate) fn print(spec: &Spec<'_>, rules: &BTreeMap<SpanId, Rule>, notifies: &[String], engine: Engine) -> Body {
    let exprs = Exprs::new(spec, engine);
    let funcs = (0..).zip(spec.funcs).map(|(at, func)| {
        let id = FuncId(at);
        let mut printer = Printer::new(&exprs, rules, notifies, Some(id), func.body);
        let mut params = Vec::new();
        for (slot, name) in (0..).zip(func.vars).take(func.arity as usize) {
            params.push(format!("int64_t {}", printer.declare(VarId(slot), name, crate::expr::Type::Int)));
        }
        printer.depth = 1;
        printer.statements(func.body);
        if !ends_with_return(spec, func.body) {
            printer.line(&format!(
                "return Fail(\"a helper function ends without a value: {}\", 0);",
                exprs.funcs[id.index()]
            ));
        }
        let ty = exprs.result_of(id).name();
        (format!("{ty} @{}({})", exprs.funcs[id.index()], params.join(", ")), printer.text)
    });
    let funcs = funcs.collect();

    let mut printer = Printer::new(&exprs, rules, notifies, None, spec.body);
    printer.visible.locals = true;
    printer.depth = 1;
    let used = used_names(spec);
    for name in &used {
        let (local, call) = name_words(*name);
        printer.line(&format!("const int64_t {local} = {call}();"));
    }
    if !used.is_empty() {
        printer.text.push('\n');
    }
    printer.statements(spec.body);

    let headers = Visible::default();
    let value = |id: Option<ExprId>, default: &str| id.map_or(default.to_owned(), |id| exprs.text(id, &headers));
    let split_default = if spec.operator.splits_by_ranks() { "Ranks()" } else { "1" };
    let cells_default = match spec.operator.largest_slots(2) {
        _ if spec.headers.symmetric => "0",
        0 => "0",
        1 => "Split()",
        _ if spec.headers.split.is_none() && !spec.operator.splits_by_ranks() => "Ranks()",
        _ => "Mul(Split(), Ranks())",
    };
    Body {
        funcs,
        round: printer.text,
        split: value(spec.headers.split, split_default),
        cells: value(spec.headers.scratch, cells_default),
    }
}

fn ends_with_return(spec: &Spec<'_>, block: Block) -> bool {
    match tree::statements(spec, block).last().map(|stmt| stmt.kind) {
        Some(StmtKind::Return(_)) => true,
        Some(StmtKind::If(_, then, other)) => ends_with_return(spec, then) && ends_with_return(spec, other),
        _ => false,
    }
}

/// The names of the operator and the layout that the body uses, in the order of the language.
fn used_names(spec: &Spec<'_>) -> Vec<Name> {
    let mut ids = Vec::new();
    exprs_of(spec, spec.body, &mut ids);
    let mut used = BTreeSet::new();
    while let Some(id) = ids.pop() {
        let Some(Expr { kind, .. }) = spec.exprs.get(id.index()) else { continue };
        match *kind {
            ExprKind::Name(name) => {
                used.insert(name as u8);
            }
            ExprKind::Unary(_, a) => ids.push(a),
            ExprKind::Binary(_, a, b) => ids.extend([a, b]),
            ExprKind::If(a, b, c) => ids.extend([a, b, c]),
            ExprKind::Builtin(_, args) | ExprKind::Call(_, args) => ids.extend(tree::args(spec, args)),
            ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Var(_) => {}
        }
    }
    const ALL: [Name; 11] = [
        Name::Rank,
        Name::Ranks,
        Name::Root,
        Name::Src,
        Name::Dst,
        Name::Node,
        Name::Nodes,
        Name::Local,
        Name::Locals,
        Name::Pod,
        Name::Pods,
    ];
    ALL.into_iter().filter(|name| used.contains(&(*name as u8))).collect()
}

/// The expressions that the statements of a block hold.
fn exprs_of(spec: &Spec<'_>, block: Block, found: &mut Vec<ExprId>) {
    let set = |set: Set, found: &mut Vec<ExprId>| {
        if let Set::Range(start, end) = set {
            found.extend([start, end]);
        }
    };
    for stmt in tree::statements(spec, block) {
        match stmt.kind {
            StmtKind::Set(_, value) | StmtKind::Return(value) => found.push(value),
            StmtKind::If(condition, ..) | StmtKind::While(condition, _) => found.push(condition),
            StmtKind::For(_, elements, _) => set(elements, found),
            StmtKind::Par(bound, lanes) => {
                found.extend(bound);
                tree::lanes(spec, lanes).filter_map(|lane| lane.each).for_each(|(_, each)| set(each, found));
            }
            StmtKind::Phase(..) => {}
            StmtKind::Transfer { dst, src, .. } => {
                for place in [dst, src] {
                    found.extend(place.peer);
                    match place.index {
                        Index::Whole => {}
                        Index::One(at) => found.push(at),
                        Index::Run(from, to) => found.extend([from, to]),
                    }
                }
            }
            StmtKind::Signal(peer, _) | StmtKind::Wait(peer, _) => found.push(peer),
        }
        for inner in tree::blocks(spec, &stmt.kind) {
            exprs_of(spec, inner, found);
        }
    }
}

struct Printer<'p, 's> {
    exprs: &'p Exprs<'s>,
    rules: &'p BTreeMap<SpanId, Rule>,
    notifies: &'p [String],
    func: Option<FuncId>,
    visible: Visible,
    /// Variables that are set more than once.
    many: BTreeSet<VarId>,
    /// Variables that something reads.
    read: BTreeSet<VarId>,
    text: String,
    depth: usize,
    /// The line of the source that was last named in a comment.
    named: u32,
}

impl<'p, 's> Printer<'p, 's> {
    fn new(
        exprs: &'p Exprs<'s>,
        rules: &'p BTreeMap<SpanId, Rule>,
        notifies: &'p [String],
        func: Option<FuncId>,
        block: Block,
    ) -> Self {
        let spec = exprs.spec;
        let (mut ids, mut read) = (Vec::new(), BTreeSet::new());
        exprs_of(spec, block, &mut ids);
        while let Some(id) = ids.pop() {
            match spec.exprs.get(id.index()).map(|expr| expr.kind) {
                Some(ExprKind::Var(var)) => {
                    read.insert(var);
                }
                Some(ExprKind::Unary(_, a)) => ids.push(a),
                Some(ExprKind::Binary(_, a, b)) => ids.extend([a, b]),
                Some(ExprKind::If(a, b, c)) => ids.extend([a, b, c]),
                Some(ExprKind::Builtin(_, args) | ExprKind::Call(_, args)) => ids.extend(tree::args(spec, args)),
                _ => {}
            }
        }
        Printer {
            exprs,
            rules,
            notifies,
            func,
            visible: Visible::default(),
            many: ranges::assigned(spec, block),
            read,
            text: String::new(),
            depth: 0,
            named: 0,
        }
    }

    fn spec(&self) -> &'p Spec<'s> {
        self.exprs.spec
    }

    /// A line; a long one goes on in the next, where a part of it begins.
    fn line(&mut self, text: &str) {
        let mut rest = text;
        let mut indent = 4 * self.depth;
        while indent + rest.len() > WIDTH {
            let break_at = ["; ", ", [&]", " // ", ", ", " "]
                .into_iter()
                .find_map(|mark| rest[..(WIDTH - indent).min(rest.len())].rfind(mark).map(|at| (at, mark)))
                .filter(|(at, _)| *at > 0);
            let Some((at, mark)) = break_at else { break };
            let at = at + mark.find(' ').unwrap_or(0);
            let _ = writeln!(self.text, "{:indent$}{}", "", &rest[..at]);
            rest = rest[at..].trim_start();
            indent = 4 * self.depth + 4;
        }
        let _ = writeln!(self.text, "{:indent$}{rest}", "");
    }

    /// A statement, with its line in the source where that is not the one named last.
    fn stmt_line(&mut self, text: &str, at: SpanId) {
        let line = self.spec().span(at).line;
        if line == self.named {
            self.line(text);
        } else {
            self.named = line;
            let place = self.place_of(line);
            self.line(&format!("{text} // {place}"));
        }
    }

    fn place_of(&self, line: u32) -> String {
        let file = self.spec().file;
        let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
        format!("{}:{line}", names::comment(file))
    }

    fn expr(&self, id: ExprId) -> String {
        self.exprs.text(id, &self.visible)
    }

    /// Gives a variable a name that nothing else has here.
    fn declare(&mut self, var: VarId, name: &str, ty: crate::expr::Type) -> String {
        let taken = |word: &str| {
            self.visible.names.values().any(|(known, _)| known == word)
                || self.exprs.funcs.iter().any(|func| func == word)
                || crate::expr::ALL_NAMES.contains(&word)
        };
        let name = names::unique(&names::identifier(name), taken);
        self.visible.names.insert(var, (name.clone(), ty));
        name
    }

    fn var_name(&self, var: VarId) -> &'s str {
        let vars = match self.func {
            Some(func) => self.spec().funcs[func.index()].vars,
            None => self.spec().vars,
        };
        vars.get(var.index()).copied().unwrap_or("v")
    }

    /// The statements of a block in a scope of its own, without braces.
    fn statements(&mut self, block: Block) {
        let visible = self.visible.clone();
        for stmt in tree::statements(self.spec(), block) {
            self.statement(&stmt);
        }
        self.visible = visible;
    }

    /// The same between braces that are there already.
    fn inside(&mut self, block: Block) {
        self.depth += 1;
        self.statements(block);
        self.depth -= 1;
    }

    fn declares(&self, block: Block) -> bool {
        tree::statements(self.spec(), block).any(|stmt| match stmt.kind {
            StmtKind::Set(var, _) => !self.visible.names.contains_key(&var),
            _ => false,
        })
    }

    fn statement(&mut self, stmt: &Stmt) {
        match stmt.kind {
            StmtKind::Set(var, value) => {
                let text = self.expr(value);
                if let Some((name, _)) = self.visible.names.get(&var) {
                    let line = format!("{name} = {text};");
                    return self.line(&line);
                }
                let ty = self.exprs.type_of(value, &self.visible.names);
                let name = self.declare(var, self.var_name(var), ty);
                let constant = if self.many.contains(&var) { "" } else { "const " };
                self.line(&format!("{constant}{} {name} = {text};", ty.name()));
                self.unused(var, &name);
            }
            StmtKind::If(condition, then, other) => self.branch("", condition, then, other),
            StmtKind::While(condition, body) => {
                let condition = self.expr(condition);
                self.line(&format!("while (Goes() && ({condition})) {{"));
                self.inside(body);
                self.line("}");
            }
            StmtKind::For(var, set, body) => {
                let visible = self.visible.clone();
                self.loop_head(var, set, body);
                self.inside(body);
                self.line("}");
                self.visible = visible;
            }
            StmtKind::Par(bound, lanes) => self.par(bound, lanes, stmt.span),
            StmtKind::Phase(phase, body) => {
                let line = self.spec().span(stmt.span).line;
                self.named = line;
                let place = self.place_of(line);
                self.line(&format!("// {}, {place}", phase.name()));
                if self.declares(body) {
                    self.line("{");
                    self.inside(body);
                    self.line("}");
                } else {
                    self.statements(body);
                }
            }
            StmtKind::Transfer { dst, src, reduce } => self.transfer(&dst, &src, reduce, stmt.span),
            StmtKind::Signal(peer, notify) | StmtKind::Wait(peer, notify) => {
                let call = if matches!(stmt.kind, StmtKind::Signal(..)) { "Signal" } else { "Wait" };
                let notify = self.notifies.get(notify.index()).map_or("0", String::as_str);
                let text = format!("{call}({}, {notify});", self.expr(peer));
                self.stmt_line(&text, stmt.span);
            }
            StmtKind::Return(value) => {
                let text = self.expr(value);
                self.line(&format!("return {text};"));
            }
        }
    }

    fn unused(&mut self, var: VarId, name: &str) {
        if !self.read.contains(&var) {
            self.line(&format!("(void){name};"));
        }
    }

    fn branch(&mut self, before: &str, condition: ExprId, then: Block, other: Block) {
        let condition = self.expr(condition);
        self.line(&format!("{before}if ({condition}) {{"));
        self.inside(then);
        let mut others = tree::statements(self.spec(), other);
        match (others.next().map(|stmt| stmt.kind), others.next()) {
            (None, _) => self.line("}"),
            (Some(StmtKind::If(condition, then, other)), None) => self.branch("} else ", condition, then, other),
            _ => {
                self.line("} else {");
                self.inside(other);
                self.line("}");
            }
        }
    }

    /// The head of a loop over a set, with its opening brace.
    fn loop_head(&mut self, var: VarId, set: Set, body: Block) {
        let name = self.var_name(var);
        let list = match set {
            Set::Peers => "Peers()",
            Set::LocalPeers => "LocalPeers()",
            Set::NodePeers => "NodePeers()",
            Set::Range(start, end) => {
                let (start, mut end_text) = (self.expr(start), self.expr(end));
                // The end is computed once: what the turns of the loop may change, and what takes long, is kept.
                if !self.is_lasting(end, body) {
                    let kept = self.declare(VarId(u32::MAX - var.0), &format!("{name}_end"), crate::expr::Type::Int);
                    self.line(&format!("const int64_t {kept} = {end_text};"));
                    end_text = kept;
                }
                let name = self.declare(var, name, crate::expr::Type::Int);
                let fuel = if self.exprs.ranges.is_long(self.func, var) { "Goes() && " } else { "" };
                let end_text = if end_text.contains('?') { format!("({end_text})") } else { end_text };
                return self.line(&format!("for (int64_t {name} = {start}; {fuel}{name} < {end_text}; ++{name}) {{"));
            }
        };
        let name = self.declare(var, name, crate::expr::Type::Int);
        if self.exprs.engine == Engine::Aiv {
            let set = list.trim_end_matches("s()");
            let at = self.declare(VarId(u32::MAX - var.0), &format!("{name}_at"), crate::expr::Type::Int);
            self.line(&format!("for (int64_t {at} = 0; {at} < Num{set}s(); ++{at}) {{"));
            self.depth += 1;
            self.line(&format!("const int64_t {name} = {set}({at});"));
            if set == "NodePeer" {
                self.line(&format!("if ({name} < 0) {{"));
                self.line("    continue; // that node has no such place");
                self.line("}");
            }
            self.unused(var, &name);
            self.depth -= 1;
            return;
        }
        self.line(&format!("for (const int64_t {name} : {list}) {{"));
        self.depth += 1;
        self.unused(var, &name);
        self.depth -= 1;
    }

    /// Whether an expression has the same value before every turn of a loop, at little cost.
    fn is_lasting(&self, id: ExprId, body: Block) -> bool {
        let mut set = BTreeSet::new();
        fn sets(spec: &Spec<'_>, block: Block, set: &mut BTreeSet<VarId>) {
            for stmt in tree::statements(spec, block) {
                if let StmtKind::Set(var, _) = stmt.kind {
                    set.insert(var);
                }
                tree::blocks(spec, &stmt.kind).into_iter().for_each(|inner| sets(spec, inner, set));
            }
        }
        sets(self.spec(), body, &mut set);
        let mut ids = vec![id];
        while let Some(id) = ids.pop() {
            match self.spec().exprs.get(id.index()).map(|expr| expr.kind) {
                Some(ExprKind::Var(var)) if set.contains(&var) => return false,
                Some(ExprKind::Call(..)) => return false,
                Some(ExprKind::Unary(_, a)) => ids.push(a),
                Some(ExprKind::Binary(_, a, b)) => ids.extend([a, b]),
                Some(ExprKind::If(a, b, c)) => ids.extend([a, b, c]),
                Some(ExprKind::Builtin(_, args)) => ids.extend(tree::args(self.spec(), args)),
                _ => {}
            }
        }
        true
    }

    fn par(&mut self, bound: Option<ExprId>, lanes: List, at: SpanId) {
        let bound = bound.map(|bound| self.expr(bound));
        // A kernel runs the lanes once, on blocks that are there already.
        if self.exprs.engine == Engine::Aiv {
            self.stmt_line(&format!("Fork({});", bound.unwrap_or_default()), at);
            self.line("{");
        } else {
            let bound = bound.map(|bound| bound + ", ").unwrap_or_default();
            self.stmt_line(&format!("Par({bound}[&] {{"), at);
        }
        self.depth += 1;
        let lanes: Vec<Lane> = tree::lanes(self.spec(), lanes).collect();
        for lane in &lanes {
            let visible = self.visible.clone();
            match lane.each {
                Some((var, set)) => {
                    self.loop_head(var, set, lane.body);
                    self.depth += 1;
                    self.line("Lane();");
                    self.statements(lane.body);
                    self.depth -= 1;
                    self.line("}");
                }
                None => {
                    self.line("Lane();");
                    if self.declares(lane.body) {
                        self.line("{");
                        self.inside(lane.body);
                        self.line("}");
                    } else {
                        self.statements(lane.body);
                    }
                }
            }
            self.visible = visible;
        }
        self.depth -= 1;
        if self.exprs.engine == Engine::Aiv {
            self.line("}");
            self.line("Join();");
        } else {
            self.line("});");
        }
    }

    fn transfer(&mut self, dst: &Place, src: &Place, reduce: bool, at: SpanId) {
        let (to, from) = (self.place(dst), self.place(src));
        let peer = dst.peer.or(src.peer).map(|peer| self.expr(peer));
        let reduces = if reduce { "Reduce" } else { "" };
        let call = match (dst.peer, src.peer, &peer) {
            (Some(_), _, Some(peer)) => format!("Write{reduces}({peer}, {to}, {from}"),
            (None, Some(_), Some(peer)) => format!("Read{reduces}({to}, {peer}, {from}"),
            _ if reduce => format!("Reduce({to}, {from}"),
            _ => format!("Copy({to}, {from}"),
        };
        let both_scratch = dst.buffer == Buffer::Scratch && src.buffer == Buffer::Scratch;
        let rule = self.rules.get(&at).filter(|_| both_scratch);
        let lengths = rule.map(|rule| lengths(*rule, peer.as_deref())).unwrap_or_default();
        self.stmt_line(&format!("{call}{lengths});"), at);
    }

    fn place(&self, place: &Place) -> String {
        let buffer = match place.buffer {
            Buffer::Input => "Input",
            Buffer::Output => "Output",
            Buffer::Scratch => "Scratch",
        };
        match place.index {
            Index::Whole => format!("{buffer}()"),
            Index::One(at) => format!("{buffer}({})", self.expr(at)),
            Index::Run(from, to) => format!("{buffer}({}, {})", self.expr(from), self.expr(to)),
        }
    }
}

/// The argument that says how long the chunks are.
fn lengths(rule: Rule, peer: Option<&str>) -> String {
    let named = |who: Who| match who {
        Who::Me => "Rank()".to_owned(),
        Who::Peer => peer.unwrap_or("Rank()").to_owned(),
        Who::Source => "srcSlot".to_owned(),
        Who::Destination => "dstSlot".to_owned(),
    };
    let slot = |from: Who, to: Option<Who>| {
        let takes = |who: Who| from == who || to == Some(who);
        let dst = if takes(Who::Destination) { " dstSlot" } else { "" };
        let src = if takes(Who::Source) { " srcSlot" } else { "" };
        let to = to.map_or("-1".to_owned(), named);
        format!(", [&](int64_t{dst}, int64_t{src}) {{ return Slot{{{}, {to}}}; }}", named(from))
    };
    match rule {
        Rule::Place | Rule::Source => String::new(),
        Rule::Destination => ", Lengths::OF_DESTINATION".into(),
        Rule::HeldBySource => ", Lengths::HELD_BY_SOURCE".into(),
        Rule::HeldByDestination => ", Lengths::HELD_BY_DESTINATION".into(),
        Rule::Of(owner) => slot(owner, None),
        Rule::Between(from, to) => slot(from, Some(to)),
    }
}
