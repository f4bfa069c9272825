//! What the parser makes of programs that are right.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{PROGRAMS, dump, tokens};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

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

/// What `macro_rules!` makes of `$e:expr` keeps its place in the order of operations.
#[test]
fn an_interpolated_expression_is_one_operand() {
    for (inner, expected) in [("-1 + rank", "(2 Mul (Neg(1) Add rank))"), ("1 + rank", "(2 Mul (1 Add rank))")] {
        let group = TokenTree::Group(Group::new(Delimiter::None, tokens(inner)));
        let body: TokenStream = tokens("let x = 2 *").into_iter().chain([group]).chain(tokens(";")).collect();
        let braces = TokenTree::Group(Group::new(Delimiter::Brace, body));
        let program: TokenStream = tokens("X: barrier").into_iter().chain([braces]).collect();
        let parsed = hcomm_lang::parse(program, "test.rs").unwrap();
        let text = parsed[0].spec.with_spec(dump);
        assert!(text.contains(&format!("x#0 = {expected}")), "{text}");
    }
}

#[test]
fn documentation_and_attributes_are_kept() {
    let source = "/// One\n///\n///   two\n#[must_use] #[doc(hidden)] pub(in crate::a) X: barrier { }";
    let parsed = hcomm_lang::parse(tokens(source), "test.rs").unwrap();
    assert_eq!(parsed[0].spec.doc, "One\n\n  two");
    assert_eq!(parsed[0].doc_attrs.len(), 3);
    let attrs: Vec<String> = parsed[0].attrs.iter().map(ToString::to_string).collect();
    assert_eq!(attrs, ["# [must_use]", "# [doc (hidden)]"]);
    assert_eq!(parsed[0].vis.to_string(), "pub (in crate :: a)");
}
