//! A queue of threads by the time of their next event: each thread has at most one, and it can change.
//!
//! Equal times come in the order of thread numbers, so the order of events does not depend on how they came about.
//! Nothing is allocated after the start.

/// In no place of the heap.
const ABSENT: u32 = u32::MAX;
/// Children of a node.
const ARITY: usize = 4;

/// A heap in which every thread knows its place.
#[derive(Debug)]
pub(super) struct Queue {
    heap: Vec<(f64, u32)>,
    place: Vec<u32>,
}

impl Queue {
    pub(super) fn new(threads: usize) -> Queue {
        Queue { heap: Vec::with_capacity(threads), place: vec![ABSENT; threads] }
    }

    /// The earliest event: when, and whose.
    pub(super) fn first(&self) -> Option<(f64, u32)> {
        self.heap.first().copied()
    }

    /// Sets the event of a thread.
    pub(super) fn set(&mut self, thread: u32, time: f64) {
        match self.place[thread as usize] {
            ABSENT => {
                self.heap.push((time, thread));
                self.up(self.heap.len() - 1);
            }
            at => {
                let at = at as usize;
                let earlier = time < self.heap[at].0;
                self.heap[at].0 = time;
                if earlier {
                    self.up(at);
                } else {
                    self.down(at);
                }
            }
        }
    }

    /// Takes the event of a thread away, if it has one.
    pub(super) fn remove(&mut self, thread: u32) {
        let at = self.place[thread as usize];
        if at == ABSENT {
            return;
        }
        self.place[thread as usize] = ABSENT;
        let Some(last) = self.heap.pop() else { return };
        let at = at as usize;
        if at < self.heap.len() {
            self.heap[at] = last;
            self.place[last.1 as usize] = at as u32;
            self.up(at);
            self.down(self.place[last.1 as usize] as usize);
        }
    }

    fn up(&mut self, mut at: usize) {
        let moving = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent] <= moving {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, moving);
    }

    fn down(&mut self, mut at: usize) {
        let moving = self.heap[at];
        loop {
            let first = at * ARITY + 1;
            let mut least = (moving, at);
            for child in first..(first + ARITY).min(self.heap.len()) {
                if self.heap[child] < least.0 {
                    least = (self.heap[child], child);
                }
            }
            if least.1 == at {
                break;
            }
            self.put(at, least.0);
            at = least.1;
        }
        self.put(at, moving);
    }

    fn put(&mut self, at: usize, entry: (f64, u32)) {
        self.heap[at] = entry;
        self.place[entry.1 as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a sorted list, with changes and removals.
    #[test]
    fn order() {
        let mut queue = Queue::new(100);
        let mut list: Vec<Option<f64>> = vec![None; 100];
        let mut random = 1u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (thread, what) = ((random >> 33) as usize % 100, (random >> 50) % 4);
            if what == 0 {
                queue.remove(thread as u32);
                list[thread] = None;
            } else {
                let time = f64::from((random >> 40) as u32 % 50);
                queue.set(thread as u32, time);
                list[thread] = Some(time);
            }
            let first = (0..).zip(&list).filter_map(|(thread, time)| time.map(|time| (time, thread)));
            assert_eq!(queue.first(), first.min_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal)));
        }
    }
}
