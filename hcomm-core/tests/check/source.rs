//! Slips of the pen in the library's own text: each has to be found, and told in a way that leads to it.

use std::path::Path;

use hcomm_core::check::{Report, report};
use hcomm_core::diag::Diagnostic;
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu::lower;
use hcomm_core::program::Program;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::verify::verify;

use crate::oracle::{Truth, truth};
use crate::reject::told;

/// What is between the braces of `collective!` of an algorithm of each kind in the library, by name.
fn library() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hcomm-algos/src");
    let files = [
        "all_gather/mesh",
        "all_gather/nhr",
        "all_gather/ring",
        "all_reduce/one_shot",
        "all_reduce/ring",
        "send_recv/read",
    ];
    let inside = |file: &&str| {
        let text = std::fs::read_to_string(folder.join(file).with_extension("rs")).unwrap();
        let body = text.split_once("collective! {\n").unwrap().1.rsplit_once('}').unwrap().0;
        let (operator, kind) = file.split_once('/').unwrap();
        (format!("{kind}_{operator}"), body.to_owned())
    };
    files.iter().map(inside).collect()
}

/// Everything wrong with the algorithm. None if it is none.
fn faults(text: &str) -> Option<Vec<Diagnostic>> {
    let tokens = text.parse().ok()?;
    let parsed = hcomm_lang::parse(tokens, "library.rs").ok()?;
    Some(parsed[0].spec.with_spec(verify))
}

/// Each slip: what was done, and the text after it.
fn slips(text: &str) -> Vec<(String, String)> {
    let mut slips = Vec::new();
    let line_of = |at: usize| text[..at].matches('\n').count() + 1;
    for word in ["signal ", "wait "] {
        for (at, _) in text.match_indices(word).filter(|(at, _)| !text[..*at].ends_with("//")) {
            let Some(end) = text[at..].find(';') else { continue };
            if text[at..at + end].contains('\n') {
                continue;
            }
            let without = format!("{}{}", &text[..at], &text[at + end + 1..]);
            slips.push((format!("line {}: no `{}`", line_of(at), &text[at..=at + end]), without));
        }
    }
    for (open, _) in text.match_indices('[') {
        let Some(length) = text[open..].find(']') else { continue };
        let index = &text[open + 1..open + length];
        if index.contains("..") {
            continue;
        }
        for other in [format!("{index} + 1"), format!("{index} - 1"), format!("wrap({index} + 1, ranks)")] {
            let shifted = format!("{}[{other}{}", &text[..open], &text[open + length..]);
            slips.push((format!("line {}: `[{index}]` is `[{other}]`", line_of(open)), shifted));
        }
    }
    let phases = ["copy_in ", "pre_sync ", "move ", "post_sync ", "copy_out "];
    let starts: Vec<usize> = text.match_indices('{').map(|(at, _)| at).collect();
    let mut blocks: Vec<(usize, usize)> = Vec::new();
    for phase in phases {
        for (at, _) in text.match_indices(phase).filter(|(at, _)| text[..*at].ends_with([' ', '\n'])) {
            let Some(&open) = starts.iter().find(|&&open| open > at) else { continue };
            if !text[at + phase.len()..open].trim().is_empty() {
                continue;
            }
            let mut depth = 0;
            let close = text[open..].char_indices().find(|&(_, c)| {
                depth += i32::from(c == '{') - i32::from(c == '}');
                depth == 0
            });
            blocks.push((at, open + close.unwrap().0 + 1));
        }
    }
    blocks.sort_unstable();
    for pair in blocks.windows(2) {
        let [(a, a_end), (b, b_end)] = [pair[0], pair[1]];
        if text[a_end..b].trim().is_empty() {
            let swapped = [&text[..a], &text[b..b_end], &text[a_end..b], &text[a..a_end], &text[b_end..]].concat();
            slips.push((format!("line {}: two phases swapped", line_of(a)), swapped));
        }
    }
    slips
}

/// The programs of an algorithm at a few ranks.
fn programs(text: &str) -> Vec<Program> {
    let parsed = hcomm_lang::parse(text.parse().unwrap(), "library.rs").unwrap();
    parsed[0].spec.with_spec(|spec| {
        let shapes = [2, 3, 4].map(|ranks| Shape::new(Layout::flat(ranks).unwrap()));
        shapes.iter().map(|shape| lower(&instantiate(spec, shape).unwrap())).collect()
    })
}

#[test]
fn every_slip_is_found() {
    let (mut text, mut count, mut harmless) = (String::new(), 0, Vec::new());
    for (name, body) in library() {
        assert_eq!(faults(&body).map(|found| told(&found)), Some(String::new()), "{name}");
        for (slip, body) in slips(&body) {
            let found = faults(&body).unwrap();
            if found.is_empty() {
                // Then no interleaving does any harm.
                for program in programs(&body) {
                    let truth = truth(&program, 2_000, 200);
                    assert!(!matches!(truth, Truth::Harmful(_)), "{name}, {slip}: {truth:?}");
                }
                harmless.push(format!("{name}, {slip}"));
            }
            count += 1;
            text += &format!("## {name}, {slip}\n{}\n", told(&found));
        }
    }
    assert!(count > 80, "{count}");
    insta::assert_snapshot!(text);
    insta::assert_snapshot!(harmless.join("\n"));
}

#[test]
fn the_library_holds_at_many_ranks() {
    for (name, body) in library() {
        let parsed = hcomm_lang::parse(body.parse().unwrap(), "library.rs").unwrap();
        for ranks in (2..=20).chain([31, 32, 33, 48, 63, 64]) {
            parsed[0].spec.with_spec(|spec| {
                let mut shape = Some(Shape::first_roles(Layout::flat(ranks).unwrap()));
                while let Some(roles) = shape {
                    let report = report(&lower(&instantiate(spec, &roles).unwrap()));
                    assert_eq!(report, Report::default(), "{name} at {ranks} ranks");
                    shape = roles.next_roles(spec.operator);
                }
            });
        }
    }
}
