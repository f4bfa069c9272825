//! The checks accept what is right: every algorithm of the library, for every rank count and layout that it is for.
//!
//! The ordinary run takes a few. All rank counts from 2 to 64 and layouts up to 64 ranks:
//!
//! ```sh
//! cargo test --release -p hcomm-algos --features sweep --test accepts
//! ```
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use hcomm_algos::LIBRARY;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::spec::{Spec, Verify};
use hcomm_core::verify::shape_faults;

const SWEEP: bool = cfg!(feature = "sweep");
/// Up to how many ranks every root, and every pair of source and destination, is tried.
const ALL_ROLES: u32 = if SWEEP { 12 } else { 4 };

/// The layouts that an algorithm is for.
fn layouts(spec: &Spec<'_>) -> Vec<Layout> {
    let most = spec.max_ranks();
    let mut layouts: Vec<Layout> = match spec.headers.verify {
        Verify::Ranks(..) if SWEEP => (2..=64).filter_map(Layout::flat).collect(),
        Verify::Ranks(..) => [2, 3, 4, 5, 7, 8, 9, 16].into_iter().filter_map(Layout::flat).collect(),
        Verify::Layouts(named) => {
            let mut all = named.to_vec();
            if SWEEP && named.iter().all(Layout::is_equal) {
                // Pods only for those that say that they know them.
                let pods = if named.iter().any(|layout| layout.pods() > 1) { 1..=4 } else { 1..=1 };
                for pods in pods {
                    let nodes = (1..=8).flat_map(|nodes| (1..=8).map(move |locals| (nodes, locals)));
                    all.extend(nodes.filter_map(|(nodes, locals)| Layout::equal(pods, nodes, locals)));
                }
            }
            all
        }
    };
    layouts.retain(|layout| (2..=most.min(64)).contains(&layout.ranks()));
    layouts
}

fn shapes(spec: &Spec<'_>, layout: Layout) -> Vec<Shape> {
    if layout.ranks() > ALL_ROLES {
        return support::some_roles(spec, layout);
    }
    std::iter::successors(Some(Shape::first_roles(layout)), |shape| shape.next_roles(spec.operator)).collect()
}

#[test]
fn the_library_holds_wherever_it_is_for() {
    let (next, cases) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some(spec) = LIBRARY.get(next.fetch_add(1, Ordering::Relaxed)) {
            for layout in layouts(spec) {
                for shape in shapes(spec, layout) {
                    let faults = shape_faults(spec, &shape);
                    assert!(faults.is_empty(), "{} at {shape:?}: {faults:#?}", spec.snake);
                    cases.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, Into::into) {
            scope.spawn(work);
        }
    });
    let cases = cases.into_inner();
    assert!(cases > 5 * LIBRARY.len(), "only {cases} cases");
}
