//! What an algorithm's item offers in `const` contexts: counts and plans.

use crate::assert;
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
    declared(spec, ranks);
    match checked_resources(spec, ranks) {
        Some(resources) => resources,
        None => panic!("{}", assert::faulty(spec.name, ranks).text()),
    }
}

/// Asserts that the algorithm is declared for `ranks`.
#[track_caller]
const fn declared(spec: &Spec<'_>, ranks: u32) {
    if ranks == 0 || ranks > spec.max_ranks() {
        panic!("{}", assert::undeclared(spec.name, spec.max_ranks(), ranks).text());
    }
}

/// As [`resources()`]; `None` where it panics.
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
    declared(spec, ranks);
    if rank >= ranks {
        panic!("{}", assert::no_rank(spec.name, rank, ranks).text());
    }
    if let Some(layout) = Layout::flat(ranks)
        && let Ok(resources) = resources::of_rank(spec, &Shape::new(layout), rank)
    {
        return resources;
    }
    panic!("{}", assert::faulty(spec.name, ranks).text())
}

/// The plan for `ranks` ranks.
///
/// # Panics
///
/// If the algorithm is not declared for `ranks`, has a fault there, or is over its budget or the product's limits.
#[track_caller]
pub const fn plan(spec: &Spec<'static>, ranks: u32) -> Plan {
    let need = resources(spec, ranks);
    if let Some((field, need, limit)) = crate::verify::LIMITS.first_overrun(&need) {
        let (need, limit) = (need as i128, limit as i128);
        panic!("{}", assert::over(field.name(), spec.name, ranks, need, "a communicator has ", limit).text());
    }
    let (mut i, budget) = (0, spec.headers.budget);
    while i < budget.len() {
        let (field, limit) = budget[i];
        if let Some(layout) = Layout::flat(ranks)
            && let Ok(limit) = crate::eval::value(spec, Shape::new(layout), limit)
        {
            let need = need.get(field) as i64;
            if need > limit {
                let (need, limit) = (need as i128, limit as i128);
                panic!("{}", assert::over(field.name(), spec.name, ranks, need, "its budget is ", limit).text());
            }
        } else {
            panic!("{}", assert::faulty(spec.name, ranks).text());
        }
        i += 1;
    }
    Plan { algorithm: spec.snake, ranks, resources: need }
}
