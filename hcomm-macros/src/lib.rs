//! The `collective!` macro. What it does is in `hcomm-lang`, where tests and fuzzers can call it.

/// Describes one or several algorithms. If it compiles, each is proven for the rank counts that it names.
///
/// ```text
/// collective! {
///     /// Documentation.
///     pub Name: operator {
///         headers: …;
///         fn helper(a, b) { … }
///         statements
///     }
/// }
/// ```
///
/// Every algorithm becomes a unit struct with the algorithm as data, `SPEC`, and the constant functions `resources`,
/// `resources_at` and `plan`; it implements `hcomm::Collective`.
#[proc_macro]
pub fn collective(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    hcomm_lang::expand(tokens.into()).into()
}
