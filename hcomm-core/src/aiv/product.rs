//! What AIV kernels of a product can do: scope, meetings, data types and reductions (facts 1.4, 3.4, 5.1, 5.4 and 9.2).
//!
//! Which *operators* HCCL itself offers by AIV on a product, and that its own make at most 16 launches, are choices of its
//! selection and not of the engine: they do not bind an operator of one's own.

use super::program::{Copy, Op, OpKind, Program, Sync};
use crate::diag::{Code, Diagnostic};
use crate::dtype::{DataType, ReduceOp};
use crate::product::Product;
use crate::shape::Layout;

/// The longest element that copy kernels move, in bytes: `fp64` goes as `uint64`.
const MAX_ELEMENT: u32 = 8;

/// The types that reduce kernels are there for: those of the atomic modes, and on the 950 64-bit integers, which are
/// loaded, combined and stored.
const fn reduced(product: Product) -> &'static [DataType] {
    use DataType::{Bf16, Fp16, Fp32, Int8, Int16, Int32, Int64};
    match product {
        Product::A2 | Product::A3 => &[Int8, Int16, Int32, Fp16, Fp32, Bf16],
        Product::A950 => &[Int8, Int16, Int32, Int64, Fp16, Fp32, Bf16],
    }
}

/// Where memory semantics end, with the server on A2 and with the superpod on A3 and the 950: which one every rank is in,
/// and what it is called.
fn scope(product: Product, layout: &Layout) -> (Vec<u32>, &'static str) {
    let node = |rank: u32| layout.place(rank).0;
    match product {
        Product::A2 => ((0..layout.ranks()).map(node).collect(), "server"),
        Product::A3 | Product::A950 => {
            ((0..layout.ranks()).map(|rank| layout.pod_of(node(rank))).collect(), "superpod")
        }
    }
}

/// Whether kernels reach all ranks of a layout on a product.
///
/// # Errors
///
/// H402 with the rule.
pub fn admits_layout(product: Product, layout: &Layout) -> Result<(), Diagnostic> {
    let (within, rule) = scope(product, layout);
    match (0..).zip(&within).find(|(_, place)| **place != within[0]) {
        None => Ok(()),
        Some((rank, _)) => Err(apart(product, rule, 0, rank)),
    }
}

/// That a kernel does not reach one rank from another.
fn apart(product: Product, rule: &str, rank: u32, peer: u32) -> Diagnostic {
    let message = format!(
        "AIV on {product} reaches peers inside one {rule} only, and rank {peer} is in another {rule} than rank {rank}"
    );
    let help = format!("use the engine `ai_cpu`, or the ranks of one {rule}");
    Diagnostic::new(Code::H402, message, None).with_help(help)
}

/// Whether a kernel can run on a product, whatever the type: its blocks reach the ranks that they name, and meet as they
/// can there.
///
/// # Errors
///
/// H402 with the rule.
pub fn admits_kernel(product: Product, program: &Program) -> Result<(), Diagnostic> {
    let layout = &program.frame.shape.layout;
    let at = |op: &Op| program.frame.source.spans.get(op.at.index()).copied();
    let (within, rule) = scope(product, layout);
    // A program from a file may name what is not there.
    let place = |rank: u32| within.get(rank as usize);
    let is_apart = |a: u32, b: u32| place(a).zip(place(b)).is_some_and(|(a, b)| a != b);
    for (rank, _, op) in program.ops() {
        let peer = match op.kind {
            OpKind::Copy(Copy { dst, src, .. }) => {
                if dst.rank == rank {
                    src.rank
                } else {
                    dst.rank
                }
            }
            OpKind::Record(flag) | OpKind::Wait(flag) => flag.peer,
            OpKind::SyncAll if program.sync == Sync::Hard && Sync::of(product) == Sync::Soft => {
                let message =
                    format!("`SyncAll<true>` is a pipe barrier on {product}: no block waits for another one there");
                let help = "let blocks meet by `SyncAll(gm, ub, blocks)`: lower the program for the product";
                let refused = Diagnostic::new(Code::H402, message, at(op)).on(layout.ranks(), rank);
                return Err(refused.with_help(help));
            }
            _ => continue,
        };
        if is_apart(rank, peer) {
            let refused = Diagnostic { at: at(op), ..apart(product, rule, rank, peer) };
            return Err(refused.on(layout.ranks(), rank));
        }
    }
    Ok(())
}

/// Whether AIV kernels of the product can carry out a program on elements of a type.
///
/// # Errors
///
/// H402 for the kernel itself, the type, or the first reduction that they cannot do.
pub fn admits(product: Product, program: &Program, dtype: DataType, reduce: ReduceOp) -> Result<(), Diagnostic> {
    admits_kernel(product, program)?;
    product.admits_type(dtype)?;
    let fault = |message: String, at| Diagnostic::new(Code::H402, message, at);
    if dtype.size() > MAX_ELEMENT {
        let message = format!("{dtype} is not offered by AIV: its copies move elements of up to {MAX_ELEMENT} bytes");
        return Err(fault(message, None));
    }
    let Some((_, _, op)) = program.ops().find(|(_, _, op)| op.kind == OpKind::SetAtomic) else { return Ok(()) };
    let at = program.frame.source.spans.get(op.at.index()).copied();
    if reduce == ReduceOp::Prod {
        let message = "prod is not offered by AIV: the atomic modes are add, max and min, and a product would silently \
                       become a copy";
        return Err(fault(message.into(), at).with_help("use sum, max or min, or the engine `ai_cpu`"));
    }
    if !reduced(product).contains(&dtype) {
        let types: Vec<&str> = reduced(product).iter().map(|dtype| dtype.name()).collect();
        let message = format!("{reduce} of {dtype} is not offered by AIV on {product}");
        let help = format!("AIV reduces {} on {product}", types.join(", "));
        return Err(fault(message, at).with_help(help));
    }
    if dtype == DataType::Int64 {
        return one_owner(program);
    }
    Ok(())
}

/// 64-bit integers are loaded, combined and stored, which is not atomic: no two blocks may reduce into one chunk unless
/// something orders them.
fn one_owner(program: &Program) -> Result<(), Diagnostic> {
    let mut ordered = program.clone();
    ordered.frame.deterministic = true;
    let unordered = super::check(&ordered, &super::Options::default());
    match unordered.into_iter().find(|fault| fault.code == Code::H202) {
        None => Ok(()),
        Some(fault) => {
            let message = format!("64-bit integers are not reduced atomically by AIV, and {}", fault.message);
            let mut refused = Diagnostic::new(Code::H402, message, fault.at);
            refused.related = fault.related;
            Err(refused.with_help("let one block do all reductions into a chunk, or use a shorter type"))
        }
    }
}
