//! What the front end says to programs that are wrong: each case is one mistake, underlined.

mod common;

use common::errors;

/// Statements of an algorithm of `operator`, one mistake each.
fn report(operator: &str, cases: &[&str]) -> String {
    let mut text = String::new();
    for case in cases {
        let found = errors(&format!("pub Wrong: {operator} {{\n{case}\n}}"));
        assert!(!found.is_empty(), "no error in {case}");
        text.push_str(&found);
        text.push_str("----\n");
    }
    text
}

#[test]
fn items() {
    let mut text = String::new();
    for source in [
        "",
        "pub Wrong { }",
        "pub Wrong: all_gather",
        "pub Wrong: { }",
        "pub fn: all_gather { }",
        "pub Wrong: all_gahter { }",
        "pub Wrong: scan { }",
        "pub Wrong: all_to_all_v { copy_in { scratch = input; } }",
        "# pub Wrong: all_gather { }",
        "pub Wrong: all_gather { } trailing",
        "A: all_gather { let x = nn; } B: barrier { let y = mm; }",
    ] {
        text.push_str(&errors(source));
        text.push_str("----\n");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn headers() {
    let text = report(
        "all_gather",
        &[
            "splitt: 2;",
            "colour: 2;",
            "split: 1; split: 2;",
            "split: rank;",
            "split: locals;",
            "split: root;",
            "split: x;",
            "split: rannks;",
            "split: true;",
            "split 2;",
            "scratch: ;",
            "memory: scratch;",
            "max_ranks: 0;",
            "max_ranks: 5000;",
            "max_ranks: ranks;",
            "max_ranks: 4; verify: ranks 2..=5;",
            "verify: ranks 0..=3;",
            "verify: ranks 5..=3;",
            "verify: ranks 2..=257;",
            "verify: 2..=8;",
            "verify: layout { };",
            "verify: layout { 2 y 3 };",
            "verify: layout { 2 x 0 };",
            "verify: layout { 100 x 100 };",
            "verify: layout { [3, 0] };",
            "verify: layout { 2 x 3 3 x 2 };",
            "engines: aicpu;",
            "memory: symmetric; engines: ai_cpu, aiv;",
            "engines: aiv, aiv;",
            "engines: ;",
            "budget: { thread: 4 };",
            "budget: { cores: 4 };",
            "budget: { threads: 4, threads: 5 };",
            "budget: { threads: LIMIT - 1 };",
            "budget: { threads: board::LIMIT - 1 };",
            "budget: { threads: 4 + };",
            "budget: { threads 4 };",
            "budget: 4;",
            "deterministic: true;",
            "copy_in { scratch[rank] = input; } split: 2;",
            "let a = 1; fn f() { 1 } let b = f();",
        ],
    );
    insta::assert_snapshot!(text);
}

#[test]
fn expressions() {
    let text = report(
        "all_gather",
        &[
            "let x = 1 +;",
            "let x = ;",
            "let x;",
            "let x = 1.5;",
            "let x = 1u32;",
            "let x = 99999999999999999999;",
            "let x = \"a\";",
            "let x = 3 as u8;",
            "let x = rank.min(3);",
            "let x = rank?;",
            "let x = (1, 2);",
            "let x = (1 2);",
            "let x = &rank;",
            "let x = |a| a;",
            "let x = { 1 };",
            "let x = match rank { };",
            "let x = std::cmp::max(1, 2);",
            "let x = max!(1, 2);",
            "let x = 1 < 2 < 3;",
            "let x = if rank == 0 { 1 };",
            "let x = if rank == 0 { 1 } else { true };",
            "let x = if rank == 0 { let y = 1; y } else { 2 };",
            "let x = if rank == 0 { 1; } else { 2 };",
            "let x = if rank { 1 } else { 2 };",
            "let x = rank + true;",
            "let x = (rank == 0) + 1;",
            "let x = rank && true;",
            "let x = -(rank == 0);",
            "let x = true == 1;",
            "let x = rannk;",
            "let chunk = 1; let x = chnuk;",
            "let x = LIMIT;",
            "let x = root;",
            "let x = src;",
            "let x = scratch;",
            "let x = scratch[0];",
            "let x = rank[0];",
            "let x = peers;",
            "let x = min;",
            "let x = min(1);",
            "let x = mim(1, 2);",
            "let x = frobnicate(1, 2);",
            "let x = rank(1);",
            "let x = at(1);",
            "let x = min(true, 1);",
            "let x = r#max;",
            "let x = _;",
            "let x = $;",
            "let x = 'a;",
        ],
    );
    insta::assert_snapshot!(text);
}

#[test]
fn variables() {
    let text = report(
        "all_gather",
        &[
            "let rank = 1;",
            "let scratch = 1;",
            "let min = 1;",
            "let peers = 1;",
            "let lane = 1;",
            "let fn = 1;",
            "let r#x = 1;",
            "let x: i64 = 1;",
            "let x = 1; x = 2;",
            "let x = 1; x += 2;",
            "for i in 0..2 { i = 1; }",
            "for rank in 0..2 { }",
            "y = 1;",
            "let mut delta = 1; detla = 2;",
            "rank = 1;",
            "let mut x = 1; x = true;",
            "let mut x = 1; x += true;",
            "let mut x = true; x += false;",
            "let mut x = 1; x = scratch[0];",
            "let mut x = 1; par for p in peers { x = p; }",
            "if true { let x = 1; } let y = x;",
        ],
    );
    insta::assert_snapshot!(text);
}

#[test]
fn statements() {
    let text = report(
        "all_gather",
        &[
            "let x = 1\nlet y = x;",
            "let x = 1",
            "let x = 1 let y = 2;",
            "for i in 3 { }",
            "for i in 0.. { }",
            "for i 0..3 { }",
            "for i in 0..3 copy_in { }",
            "while rank { }",
            "if rank { }",
            "if let x = 1 { }",
            "else { }",
            "loop { }",
            "break;",
            "rank + 1;",
            "rank + 1",
            "(rank) = 1;",
            "return 1;",
            "3",
            "lane { }",
            "par { copy_in { } }",
            "par { }",
            "par { lane for x { } }",
            "par for a in peers { par for b in peers { } }",
            "par { lane { for i in 0..2 { par for b in peers { } } } }",
            "move { par for b in peers { } }",
            "move { copy_in { } }",
            "copy_in",
            "copy_in { scratch = input }",
            "let a = b1; let c = d1;",
        ],
    );
    insta::assert_snapshot!(text);
}

#[test]
fn phases() {
    let text = report(
        "all_gather",
        &[
            "scratch = input;",
            "for p in peers { p.scratch = scratch; }",
            "output = scratch;",
            "signal rank;",
            "wait rank;",
            "move { signal at(rank + 1); }",
            "copy_in { wait at(rank + 1); }",
            "pre_sync { scratch = input; }",
            "copy_in { scratch = output; }",
            "copy_in { at(1).scratch = input; }",
            "copy_in { scratch += input; }",
            "copy_out { scratch = input; }",
            "copy_out { output = at(1).scratch; }",
            "move { input = scratch; }",
            "move { at(1).scratch = at(2).scratch; }",
            "move { at(1).output = scratch; }",
            "move { scratch = at(1).input; }",
            "move { scratch[0] += scratch[1]; }",
            "move { scratch[0] -= scratch[1]; }",
            "move { scratch[0] = 1; }",
            "move { scratch[0]; }",
            "move { scratch[..2] = scratch[0..2]; }",
            "move { scratch[0..] = scratch[0..2]; }",
            "move { scratch[0][1] = scratch[0]; }",
            "move { scratch[true] = scratch[0]; }",
            "move { at(1).buffer = scratch[0]; }",
            "move { scratch[0] = rank.scratch.scratch; }",
            "pre_sync { signal rank + 1; }",
            "pre_sync { signal wrap(rank + 1, ranks); }",
            "pre_sync { signal 1; }",
            "pre_sync { signal true; }",
            "pre_sync { signal peers; }",
            "pre_sync { signal at(true); }",
            "pre_sync { signal at(1).scratch; }",
            "pre_sync { signal at(1).; }",
            "pre_sync { signal pere; }",
        ],
    );
    insta::assert_snapshot!(text);
}

#[test]
fn helper_functions() {
    let text = report(
        "all_gather",
        &[
            "fn f(a) { a + rank }",
            "fn f(a) { for p in peers { } 1 }",
            "fn f(a) { copy_in { } 1 }",
            "fn f(a) { }",
            "fn f(a) { if a > 0 { 1 } }",
            "fn f(a) { if a > 0 { 1 } a }",
            "fn f(a) { if a > 0 { return true; } a }",
            "fn f(a: i64) { a }",
            "fn f(a) -> i64 { a }",
            "fn f(a, a) { a }",
            "fn f(mut a) { a }",
            "fn f(a) { a = 1; a }",
            "fn f(a b) { 1 }",
            "fn min(a) { a }",
            "fn rank(a) { a }",
            "fn f(a) { a } fn f(b) { b }",
            "fn f(a) { a } let x = f(1, 2);",
            "fn f(a) { a } let x = f;",
            "fn half(a) { a / 2 } let x = hafl(1);",
            "fn f(a) { g(a) } fn g(a) { a == 1 } let x = f(1) + 1;",
            "fn f(a) { 1 + }",
            "fn (a) { 1 }",
            "fn f { 1 }",
        ],
    );
    insta::assert_snapshot!(text);
}

#[test]
fn limits() {
    let many_terms = format!("let x = 0{};", " + 1".repeat(64));
    let parentheses = format!("let x = {}0{};", "(".repeat(65), ")".repeat(65));
    let signs = format!("let x = {}0;", "-".repeat(65));
    let blocks = format!("{}{}", "if true { ".repeat(33), "}".repeat(33));
    let else_ifs = format!("if true {{ }}{}", " else if true { }".repeat(33));
    let variables = "let x = 1;\n".repeat(65);
    let signals: String = (0..65).map(|i| format!("signal at(1).n{i};\n")).collect();
    let notifies = format!("pre_sync {{ {signals} }}");
    let functions: String = (0..65).map(|i| format!("fn f{i}() {{ 1 }}\n")).collect();
    let brackets = format!("{}{}", "[".repeat(400), "]".repeat(400));
    let cases = [many_terms, parentheses, signs, blocks, else_ifs, variables, notifies, functions, brackets];
    let text = report("all_gather", &cases.each_ref().map(String::as_str));
    // What matters is the place and the number, not the long lines.
    let text: String = text.lines().map(|line| line.chars().take(100).collect::<String>() + "\n").collect();
    insta::assert_snapshot!(text);
}

/// What the parser lets through, the evaluator can follow: the limits of both are the same.
#[test]
fn what_is_within_the_limits_is_accepted_and_evaluated() {
    let many_terms = format!("let x = 0{};", " + 1".repeat(63));
    let parentheses = format!("let x = {}0{};", "(1 + ".repeat(62), ")".repeat(62));
    let signs = format!("let x = {}1;", "-".repeat(63));
    let blocks = format!("{} let x = 1; {}", "if true { ".repeat(32), "}".repeat(32));
    let lanes = format!("{} par {{ lane {{ let x = 1; }} }} {}", "if true { ".repeat(31), "}".repeat(31));
    let variables = "let x = 1;\n".repeat(64);
    let calls = "fn f(n) { if n < 1 { 0 } else { 1 + f(n - 1) } } let x = f(20);".to_owned();
    for case in [many_terms, parentheses, signs, blocks, lanes, variables, calls] {
        let found = errors(&format!("pub Right: barrier {{\n{case}\n}}"));
        assert!(found.is_empty(), "{found}");
        let expanded = hcomm_lang::expand(common::tokens(&format!("pub Right: barrier {{\n{case}\n}}"))).to_string();
        // A barrier that does not wait for anybody is wrong, but not beyond a limit.
        assert!(!expanded.contains("deep") && !expanded.contains("H001"), "{case}: {expanded}");
    }
}

#[test]
fn an_error_does_not_drag_others_along() {
    // The name of a `let` whose value is wrong, the function whose parameters are wrong, and the operator that is
    // wrong are known all the same.
    for case in [
        "pub Wrong: all_gather { let x = 1 +; let y = x + 1; }",
        "pub Wrong: all_gather { fn f(a b) { 1 } let y = f(1, 2); }",
        "pub Wrong: all_gahter { let y = root; move { scratch[0] += scratch[1]; } }",
        "pub Wrong: all_gather { let x = true + 1; let y = x + 1; }",
        "pub Wrong: all_gather { let y = frobnicate(1) && nothing(2) && 3; }",
    ] {
        let expected = if case.contains("nothing") { 3 } else { 1 };
        assert_eq!(errors(case).matches("H001").count(), expected, "{}", errors(case));
    }
}
