//! What the macro runs on an algorithm when it is compiled: every check, for every rank count that it names.

use crate::aiv;
use crate::check;
use crate::diag::{Code, Diagnostic, add};
use crate::eval::{Machine, Step, rank_count};
use crate::ids::SpanId;
use crate::instance::{Instance, instantiate};
use crate::lower;
use crate::product::{Limits, Product, Release};
use crate::resources::{self, Resources};
use crate::shape::{Layout, MAX_RANKS, Shape};
use crate::spec::{BudgetField, Engine, Spec, Verify};

/// The limits that an algorithm is held to when it is compiled: those of the newest release.
pub const LIMITS: Limits = Limits::of(Release::Cann90);

/// All that is wrong with an algorithm at the rank counts and layouts that it is verified for, each fault once, at
/// the smallest rank count that has it.
///
/// What the evaluator finds is gathered over all rank counts. What the checks of programs find is that of the smallest
/// rank count that fails: one mistake shows differently at different rank counts, and should give one message.
pub fn verify(spec: &Spec<'_>) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut checked_wrong = None;
    for layout in layouts(spec) {
        let ranks = layout.ranks();
        if let Some(diagnostic) = rank_count(spec, ranks) {
            add(&mut found, diagnostic);
            continue;
        }
        let mut roles = Some(Shape::first_roles(layout));
        while let Some(shape) = roles {
            roles = shape.next_roles(spec.operator);
            match instantiate(spec, &shape) {
                Err(faults) => {
                    // A loop without end takes its time: once is enough.
                    let endless = faults.iter().any(Diagnostic::is_endless);
                    faults.into_iter().for_each(|fault| add(&mut found, fault));
                    if endless {
                        return found;
                    }
                }
                Ok(instance) if checked_wrong.is_none_or(|smallest| smallest == ranks) => {
                    let faults = program_faults(spec, &instance);
                    if !faults.is_empty() {
                        checked_wrong = Some(ranks);
                    }
                    faults.into_iter().for_each(|fault| add(&mut found, fault));
                }
                Ok(_) => {}
            }
        }
    }
    if found.is_empty() {
        found.extend(budget(spec));
    }
    found
}

/// What is wrong with an algorithm at one shape.
pub fn shape_faults(spec: &Spec<'_>, shape: &Shape) -> Vec<Diagnostic> {
    match instantiate(spec, shape) {
        Err(faults) => faults,
        Ok(instance) => program_faults(spec, &instance),
    }
}

/// What is wrong with its program for AI CPU; if there is none or nothing, with that for AIV.
fn program_faults(spec: &Spec<'_>, instance: &Instance) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if spec.offers(Engine::AiCpu) {
        found = check::check(&lower::aicpu::lower(instance));
    }
    if found.is_empty() && spec.offers(Engine::Aiv) {
        found = aiv_faults(spec, instance);
    }
    found
}

/// Up to how many ranks the program for AIV is proven where that for AI CPU is, too.
pub const AIV_RANKS: u32 = 4;

/// What is wrong with the program for AIV. That is another form of what is proven for AI CPU, so where there is a proof
/// of that, the form is proven at few rank counts only. What it needs is counted at all.
fn aiv_faults(spec: &Spec<'_>, instance: &Instance) -> Vec<Diagnostic> {
    // AIV ends with the superpod on every product. Whoever names it has to stay inside.
    let is_named = !spec.headers.engines.is_empty();
    let layout = &instance.shape.layout;
    if layout.pods() > 1 && !is_named {
        return Vec::new();
    }
    if let Err(fault) = aiv::uses_fit(instance) {
        return vec![fault];
    }
    let smallest = || layouts(spec).first().map(Layout::ranks);
    let is_small = || layout.ranks() <= AIV_RANKS || smallest() == Some(layout.ranks());
    if spec.offers(Engine::AiCpu) && layout.pods() == 1 && !is_small() {
        return Vec::new();
    }
    match aiv::lower_default(instance) {
        Err(fault) => vec![fault],
        Ok(program) => match aiv::admits_kernel(Product::A950, &program) {
            Err(fault) => vec![fault],
            Ok(()) => aiv::check(&program, &aiv::Options::default()),
        },
    }
}

/// The layouts that an algorithm is verified for, smallest rank count first.
pub fn layouts(spec: &Spec<'_>) -> Vec<Layout> {
    let mut layouts: Vec<Layout> = match spec.headers.verify {
        Verify::Ranks(first, last) => {
            // The default range stops where the algorithm does.
            let last = if spec.headers.verify == Verify::default() { last.min(spec.max_ranks()) } else { last };
            (first..=last.min(MAX_RANKS)).filter_map(Layout::flat).collect()
        }
        Verify::Layouts(layouts) => layouts.to_vec(),
    };
    layouts.sort_by_key(Layout::ranks);
    layouts
}

/// The rank counts whose resources are evaluated when the algorithm is compiled: the verified ones, `max_ranks`, and
/// the powers of two up to it. Layouts of several nodes do not count: a communicator's counts are those of one node.
fn counted_ranks(spec: &Spec<'_>) -> Vec<u32> {
    let mut ranks: Vec<u32> = match spec.headers.verify {
        Verify::Ranks(..) => layouts(spec).iter().map(Layout::ranks).collect(),
        Verify::Layouts(_) => Vec::new(),
    };
    if let Some(max) = spec.headers.max_ranks {
        ranks.extend((0..=max.ilog2()).map(|k| 1 << k).filter(|n| *n > 1));
        ranks.push(max);
    }
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// The resources at the rank counts whose resources are evaluated when the algorithm is compiled, ascending. Those
/// that have a fault are left out.
pub fn counted(spec: &Spec<'_>) -> Vec<(u32, Resources)> {
    count(spec, counted_ranks(spec))
}

/// As [`counted`], with every rank count between the first and the last, up to [`CLOSELY`], so that the largest one that
/// fits a limit can be told.
pub fn counted_closely(spec: &Spec<'_>) -> Vec<(u32, Resources)> {
    let mut ranks = counted_ranks(spec);
    let last = ranks.last().copied().unwrap_or(0).min(CLOSELY);
    ranks.extend(2..=last);
    ranks.sort_unstable();
    ranks.dedup();
    count(spec, ranks)
}

/// The resources at these rank counts, without those that have a fault.
fn count(spec: &Spec<'_>, ranks: Vec<u32>) -> Vec<(u32, Resources)> {
    let at = |ranks| Some((ranks, resources::of_layout(spec, Layout::flat(ranks)?).ok()?));
    ranks.into_iter().filter_map(at).collect()
}

/// Up to how many ranks every rank count is counted for limits that are constants of the user's.
pub const CLOSELY: u32 = 128;

/// The first count that is over its limit at `ranks` ranks: which, the need, the limit, and the place of the limit
/// if the algorithm declares it.
fn overrun(spec: &Spec<'_>, ranks: u32) -> Option<(BudgetField, u64, u64, Option<SpanId>)> {
    let need = resources::of_layout(spec, Layout::flat(ranks)?).ok()?;
    for (field, limit) in spec.headers.budget {
        let value = budget_value(spec, *limit, ranks)?;
        let need = i64::from(need.get(*field));
        if need > value {
            let span = spec.exprs.get(limit.index()).map(|expr| expr.span);
            return Some((*field, need as u64, value.max(0) as u64, span));
        }
    }
    let (field, need, limit) = LIMITS.first_overrun(&need)?;
    Some((field, need, limit, None))
}

/// What a limit says at a rank count.
fn budget_value(spec: &Spec<'_>, limit: crate::ids::ExprId, ranks: u32) -> Option<i64> {
    let shape = Shape::new(Layout::flat(ranks)?);
    crate::eval::value(spec, shape, limit).ok()
}

/// The resources that are over the budget or the product's limits.
fn budget(spec: &Spec<'_>) -> Option<Diagnostic> {
    // A limit that has no value is a fault of its own.
    for (_, limit) in spec.headers.budget {
        for ranks in counted_ranks(spec) {
            let shape = Shape::new(Layout::flat(ranks)?);
            if let Err(fault) = crate::eval::value(spec, shape, *limit) {
                return Some(fault.diagnostic(spec, &shape, 0));
            }
        }
    }
    let counted = counted_ranks(spec);
    let found = counted.iter().copied().find(|ranks| overrun(spec, *ranks).is_some())?;
    let fits = largest_fit(spec, found);
    let failing = fits.map_or(found, |fits| fits + 1);
    let (field, need, limit, span) = overrun(spec, failing)?;
    // What it comes to at the largest rank count that the algorithm is for.
    let most = counted.last().copied().filter(|most| *most > failing);
    let most = most.and_then(|most| {
        let need = resources::of_layout(spec, Layout::flat(most)?).ok()?.get(field);
        Some(format!(" ({need} at {most})"))
    });
    let at = spec.span(span.unwrap_or(SpanId(0)));
    let whose = match span {
        Some(_) => format!("the budget is {limit}"),
        None => format!("a communicator has {limit}"),
    };
    let message = format!(
        "`{}` needs {need} {} at {failing} ranks{}, and {whose}: it {}",
        spec.name,
        field.name(),
        most.unwrap_or_default(),
        fits_text(fits)
    );
    let mut diagnostic = Diagnostic::new(Code::H401, message, Some(at));
    diagnostic.ranks = Some(failing);
    if let Some(at) = source_of(spec, field, failing) {
        diagnostic = diagnostic.with_related(format!("the {} come from here", field.name()), Some(spec.span(at)));
    }
    let declare = match fits {
        Some(fits) if span.is_none() => format!("declare `max_ranks: {fits};`, or "),
        Some(fits) => format!("lower `max_ranks` to {fits}, raise the budget, or "),
        None => String::new(),
    };
    let bound = match field {
        BudgetField::Blocks if limit < 2 => format!("{declare}do without `par`"),
        BudgetField::Blocks => {
            format!("{declare}bound the lanes with `par({}) for …`: they have a block each", limit - 1)
        }
        BudgetField::Threads | BudgetField::NotifyNumPerThread | BudgetField::ThreadNotifies => {
            format!("{declare}bound the lanes with `par({}) for …`", limit.max(1).min(need))
        }
        _ => format!("{declare}use less of it"),
    };
    Some(diagnostic.with_help(bound))
}

fn fits_text(fits: Option<u32>) -> String {
    match fits {
        Some(1) => "fits 1 rank".into(),
        Some(fits) => format!("fits up to {fits} ranks"),
        None => "fits no rank count".into(),
    }
}

/// The largest rank count such that it and all below it fit, where `failing` does not.
fn largest_fit(spec: &Spec<'_>, failing: u32) -> Option<u32> {
    // From 2 on: one rank is no collective, and some algorithms have no meaning there.
    let first_failing = (2..=failing).find(|ranks| overrun(spec, *ranks).is_some())?;
    (first_failing > 2).then(|| first_failing - 1)
}

/// The statement that a count comes from: for threads the widest `par`.
fn source_of(spec: &Spec<'_>, field: BudgetField, ranks: u32) -> Option<SpanId> {
    if !matches!(
        field,
        BudgetField::Threads | BudgetField::NotifyNumPerThread | BudgetField::ThreadNotifies | BudgetField::Blocks
    ) {
        return None;
    }
    let mut machine = Machine::new(spec, Shape::new(Layout::flat(ranks)?), 0).ok()?;
    let (mut fork, mut widest) = (None, (0, None));
    loop {
        match machine.step() {
            Step::Event(crate::eval::Event::Fork { at }) => fork = Some(at),
            Step::Event(crate::eval::Event::Lane(lane)) if lane > widest.0 => widest = (lane, fork),
            Step::Event(_) => {}
            Step::Done | Step::Fault(_) => return widest.1,
        }
    }
}

impl BudgetField {
    /// The name in the language and in JSON, in words.
    pub const fn name(self) -> &'static str {
        match self {
            BudgetField::Threads => "threads",
            BudgetField::NotifyNumPerThread => "notifies per thread",
            BudgetField::ThreadNotifies => "thread notifies",
            BudgetField::Channels => "channels",
            BudgetField::NotifyNumPerChannel => "notifies per channel",
            BudgetField::ChannelNotifies => "channel notifies",
            BudgetField::Scratch => "chunks of scratch",
            BudgetField::Blocks => "blocks",
            BudgetField::Flags => "flags",
        }
    }
}
