//! What is said of blocks: every message that mutants get, once for each wording.

use std::collections::BTreeMap;

use hcomm_algos::LIBRARY;
use hcomm_core::aiv::{self, Options, Tags};
use hcomm_core::diag::Diagnostic;
use hcomm_core::instance::instantiate;
use hcomm_core::shape::{Layout, Shape};

use crate::change::mutants;

/// A message without its numbers.
fn wording(text: &str) -> String {
    let mut wording = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if wording.ends_with('#') => {}
            '0'..='9' => wording.push('#'),
            _ => wording.push(c),
        }
    }
    for name in ["input", "output", "scratch"] {
        wording = wording.replace(name, "BUFFER");
    }
    for name in ["ready", "done"] {
        wording = wording.replace(name, "FLAG");
    }
    wording
}

fn whole(fault: &Diagnostic) -> String {
    let mut text = format!("{}: {}\n", fault.code, fault.message);
    for related in &fault.related {
        text += &format!("    {}\n", related.message);
    }
    if let Some(help) = &fault.help {
        text += &format!("  help: {help}\n");
    }
    text
}

#[test]
fn every_wording() {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    let mut add = |fault: &Diagnostic| {
        all.entry(format!("{} {}", fault.code, wording(&fault.message))).or_insert_with(|| whole(fault));
    };
    for (name, ranks, blocks) in [
        ("mesh_all_gather", 3, 4),
        ("one_shot_all_reduce", 2, 2),
        ("mesh_reduce", 3, 3),
        ("mesh_all_gather", 2, 3),
        ("ring_all_reduce", 2, 1),
        ("bounded_mesh_all_gather", 4, 2),
        ("dissemination_barrier", 3, 1),
        ("dissemination_barrier", 3, 2),
    ] {
        let spec = LIBRARY.iter().find(|spec| spec.snake == name).unwrap();
        let instance = instantiate(spec, &Shape::new(Layout::flat(ranks).unwrap())).unwrap();
        let mut program = aiv::lower(&instance, blocks).unwrap();
        for (_, mutant) in mutants(&program) {
            let report = aiv::report(&mutant, &Options::default());
            report.diagnostics.iter().chain(&report.in_place).for_each(&mut add);
        }
        aiv::check(&program, &Options { cores: Some(1) }).iter().for_each(&mut add);
        program.tags = Tags::Constant;
        aiv::check(&program, &Options::default()).iter().for_each(&mut add);
    }
    let text: Vec<String> = all.into_values().collect();
    assert!(!text.iter().any(|message| message.contains("thread") || message.contains("hread ")), "{text:#?}");
    insta::assert_snapshot!(text.join("\n"));
}
