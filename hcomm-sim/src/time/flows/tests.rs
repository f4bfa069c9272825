//! Ends of transfers against progressive filling as textbooks have it: all flows, again at every event.

use proptest::prelude::*;

use super::super::exec::EQUAL;
use super::super::queue::Queue;
use super::{Flows, MAX_HOPS};
use crate::cluster::Route;

/// A transfer: when it begins, over which links, how many bytes.
#[derive(Clone, Debug)]
struct Transfer {
    begin: f64,
    links: Vec<u32>,
    bytes: f64,
}

/// Rates of the transfers that are on their links. One link is filled at a time.
fn rates(gbps: &[f64], open: &[&Transfer]) -> Vec<f64> {
    let mut rates: Vec<Option<f64>> = vec![None; open.len()];
    loop {
        let share = |link: usize| {
            let on = || open.iter().zip(&rates).filter(|(transfer, _)| transfer.links.contains(&(link as u32)));
            let left: f64 = gbps[link] - on().filter_map(|(_, rate)| *rate).sum::<f64>();
            let count = on().filter(|(_, rate)| rate.is_none()).count();
            (count > 0).then(|| (left.max(0.0) / count as f64, link as u32))
        };
        let least = (0..gbps.len()).filter_map(share).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((least, link)) = least else { return rates.into_iter().map(Option::unwrap).collect() };
        for (transfer, rate) in open.iter().zip(&mut rates) {
            if rate.is_none() && transfer.links.contains(&link) {
                *rate = Some(least);
            }
        }
    }
}

/// When the transfers end, computed the plain way.
fn plain(gbps: &[f64], transfers: &[Transfer]) -> Vec<f64> {
    let mut left: Vec<f64> = transfers.iter().map(|transfer| transfer.bytes).collect();
    let mut ends = vec![f64::INFINITY; transfers.len()];
    let mut now = 0.0;
    loop {
        let is_open = |index: &usize| transfers[*index].begin <= now && ends[*index].is_infinite();
        let open: Vec<usize> = (0..transfers.len()).filter(is_open).collect();
        let rates = rates(gbps, &open.iter().map(|index| &transfers[*index]).collect::<Vec<_>>());
        let begins = transfers.iter().map(|transfer| transfer.begin).filter(|begin| *begin > now);
        let until = open.iter().zip(&rates).map(|(index, rate)| now + left[*index] / rate);
        let next = begins.chain(until).fold(f64::INFINITY, f64::min);
        if next.is_infinite() {
            return ends;
        }
        for (index, rate) in open.iter().zip(&rates) {
            let end = now + left[*index] / rate;
            left[*index] -= rate * (next - now);
            if end <= next * (1.0 + EQUAL) {
                ends[*index] = next;
            }
        }
        now = next;
    }
}

/// When the transfers end, as the engine runs them. Each has a thread of its own.
fn shared(gbps: &[f64], transfers: &[Transfer]) -> Vec<f64> {
    let routes = transfers.iter().map(|transfer| Route::over(&transfer.links, gbps)).collect();
    let mut flows = Flows::of(routes, gbps, transfers.len());
    let mut queue = Queue::new(transfers.len());
    let (mut begun, mut ends) = (vec![false; transfers.len()], vec![f64::INFINITY; transfers.len()]);
    (0..).zip(transfers).for_each(|(thread, transfer)| queue.set(thread, transfer.begin));
    while let Some((now, _)) = queue.first() {
        let until = now * (1.0 + EQUAL);
        while let Some((time, thread)) = queue.first().filter(|(time, _)| *time <= until) {
            let index = thread as usize;
            if begun[index] {
                queue.remove(thread);
                flows.end(thread, time, until, &mut queue);
                ends[index] = time;
            } else {
                begun[index] = true;
                flows.begin(thread, thread, transfers[index].bytes, time, &mut queue);
            }
        }
        flows.share(now, &mut queue);
        flows.assert_consistent();
    }
    ends
}

#[track_caller]
fn assert_same(gbps: &[f64], transfers: &[Transfer]) {
    let (plain, shared) = (plain(gbps, transfers), shared(gbps, transfers));
    for (index, (plain, shared)) in plain.iter().zip(&shared).enumerate() {
        let is_same = plain == shared || (plain - shared).abs() <= 1e-9 * plain;
        assert!(is_same, "transfer {index}: {shared} and not {plain}, over {gbps:?} with {transfers:?}");
    }
}

impl Flows {
    /// What the computation relies on.
    fn assert_consistent(&self) {
        for (thread, flow) in self.flows.iter().enumerate() {
            assert!(!flow.is_fresh, "{thread} has no share");
            let hops = self.routes[flow.path as usize].hops();
            let is_full = |hop: &u32| self.links[*hop as usize].group == flow.group;
            assert!(flow.group == super::NONE || hops.iter().any(is_full), "{thread} has no full link");
        }
        for (number, link) in self.links.iter().enumerate() {
            let grouped = link.flows.iter().filter(|flow| self.flows[**flow as usize].group != super::NONE).count();
            let counted: u32 = link.shares.iter().map(|share| share.1).sum();
            assert_eq!(grouped, counted as usize, "link {number}");
            assert!(grouped > 0 || link.flows.len() < 2, "link {number}");
        }
    }
}

/// Few different rates, sizes and times, so that much happens at once, or many, so that nothing does.
fn case(is_coarse: bool) -> impl Strategy<Value = (Vec<f64>, Vec<Transfer>)> {
    let number = move |most: u32| {
        let fine = (1.0..f64::from(most)).boxed();
        if is_coarse { (1..most.min(5)).prop_map(f64::from).boxed() } else { fine }
    };
    prop::collection::vec(number(50), 1..12).prop_flat_map(move |gbps| {
        let links = prop::sample::subsequence((0..gbps.len() as u32).collect::<Vec<_>>(), 1..=gbps.len().min(MAX_HOPS));
        let begin = (0..40u32, number(10)).prop_map(|(begin, part)| f64::from(begin) * part);
        let transfer = (begin, links, number(500)).prop_map(|(begin, links, bytes)| Transfer { begin, links, bytes });
        (Just(gbps), prop::collection::vec(transfer, 1..60))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shares_are_those_of_progressive_filling((gbps, transfers) in prop_oneof![case(true), case(false)]) {
        assert_same(&gbps, &transfers);
    }
}

/// Ports of every rank out and in, all pairs: what groups are for.
#[test]
fn all_pairs_of_a_switch() {
    for (ranks, delay) in [(6u32, 0.0), (7, 0.5), (9, 3.0), (8, 40.0)] {
        let pair = |from: u32, to: u32| Transfer {
            begin: 1.0 + delay * f64::from(from.max(to)),
            links: vec![from, ranks + to],
            bytes: 100.0 + f64::from((from * to) % 3) * 10.0,
        };
        let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))).filter(|(from, to)| from != to);
        let transfers: Vec<_> = pairs.map(|(from, to)| pair(from, to)).collect();
        assert_same(&vec![10.0; 2 * ranks as usize], &transfers);
        let mut gbps = vec![10.0; 2 * ranks as usize];
        (gbps[0], gbps[ranks as usize + 2]) = (3.0, 7.0);
        assert_same(&gbps, &transfers);
    }
}

/// A link that gives nothing holds its transfers for ever, and nobody else.
#[test]
fn a_dead_link() {
    let transfer = |begin, links: &[u32]| Transfer { begin, links: links.to_vec(), bytes: 100.0 };
    let transfers = [transfer(0.0, &[0, 1]), transfer(1.0, &[1, 2]), transfer(2.0, &[0]), transfer(3.0, &[2])];
    let ends = shared(&[0.0, 10.0, 10.0], &transfers);
    assert_eq!((ends[0], ends[2]), (f64::INFINITY, f64::INFINITY));
    // Alone until 3, then half until the first has 100.
    assert!((ends[1] - 19.0).abs() < 1e-9 && (ends[3] - 21.0).abs() < 1e-9, "{ends:?}");
}
