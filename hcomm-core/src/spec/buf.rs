//! A spec that owns its data: what the front end fills, and what tools change.

use super::{Block, BudgetField, Engine, Expr, Func, Headers, Lane, Span, Spec, Stmt, Verify};
use crate::ids::{ExprId, SpanId};
use crate::operator::Operator;
use crate::resources::Resources;
use crate::shape::Layout;

/// A [`Spec`] under construction, or one that owns its data.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields of Spec, owned")]
pub struct SpecBuf {
    pub name: String,
    pub snake: String,
    pub doc: String,
    pub operator: Operator,
    pub file: String,
    pub split: Option<ExprId>,
    pub scratch: Option<ExprId>,
    pub symmetric: bool,
    pub deterministic: bool,
    pub max_ranks: Option<u32>,
    pub budget: Vec<(BudgetField, ExprId)>,
    pub engines: Vec<Engine>,
    /// Rank counts, first and last; layouts win if there are any.
    pub verify_ranks: (u32, u32),
    pub verify_layouts: Vec<Layout>,
    pub body: Block,
    pub exprs: Vec<Expr>,
    pub stmts: Vec<Stmt>,
    pub lanes: Vec<Lane>,
    pub funcs: Vec<FuncBuf>,
    pub lists: Vec<u32>,
    pub notifies: Vec<String>,
    pub vars: Vec<String>,
    pub spans: Vec<Span>,
    pub counted: Vec<(u32, Resources)>,
}

/// A [`Func`] that owns its names.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields of Func, owned")]
pub struct FuncBuf {
    pub name: String,
    pub arity: u32,
    pub vars: Vec<String>,
    pub body: Block,
    pub span: SpanId,
}

impl SpecBuf {
    /// Calls `with` with this spec, borrowed.
    pub fn with_spec<R>(&self, with: impl FnOnce(&Spec<'_>) -> R) -> R {
        fn borrow(names: &[String]) -> Vec<&str> {
            names.iter().map(String::as_str).collect()
        }
        let func_vars: Vec<Vec<&str>> = self.funcs.iter().map(|func| borrow(&func.vars)).collect();
        let funcs: Vec<Func<'_>> = self
            .funcs
            .iter()
            .zip(&func_vars)
            .map(|(func, vars)| Func { name: &func.name, arity: func.arity, vars, body: func.body, span: func.span })
            .collect();
        let verify = if self.verify_layouts.is_empty() {
            Verify::Ranks(self.verify_ranks.0, self.verify_ranks.1)
        } else {
            Verify::Layouts(&self.verify_layouts)
        };
        with(&Spec {
            name: &self.name,
            snake: &self.snake,
            doc: &self.doc,
            operator: self.operator,
            file: &self.file,
            headers: Headers {
                split: self.split,
                scratch: self.scratch,
                symmetric: self.symmetric,
                deterministic: self.deterministic,
                max_ranks: self.max_ranks,
                budget: &self.budget,
                engines: &self.engines,
                verify,
            },
            body: self.body,
            exprs: &self.exprs,
            stmts: &self.stmts,
            lanes: &self.lanes,
            funcs: &funcs,
            lists: &self.lists,
            notifies: &borrow(&self.notifies),
            vars: &borrow(&self.vars),
            spans: &self.spans,
            counted: &self.counted,
        })
    }
}

impl From<&Spec<'_>> for SpecBuf {
    fn from(spec: &Spec<'_>) -> SpecBuf {
        fn own(names: &[&str]) -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        }
        let headers = &spec.headers;
        let (verify_ranks, verify_layouts) = match headers.verify {
            Verify::Ranks(first, last) => ((first, last), Vec::new()),
            Verify::Layouts(layouts) => ((2, 8), layouts.to_vec()),
        };
        let func = |func: &Func<'_>| FuncBuf {
            name: func.name.to_owned(),
            arity: func.arity,
            vars: own(func.vars),
            body: func.body,
            span: func.span,
        };
        SpecBuf {
            name: spec.name.to_owned(),
            snake: spec.snake.to_owned(),
            doc: spec.doc.to_owned(),
            operator: spec.operator,
            file: spec.file.to_owned(),
            split: headers.split,
            scratch: headers.scratch,
            symmetric: headers.symmetric,
            deterministic: headers.deterministic,
            max_ranks: headers.max_ranks,
            budget: headers.budget.to_vec(),
            engines: headers.engines.to_vec(),
            verify_ranks,
            verify_layouts,
            body: spec.body,
            exprs: spec.exprs.to_vec(),
            stmts: spec.stmts.to_vec(),
            lanes: spec.lanes.to_vec(),
            funcs: spec.funcs.iter().map(func).collect(),
            lists: spec.lists.to_vec(),
            notifies: own(spec.notifies),
            vars: own(spec.vars),
            spans: spec.spans.to_vec(),
            counted: spec.counted.to_vec(),
        }
    }
}
