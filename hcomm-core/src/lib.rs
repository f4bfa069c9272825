//! The core of hcomm: an algorithm as data, its one evaluator, and all that follows from it.
//!
//! ```text
//! Spec ── eval ──► Instance ──► TaskGraph
//!            │         └──────► Program ──► listing, JSON, simulator
//!            └──────► Resources
//! ```

pub mod aiv;
mod assert;
pub mod check;
pub mod counts;
pub mod diag;
pub mod draw;
pub mod dtype;
pub mod eval;
pub mod graph;
pub mod ids;
pub mod instance;
pub mod json;
pub mod listing;
pub mod lower;
pub mod operator;
pub mod order;
pub mod plan;
pub mod product;
pub mod program;
pub mod resources;
pub mod roles;
pub mod shape;
pub mod sizes;
pub mod spec;
pub mod verify;

pub use plan::Collective;

/// What generated code names. Not stable.
#[doc(hidden)]
pub mod __private {
    pub use crate::assert::{assert_budget, counted, layout, span, unequal_layout};
    pub use crate::ids::{ExprId, FuncId, NotifyId, SpanId, StmtId, VarId};
    pub use crate::operator::{Buffer, Operator};
    pub use crate::plan::{Plan, plan, resources, resources_at};
    pub use crate::resources::Resources;
    pub use crate::shape::Layout;
    pub use crate::spec::*;
}
