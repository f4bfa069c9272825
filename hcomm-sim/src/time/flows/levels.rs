//! Progressive filling, a level at a time: the links with the smallest share are full, and all flows on them that no level
//! before has fixed get that share. They are a group.
//!
//! From one computation to the next most flows stay in their groups, and then a level is made of counts alone: how many
//! flows of a group are on a link. So a computation costs the links of the component, once for each level that holds
//! them, and the flows only of links that have become full, or no longer are, or on which flows have begun.

use super::super::queue::{Heap, Queue};
use super::{Flow, Flows, NONE};

/// Shares that differ by less than this part are the same.
const SAME: f64 = 1e-10;

/// Flows that have the same rate, since the same level has fixed them.
#[derive(Debug, Default)]
pub(super) struct Group {
    rate: f64,
    /// How many bytes a flow of this group has got until `since` that was always in it.
    clock: f64,
    since: f64,
    /// Its flows, by where the clock is when they end.
    flows: Heap,
    /// Links with flows of this group.
    links: Vec<u32>,
    /// Those of them that were full: each flow is on one.
    full: Vec<u32>,
    /// Which of its flows is in the queue. It is enough to have the one that ends first there.
    pub(super) queued: u32,
    seen: u32,
    /// The pass that has fixed it.
    fixed: u32,
}

impl Group {
    /// The flow that ends first, and when.
    pub(super) fn next(&self) -> Option<(f64, u32)> {
        let (goal, thread) = self.flows.first()?;
        let end = self.since + (goal - self.clock).max(0.0) / self.rate;
        (self.rate > 0.0).then_some((end, thread))
    }
}

impl Flows {
    /// Computes the shares that have changed, and sets the ends of transfers in the queue.
    pub(in super::super) fn share(&mut self, now: f64, queue: &mut Queue) {
        if self.changed.is_empty() {
            return;
        }
        self.pass += 1;
        let mut changed = std::mem::take(&mut self.changed);
        for link in changed.drain(..) {
            self.links[link as usize].changed = false;
            if self.links[link as usize].seen != self.pass {
                self.collect(link, now, queue);
                self.fill(now, queue);
                self.apply(queue);
            }
        }
        self.changed = changed;
    }

    /// All links and groups that are joined to a link. Clocks are set to now.
    fn collect(&mut self, link: u32, now: f64, queue: &mut Queue) {
        let Flows { routes, links, flows, groups, pass, component, members, .. } = self;
        component.clear();
        members.clear();
        links[link as usize].seen = *pass;
        component.push(link);
        let mut next = 0;
        while let Some(link) = component.get(next).copied() {
            next += 1;
            let state = &mut links[link as usize];
            (state.left, state.open) = (state.gbps, state.flows.len() as u32);
            let mut fresh = std::mem::take(&mut state.fresh);
            let mut join = |link: u32, seen: &mut u32| {
                if *seen != *pass {
                    *seen = *pass;
                    component.push(link);
                }
            };
            for index in 0..links[link as usize].shares.len() {
                let (number, _) = links[link as usize].shares[index];
                let group = &mut groups[number as usize];
                if group.seen == *pass {
                    continue;
                }
                group.seen = *pass;
                group.clock += group.rate * (now - group.since).max(0.0);
                group.since = now;
                members.push(number);
                group.links.iter().for_each(|link| join(*link, &mut links[*link as usize].seen));
            }
            fresh.retain(|thread| {
                let flow = &mut flows[*thread as usize];
                let hops = routes[flow.path as usize].hops();
                // Some have found their group since, or have ended.
                if !flow.is_fresh || !hops.contains(&link) {
                    return false;
                }
                flow.left = (flow.left - flow.rate * (now - flow.since).max(0.0)).max(0.0);
                (flow.rate, flow.since) = (0.0, now);
                queue.remove(*thread);
                hops.iter().for_each(|link| join(*link, &mut links[*link as usize].seen));
                true
            });
            links[link as usize].fresh = fresh;
        }
    }

    /// The levels of a component.
    fn fill(&mut self, now: f64, queue: &mut Queue) {
        let mut level = std::mem::take(&mut self.level);
        loop {
            let Flows { links, component, pass, .. } = self;
            let mut least = f64::INFINITY;
            component.retain(|link| {
                let state = &links[*link as usize];
                if state.open > 0 {
                    least = least.min(state.left.max(0.0) / f64::from(state.open));
                }
                state.open > 0
            });
            if component.is_empty() {
                break;
            }
            level.clear();
            for link in component.iter() {
                let state = &mut links[*link as usize];
                if state.left <= least * (1.0 + SAME) * f64::from(state.open) {
                    state.full = *pass;
                    level.push(*link);
                }
            }
            let group = self.group_of(&level, now);
            self.regroup(group, &level, queue);
            self.fix(group, least);
        }
        self.level = level;
    }

    /// The group that a level goes on with: the largest of those whose links it has, or a new one.
    fn group_of(&mut self, level: &[u32], now: f64) -> u32 {
        let mut best = (0, NONE);
        for link in level {
            let number = self.links[*link as usize].group;
            if number == NONE || number == best.1 {
                continue;
            }
            let group = &self.groups[number as usize];
            if group.fixed != self.pass && group.flows.len() > best.0 {
                best = (group.flows.len(), number);
            }
        }
        if best.1 != NONE {
            return best.1;
        }
        let number = self.unused.pop().unwrap_or_else(|| {
            self.groups.push(Group::default());
            self.groups.len() as u32 - 1
        });
        let group = &mut self.groups[number as usize];
        (group.rate, group.clock, group.since, group.queued, group.seen) = (0.0, 0.0, now, NONE, self.pass);
        self.members.push(number);
        number
    }

    /// Makes a group of the flows on the links of a level that are not fixed yet.
    fn regroup(&mut self, group: u32, level: &[u32], queue: &mut Queue) {
        let mut before = std::mem::take(&mut self.groups[group as usize].full);
        for link in level {
            self.links[*link as usize].group = group;
        }
        for link in level {
            let mut fresh = std::mem::take(&mut self.links[*link as usize].fresh);
            for thread in fresh.drain(..) {
                if self.flows[thread as usize].is_fresh {
                    self.join(thread, group, queue);
                }
            }
            let state = &mut self.links[*link as usize];
            state.fresh = fresh;
            let there = state.shares.iter().find(|share| share.0 == group).map_or(0, |share| share.1);
            // Mostly those are all that are open. Otherwise some are in another group.
            if there == state.open {
                continue;
            }
            for index in 0..state.flows.len() {
                let thread = self.links[*link as usize].flows[index];
                let current = self.flows[thread as usize].group;
                let is_fixed = current != NONE && self.groups[current as usize].fixed == self.pass;
                if current != group && !is_fixed {
                    self.join(thread, group, queue);
                }
            }
        }
        // Flows that were in the group for links that are no longer full, or not at this level.
        before.retain(|link| {
            let state = &mut self.links[*link as usize];
            let is_out = state.group == group && state.full != self.pass;
            if is_out {
                state.group = NONE;
            }
            is_out
        });
        for link in before.drain(..) {
            for index in 0..self.links[link as usize].flows.len() {
                let thread = self.links[link as usize].flows[index];
                let Flow { group: current, path, .. } = self.flows[thread as usize];
                let mut hops = self.routes[path as usize].hops().iter();
                if current == group && !hops.any(|hop| self.links[*hop as usize].group == group) {
                    self.leave(thread, queue);
                    self.refresh(thread);
                }
            }
        }
        before.extend_from_slice(level);
        self.groups[group as usize].full = before;
    }

    /// Gives a group its rate, and takes that from its links.
    fn fix(&mut self, number: u32, rate: f64) {
        let Flows { links, groups, pass, .. } = self;
        let group = &mut groups[number as usize];
        (group.rate, group.fixed) = (rate, *pass);
        group.links.retain(|link| {
            let state = &mut links[*link as usize];
            let Some(at) = state.shares.iter().position(|share| share.0 == number) else { return false };
            let count = state.shares[at].1;
            if count == 0 {
                state.shares.swap_remove(at);
                return false;
            }
            state.left -= rate * f64::from(count);
            state.open -= count;
            true
        });
    }

    /// Puts the first end of every group of the component into the queue. Groups without flows end.
    fn apply(&mut self, queue: &mut Queue) {
        let Flows { links, groups, unused, pass, members, .. } = self;
        for number in members.iter() {
            let group = &mut groups[*number as usize];
            if group.fixed != *pass {
                debug_assert_eq!(group.flows.len(), 0, "every flow is fixed");
                group.links.drain(..).for_each(|link| links[link as usize].shares.retain(|share| share.0 != *number));
                for link in group.full.drain(..) {
                    let state = &mut links[link as usize];
                    state.group = if state.group == *number { NONE } else { state.group };
                }
                unused.push(*number);
                continue;
            }
            let next = group.next();
            let first = next.map_or(NONE, |(_, thread)| thread);
            if group.queued != NONE && group.queued != first {
                queue.remove(group.queued);
            }
            group.queued = first;
            if let Some((end, thread)) = next {
                queue.set(thread, end);
            }
        }
    }

    /// A flow comes into a group. Clocks are at the time of the computation.
    fn join(&mut self, thread: u32, number: u32, queue: &mut Queue) {
        if self.flows[thread as usize].group != NONE {
            self.leave(thread, queue);
        }
        let Flows { routes, links, flows, groups, places, .. } = self;
        let (flow, group) = (&mut flows[thread as usize], &mut groups[number as usize]);
        (flow.group, flow.is_fresh) = (number, false);
        group.flows.set(thread, group.clock + flow.left, places);
        for link in routes[flow.path as usize].hops() {
            let shares = &mut links[*link as usize].shares;
            match shares.iter_mut().find(|share| share.0 == number) {
                Some(share) => share.1 += 1,
                None => {
                    shares.push((number, 1));
                    group.links.push(*link);
                }
            }
        }
    }

    /// A flow goes out of its group.
    pub(super) fn leave(&mut self, thread: u32, queue: &mut Queue) {
        let Flows { routes, links, flows, groups, places, .. } = self;
        let flow = &mut flows[thread as usize];
        let number = std::mem::replace(&mut flow.group, NONE);
        let group = &mut groups[number as usize];
        if group.queued == thread {
            group.queued = NONE;
            queue.remove(thread);
        }
        let goal = group.flows.key(thread, places).unwrap_or_default();
        flow.left = (goal - group.clock).max(0.0);
        group.flows.remove(thread, places);
        for link in routes[flow.path as usize].hops() {
            if let Some(share) = links[*link as usize].shares.iter_mut().find(|share| share.0 == number) {
                share.1 -= 1;
            }
        }
    }
}
