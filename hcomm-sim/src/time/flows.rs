//! Transfers on links: each gets its max-min fair share of every link that it holds.
//!
//! A share changes only where a transfer begins or ends on a link that others hold, and only for transfers that are
//! joined to it by links. So shares are computed again for that component alone, once for all that happens at one
//! time, and not at all for a transfer that has its links to itself.
//!
//! Nor are transfers looked at one by one then. Those that the same level of the filling has fixed are a group: they have
//! the same rate, so a clock of the group, in bytes, says what each has left, and stays right for all of them when the
//! rate changes. Only a transfer whose group changes costs something. See [`levels`].
//! Nothing is allocated after the lists have grown.

mod levels;
#[cfg(test)]
mod tests;

use super::queue::{Places, Queue};
use crate::cluster::{MAX_HOPS, Network, PathId, Route};
use levels::Group;

/// No group, no transfer.
const NONE: u32 = u32::MAX;

/// All links, and the transfers on them. A transfer is known by its thread.
#[derive(Debug)]
pub(super) struct Flows {
    routes: Vec<Route>,
    links: Vec<LinkState>,
    flows: Vec<Flow>,
    groups: Vec<Group>,
    /// Groups that are not in use.
    unused: Vec<u32>,
    /// Where flows are in the heaps of their groups.
    places: Places,
    /// Links on which something has changed since shares were computed.
    changed: Vec<u32>,
    /// Which pass of the computation has last seen a link or a group.
    pass: u32,
    // Scratch of the computation: links and groups of a component, links of a level.
    component: Vec<u32>,
    members: Vec<u32>,
    level: Vec<u32>,
}

#[derive(Clone, Debug)]
struct LinkState {
    gbps: f64,
    /// Who holds it.
    flows: Vec<u32>,
    /// How many of them are in which group. A count can be 0 until shares are computed.
    shares: Vec<(u32, u32)>,
    /// Those of them that have no group yet, and some that have found one since, or have ended.
    fresh: Vec<u32>,
    /// The group whose rate is what this link gives: all its flows are in it, but those that have less elsewhere.
    group: u32,
    changed: bool,
    seen: u32,
    /// In the computation: what is left, and for how many; in which pass it was full.
    left: f64,
    open: u32,
    full: u32,
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
    /// It is going to get a group when shares are computed.
    is_fresh: bool,
    /// None, if it has its links to itself.
    group: u32,
    /// Without a group: its rate, and the bytes that were left at `since`.
    rate: f64,
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
        let gbps: Vec<f64> = network.links().iter().map(|(_, gbps)| *gbps).collect();
        Flows::of(network.routes().to_vec(), &gbps, threads)
    }

    fn of(routes: Vec<Route>, gbps: &[f64], threads: usize) -> Flows {
        let link = |gbps| LinkState {
            gbps,
            flows: Vec::new(),
            shares: Vec::new(),
            fresh: Vec::new(),
            group: NONE,
            changed: false,
            seen: 0,
            left: 0.0,
            open: 0,
            full: 0,
            busy_since: 0.0,
            busy: 0.0,
            bytes: 0.0,
            most: 0,
        };
        let flow =
            Flow { path: 0, place: [0; MAX_HOPS], is_fresh: false, group: NONE, rate: 0.0, left: 0.0, since: 0.0 };
        Flows {
            routes,
            links: gbps.iter().copied().map(link).collect(),
            flows: vec![flow; threads],
            groups: Vec::new(),
            unused: Vec::new(),
            places: Places::new(threads),
            changed: Vec::new(),
            pass: 0,
            component: Vec::new(),
            members: Vec::new(),
            level: Vec::new(),
        }
    }

    pub(super) fn route(&self, path: PathId) -> &Route {
        &self.routes[path as usize]
    }

    /// Begins a transfer of a thread. Its end is put into the queue now if nobody shares its links, and by
    /// [`share`](Self::share) otherwise.
    pub(super) fn begin(&mut self, thread: u32, path: PathId, bytes: f64, now: f64, queue: &mut Queue) {
        let route = self.routes[path as usize];
        let mut alone = true;
        for (hop, link) in route.hops().iter().enumerate() {
            let state = &mut self.links[*link as usize];
            let place = state.flows.len() as u32;
            state.flows.push(thread);
            state.most = state.most.max(place + 1);
            state.bytes += bytes;
            self.flows[thread as usize].place[hop] = place;
            if place == 0 {
                state.busy_since = now;
                // A link that others have just left can still be joined to theirs.
                alone &= !state.changed;
                continue;
            }
            alone = false;
            let first = state.flows[0];
            self.change(*link);
            let Flow { group, is_fresh, .. } = self.flows[first as usize];
            if place == 1 && group == NONE && !is_fresh {
                self.refresh(first);
            }
        }
        let flow = &mut self.flows[thread as usize];
        (flow.path, flow.left, flow.since, flow.rate) = (path, bytes, now, 0.0);
        queue.remove(thread);
        if !alone {
            self.refresh(thread);
        } else if route.gbps > 0.0 {
            flow.rate = route.gbps;
            queue.set(thread, now + bytes / route.gbps);
        }
    }

    /// Ends the transfer of a thread. The next one of its group is put into the queue if it ends by `until`.
    pub(super) fn end(&mut self, thread: u32, now: f64, until: f64, queue: &mut Queue) {
        let Flow { path, place, group, is_fresh, .. } = self.flows[thread as usize];
        let route = self.routes[path as usize];
        for (link, place) in route.hops().iter().zip(place) {
            let state = &mut self.links[*link as usize];
            state.flows.swap_remove(place as usize);
            if let Some(moved) = state.flows.get(place as usize) {
                let moved = &mut self.flows[*moved as usize];
                let hop = self.routes[moved.path as usize].hops().iter().position(|hop| hop == link);
                moved.place[hop.unwrap_or_default()] = place;
            }
            let is_empty = state.flows.is_empty();
            if is_empty {
                state.busy += now - state.busy_since;
            }
            if !is_empty || group != NONE || is_fresh {
                self.change(*link);
            }
        }
        self.flows[thread as usize].is_fresh = false;
        if group != NONE {
            self.leave(thread, queue);
            let group = &mut self.groups[group as usize];
            if let Some((end, next)) = group.next().filter(|(end, _)| *end <= until) {
                group.queued = next;
                queue.set(next, end);
            }
        }
    }

    /// Something has changed on a link.
    fn change(&mut self, link: u32) {
        let state = &mut self.links[link as usize];
        if !state.changed {
            state.changed = true;
            self.changed.push(link);
        }
    }

    /// A flow is going to get a group.
    fn refresh(&mut self, thread: u32) {
        let flow = &mut self.flows[thread as usize];
        flow.is_fresh = true;
        for link in self.routes[flow.path as usize].hops() {
            self.links[*link as usize].fresh.push(thread);
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
