//! Typed indices into the arenas of a [`Spec`](crate::spec::Spec).

macro_rules! declare_id {
    ($($(#[$doc:meta])* $name:ident($prefix:literal);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The index as a `usize`, for slices.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )*};
}

declare_id! {
    /// An expression of a [`Spec`](crate::spec::Spec).
    ExprId("e");
    /// A statement of a [`Spec`](crate::spec::Spec).
    StmtId("s");
    /// A helper function of a [`Spec`](crate::spec::Spec).
    FuncId("f");
    /// A variable slot: of the algorithm's body, or of one call of a helper function.
    VarId("v");
    /// A channel notify, by its place in [`Spec::notifies`](crate::spec::Spec::notifies).
    NotifyId("n");
    /// A place in the source, by its place in [`Spec::spans`](crate::spec::Spec::spans).
    SpanId("@");
}
