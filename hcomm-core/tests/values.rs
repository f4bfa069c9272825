//! What expressions are worth: the evaluator against Rust's own arithmetic, and every fault with its words.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use proptest::prelude::*;
use support::{at, fault, flat, written};

/// A program whose every rank writes the output chunk that an expression is worth.
fn program(expression: &str) -> String {
    format!("pub P: all_gather {{ split: 4096; copy_out {{ let x = {expression}; output[x] = scratch[0]; }} }}")
}

fn value(expression: &str) -> u32 {
    written(&at(&program(expression), &flat(4)).unwrap())[3][0]
}

#[test]
fn operators_have_rusts_precedence() {
    for (expression, expected) in [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 3 - 2", 5),
        ("1 << 2 + 1", 8),
        ("6 & 3 | 8", 10),
        ("6 ^ 3 & 1", 7),
        ("7 / 2 * 2", 6),
        ("7 % 4 + 1", 4),
        ("if 1 + 1 == 2 && !(3 < 2) { 5 } else { 6 }", 5),
        ("if false || true && false { 1 } else { 2 }", 2),
        ("-(-5)", 5),
        ("!0 + 2", 1),
        ("0x1f", 31),
        ("1_000", 1000),
        ("rank * 10 + ranks", 34),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn builtins() {
    for (expression, expected) in [
        ("min(3, 5) + max(3, 5)", 8),
        ("abs(-7)", 7),
        ("gcd(12, 18) + gcd(0, 5) + gcd(-4, 6)", 13),
        ("lcm(4, 6) + lcm(0, 7)", 12),
        ("if is_pow2(8) && !is_pow2(6) && !is_pow2(0) { 1 } else { 0 }", 1),
        ("log2_floor(1) + 10 * log2_floor(9)", 30),
        ("log2_ceil(1) + 10 * log2_ceil(9) + 100 * log2_ceil(8)", 340),
        ("pow2(0) + pow2(5)", 33),
        ("div_ceil(7, 2) + div_ceil(8, 2) + div_ceil(-7, 2) + 3", 8),
        ("wrap(-1, 4) * 10 + wrap(9, 4)", 31),
        ("rank_of(0, 2)", 2),
        ("locals_of(0)", 4),
        ("100 * node_of(3) + 10 * local_of(3) + pod_of(3)", 30),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn helpers_loop_and_recurse() {
    let source = "pub P: all_gather { split: 4096;
        fn sum(n) { let mut s = 0; for i in 0..n { if i == 7 { return 1000; } s += i; } s }
        fn fact(n) { if n < 2 { 1 } else { n * fact(n - 1) } }
        fn odd(n) { n % 2 == 1 }
        fn collatz(n) { let mut x = n; let mut steps = 0; while x != 1 { x = if odd(x) { 3 * x + 1 } else { x / 2 }; steps += 1; } steps }
        copy_out { output[sum(5)] = scratch[0]; output[sum(9)] = scratch[0]; output[fact(5)] = scratch[0]; output[collatz(27)] = scratch[0]; }
    }";
    assert_eq!(written(&at(source, &flat(2)).unwrap())[1], [10, 1000, 120, 111]);
}

#[test]
fn faults_say_what_where_and_with_which_numbers() {
    let cases = [
        "9223372036854775807 + rank",
        "1 / (rank - rank)",
        "7 % (rank - 1)",
        "1 << (60 + rank * 4)",
        "1 << (63 + rank)",
        "-(-9223372036854775807 - rank)",
        "wrap(rank, rank)",
        "log2_ceil(rank - 2)",
        "pow2(62 + rank)",
        "div_ceil(1, rank)",
        "rank_of(rank, rank)",
        "locals_of(rank)",
        "node_of(rank + 1)",
        "local_of(rank - 1)",
    ];
    let unused =
        |case: &str| format!("pub P: all_gather {{ copy_out {{ let x = {case}; output[0 & x] = scratch[0]; }} }}");
    let text: String = cases.map(|case| format!("{case}\n    {}\n", fault(&unused(case), &flat(4)))).concat();
    insta::assert_snapshot!(text);
}

#[test]
fn what_does_not_end_is_stopped() {
    let endless = "pub P: all_gather { let mut x = 0; while x < 1 { x = 0; } }";
    assert!(fault(endless, &flat(2)).contains("goes on without end"), "{}", fault(endless, &flat(2)));
    let helper = "pub P: all_gather { fn f(n) { let mut x = n; while true { x = 1 - x; } x } let y = f(0); copy_out { output[y] = scratch[0]; } }";
    assert!(fault(helper, &flat(2)).contains("goes on without end"), "{}", fault(helper, &flat(2)));
    let recursion = "pub P: all_gather { fn f(n) { f(n + 1) } let y = f(0); copy_out { output[y] = scratch[0]; } }";
    assert!(fault(recursion, &flat(2)).contains("nested too deeply"), "{}", fault(recursion, &flat(2)));
}

/// An expression as text and its value by Rust's own checked arithmetic.
#[derive(Clone, Debug)]
struct Sample {
    text: String,
    value: Option<i64>,
}

fn sample() -> impl Strategy<Value = Sample> {
    let leaf = prop_oneof![
        (0i64..100).prop_map(|n| Sample { text: n.to_string(), value: Some(n) }),
        Just(Sample { text: "i64max".into(), value: Some(i64::MAX) }),
        Just(Sample { text: "ranks".into(), value: Some(4) }),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let binary = (inner.clone(), inner.clone(), 0usize..10).prop_map(|(a, b, op)| {
            let sign = ["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^"][op];
            let shift = |b: i64| u32::try_from(b).ok().filter(|b| *b < 64);
            let value = a.value.zip(b.value).and_then(|(a, b)| match op {
                0 => a.checked_add(b),
                1 => a.checked_sub(b),
                2 => a.checked_mul(b),
                3 => a.checked_div(b),
                4 => a.checked_rem(b),
                5 => shift(b).map(|by| a << by).filter(|value| *value >> b == a),
                6 => shift(b).map(|by| a >> by),
                7 => Some(a & b),
                8 => Some(a | b),
                _ => Some(a ^ b),
            });
            Sample { text: format!("({} {sign} {})", a.text, b.text), value }
        });
        let unary = (inner.clone(), any::<bool>()).prop_map(|(a, not)| Sample {
            text: format!("{}({})", if not { "!" } else { "-" }, a.text),
            value: a.value.and_then(|a| if not { Some(!a) } else { a.checked_neg() }),
        });
        let wrap = (inner.clone(), inner).prop_map(|(a, b)| Sample {
            text: format!("wrap({}, {})", a.text, b.text),
            value: a.value.zip(b.value).and_then(|(a, b)| (b > 0).then(|| a.rem_euclid(b))),
        });
        prop_oneof![4 => binary, 1 => unary, 1 => wrap]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// An expression is worth what Rust says, and where Rust has no value there is a fault and no panic.
    #[test]
    fn expressions_are_worth_what_rust_says(sample in sample()) {
        let text = sample.text.replace("i64max", "9223372036854775807");
        match sample.value {
            Some(value) => prop_assert_eq!(self::value(&format!("if {text} == {} {{ 1 }} else {{ 0 }}", literal(value))), 1),
            None => prop_assert!(fault(&program(&text), &flat(4)).contains("H001"), "{}", text),
        }
    }
}

/// A literal of the language with that value: the most negative one has no name.
fn literal(value: i64) -> String {
    if value == i64::MIN { "(-9223372036854775807 - 1)".into() } else { format!("({value})") }
}
