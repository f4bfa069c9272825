//! What users see: wrong programs, one fault a file, and what the compiler says about each.
//!
//! After a change of a message, `TRYBUILD=overwrite cargo test -p hcomm --test ui` rewrites the `.stderr` files; look at
//! what they underline.
#![allow(clippy::unwrap_used, reason = "tests")]

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    // A case that must run makes trybuild build instead of check, so that nothing goes unseen.
    cases.pass("tests/pass/*.rs");
    let mut files: Vec<_> = std::fs::read_dir("tests/ui").unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".rs") && !name.starts_with("proof-") {
            cases.compile_fail(&file);
        }
    }
}

/// The proof itself: each is one slip in a program that is right otherwise.
#[test]
fn proof() {
    // No case that runs is among these, so all of them are compiled in one go.
    trybuild::TestCases::new().compile_fail("tests/ui/proof-*.rs");
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
