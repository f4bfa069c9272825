//! What the tests of the library share.
#![allow(dead_code, reason = "each test uses some of it")]
#![allow(clippy::unwrap_used, reason = "tests")]

pub(crate) mod slips;

use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::{Spec, Verify};

/// Whether the algorithm is for any rank count, or only for layouts.
pub(crate) fn is_flat(spec: &Spec<'_>) -> bool {
    matches!(spec.headers.verify, Verify::Ranks(..))
}

/// Flat layouts of these rank counts; for an algorithm on nodes those that it names, up to the largest of the counts,
/// and not the ones that are a single node.
pub(crate) fn layouts(spec: &Spec<'_>, ranks: &[u32]) -> Vec<Layout> {
    match spec.headers.verify {
        Verify::Ranks(..) => ranks.iter().filter_map(|ranks| Layout::flat(*ranks)).collect(),
        Verify::Layouts(layouts) => {
            let most = ranks.iter().max().copied().unwrap_or(0);
            let mut small: Vec<Layout> = layouts.to_vec();
            small.retain(|layout| layout.ranks() <= most && layout.nodes() > 1);
            small.sort_by_key(Layout::ranks);
            small
        }
    }
}

/// The layout with root, source and destination first, in the middle, and last, as far as the operator has them.
pub(crate) fn some_roles(spec: &Spec<'_>, layout: Layout) -> Vec<Shape> {
    let last = layout.ranks() - 1;
    let mut shapes = vec![Shape::new(layout)];
    for rank in [layout.ranks() / 2, last] {
        let mut shape = Shape::new(layout);
        if spec.operator.has_root() {
            shape.root = rank;
        } else if spec.operator.has_src_dst() {
            (shape.src, shape.dst) = (rank, (rank + 1) % layout.ranks());
        }
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    shapes
}
