//! A report as one HTML file that needs nothing else: the page is `report.html`, with the data put into it as JSON.

use serde_json::{Value, json};

use crate::bound::{Bandwidth, Bound};
use crate::time::{AnyProgram, Event, Recording, Stretch, Timing, Work, shares};

/// The page. `@DATA@` is where the data go.
const PAGE: &str = include_str!("report.html");
/// The most operations that are drawn: the longest ones of a run that has more, those that move data first.
const DRAWN: usize = 150_000;
/// The most links that are listed, the busiest ones.
const LINKS: usize = 64;
/// The most stretches of the critical path that are listed.
const PATH: usize = 2_000;

/// What a report tells beside the timing.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    /// The bound.
    pub bound: &'a Bound,
    /// Bandwidths.
    pub bandwidth: Bandwidth,
    /// Further lines for the head of the page: what was run, resources, checks.
    pub facts: Vec<(String, String)>,
}

/// The report of a recorded run.
pub fn html_report<'p>(program: impl Into<AnyProgram<'p>>, timing: &Timing, about: &About<'_>) -> String {
    let code = program.into();
    let program = code.frame();
    let empty = Recording::default();
    let recording = timing.recording.as_ref().unwrap_or(&empty);
    let path = recording.critical_path();
    let total = timing.time.max(f64::MIN_POSITIVE);
    let place = |at: hcomm_core::ids::SpanId| {
        program.source.spans.get(at.index()).map(|at| format!("{}:{}", program.source.file, at.line))
    };
    // Kinds of operations, by statement: what many have in common is said once.
    let mut kinds: Vec<Value> = Vec::new();
    let mut numbers = std::collections::HashMap::new();
    let drawn = drawn(recording, &path, DRAWN);
    let mut number_of = vec![u32::MAX; recording.events().len()];
    let mut events: Vec<Value> = Vec::new();
    for index in &drawn {
        let event = &recording.events()[*index];
        let Some(op) = recording.op(code, event) else { continue };
        let key = (op.label(), op.at, recording.work(event).name());
        let kind = *numbers.entry(key).or_insert_with_key(|(label, at, work)| {
            kinds.push(json!([label, work, place(*at)]));
            kinds.len() - 1
        });
        let (rank, thread, _) = recording.place(event);
        number_of[*index] = events.len() as u32;
        events.push(json!([rank, thread, kind, round(event.start), round(event.end), event.round]));
    }
    let on_path: Vec<u32> =
        path.iter().filter_map(|stretch| number_of.get(stretch.event)).copied().filter(|n| *n != u32::MAX).collect();
    let listed = path.iter().take(PATH).filter_map(|stretch| {
        let event = &recording.events()[stretch.event];
        let op = recording.op(code, event)?;
        let (rank, thread, _) = recording.place(event);
        let parts = [stretch.launch + stretch.overhead, stretch.data, stretch.sharing, stretch.reduction].map(round);
        Some(json!([rank, thread, op.label(), place(op.at), round(event.end), parts]))
    });
    let shares = shares(recording, code, &path);
    let shares = shares.iter().map(|share| {
        let parts = [share.overhead, share.data, share.sharing, share.reduction].map(round);
        json!([share.name, place(share.at), share.count, round(share.time), parts])
    });
    let mut links: Vec<_> =
        timing.links.iter().filter(|link| link.link.is_between_ranks() && link.load.bytes > 0.0).collect();
    links.sort_by(|a, b| b.utilisation(total).total_cmp(&a.utilisation(total)));
    let number = links.len();
    let links = links.iter().take(LINKS).map(|link| {
        json!([link.name, link.gbps, link.load.bytes, link.load.busy / total, link.utilisation(total), link.load.most])
    });
    let threads = code.units();
    let stuck = timing.stuck.as_ref().map(|stuck| stuck.to_string());
    let data = json!({
        "title": format!("{} on {} ranks", program.algorithm, program.num_ranks()),
        "operator": program.operator.name(),
        "cluster": about.cluster,
        "facts": about.facts,
        "stuck": stuck,
        "time": timing.time,
        "bound": about.bound.time,
        "cut": about.bound.cut,
        "alg": about.bandwidth.alg,
        "bus": about.bandwidth.bus,
        "threads": threads,
        "unit": code.unit(),
        "engine": code.engine().name(),
        "kinds": kinds,
        "events": events,
        "recorded": recording.events().len(),
        "operations": timing.operations,
        "onPath": on_path,
        "path": listed.collect::<Vec<_>>(),
        "pathLength": path.len(),
        "shares": shares.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "linkCount": number,
    });
    // Within a script element nothing may look like its end.
    let data = data.to_string().replace("</", "<\\/").replace("<!--", "<\\!--");
    PAGE.replacen("@DATA@", &data, 1)
}

/// Which events are drawn, in order: all, or those that are longer than the others, what moves data before what waits
/// or records, and the critical path.
fn drawn(recording: &Recording, path: &[Stretch], most: usize) -> Vec<usize> {
    let events = recording.events();
    if events.len() <= most {
        return (0..events.len()).collect();
    }
    let moves = |index: &usize| matches!(recording.work(&events[*index]), Work::Copy | Work::Reduce | Work::Transfer);
    let (moves, others): (Vec<usize>, Vec<usize>) = (0..events.len()).partition(moves);
    let mut drawn = longest(events, moves, most);
    let room = most - drawn.len();
    drawn.extend(longest(events, others, room));
    drawn.extend(path.iter().map(|stretch| stretch.event));
    drawn.sort_unstable();
    drawn.dedup();
    drawn
}

/// At most so many of the events, the longest ones. Of many that are equally long either all are taken or none: some of
/// them would look like something.
fn longest(events: &[Event], mut of: Vec<usize>, most: usize) -> Vec<usize> {
    if of.len() <= most {
        return of;
    }
    let length = |index: usize| events[index].end - events[index].start;
    let mut lengths: Vec<f64> = of.iter().copied().map(length).collect();
    let (_, least, _) = lengths.select_nth_unstable_by(most, |a, b| b.total_cmp(a));
    let least = *least * (1.0 + 1e-9);
    of.retain(|index| length(*index) > least);
    of
}

/// To a tenth of a nanosecond: more is not seen, and makes files large.
fn round(ns: f64) -> f64 {
    (ns * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::Config;
    use crate::cluster::Cluster;
    use crate::time::{Options, simulate};
    use hcomm_core::dtype::DataType;
    use hcomm_core::shape::{Layout, Shape};

    /// On AIV the first block waits in `SyncAll` as long as the others work: longer than any of them.
    #[test]
    fn what_moves_data_is_drawn_before_what_waits_for_it() {
        let spec = hcomm_algos::LIBRARY.iter().find(|spec| spec.snake == "ring_all_gather").unwrap();
        let instance = hcomm_core::instance::instantiate(spec, &Shape::new(Layout::flat(8).unwrap())).unwrap();
        let program = hcomm_core::aiv::lower_default(&instance).unwrap();
        let options = Options { record: Some(1 << 20), ..Options::default() };
        let config = Config::new(1000, DataType::Fp32);
        let timing = simulate(&program, &Cluster::preset("950-mesh").unwrap(), &config, &options).unwrap();
        let recording = timing.recording.unwrap();
        let moves = |index: &usize| matches!(recording.work(&recording.events()[*index]), Work::Copy | Work::Transfer);
        let all = (0..recording.events().len()).filter(moves).count();
        for most in [all, all + 20, recording.events().len()] {
            let drawn = drawn(&recording, &[], most);
            assert_eq!(drawn.iter().copied().filter(|index| moves(index)).count(), all, "{most}");
            assert!(drawn.len() <= most && drawn.is_sorted(), "{} of {most}", drawn.len());
        }
        assert!(drawn(&recording, &[], all - 1).iter().all(moves));
    }
}
