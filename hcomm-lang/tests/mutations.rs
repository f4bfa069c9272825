//! Programs with tokens deleted, doubled, swapped and replaced: whatever comes of it, there is an answer.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{PROGRAMS, tokens};
use hcomm_core::shape::{Layout, Shape};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use proptest::prelude::*;

/// One change of a program's tokens, in the order of the text.
#[derive(Clone, Debug)]
enum Change {
    Delete(prop::sample::Index),
    Double(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Replace(prop::sample::Index, &'static str),
    Unwrap(prop::sample::Index),
}

const WORDS: [&str; 34] = [
    "rank",
    "ranks",
    "root",
    "scratch",
    "input",
    "output",
    "peers",
    "at(1)",
    "if",
    "else",
    "par",
    "lane",
    "let",
    "mut",
    "fn",
    "for",
    "in",
    "move",
    "copy_in",
    "signal",
    "wait",
    "0",
    "9999999999",
    "1.5",
    "\"a\"",
    "-",
    "!",
    "..",
    "+=",
    ";",
    ":",
    "{ }",
    "( 1 )",
    "[ 2 ]",
];

fn change() -> impl Strategy<Value = Change> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        place().prop_map(Change::Delete),
        place().prop_map(Change::Double),
        (place(), place()).prop_map(|(a, b)| Change::Swap(a, b)),
        (place(), prop::sample::select(&WORDS[..])).prop_map(|(at, word)| Change::Replace(at, word)),
        place().prop_map(Change::Unwrap),
    ]
}

/// All trees of a stream in the order of the text, groups before what is in them.
fn count(stream: &TokenStream) -> usize {
    stream
        .clone()
        .into_iter()
        .map(|tree| 1 + if let TokenTree::Group(group) = tree { count(&group.stream()) } else { 0 })
        .sum()
}

fn nth(stream: &TokenStream, at: &mut usize) -> Option<TokenTree> {
    for tree in stream.clone() {
        if *at == 0 {
            return Some(tree);
        }
        *at -= 1;
        if let TokenTree::Group(group) = &tree
            && let Some(found) = nth(&group.stream(), at)
        {
            return Some(found);
        }
    }
    None
}

/// Puts `edit` of the tree at `at` in its place.
fn edited(
    stream: TokenStream,
    at: &mut Option<usize>,
    edit: &mut dyn FnMut(TokenTree) -> Vec<TokenTree>,
) -> TokenStream {
    let mut result = Vec::new();
    for tree in stream {
        match at {
            Some(0) => {
                *at = None;
                result.extend(edit(tree));
            }
            Some(left) => {
                *left -= 1;
                match tree {
                    TokenTree::Group(group) => {
                        let mut inner = Group::new(group.delimiter(), edited(group.stream(), at, edit));
                        inner.set_span(group.span());
                        result.push(TokenTree::Group(inner));
                    }
                    other => result.push(other),
                }
            }
            None => result.push(tree),
        }
    }
    result.into_iter().collect()
}

fn apply(stream: TokenStream, change: &Change) -> TokenStream {
    let all = count(&stream);
    if all == 0 {
        return stream;
    }
    let edit =
        |at: usize, edit: &mut dyn FnMut(TokenTree) -> Vec<TokenTree>| edited(stream.clone(), &mut Some(at), edit);
    match change {
        Change::Delete(at) => edit(at.index(all), &mut |_| Vec::new()),
        Change::Double(at) => edit(at.index(all), &mut |tree| vec![tree.clone(), tree]),
        Change::Swap(a, b) => {
            let (a, b) = (a.index(all), b.index(all));
            let (left, right) = (nth(&stream, &mut a.clone()).unwrap(), nth(&stream, &mut b.clone()).unwrap());
            // Either may hold the other: the copies keep the program's size bounded all the same.
            let swapped = edit(a, &mut |_| vec![right.clone()]);
            let all = count(&swapped);
            edited(swapped, &mut Some(b.min(all - 1)), &mut |_| vec![left.clone()])
        }
        Change::Replace(at, word) => edit(at.index(all), &mut |_| tokens(word).into_iter().collect()),
        Change::Unwrap(at) => edit(at.index(all), &mut |tree| match tree {
            TokenTree::Group(group) if group.delimiter() != Delimiter::None => group.stream().into_iter().collect(),
            other => vec![other],
        }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_mutation_has_an_answer(program in 0..PROGRAMS.len(), changes in prop::collection::vec(change(), 1..6)) {
        let mutated = changes.iter().fold(tokens(PROGRAMS[program].1), apply);
        let (all, errors) = hcomm_lang::parse_all(mutated, "test.rs");
        for error in errors.iter().flatten() {
            let text = error.to_string();
            prop_assert!(text.starts_with("H001: ") || text.starts_with("H304: "), "{}", text);
        }
        for parsed in all {
            prop_assert!(parsed.sound || errors.is_some());
            prop_assert_eq!(parsed.spec.spans.len(), parsed.tokens.len());
            if parsed.sound {
                // A sound spec is well formed: the evaluator has no complaint of that kind.
                let shape = Shape::new(Layout::flat(3).unwrap());
                let faults = parsed.spec.with_spec(|spec| hcomm_core::verify::shape_faults(spec, &shape));
                for fault in faults {
                    prop_assert!(!fault.message.contains("not well formed"), "{}", fault);
                }
            }
        }
    }
}
