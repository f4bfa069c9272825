//! Each type of a spec as the expression that makes it, in a scope that has `::hcomm::__private::*`.

use hcomm_core::ids::{ExprId, FuncId, NotifyId, SpanId, VarId};
use hcomm_core::operator::{Buffer, Operator};
use hcomm_core::resources::Resources;
use hcomm_core::shape::Layout;
use hcomm_core::spec::{
    BinaryOp, BudgetField, Builtin, Engine, Expr, ExprKind, FuncBuf, Index, Lane, List, Name, Phase, Place, Set, Span,
    Stmt, StmtKind, UnaryOp,
};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// A value that can be written as a constant expression.
pub(super) trait Emit {
    fn emit(&self) -> TokenStream;
}

macro_rules! emit_ids {
    ($($id:ident),*) => {$(
        impl Emit for $id {
            fn emit(&self) -> TokenStream {
                let index = self.0;
                quote! { $id(#index) }
            }
        }
    )*};
}

emit_ids!(ExprId, FuncId, NotifyId, SpanId, VarId);

/// Enums without data: `Debug` gives the variant's name.
macro_rules! emit_names {
    ($($name:ident),*) => {$(
        impl Emit for $name {
            fn emit(&self) -> TokenStream {
                let variant = format_ident!("{self:?}");
                quote! { $name::#variant }
            }
        }
    )*};
}

emit_names!(BinaryOp, BudgetField, Buffer, Builtin, Engine, Name, Operator, Phase, UnaryOp);

impl Emit for u32 {
    fn emit(&self) -> TokenStream {
        quote! { #self }
    }
}

impl<T: Emit> Emit for Option<T> {
    fn emit(&self) -> TokenStream {
        match self {
            Some(value) => {
                let value = value.emit();
                quote! { ::core::option::Option::Some(#value) }
            }
            None => quote! { ::core::option::Option::None },
        }
    }
}

impl<A: Emit, B: Emit> Emit for (A, B) {
    fn emit(&self) -> TokenStream {
        let (a, b) = (self.0.emit(), self.1.emit());
        quote! { (#a, #b) }
    }
}

impl Emit for List {
    fn emit(&self) -> TokenStream {
        let List { start, len } = self;
        quote! { List { start: #start, len: #len } }
    }
}

impl Emit for Span {
    fn emit(&self) -> TokenStream {
        let Span { line, column, end_line, end_column } = self;
        quote! { span(#line, #column, #end_line, #end_column) }
    }
}

/// Counts at a rank count.
impl Emit for (u32, Resources) {
    fn emit(&self) -> TokenStream {
        let (ranks, counts) = self;
        let counts = [
            counts.threads,
            counts.notify_num_per_thread,
            counts.thread_notifies,
            counts.channels,
            counts.notify_num_per_channel,
            counts.channel_notifies,
            counts.scratch_chunks,
            counts.blocks,
            counts.flags,
        ];
        quote! { counted(#ranks, [#(#counts),*]) }
    }
}

impl Emit for Layout {
    fn emit(&self) -> TokenStream {
        if self.is_equal() {
            let (pods, nodes) = (self.pods(), self.nodes() / self.pods());
            let locals = self.ranks() / self.nodes();
            quote! { layout(#pods, #nodes, #locals) }
        } else {
            let locals = (0..self.nodes()).filter_map(|node| self.locals_of(node));
            quote! { unequal_layout(&[#(#locals),*]) }
        }
    }
}

impl Emit for Expr {
    fn emit(&self) -> TokenStream {
        let (kind, span) = (self.kind.emit(), self.span.emit());
        quote! { Expr { kind: ExprKind::#kind, span: #span } }
    }
}

/// Without `ExprKind::`.
impl Emit for ExprKind {
    fn emit(&self) -> TokenStream {
        match self {
            ExprKind::Int(value) => quote! { Int(#value) },
            ExprKind::Bool(value) => quote! { Bool(#value) },
            ExprKind::Name(name) => call("Name", &[name]),
            ExprKind::Var(var) => call("Var", &[var]),
            ExprKind::Unary(op, operand) => call("Unary", &[op, operand]),
            ExprKind::Binary(op, left, right) => call("Binary", &[op, left, right]),
            ExprKind::If(cond, then, otherwise) => call("If", &[cond, then, otherwise]),
            ExprKind::Builtin(builtin, args) => call("Builtin", &[builtin, args]),
            ExprKind::Call(func, args) => call("Call", &[func, args]),
        }
    }
}

impl Emit for Stmt {
    fn emit(&self) -> TokenStream {
        let (kind, span) = (self.kind.emit(), self.span.emit());
        quote! { Stmt { kind: StmtKind::#kind, span: #span } }
    }
}

/// Without `StmtKind::`.
impl Emit for StmtKind {
    fn emit(&self) -> TokenStream {
        match self {
            StmtKind::Set(var, value) => call("Set", &[var, value]),
            StmtKind::If(cond, then, otherwise) => call("If", &[cond, then, otherwise]),
            StmtKind::While(cond, body) => call("While", &[cond, body]),
            StmtKind::For(var, set, body) => call("For", &[var, set, body]),
            StmtKind::Par(bound, lanes) => call("Par", &[bound, lanes]),
            StmtKind::Phase(phase, body) => call("Phase", &[phase, body]),
            StmtKind::Transfer { dst, src, reduce } => {
                let (dst, src) = (dst.emit(), src.emit());
                quote! { Transfer { dst: #dst, src: #src, reduce: #reduce } }
            }
            StmtKind::Signal(peer, notify) => call("Signal", &[peer, notify]),
            StmtKind::Wait(peer, notify) => call("Wait", &[peer, notify]),
            StmtKind::Return(value) => call("Return", &[value]),
        }
    }
}

/// `variant(args)`
fn call(variant: &str, args: &[&dyn Emit]) -> TokenStream {
    let variant = format_ident!("{variant}");
    let args = args.iter().map(|arg| arg.emit());
    quote! { #variant(#(#args),*) }
}

impl Emit for Set {
    fn emit(&self) -> TokenStream {
        match self {
            Set::Range(from, to) => {
                let range = call("Range", &[from, to]);
                quote! { Set::#range }
            }
            Set::Peers => quote! { Set::Peers },
            Set::LocalPeers => quote! { Set::LocalPeers },
            Set::NodePeers => quote! { Set::NodePeers },
        }
    }
}

impl Emit for Lane {
    fn emit(&self) -> TokenStream {
        let (each, body, span) = (self.each.emit(), self.body.emit(), self.span.emit());
        quote! { Lane { each: #each, body: #body, span: #span } }
    }
}

impl Emit for Place {
    fn emit(&self) -> TokenStream {
        let (peer, buffer, span) = (self.peer.emit(), self.buffer.emit(), self.span.emit());
        let index = match &self.index {
            Index::Whole => quote! { Whole },
            Index::One(at) => call("One", &[at]),
            Index::Run(from, to) => call("Run", &[from, to]),
        };
        quote! { Place { peer: #peer, buffer: #buffer, index: Index::#index, span: #span } }
    }
}

impl Emit for FuncBuf {
    fn emit(&self) -> TokenStream {
        let FuncBuf { name, arity, vars, .. } = self;
        let (body, span) = (self.body.emit(), self.span.emit());
        quote! { Func { name: #name, arity: #arity, vars: &[#(#vars),*], body: #body, span: #span } }
    }
}
