//! Limits that are constants of the user's: assertions beside the item, on the entry of the budget.

use proc_macro2::{Delimiter, Group, TokenStream};
use quote::{quote, quote_spanned};

use crate::{ConstBudget, Parsed};

/// One `const _` for each.
pub(super) fn assertions(parsed: &Parsed) -> Vec<TokenStream> {
    parsed.const_budgets.iter().map(|budget| assertion(parsed, budget)).collect()
}

fn assertion(parsed: &Parsed, budget: &ConstBudget) -> TokenStream {
    let ConstBudget { field, limit, span } = budget;
    let (name, resource) = (&parsed.spec.name, field.name());
    // The limit is not known here, so every rank count in between is counted, for the largest that fits.
    let counted = parsed.spec.with_spec(hcomm_core::verify::counted_closely);
    let needs = counted.iter().map(|(ranks, counts)| {
        let need = counts.get(*field);
        quote! { (#ranks, #need) }
    });
    let arguments = quote! { #resource, #name, &[#(#needs),*], (#limit) as i128 };
    // The error is where the call is: from the entry's first token to its last.
    let mut arguments = Group::new(Delimiter::Parenthesis, arguments);
    arguments.set_span(span.last);
    let call = quote_spanned! {span.first=> ::hcomm::__private::assert_budget };
    quote! { const _: () = #call #arguments; }
}
