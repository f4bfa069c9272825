//! `docs/algorithms.md` is what the doc comments say. `UPDATE_DOCS=1 cargo test -p hcomm-algos --test docs` writes it.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write;
use std::path::Path;

use hcomm_algos::LIBRARY;
use hcomm_core::operator::Operator;
use hcomm_core::spec::{Spec, Verify};

const HEAD: &str = "\
# Algorithms

The library, by operator. This page is generated from the doc comments of the algorithms
(`UPDATE_DOCS=1 cargo test -p hcomm-algos --test docs`); each of them is one file in `hcomm-algos/src`.

In costs, α is the latency of a step, β the time of a byte on a link and γ the time of reducing a byte; n are the bytes of
the message (of the larger buffer) and p the ranks. Steps that use several links at once count once. The steps and bytes
are those of the task graph: `hcomm-algos/tests/cost.rs` compares them.
";

/// The paragraphs of a doc comment, each on one line.
fn paragraphs(doc: &str) -> Vec<String> {
    doc.split("\n\n").map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The first sentence, the cost and when to use it, and the source.
fn parts(spec: &Spec<'_>) -> (String, String, String) {
    let doc: Vec<String> = paragraphs(spec.doc);
    let idea = doc[0].clone();
    let last = doc.last().unwrap();
    let (cost, source) = last.split_once(" Source: ").unwrap_or_else(|| panic!("{} has no source: {last}", spec.snake));
    assert!(cost.starts_with("Cost"), "{} has no cost: {cost}", spec.snake);
    (idea, cost.trim_start_matches("Cost:").trim().to_owned(), source.to_owned())
}

fn layouts(spec: &Spec<'_>) -> String {
    match spec.headers.verify {
        Verify::Ranks(..) => "any ranks".to_owned(),
        Verify::Layouts(layouts) if layouts.iter().any(|layout| !layout.is_equal()) => "nodes of any sizes".to_owned(),
        Verify::Layouts(_) if spec.snake.starts_with("three_level") => "pods of equal nodes".to_owned(),
        Verify::Layouts(_) => "equal nodes".to_owned(),
    }
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for operator in Operator::ALL {
        let all: Vec<_> = LIBRARY.iter().filter(|spec| spec.operator == operator).collect();
        assert!(!all.is_empty(), "{operator} has no algorithm");
        writeln!(
            page,
            "\n## {operator}\n\n| algorithm | idea | cost and use | ranks | source |\n| --- | --- | --- | --- | --- |"
        )
        .unwrap();
        for spec in all {
            let (idea, cost, source) = parts(spec);
            writeln!(page, "| `{}` | {idea} | {cost} | {} | {source} |", spec.snake, layouts(spec)).unwrap();
        }
    }
    page
}

#[test]
fn the_table_of_algorithms_is_generated() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/algorithms.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, page()).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == page(), "docs/algorithms.md is not up to date: run with UPDATE_DOCS=1");
}

/// `hcomm list` shows the first sentence, up to a colon, on one line.
#[test]
fn ideas_are_short() {
    for spec in LIBRARY {
        let (idea, _, _) = parts(spec);
        let end = idea.find(". ").into_iter().chain(idea.find(": ")).min().unwrap_or(idea.len());
        assert!(end <= 80, "{}: `{}` is too long for a list", spec.snake, &idea[..end]);
    }
}
