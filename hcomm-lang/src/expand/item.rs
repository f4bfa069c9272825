//! The struct of an algorithm, its counts and its trait.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::quote;

use super::{budget, spec};
use crate::Parsed;

/// Everything for one algorithm.
pub(crate) fn item(parsed: &Parsed) -> TokenStream {
    let Parsed { attrs, doc_attrs, vis, ident, .. } = parsed;
    let spec = spec::spec(&parsed.spec);
    let cfg: TokenStream = attrs.iter().filter(|attr| is_cfg(attr)).cloned().collect();
    let budgets = budget::assertions(parsed);
    quote! {
        #(#doc_attrs)*
        #(#attrs)*
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        #vis struct #ident;

        #cfg
        impl #ident {
            /// The algorithm as data.
            pub const SPEC: ::hcomm::__private::Spec<'static> = #spec;

            /// What `ranks` ranks on one node need: the maximum over ranks.
            ///
            /// # Panics
            ///
            /// If the algorithm cannot run on this many ranks. In a `const` that is a compile error.
            #[must_use]
            #[track_caller]
            pub const fn resources(ranks: ::core::primitive::u32) -> ::hcomm::__private::Resources {
                ::hcomm::__private::resources(&Self::SPEC, ranks)
            }

            /// What rank `rank` of `ranks` ranks on one node needs.
            ///
            /// # Panics
            ///
            /// If the algorithm cannot run on this many ranks, or there is no such rank. In a `const` that is a
            /// compile error.
            #[must_use]
            #[track_caller]
            pub const fn resources_at(ranks: ::core::primitive::u32, rank: ::core::primitive::u32) -> ::hcomm::__private::Resources {
                ::hcomm::__private::resources_at(&Self::SPEC, ranks, rank)
            }

            /// The plan for `ranks` ranks on one node. `plan_for!` checks it where it is used.
            ///
            /// # Panics
            ///
            /// If the algorithm cannot run on this many ranks, or does not fit its budget or a communicator. In a
            /// `const` that is a compile error.
            #[must_use]
            #[track_caller]
            pub const fn plan(ranks: ::core::primitive::u32) -> ::hcomm::__private::Plan {
                ::hcomm::__private::plan(&Self::SPEC, ranks)
            }
        }

        #cfg
        impl ::hcomm::Collective for #ident {
            const SPEC: ::hcomm::__private::Spec<'static> = Self::SPEC;
        }

        #(#cfg #budgets)*
    }
}

/// Whether `#[…]` is `#[cfg(…)]`: then the other items need it as well.
fn is_cfg(attr: &TokenStream) -> bool {
    attr.clone().into_iter().any(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(word)) if word == "cfg")
        }
        _ => false,
    })
}
