//! Any text that Rust's lexer takes: the parser has an answer, and the answer has places.
#![no_main]

use std::str::FromStr;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(tokens) = proc_macro2::TokenStream::from_str(text) else { return };
    let (all, errors) = hcomm_lang::parse_all(tokens, "fuzz.rs");
    for parsed in &all {
        assert_eq!(parsed.spec.spans.len(), parsed.tokens.len());
        assert!(parsed.sound || errors.is_some());
    }
    // The source map of the lexer grows with every text.
    proc_macro2::extra::invalidate_current_thread_spans();
});
