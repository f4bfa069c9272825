//! What users see: wrong programs, one fault a file, and what the compiler says about each.
//!
//! After a change of a message, `TRYBUILD=overwrite cargo test -p hcomm --test ui` rewrites the `.stderr` files; look at
//! what they underline.
#![allow(clippy::unwrap_used, reason = "tests")]

#[test]
fn ui() {
    // No case that runs is among these, so all of them are checked in one go.
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

/// What is found only when a program is built, and programs that are right.
#[test]
fn built() {
    let cases = trybuild::TestCases::new();
    // A case that must run makes trybuild build instead of check.
    cases.pass("tests/pass/*.rs");
    cases.compile_fail("tests/built/*.rs");
}

/// `docs/checks.md` quotes what the compiler says.
#[test]
fn the_messages_in_the_docs_are_those_of_the_compiler() {
    let page = std::fs::read_to_string("../docs/checks.md").unwrap();
    let files = std::fs::read_dir("tests/ui").unwrap().map(|entry| entry.unwrap().path());
    let said: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "stderr"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let quotes: Vec<&str> = page.split("```text\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(quotes.len() > 8, "{}", quotes.len());
    for quote in quotes {
        assert!(said.iter().any(|message| message.contains(quote)), "the compiler does not say:\n{quote}");
    }
}
