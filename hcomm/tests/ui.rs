//! What users see: wrong programs, one fault a file, and what the compiler says about each.
//!
//! After a change of a message, `TRYBUILD=overwrite cargo test -p hcomm --test ui` rewrites the `.stderr` files; look at
//! what they underline.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    // A case that must run makes trybuild build instead of check, so that nothing goes unseen.
    cases.pass("tests/pass/*.rs");
    cases.compile_fail("tests/ui/*.rs");
}
