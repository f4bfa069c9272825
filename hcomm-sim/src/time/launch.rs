//! AIV: the kernels of ranks. A round is a launch: blocks take cores, meet, and end together.

use super::exec::{Engine, State};
use super::record::NO_EVENT;
use super::schedule::{NO_PATH, Schedule};

/// AIV: the kernel of a rank.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Launch {
    /// Blocks that have or had a core, and those that have ended.
    started: u32,
    ended: u32,
    /// Blocks that are at the meeting.
    arrived: u32,
}

impl Launch {
    /// One that begins on so many cores.
    pub(super) fn new(cores: u32) -> Launch {
        Launch { started: cores, ..Launch::default() }
    }
}

impl Engine<'_, '_> {
    /// AIV: the core of a block that has ended takes the next one of its rank.
    pub(super) fn next_block(&mut self, thread: u32, time: f64) {
        let Some(launch) = self.launches.get_mut(self.schedule.threads[thread as usize].rank as usize) else { return };
        if launch.started >= self.schedule.blocks {
            return;
        }
        let next = thread - thread % self.schedule.blocks + launch.started;
        launch.started += 1;
        let task = &mut self.tasks[next as usize];
        (task.state, task.clock) = (State::Ready, time.max(task.clock));
        self.pass_on(thread, next);
        self.ready.push(next);
    }

    /// The cause of what a thread does next is the last operation of another one.
    fn pass_on(&mut self, from: u32, to: u32) {
        if let Some(last) = self.notes.get(from as usize).map(|note| note.last) {
            self.notes[to as usize].last = last;
        }
    }

    /// AIV: a block has come to the end of its launch, which ends with the last one.
    pub(super) fn end_block(&mut self, thread: u32) {
        let Schedule { blocks, .. } = *self.schedule;
        let rank = self.schedule.threads[thread as usize].rank;
        let (first, clock) = (thread - thread % blocks, self.tasks[thread as usize].clock);
        let launch = &mut self.launches[rank as usize];
        launch.ended += 1;
        let gives_core = launch.started < blocks;
        let is_last = launch.ended == blocks;
        self.tasks[thread as usize].state = State::Ended;
        if gives_core {
            // The first one to end, in the order of time, is who gives its core to the next.
            self.tasks[thread as usize].state = State::Ends;
            self.queue.set(thread, clock);
        }
        if !is_last {
            return;
        }
        let last = self.latest(first);
        let all = first..first + blocks;
        all.clone().for_each(|block| self.queue.remove(block));
        if u64::from(self.tasks[thread as usize].round) + 1 >= self.setup.rounds.rounds {
            all.for_each(|block| self.tasks[block as usize].state = State::Done);
            return;
        }
        let cores = self.setup.cores.max(1).min(blocks);
        let clock = self.tasks[last as usize].clock + self.setup.costs.launch;
        self.launches[rank as usize] = Launch::new(cores);
        for block in all.rev() {
            let has_core = block - first < cores;
            let task = &mut self.tasks[block as usize];
            (task.clock, task.at, task.last_path) = (clock, self.schedule.threads[block as usize].begin, NO_PATH);
            task.round += 1;
            task.state = if has_core { State::Ready } else { State::NoCore };
            self.pass_on(last, block);
            self.ready.extend(has_core.then_some(block));
        }
    }

    /// AIV: which block of a rank has the latest clock; the first of several.
    fn latest(&self, first: u32) -> u32 {
        let clock = |block: &u32| self.tasks[*block as usize].clock;
        let blocks = first..first + self.schedule.blocks;
        blocks.reduce(|latest, block| if clock(&block) > clock(&latest) { block } else { latest }).unwrap_or(first)
    }

    /// AIV: a block has come to a `SyncAll`. If it is the last one, all go on.
    pub(super) fn meet(&mut self, thread: u32) {
        self.tasks[thread as usize].state = State::Meets;
        let rank = self.schedule.threads[thread as usize].rank;
        let launch = &mut self.launches[rank as usize];
        launch.arrived += 1;
        if launch.arrived < self.schedule.blocks {
            return;
        }
        launch.arrived = 0;
        let first = thread - thread % self.schedule.blocks;
        let last = self.latest(first);
        let end = self.tasks[last as usize].clock + self.setup.costs.sync;
        let go_on = |engine: &mut Self, block: u32| {
            let task = &mut engine.tasks[block as usize];
            let start = std::mem::replace(&mut task.clock, end);
            (task.state, task.last_path) = (State::Ready, NO_PATH);
            let number = engine.record(block, end, Some(start));
            engine.tasks[block as usize].at += 1;
            engine.ready.push(block);
            number
        };
        let cause = go_on(self, last);
        for block in (first..first + self.schedule.blocks).filter(|block| *block != last).rev() {
            let number = go_on(self, block);
            if cause != NO_EVENT
                && let Some(event) = self.recording.events.get_mut(number as usize)
            {
                (event.cause, event.is_held_up) = (cause, true);
            }
        }
    }
}
