//! What AIV kernels of a product can do: scope, data types and reductions (facts 5.4 and 9.2).

use super::program::{OpKind, Program};
use crate::diag::{Code, Diagnostic};
use crate::dtype::{DataType, ReduceOp};
use crate::operator::Operator;
use crate::product::Product;
use crate::shape::Layout;

/// The types that reduce kernels are there for: all but 64-bit integers by atomic copies.
const REDUCED: [DataType; 7] =
    [DataType::Int8, DataType::Int16, DataType::Int32, DataType::Int64, DataType::Fp16, DataType::Fp32, DataType::Bf16];
/// The longest element that copy kernels move, in bytes: `fp64` goes as `uint64`.
const MAX_ELEMENT: u32 = 8;

/// Whether AIV kernels of the product reach all ranks of a layout: memory semantics end with the server on A2, and with
/// the superpod on A3 and the 950.
///
/// # Errors
///
/// H402 with the rule.
pub fn admits_scope(product: Product, layout: &Layout, operator: Operator) -> Result<(), Diagnostic> {
    let (have, what, rule) = match product {
        Product::A2 => (layout.nodes(), "nodes", "inside one server"),
        Product::A3 | Product::A950 => (layout.pods(), "pods", "inside one superpod"),
    };
    if have <= 1 {
        return Ok(());
    }
    let message =
        format!("{operator} over {have} {what} is not offered by AIV on {product}, which reaches peers {rule} only");
    Err(Diagnostic::new(Code::H402, message, None).with_help("use the engine ai-cpu, or the ranks of one of them"))
}

/// Whether AIV kernels of the product can carry out a program on elements of a type.
///
/// # Errors
///
/// H402 for the scope, the type, or the first reduction that they cannot do.
pub fn admits(product: Product, program: &Program, dtype: DataType, reduce: ReduceOp) -> Result<(), Diagnostic> {
    admits_scope(product, &program.frame.shape.layout, program.frame.operator)?;
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
        return Err(fault(message.into(), at).with_help("use sum, max or min, or the engine ai-cpu"));
    }
    if !REDUCED.contains(&dtype) {
        let types: Vec<&str> = REDUCED.iter().map(|dtype| dtype.name()).collect();
        let message = format!("{reduce} of {dtype} is not offered by AIV on {product}");
        return Err(fault(message, at).with_help(format!("AIV reduces {}", types.join(", "))));
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
