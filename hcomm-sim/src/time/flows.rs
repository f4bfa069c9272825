//! Transfers on links: each gets its max-min fair share of every link that it holds.
//!
//! A share changes only where a transfer begins or ends on a link that others hold, and only for transfers that are
//! joined to it by links. So shares are computed again for that component alone, once for all that happens at one
//! time, and not at all for a transfer that has its links to itself. Nothing is allocated after the lists have grown.

use super::exec::EQUAL;
use super::queue::Queue;
use crate::cluster::{MAX_HOPS, Network, PathId, Route};

/// Shares that differ by less than this part are the same.
const SAME: f64 = 1e-10;

/// All links, and the transfers on them. A transfer is known by its thread.
#[derive(Debug)]
pub(super) struct Flows {
    routes: Vec<Route>,
    links: Vec<LinkState>,
    flows: Vec<Flow>,
    /// Links on which something has changed since shares were computed.
    changed: Vec<u32>,
    /// Which pass of the computation has last seen a link or a flow.
    pass: u32,
    // Scratch of the computation: links and flows of a component.
    component: Vec<u32>,
    members: Vec<u32>,
    ends: Vec<f64>,
}

#[derive(Clone, Debug)]
struct LinkState {
    gbps: f64,
    /// Who holds it.
    flows: Vec<u32>,
    changed: bool,
    seen: u32,
    /// In the computation: what is left, and for how many.
    left: f64,
    open: u32,
    busy_since: f64,
    busy: f64,
    bytes: f64,
    most: u32,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    path: PathId,
    /// Its place in the list of each of its links.
    place: [u32; MAX_HOPS],
    seen: u32,
    is_fixed: bool,
    rate: f64,
    next_rate: f64,
    /// Bytes that were left at `since`.
    left: f64,
    since: f64,
}

/// What a link has carried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Bytes.
    pub bytes: f64,
    /// Nanoseconds in which some transfer held it.
    pub busy: f64,
    /// The most transfers that held it at once.
    pub most: u32,
}

impl Flows {
    pub(super) fn new(network: &Network<'_>, threads: usize) -> Flows {
        let link = |gbps| LinkState {
            gbps,
            flows: Vec::new(),
            changed: false,
            seen: 0,
            left: 0.0,
            open: 0,
            busy_since: 0.0,
            busy: 0.0,
            bytes: 0.0,
            most: 0,
        };
        let flow = Flow {
            path: 0,
            place: [0; MAX_HOPS],
            seen: 0,
            is_fixed: false,
            rate: 0.0,
            next_rate: 0.0,
            left: 0.0,
            since: 0.0,
        };
        Flows {
            routes: network.routes().to_vec(),
            links: network.links().iter().map(|(_, gbps)| link(*gbps)).collect(),
            flows: vec![flow; threads],
            changed: Vec::new(),
            pass: 0,
            component: Vec::new(),
            members: Vec::new(),
            ends: Vec::new(),
        }
    }

    pub(super) fn route(&self, path: PathId) -> &Route {
        &self.routes[path as usize]
    }

    /// Begins a transfer of a thread. Its end is put into the queue now if nobody shares its links, and by
    /// [`share`](Self::share) otherwise.
    pub(super) fn begin(&mut self, thread: u32, path: PathId, bytes: f64, now: f64, queue: &mut Queue) {
        let Flows { routes, links, flows, changed, .. } = self;
        let (route, flow) = (&routes[path as usize], &mut flows[thread as usize]);
        (flow.path, flow.left, flow.since, flow.rate) = (path, bytes, now, 0.0);
        let mut alone = true;
        for (link, place) in route.hops().iter().zip(&mut flow.place) {
            let state = &mut links[*link as usize];
            if state.flows.is_empty() {
                state.busy_since = now;
            } else {
                alone = false;
                if !state.changed {
                    state.changed = true;
                    changed.push(*link);
                }
            }
            *place = state.flows.len() as u32;
            state.flows.push(thread);
            state.most = state.most.max(*place + 1);
            state.bytes += bytes;
        }
        queue.remove(thread);
        if alone && route.gbps > 0.0 {
            flow.rate = route.gbps;
            queue.set(thread, now + bytes / route.gbps);
        }
    }

    /// Ends the transfer of a thread.
    pub(super) fn end(&mut self, thread: u32, now: f64) {
        let Flows { routes, links, flows, changed, .. } = self;
        let Flow { path, place, .. } = flows[thread as usize];
        for (link, place) in routes[path as usize].hops().iter().zip(place) {
            let state = &mut links[*link as usize];
            state.flows.swap_remove(place as usize);
            if let Some(moved) = state.flows.get(place as usize) {
                let moved = &mut flows[*moved as usize];
                let hop = routes[moved.path as usize].hops().iter().position(|hop| hop == link);
                moved.place[hop.unwrap_or_default()] = place;
            }
            if state.flows.is_empty() {
                state.busy += now - state.busy_since;
            } else if !state.changed {
                state.changed = true;
                changed.push(*link);
            }
        }
    }

    /// Computes the shares that have changed, and sets the ends of transfers in the queue.
    pub(super) fn share(&mut self, now: f64, queue: &mut Queue) {
        if self.changed.is_empty() {
            return;
        }
        self.pass += 1;
        let mut changed = std::mem::take(&mut self.changed);
        for link in changed.drain(..) {
            self.links[link as usize].changed = false;
            if self.links[link as usize].seen != self.pass {
                self.collect(link);
                self.fill();
                self.apply(now, queue);
            }
        }
        self.changed = changed;
    }

    /// All links and flows that are joined to a link.
    fn collect(&mut self, link: u32) {
        let Flows { routes, links, flows, pass, component, members, .. } = self;
        component.clear();
        members.clear();
        links[link as usize].seen = *pass;
        component.push(link);
        let mut next = 0;
        while let Some(link) = component.get(next).copied() {
            next += 1;
            let state = &mut links[link as usize];
            (state.left, state.open) = (state.gbps, state.flows.len() as u32);
            for index in 0..links[link as usize].flows.len() {
                let member = links[link as usize].flows[index];
                let flow = &mut flows[member as usize];
                if flow.seen == *pass {
                    continue;
                }
                (flow.seen, flow.is_fixed) = (*pass, false);
                members.push(member);
                for hop in routes[flow.path as usize].hops() {
                    let state = &mut links[*hop as usize];
                    if state.seen != *pass {
                        state.seen = *pass;
                        component.push(*hop);
                    }
                }
            }
        }
    }

    /// Progressive filling: the link with the smallest share fixes its flows, until all are fixed.
    fn fill(&mut self) {
        let Flows { routes, links, flows, component, .. } = self;
        loop {
            component.retain(|link| links[*link as usize].open > 0);
            let shares = component.iter().map(|link| {
                let state = &links[*link as usize];
                state.left.max(0.0) / f64::from(state.open)
            });
            let least = shares.fold(f64::INFINITY, f64::min);
            if component.is_empty() {
                return;
            }
            for link in component.iter() {
                let state = &links[*link as usize];
                if state.open == 0 || state.left > least * (1.0 + SAME) * f64::from(state.open) {
                    continue;
                }
                for index in 0..state.flows.len() {
                    let flow = &mut flows[links[*link as usize].flows[index] as usize];
                    if flow.is_fixed {
                        continue;
                    }
                    (flow.is_fixed, flow.next_rate) = (true, least);
                    for hop in routes[flow.path as usize].hops() {
                        let state = &mut links[*hop as usize];
                        state.left -= least;
                        state.open -= 1;
                    }
                }
            }
        }
    }

    /// Takes the new shares over. Of a component only those that end first are in the queue: when they do, its shares
    /// are computed again, and so are the other ends.
    fn apply(&mut self, now: f64, queue: &mut Queue) {
        let Flows { flows, members, ends, .. } = self;
        ends.clear();
        let mut first = f64::INFINITY;
        for member in members.iter() {
            let flow = &mut flows[*member as usize];
            if (flow.next_rate - flow.rate).abs() > SAME * flow.rate {
                flow.left = (flow.left - flow.rate * (now - flow.since).max(0.0)).max(0.0);
                (flow.since, flow.rate) = (now, flow.next_rate);
            }
            let end = if flow.rate > 0.0 { flow.since + flow.left / flow.rate } else { f64::INFINITY };
            first = first.min(end);
            ends.push(end);
        }
        let first = first * (1.0 + EQUAL);
        for (member, end) in members.iter().zip(ends.iter()) {
            if *end <= first && end.is_finite() {
                queue.set(*member, *end);
            } else {
                queue.remove(*member);
            }
        }
    }

    /// What every link has carried until `now`.
    pub(super) fn loads(&self, now: f64) -> Vec<Load> {
        let load = |link: &LinkState| {
            let open = if link.flows.is_empty() { 0.0 } else { now - link.busy_since };
            Load { bytes: link.bytes, busy: link.busy + open, most: link.most }
        };
        self.links.iter().map(load).collect()
    }

    /// The first link of a path that gives nothing.
    pub(super) fn dead(&self, path: PathId) -> Option<u32> {
        self.routes[path as usize].hops().iter().copied().find(|link| self.links[*link as usize].gbps <= 0.0)
    }
}
