//! The pass `fuse_notify`: a write and the record behind it become one operation (950 only, facts 3.4).

use crate::product::Product;
use crate::program::{Op, OpKind, Program};

/// Fuses every Write or WriteReduce with the ChannelNotifyRecord to the same peer that directly follows it on its
/// thread. The answer is how many were fused.
///
/// # Errors
///
/// H402 if the product has no fused operations.
pub fn fuse_notify(program: &mut Program, product: Product) -> Result<usize, crate::diag::Diagnostic> {
    product.admits_fused()?;
    let mut fused = 0;
    for ops in program.ranks.iter_mut().flat_map(|rank| &mut rank.threads) {
        let mut kept: Vec<Op> = Vec::with_capacity(ops.len());
        for op in ops.drain(..) {
            if let (OpKind::ChannelNotifyRecord { peer, notify }, Some(last)) = (op.kind, kept.last_mut())
                && let Some(kind) = with_notify(&last.kind, peer, notify)
            {
                last.kind = kind;
                fused += 1;
                continue;
            }
            kept.push(op);
        }
        *ops = kept;
    }
    Ok(fused)
}

/// The operation that does both.
fn with_notify(kind: &OpKind, to: u32, notify: u32) -> Option<OpKind> {
    match kind {
        OpKind::Write(peer, transfer) if *peer == to => Some(OpKind::WriteWithNotify(*peer, *transfer, notify)),
        OpKind::WriteReduce(peer, transfer) if *peer == to => {
            Some(OpKind::WriteReduceWithNotify(*peer, *transfer, notify))
        }
        _ => None,
    }
}
