//! AIV programs from hostile files: whatever they say, reading, checking and running end with an answer.
#![allow(clippy::unwrap_used, reason = "tests")]

use hcomm_algos::LIBRARY;
use hcomm_core::aiv::{self, Op, OpKind, Options, Program, UnifiedBuffer};
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::instance::instantiate;
use hcomm_core::product::Product;
use hcomm_core::shape::{Layout, Shape};
use hcomm_sim::Config;

fn program(name: &str, ranks: u32, blocks: u32) -> Program {
    let spec = LIBRARY.iter().find(|spec| spec.snake == name).unwrap();
    aiv::lower(&instantiate(spec, &Shape::new(Layout::flat(ranks).unwrap())).unwrap(), blocks).unwrap()
}

/// Checks, lists, runs: none of it panics.
fn survive(program: &Program) {
    let found = aiv::check(program, &Options { cores: Some(2) });
    let _ = program.to_string();
    for product in Product::ALL {
        let _ = aiv::admits(product, program, DataType::Int64, ReduceOp::Max);
    }
    let config = Config::new(33, DataType::Int16).operation_limit(100_000).memory_limit(1 << 24);
    if let Ok(report) = hcomm_sim::aiv::run(program, &config.hccl_buffer(1 << 20)) {
        // With a core for each block, what is proven runs.
        let proven = aiv::check(program, &Options::default()).is_empty();
        assert!(!proven || report.ok(), "{report}{found:?}");
    }
}

/// The texts with every number replaced, one at a time, by numbers at the ends of what there is.
#[test]
fn numbers_of_a_file_may_be_any() {
    for (name, blocks) in [("mesh_all_gather", 2), ("ring_all_reduce", 2)] {
        let text = program(name, 2, blocks).to_json();
        let digits: Vec<usize> = text.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at).collect();
        let mut read = 0;
        for at in digits.into_iter().filter(|at| !text.as_bytes()[at - 1].is_ascii_digit()) {
            let end = text[at..].find(|c: char| !c.is_ascii_digit()).unwrap() + at;
            for number in
                ["0", "1", "2", "48", "67108864", "2147483648", "4294967295", "-1", "1e9", "99999999999999999999"]
            {
                let mutant = format!("{}{number}{}", &text[..at], &text[end..]);
                if let Ok(program) = Program::from_json(&mutant) {
                    read += 1;
                    survive(&program);
                }
            }
        }
        assert!(read > 100);
    }
}

/// Texts cut off and with letters changed.
#[test]
fn any_text_is_answered() {
    let text = program("one_shot_all_reduce", 2, 2).to_json();
    let mut state = 1u64;
    for _ in 0..400 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut bytes = text.clone().into_bytes();
        let at = (state >> 33) as usize % bytes.len();
        bytes[at] = b"0123456789{}[],:\"x"[(state >> 20) as usize % 18];
        if state & 1 == 0 {
            bytes.truncate(at);
        }
        if let Ok(program) = Program::from_json(&String::from_utf8_lossy(&bytes)) {
            survive(&program);
        }
    }
    for wrong in
        ["", "{}", "[]", "null", "{\"schema\":\"hcomm.program/1\"}", &text.replace("hcomm.aiv/1", "hcomm.aiv/9")]
    {
        let error = Program::from_json(wrong).unwrap_err();
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn the_unified_buffer_is_finite() {
    let good = program("mesh_all_gather", 2, 2);
    for (piece, buffers, fits) in [
        (190 << 10, 1, true),
        (95 << 10, 2, true),
        (190 << 10, 2, false),
        (96 << 10, 2, false),
        (0, 1, false),
        (33, 1, false),
    ] {
        let program = Program { ub: UnifiedBuffer { piece, buffers }, ..good.clone() };
        let found = aiv::check(&program, &Options::default());
        assert_eq!(found.is_empty(), fits, "{piece} {buffers}: {found:?}");
        assert_eq!(hcomm_sim::aiv::run(&program, &Config::new(100, DataType::Int8)).is_ok(), fits);
    }
}

/// Each of what only kernels get wrong, by the checks and by a run.
#[test]
fn faults_of_kernels_are_told_by_their_code() {
    let good = program("one_shot_all_reduce", 3, 3);
    let told = |program: &Program| {
        let found: Vec<String> =
            aiv::check(program, &Options::default()).iter().map(|fault| fault.code.to_string()).collect();
        let report = hcomm_sim::aiv::run(program, &Config::new(37, DataType::Int32).repeat(2)).unwrap();
        (found, report)
    };
    let without = |kind: OpKind| {
        let mut program = good.clone();
        let blocks = program.ranks.iter_mut().flat_map(|rank| &mut rank.blocks);
        blocks.for_each(|ops| ops.retain(|op| op.kind != kind));
        program
    };
    let (found, report) = told(&without(OpKind::SetAtomicNone));
    assert!(found.contains(&"H402".into()) && !report.atomic.is_empty(), "{found:?} {report}");
    let (found, report) = told(&without(OpKind::PipeBarrier));
    assert!(found.contains(&"H201".into()) && !report.ok(), "{found:?} {report}");
    let (found, report) = told(&without(OpKind::SyncAll));
    assert!(found.contains(&"H201".into()) && !report.ok(), "{found:?} {report}");
    let mut plain = good.clone();
    for op in plain.ranks.iter_mut().flat_map(|rank| &mut rank.blocks).flatten() {
        if let OpKind::Copy(copy) = &mut op.kind {
            copy.padded = false;
        }
    }
    let (found, report) = told(&plain);
    assert!(found.iter().all(|code| code == "H402") && !report.misaligned.is_empty(), "{found:?} {report}");
    let whole = hcomm_sim::aiv::run(&plain, &Config::new(64, DataType::Int32)).unwrap();
    assert!(whole.misaligned.is_empty(), "64 int32 are whole blocks of 32 bytes: {whole}");
}

/// 64-bit integers are reduced by load and store: one owner at a time.
#[test]
fn unordered_64_bit_reductions_are_refused() {
    let ordered = program("one_shot_all_reduce", 3, 3);
    assert_eq!(aiv::admits(Product::A950, &ordered, DataType::Int64, ReduceOp::Sum), Ok(()));
    let mut shared = ordered;
    // Two blocks reduce into one chunk, with nothing between them.
    for rank in &mut shared.ranks {
        let ops = std::mem::take(&mut rank.blocks[0]);
        let modes: Vec<usize> = (0..ops.len()).filter(|at| ops[*at].kind == OpKind::SetAtomic).collect();
        let reduction = |number: usize| ops[modes[number]..modes[number] + 3].iter().copied();
        let meet = [OpKind::SyncAll, OpKind::PipeBarrier].map(|kind| Op { kind, at: ops[0].at });
        rank.blocks[0] = ops[..modes[0]].iter().copied().chain(meet).chain(reduction(0)).collect();
        rank.blocks[1].extend(meet.into_iter().chain(reduction(1)));
        rank.blocks[2].extend(meet);
    }
    // The algorithm's own promise of an order would refuse it for any type.
    shared.frame.deterministic = false;
    let refused = aiv::admits(Product::A950, &shared, DataType::Int64, ReduceOp::Sum);
    let fault = refused.unwrap_err();
    assert_eq!(fault.code.to_string(), "H402", "{fault}");
    assert!(fault.message.contains("not reduced atomically"), "{fault}");
    assert_eq!(aiv::admits(Product::A950, &shared, DataType::Int32, ReduceOp::Sum), Ok(()));
    assert_eq!(aiv::check(&shared, &Options::default()), []);
}
