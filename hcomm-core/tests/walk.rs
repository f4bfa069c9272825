//! The order in which ranks do things: sets, lanes, layouts, bounds.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use hcomm_core::instance::{TaskKind, instantiate};
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::{ExprKind, Name};
use support::{at, fault, flat, written};

/// What a loop over a set visits on each rank.
fn visits(set: &str, shape: &Shape) -> Vec<Vec<u32>> {
    let source = format!("pub P: all_gather {{ for x in {set} {{ copy_out {{ output[x] = scratch[0]; }} }} }}");
    written(&at(&source, shape).unwrap())
}

#[test]
fn peers_start_behind_me_and_go_round() {
    assert_eq!(visits("peers", &flat(4)), [[1, 2, 3], [2, 3, 0], [3, 0, 1], [0, 1, 2]]);
    assert_eq!(visits("peers", &flat(1)), [[0u32; 0]]);
}

#[test]
fn sets_of_layouts() {
    let equal = Shape::new(Layout::equal(1, 3, 2).unwrap());
    assert_eq!(visits("local_peers", &equal), [[1], [0], [3], [2], [5], [4]]);
    assert_eq!(visits("node_peers", &equal), [[2, 4], [3, 5], [4, 0], [5, 1], [0, 2], [1, 3]]);
    let unequal = Shape::new(Layout::unequal(&[1, 3, 2]).unwrap());
    let expected: [&[u32]; 6] = [&[], &[2, 3], &[3, 1], &[1, 2], &[5], &[4]];
    assert_eq!(visits("local_peers", &unequal), expected);
    let expected: [&[u32]; 6] = [&[1, 4], &[4, 0], &[5], &[], &[0, 1], &[2]];
    assert_eq!(visits("node_peers", &unequal), expected);
}

#[test]
fn names_of_layouts() {
    let shape = Shape::new(Layout::equal(2, 2, 3).unwrap());
    let source = "pub P: all_gather { split: 1000; copy_out {
        output[100 * node + 10 * local + pod] = scratch[0];
        output[100 * nodes + 10 * locals + pods] = scratch[0];
        output[rank_of(node, local)] = scratch[0];
        output[100 * node_of(8) + 10 * local_of(8) + pod_of(8)] = scratch[0];
    } }";
    let instance = at(source, &shape).unwrap();
    assert_eq!(written(&instance)[0], [0, 432, 0, 221]);
    assert_eq!(written(&instance)[8], [221, 432, 8, 221]);
}

#[test]
fn ranges_may_be_empty_and_inclusive() {
    assert_eq!(visits("2..2", &flat(2))[0], [0u32; 0]);
    assert_eq!(visits("1..0", &flat(2))[0], [0u32; 0]);
    assert_eq!(visits("0..=1", &flat(2))[0], [0, 1]);
}

/// The lanes of what each rank does, without the ends of `par`.
fn lanes(body: &str, ranks: u32) -> Vec<u32> {
    let source = format!("pub P: all_gather {{ {body} }}");
    let instance = at(&source, &flat(ranks)).unwrap();
    let inner = instance.ranks[0].iter().filter(|task| !matches!(task.kind, TaskKind::Fork | TaskKind::Join));
    inner.map(|task| task.lane).collect()
}

#[test]
fn lanes_are_dealt() {
    let each = "copy_out { output[0] = scratch[0]; }";
    assert_eq!(lanes(&format!("par for x in peers {{ {each} }}"), 5), [0, 1, 2, 3]);
    assert_eq!(lanes(&format!("par(3) for x in 0..7 {{ {each} }}"), 5), [0, 1, 2, 0, 1, 2, 0]);
    let mixed = format!("par {{ lane {{ {each} {each} }} lane for x in 0..2 {{ {each} }} lane {{ {each} }} }} {each}");
    assert_eq!(lanes(&mixed, 2), [0, 0, 1, 2, 3, 0]);
}

#[test]
fn lanes_have_their_own_loops_and_lets() {
    let source = "pub P: all_gather { split: 100; par for x in 0..2 { let y = 10 * x; for z in 0..2 { let w = y + z; copy_out { output[w] = scratch[0]; } } } }";
    assert_eq!(written(&at(source, &flat(2)).unwrap())[0], [0, 1, 10, 11]);
}

#[test]
fn faults_of_chunks_and_peers() {
    let cases = [
        ("copy_out { output[ranks] = scratch[0]; }", 3),
        ("copy_out { output = scratch[0..2]; }", 3),
        ("copy_out { output[2..1] = scratch[0..1]; }", 3),
        ("move { scratch[0..2] = scratch[1..3]; }", 3),
        ("move { scratch[rank] = scratch[rank]; }", 3),
        ("copy_in { scratch[rank - 1] = input; }", 3),
        ("pre_sync { let next = rank + 1; signal next; }", 3),
        ("pre_sync { let me = rank; signal me; }", 3),
        ("move { let next = wrap(rank + 1, ranks); next.scratch[ranks] = scratch[0]; }", 3),
        ("par(rank) for x in peers { pre_sync { signal x; } }", 3),
    ];
    let text: String = cases
        .map(|(body, ranks)| {
            format!("{body}\n    {}\n", fault(&format!("pub P: all_gather {{ {body} }}"), &flat(ranks)))
        })
        .concat();
    insta::assert_snapshot!(text);
}

#[test]
fn faults_of_headers_and_roles() {
    let cases = [
        "pub P: all_gather { split: ranks - 3; copy_in { scratch[0] = input; } }",
        "pub P: all_gather { scratch: ranks - 4; copy_in { scratch[0] = input; } }",
        "pub P: all_gather { scratch: locals_of(0) - ranks; copy_in { scratch[0] = input; } }",
        "pub P: broadcast { copy_in { scratch = input; } }",
        "pub P: send_recv { copy_in { scratch = input; } }",
        "pub P: all_gather { max_ranks: 2; copy_in { scratch[0] = input; } }",
    ];
    let text: String = cases.map(|source| format!("{source}\n    {}\n", fault(source, &flat(3)))).concat();
    insta::assert_snapshot!(text);
}

/// The front end refuses such a header; data that does not come from it is told by the evaluator.
#[test]
fn scratch_must_be_the_same_on_every_rank() {
    let mut spec = support::spec("pub P: all_gather { scratch: ranks; copy_in { scratch[0] = input; } }");
    for expr in &mut spec.exprs {
        if expr.kind == ExprKind::Name(Name::Ranks) {
            expr.kind = ExprKind::Name(Name::Locals);
        }
    }
    let shape = Shape::new(Layout::unequal(&[1, 2]).unwrap());
    let faults = spec.with_spec(|spec| instantiate(spec, &shape)).unwrap_err();
    assert_eq!(
        faults[0].to_string(),
        "H001: `scratch` is 1 on rank 0 and 2 on rank 1 of 3: it must be the same on every rank (help: make it depend \
         on what all ranks share: `ranks`, `nodes`, `root` …)"
    );
}
