//! Lowering follows the program: whatever is changed in an algorithm changes its listing.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use hcomm_algos::LIBRARY;
use hcomm_core::ids::{ExprId, NotifyId};
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu::lower;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::{BinaryOp, Expr, ExprKind, Index, SpecBuf, StmtKind};

/// The listing, or the faults if the change has no meaning.
fn listing(spec: &SpecBuf, layout: Layout) -> String {
    let mut shape = Shape::new(layout);
    if spec.operator.has_root() {
        shape.root = layout.ranks() - 1;
    }
    match spec.with_spec(|spec| instantiate(spec, &shape)) {
        Ok(instance) => lower(&instance).to_string(),
        Err(faults) => format!("{faults:?}"),
    }
}

/// `id + 1` as a new expression.
fn plus_one(spec: &mut SpecBuf, id: ExprId) -> ExprId {
    let span = spec.exprs[id.index()].span;
    let one = ExprId(spec.exprs.len() as u32);
    spec.exprs.push(Expr { kind: ExprKind::Int(1), span });
    spec.exprs.push(Expr { kind: ExprKind::Binary(BinaryOp::Add, id, one), span });
    ExprId(one.0 + 1)
}

/// All ways to change one statement: leave it out, and change each of its parts.
fn changes(original: &SpecBuf, place: usize) -> Vec<(String, SpecBuf)> {
    let id = original.lists[place] as usize;
    let mut all = Vec::new();
    let mut change = |what: &str, with: &mut dyn FnMut(&mut SpecBuf)| {
        let mut spec = original.clone();
        with(&mut spec);
        all.push((format!("{what} of statement {id} {:?}", original.stmts[id]), spec));
    };
    // Left out: an empty loop in its place.
    change("absence", &mut |spec| {
        let never = ExprId(spec.exprs.len() as u32);
        spec.exprs.push(Expr { kind: ExprKind::Bool(false), span: spec.stmts[id].span });
        spec.stmts[id].kind = StmtKind::While(never, Default::default());
    });
    match original.stmts[id].kind {
        StmtKind::Transfer { dst, src, reduce } => {
            for (side, place) in [("destination", dst), ("source", src)] {
                if let Index::One(at) = place.index {
                    change(side, &mut |spec| {
                        let next = plus_one(spec, at);
                        if let StmtKind::Transfer { dst, src, .. } = &mut spec.stmts[id].kind {
                            (if side == "source" { src } else { dst }).index = Index::One(next);
                        }
                    });
                }
            }
            change("kind", &mut |spec| spec.stmts[id].kind = StmtKind::Transfer { dst, src, reduce: !reduce });
        }
        StmtKind::Signal(peer, notify) => {
            change("direction", &mut |spec| spec.stmts[id].kind = StmtKind::Wait(peer, notify));
            change("notify", &mut |spec| spec.stmts[id].kind = StmtKind::Signal(peer, NotifyId(notify.0 + 1)));
        }
        StmtKind::Wait(peer, notify) => {
            change("direction", &mut |spec| spec.stmts[id].kind = StmtKind::Signal(peer, notify));
            change("notify", &mut |spec| spec.stmts[id].kind = StmtKind::Wait(peer, NotifyId(notify.0 + 1)));
        }
        StmtKind::Set(var, value) => change("value", &mut |spec| {
            let next = plus_one(spec, value);
            spec.stmts[id].kind = StmtKind::Set(var, next);
        }),
        StmtKind::If(condition, then, other) => {
            change("branches", &mut |spec| spec.stmts[id].kind = StmtKind::If(condition, other, then));
        }
        _ => {}
    }
    all
}

/// The places of statements in [`SpecBuf::lists`]: those in blocks that can be reached from the body.
fn places(spec: &SpecBuf) -> Vec<usize> {
    let (mut places, mut blocks) = (Vec::new(), vec![spec.body]);
    while let Some(block) = blocks.pop() {
        for place in block.start as usize..(block.start + block.len) as usize {
            places.push(place);
            match spec.stmts[spec.lists[place] as usize].kind {
                StmtKind::If(_, then, other) => blocks.extend([then, other]),
                StmtKind::While(_, body) | StmtKind::For(_, _, body) | StmtKind::Phase(_, body) => blocks.push(body),
                StmtKind::Par(_, lanes) => {
                    let lanes = &spec.lanes[lanes.start as usize..(lanes.start + lanes.len) as usize];
                    blocks.extend(lanes.iter().map(|lane| lane.body));
                }
                _ => {}
            }
        }
    }
    places
}

#[test]
fn every_change_of_a_statement_changes_the_listing() {
    let (mut tried, mut unseen) = (0, Vec::new());
    for spec in LIBRARY {
        let original = SpecBuf::from(*spec);
        // A change that one layout does not show another one may: the last step of a tree, the second of a pair.
        let layouts = support::layouts(spec, &[3, 5, 6, 8, 20]);
        let before: Vec<String> = layouts.iter().map(|layout| listing(&original, *layout)).collect();
        for place in places(&original) {
            for (what, changed) in changes(&original, place) {
                let seen = layouts.iter().zip(&before).any(|(layout, before)| listing(&changed, *layout) != *before);
                // One more step of a tree in which nobody is left to send is no change.
                if !(seen || what.starts_with("value of") && spec.operator.has_root()) {
                    unseen.push(format!("{}: the {what}", spec.snake));
                }
                tried += 1;
            }
        }
    }
    assert!(unseen.is_empty(), "{unseen:#?}");
    assert!(tried > 1500, "only {tried} changes were tried");
}
