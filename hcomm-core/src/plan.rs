//! What an algorithm's item offers in `const` contexts: counts and plans.

use crate::resources::{self, Resources};
use crate::shape::{Layout, Shape};
use crate::spec::Spec;

/// An algorithm: what `collective!` makes.
pub trait Collective {
    /// The algorithm as data.
    const SPEC: Spec<'static>;
}

/// An algorithm for a number of ranks, and what it needs. [`plan_for!`](crate::plan_for) makes one in a `const`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The algorithm's name on the command line.
    pub algorithm: &'static str,
    /// For how many ranks.
    pub ranks: u32,
    /// The maximum over ranks and roles.
    pub resources: Resources,
}

/// A plan of an algorithm for a number of ranks, checked where it is used: a rank count that the algorithm is not
/// declared for, or that does not fit its budget, is a compile error on that line.
///
/// ```text
/// const PLAN: Plan = plan_for!(MeshAllGather, 64);
/// ```
#[macro_export]
macro_rules! plan_for {
    ($algorithm:ty, $ranks:expr) => {{
        #[allow(long_running_const_eval, reason = "large rank counts take their time, and end")]
        const PLAN: $crate::__private::Plan = <$algorithm>::plan($ranks);
        PLAN
    }};
}

/// The counts of `ranks` ranks on one node: the maximum over ranks and roles.
///
/// # Panics
///
/// If the algorithm is not declared for `ranks`, or has a fault there. In a `const` that is a compile error.
#[track_caller]
pub const fn resources(spec: &Spec<'_>, ranks: u32) -> Resources {
    match checked_resources(spec, ranks) {
        Some(resources) => resources,
        None => panic!("the algorithm cannot run on this many ranks: see its `max_ranks`"),
    }
}

/// As [`resources`]; `None` where it panics.
pub const fn checked_resources(spec: &Spec<'_>, ranks: u32) -> Option<Resources> {
    if ranks == 0 || ranks > spec.max_ranks() {
        return None;
    }
    let mut i = 0;
    while i < spec.counted.len() {
        if spec.counted[i].0 == ranks {
            return Some(spec.counted[i].1);
        }
        i += 1;
    }
    let Some(layout) = Layout::flat(ranks) else { return None };
    match resources::of_layout(spec, layout) {
        Ok(resources) => Some(resources),
        Err(_) => None,
    }
}

/// The counts of rank `rank` of `ranks` on one node, with root 0, source 0 and destination 1.
///
/// # Panics
///
/// If the algorithm is not declared for `ranks`, there is no such rank, or it has a fault there.
#[track_caller]
pub const fn resources_at(spec: &Spec<'_>, ranks: u32, rank: u32) -> Resources {
    assert!(ranks <= spec.max_ranks(), "the algorithm cannot run on this many ranks: see its `max_ranks`");
    assert!(rank < ranks, "there is no such rank");
    let Some(layout) = Layout::flat(ranks) else { panic!("no communicator has this many ranks") };
    match resources::of_rank(spec, &Shape::new(layout), rank) {
        Ok(resources) => resources,
        Err(_) => panic!("the algorithm has a fault at this rank count: `hcomm check` tells which"),
    }
}

/// The plan for `ranks` ranks.
///
/// # Panics
///
/// If the algorithm is not declared for `ranks`, has a fault there, or is over its budget or the product's limits.
#[track_caller]
pub const fn plan(spec: &Spec<'static>, ranks: u32) -> Plan {
    assert!(ranks <= spec.max_ranks(), "this is more ranks than the algorithm's `max_ranks`");
    let need = resources(spec, ranks);
    assert!(crate::verify::LIMITS.first_overrun(&need).is_none(), "this needs more than a communicator has");
    let (mut i, budget) = (0, spec.headers.budget);
    while i < budget.len() {
        let (field, limit) = budget[i];
        let Some(layout) = Layout::flat(ranks) else { panic!("no communicator has this many ranks") };
        let fits = match crate::eval::value(spec, Shape::new(layout), limit) {
            Ok(limit) => need.get(field) as i64 <= limit,
            Err(_) => false,
        };
        assert!(fits, "this needs more than the algorithm's `budget`");
        i += 1;
    }
    Plan { algorithm: spec.snake, ranks, resources: need }
}
