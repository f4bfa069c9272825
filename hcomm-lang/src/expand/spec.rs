//! A [`SpecBuf`] as a constant expression.
//!
//! In a block of its own, so that its `use` is seen by nobody else and every element is a few tokens.

use hcomm_core::spec::SpecBuf;
use proc_macro2::TokenStream;
use quote::quote;

use super::emit::Emit;

/// The constant.
pub(super) fn spec(spec: &SpecBuf) -> TokenStream {
    let SpecBuf { name, snake, doc, symmetric, deterministic, lists, notifies, vars, .. } = spec;
    let (operator, body) = (spec.operator.emit(), spec.body.emit());
    let (split, scratch, max_ranks) = (spec.split.emit(), spec.scratch.emit(), spec.max_ranks.emit());
    let (budget, engines) = (slice(&spec.budget), slice(&spec.engines));
    let verify = verify(spec);
    let (exprs, stmts, lanes, funcs) = (slice(&spec.exprs), slice(&spec.stmts), slice(&spec.lanes), slice(&spec.funcs));
    let (layouts, spans, counted) = (slice(&spec.verify_layouts), slice(&spec.spans), slice(&spec.counted));
    // What calls a function is a constant of its own: inside an expression it would not live long enough.
    quote! {{
        use ::hcomm::__private::*;
        const LAYOUTS: &[Layout] = #layouts;
        const SPANS: &[Span] = #spans;
        const COUNTED: &[(::core::primitive::u32, Resources)] = #counted;
        Spec {
            name: #name,
            snake: #snake,
            doc: #doc,
            operator: #operator,
            file: ::core::file!(),
            headers: Headers {
                split: #split,
                scratch: #scratch,
                symmetric: #symmetric,
                deterministic: #deterministic,
                max_ranks: #max_ranks,
                budget: #budget,
                engines: #engines,
                verify: #verify,
            },
            body: #body,
            exprs: #exprs,
            stmts: #stmts,
            lanes: #lanes,
            funcs: #funcs,
            lists: &[#(#lists),*],
            notifies: &[#(#notifies),*],
            vars: &[#(#vars),*],
            spans: SPANS,
            counted: COUNTED,
        }
    }}
}

fn slice<T: Emit>(elements: &[T]) -> TokenStream {
    let elements = elements.iter().map(Emit::emit);
    quote! { &[#(#elements),*] }
}

fn verify(spec: &SpecBuf) -> TokenStream {
    if spec.verify_layouts.is_empty() {
        let (first, last) = spec.verify_ranks;
        quote! { Verify::Ranks(#first, #last) }
    } else {
        quote! { Verify::Layouts(LAYOUTS) }
    }
}
