//! What the parser makes of programs that are right.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{PROGRAMS, dump, tokens};

#[test]
fn programs_become_specs() {
    for (name, source) in PROGRAMS {
        let all = hcomm_lang::parse(tokens(source), "test.rs").unwrap_or_else(|error| panic!("{name}: {error}"));
        let [parsed] = &all[..] else { panic!("{name}: {} algorithms", all.len()) };
        assert!(parsed.sound);
        assert_eq!(parsed.spec.spans.len(), parsed.tokens.len());
        let mut text = parsed.spec.with_spec(dump);
        for budget in &parsed.const_budgets {
            text.push_str(&format!("const budget {:?} {}\n", budget.field, budget.limit));
        }
        for attr in &parsed.attrs {
            text.push_str(&format!("attribute {attr}\n"));
        }
        insta::assert_snapshot!(name, text);
    }
}
