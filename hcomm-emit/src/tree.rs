//! The statements of a spec as a tree.

use hcomm_core::ids::ExprId;
use hcomm_core::spec::{Block, Lane, List, Spec, Stmt, StmtKind};

/// The statements of a block.
pub(crate) fn statements<'s>(spec: &Spec<'s>, block: Block) -> impl Iterator<Item = Stmt> + use<'s> {
    let (lists, stmts) = (spec.lists, spec.stmts);
    list(lists, block).iter().filter_map(move |at| stmts.get(*at as usize).copied())
}

/// The arguments of a call.
pub(crate) fn args<'s>(spec: &Spec<'s>, args: List) -> impl Iterator<Item = ExprId> + use<'s> {
    list(spec.lists, args).iter().map(|at| ExprId(*at))
}

/// The lanes of a `par`.
pub(crate) fn lanes<'s>(spec: &Spec<'s>, lanes: List) -> impl Iterator<Item = Lane> + use<'s> {
    let start = (lanes.start as usize).min(spec.lanes.len());
    let end = (start + lanes.len as usize).min(spec.lanes.len());
    spec.lanes[start..end].iter().copied()
}

/// The blocks inside a statement.
pub(crate) fn blocks(spec: &Spec<'_>, kind: &StmtKind) -> Vec<Block> {
    match kind {
        StmtKind::If(_, then, other) => vec![*then, *other],
        StmtKind::While(_, body) | StmtKind::For(_, _, body) | StmtKind::Phase(_, body) => vec![*body],
        StmtKind::Par(_, lanes) => self::lanes(spec, *lanes).map(|lane| lane.body).collect(),
        _ => Vec::new(),
    }
}

fn list(lists: &[u32], list: List) -> &[u32] {
    let start = (list.start as usize).min(lists.len());
    let end = (start + list.len as usize).min(lists.len());
    &lists[start..end]
}
