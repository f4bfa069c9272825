//! Headers.

use hcomm_core::operator::Operator;
use hcomm_core::shape::{Layout, MAX_RANKS};
use hcomm_core::spec::{BudgetField, Engine};

use super::{Lower, Region};
use crate::ConstBudget;
use crate::ast::{Headers, Limit, Verify};
use crate::errors::TokenSpan;
use crate::words;

/// Rank counts that are verified without a `verify` header.
pub(super) const DEFAULT_VERIFY: (u32, u32) = (2, 8);

impl Lower<'_> {
    /// The headers; budgets whose limits are constants of the user's are returned.
    pub(super) fn headers(&mut self, headers: Headers) -> Vec<ConstBudget> {
        if let Some(split) = &headers.split {
            self.region = Region::Header("split");
            self.spec.split = Some(self.int(split, "`split`"));
        }
        if let Some(scratch) = &headers.scratch {
            self.region = Region::Header("scratch");
            self.spec.scratch = Some(self.int(scratch, "`scratch`"));
        }
        self.spec.deterministic = headers.deterministic;
        self.spec.max_ranks = headers.max_ranks;
        self.spec.engines = headers.engines.iter().map(|(engine, _)| *engine).collect();
        if let Some(at) = headers.symmetric {
            self.symmetric(at, &headers.engines);
        }
        self.verify(headers.verify);
        self.budget(headers.budget)
    }

    /// `memory: symmetric;`: what HCCL uses windows for, and the engine that has them.
    fn symmetric(&mut self, at: TokenSpan, engines: &[(Engine, TokenSpan)]) {
        self.spec.symmetric = true;
        if let Some(operator) = self.operator.filter(|operator| !operator.has_windows()) {
            let with: Vec<&str> = Operator::ALL.into_iter().filter(|op| op.has_windows()).map(Operator::name).collect();
            let message = format!("symmetric windows are not for {operator}");
            let help =
                format!("operators with windows: {}; others move the data through `scratch`", words::list(&with));
            self.errors.push_help(at, message, help);
        }
        if let Some((_, aiv)) = engines.iter().find(|(engine, _)| *engine == Engine::Aiv) {
            let help = "leave `aiv` out, or move the data through `scratch`";
            self.errors.push_help(*aiv, "symmetric windows are for the engine `ai_cpu` only", help);
        }
        self.spec.engines = vec![Engine::AiCpu];
    }

    fn verify(&mut self, verify: Option<(Verify, TokenSpan)>) {
        let max = self.spec.max_ranks.unwrap_or(MAX_RANKS);
        let largest = match verify {
            None => {
                let (first, last) = DEFAULT_VERIFY;
                self.spec.verify_ranks = (first.min(max), last.min(max));
                return;
            }
            Some((Verify::Ranks(first, last), at)) => {
                self.spec.verify_ranks = (first, last);
                (last, at)
            }
            Some((Verify::Layouts(layouts), at)) => {
                let largest = layouts.iter().map(Layout::ranks).max().unwrap_or(0);
                self.spec.verify_layouts = layouts;
                (largest, at)
            }
        };
        if largest.0 > max {
            let message = format!("{} ranks to verify, and `max_ranks` is {max}", largest.0);
            self.errors.push(largest.1, message);
        }
    }

    fn budget(&mut self, budget: Vec<(BudgetField, Limit, TokenSpan)>) -> Vec<ConstBudget> {
        let mut consts = Vec::new();
        self.region = Region::Header("budget");
        for (field, limit, span) in budget {
            match limit {
                Limit::Expr(limit) => {
                    let limit = self.int(&limit, "a limit");
                    self.spec.budget.push((field, limit));
                }
                Limit::Const(limit) => consts.push(ConstBudget { field, limit, span }),
            }
        }
        consts
    }
}
