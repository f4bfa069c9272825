//! Programs to read, and a text form of what was read.
#![allow(dead_code, clippy::unwrap_used, reason = "tests; each uses a part of this")]

use std::fmt::Write;

use hcomm_core::ids::ExprId;
use hcomm_core::spec::{Block, ExprKind, Index, Place, Set, Spec, StmtKind};
use proc_macro2::TokenStream;

/// The programs of the design, and one with everything.
pub(crate) const PROGRAMS: [(&str, &str); 7] = [
    ("mesh_all_gather", include_str!("../programs/mesh_all_gather.txt")),
    ("nhr_all_gather", include_str!("../programs/nhr_all_gather.txt")),
    ("ring_all_gather", include_str!("../programs/ring_all_gather.txt")),
    ("read_send_recv", include_str!("../programs/read_send_recv.txt")),
    ("one_shot_all_reduce", include_str!("../programs/one_shot_all_reduce.txt")),
    ("ring_all_reduce", include_str!("../programs/ring_all_reduce.txt")),
    ("everything", include_str!("../programs/everything.txt")),
];

pub(crate) fn tokens(source: &str) -> TokenStream {
    source.parse().unwrap()
}

/// The errors of `source`, each under the line that it underlines.
pub(crate) fn errors(source: &str) -> String {
    let (_, errors) = hcomm_lang::parse_all(tokens(source), "test.rs");
    let mut text = String::new();
    for error in errors.into_iter().flatten() {
        let (start, end) = (error.span().start(), error.span().end());
        let line = source.lines().nth(start.line - 1).unwrap_or("");
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        let width = if start.line == end.line { end.column - start.column } else { line.len() - start.column };
        let _ =
            writeln!(text, "{trimmed}\n{:1$}{2}", "", start.column.saturating_sub(indent), "^".repeat(width.max(1)));
        let _ = writeln!(text, "{error}");
    }
    text
}

/// A spec as text: fully parenthesised, names as slots, notifies as indices.
pub(crate) fn dump(spec: &Spec<'_>) -> String {
    let mut dump = Dump { spec, vars: spec.vars, text: String::new() };
    let headers = &spec.headers;
    let _ = writeln!(dump.text, "{} ({}): {}", spec.name, spec.snake, spec.operator);
    let _ = writeln!(dump.text, "doc {:?}", spec.doc);
    if let Some(split) = headers.split {
        let _ = writeln!(dump.text, "split {}", dump.expr(split));
    }
    if let Some(scratch) = headers.scratch {
        let _ = writeln!(dump.text, "scratch {}", dump.expr(scratch));
    }
    for (field, limit) in headers.budget {
        let _ = writeln!(dump.text, "budget {field:?} {}", dump.expr(*limit));
    }
    if headers.deterministic {
        dump.text.push_str("deterministic\n");
    }
    if let Some(max) = headers.max_ranks {
        let _ = writeln!(dump.text, "max_ranks {max}");
    }
    if !headers.engines.is_empty() {
        let _ = writeln!(dump.text, "engines {:?}", headers.engines);
    }
    match headers.verify {
        hcomm_core::spec::Verify::Ranks(first, last) => writeln!(dump.text, "verify {first}..={last}").unwrap(),
        hcomm_core::spec::Verify::Layouts(layouts) => {
            for layout in layouts {
                writeln!(dump.text, "verify {layout}").unwrap();
            }
        }
    }
    let _ = writeln!(dump.text, "notifies {:?}", spec.notifies);
    let _ = writeln!(dump.text, "vars {:?}", spec.vars);
    for func in spec.funcs {
        dump.vars = func.vars;
        let _ = writeln!(dump.text, "fn {}({}) {:?}", func.name, func.arity, func.vars);
        dump.block(func.body, 1);
    }
    dump.vars = spec.vars;
    dump.block(spec.body, 0);
    dump.text
}

struct Dump<'a> {
    spec: &'a Spec<'a>,
    vars: &'a [&'a str],
    text: String,
}

impl Dump<'_> {
    fn line(&mut self, depth: usize, line: &str) {
        let _ = writeln!(self.text, "{:1$}{line}", "", depth * 2);
    }

    fn block(&mut self, block: Block, depth: usize) {
        let ids = &self.spec.lists[block.start as usize..][..block.len as usize];
        for id in ids {
            let stmt = self.spec.stmts[*id as usize];
            let at = self.spec.span(stmt.span);
            let place = format!(" @{}:{}-{}:{}", at.line, at.column, at.end_line, at.end_column);
            let line = match stmt.kind {
                StmtKind::Set(var, value) => format!("{} = {}", self.var(var.0), self.expr(value)),
                StmtKind::If(cond, ..) => format!("if {}", self.expr(cond)),
                StmtKind::While(cond, _) => format!("while {}", self.expr(cond)),
                StmtKind::For(var, set, _) => format!("for {} in {}", self.var(var.0), self.set(set)),
                StmtKind::Par(bound, _) => format!("par {}", bound.map_or(String::new(), |bound| self.expr(bound))),
                StmtKind::Phase(phase, _) => phase.name().to_owned(),
                StmtKind::Transfer { dst, src, reduce } => {
                    format!("{} {} {}", self.place(dst), if reduce { "+=" } else { "=" }, self.place(src))
                }
                StmtKind::Signal(peer, notify) => format!("signal {} {notify:?}", self.expr(peer)),
                StmtKind::Wait(peer, notify) => format!("wait {} {notify:?}", self.expr(peer)),
                StmtKind::Return(value) => format!("return {}", self.expr(value)),
            };
            self.line(depth, &(line + &place));
            match stmt.kind {
                StmtKind::If(_, then, otherwise) => {
                    self.block(then, depth + 1);
                    if otherwise.len > 0 {
                        self.line(depth, "else");
                        self.block(otherwise, depth + 1);
                    }
                }
                StmtKind::While(_, body) | StmtKind::For(_, _, body) | StmtKind::Phase(_, body) => {
                    self.block(body, depth + 1);
                }
                StmtKind::Par(_, lanes) => {
                    for lane in &self.spec.lanes[lanes.start as usize..][..lanes.len as usize] {
                        let each = lane.each.map(|(var, set)| format!("{} in {}", self.var(var.0), self.set(set)));
                        self.line(depth + 1, &format!("lane {}", each.unwrap_or_default()));
                        self.block(lane.body, depth + 2);
                    }
                }
                _ => {}
            }
        }
    }

    fn var(&self, slot: u32) -> String {
        format!("{}#{slot}", self.vars[slot as usize])
    }

    fn set(&self, set: Set) -> String {
        match set {
            Set::Range(from, to) => format!("{}..{}", self.expr(from), self.expr(to)),
            other => format!("{other:?}"),
        }
    }

    fn place(&self, place: Place) -> String {
        let peer = place.peer.map_or(String::new(), |peer| format!("{}.", self.expr(peer)));
        let index = match place.index {
            Index::Whole => String::new(),
            Index::One(at) => format!("[{}]", self.expr(at)),
            Index::Run(from, to) => format!("[{}..{}]", self.expr(from), self.expr(to)),
        };
        format!("{peer}{}{index}", place.buffer)
    }

    fn args(&self, list: Block) -> String {
        let ids = &self.spec.lists[list.start as usize..][..list.len as usize];
        ids.iter().map(|id| self.expr(ExprId(*id))).collect::<Vec<_>>().join(", ")
    }

    fn expr(&self, id: ExprId) -> String {
        match self.spec.exprs[id.index()].kind {
            ExprKind::Int(value) => value.to_string(),
            ExprKind::Bool(value) => value.to_string(),
            ExprKind::Name(name) => format!("{name:?}").to_lowercase(),
            ExprKind::Var(var) => self.var(var.0),
            ExprKind::Unary(op, operand) => format!("{op:?}({})", self.expr(operand)),
            ExprKind::Binary(op, left, right) => format!("({} {op:?} {})", self.expr(left), self.expr(right)),
            ExprKind::If(cond, then, otherwise) => {
                format!("(if {} then {} else {})", self.expr(cond), self.expr(then), self.expr(otherwise))
            }
            ExprKind::Builtin(builtin, args) => format!("{}({})", builtin.name(), self.args(args)),
            ExprKind::Call(func, args) => format!("{}({})", self.spec.funcs[func.index()].name, self.args(args)),
        }
    }
}
