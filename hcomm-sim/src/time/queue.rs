//! A queue of threads by the time of their next event: each thread has at most one, and it can change.
//!
//! Equal times come in the order of thread numbers, so the order of events does not depend on how they came about.
//! Nothing is allocated after the start.

/// In no place of the heap.
const ABSENT: u32 = u32::MAX;
/// Children of a node.
const ARITY: usize = 4;

/// Threads by a key. Each thread is in one heap at most, so that heaps share the list of their places.
#[derive(Debug, Default)]
pub(super) struct Heap(Vec<(f64, u32)>);

/// Where every thread is in its heap.
#[derive(Debug)]
pub(super) struct Places(Vec<u32>);

impl Places {
    pub(super) fn new(threads: usize) -> Places {
        Places(vec![ABSENT; threads])
    }
}

impl Heap {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The smallest key, and whose.
    pub(super) fn first(&self) -> Option<(f64, u32)> {
        self.0.first().copied()
    }

    /// The key of a thread that is in this heap.
    pub(super) fn key(&self, thread: u32, places: &Places) -> Option<f64> {
        self.0.get(places.0[thread as usize] as usize).map(|(key, _)| *key)
    }

    /// Puts a thread in, or changes its key.
    pub(super) fn set(&mut self, thread: u32, key: f64, places: &mut Places) {
        match places.0[thread as usize] {
            ABSENT => {
                self.0.push((key, thread));
                self.up(self.0.len() - 1, places);
            }
            at => {
                let at = at as usize;
                let earlier = key < self.0[at].0;
                self.0[at].0 = key;
                if earlier {
                    self.up(at, places);
                } else {
                    self.down(at, places);
                }
            }
        }
    }

    /// Takes a thread away, if it is in.
    pub(super) fn remove(&mut self, thread: u32, places: &mut Places) {
        let at = places.0[thread as usize];
        if at == ABSENT {
            return;
        }
        places.0[thread as usize] = ABSENT;
        let Some(last) = self.0.pop() else { return };
        let at = at as usize;
        if at < self.0.len() {
            self.put(at, last, places);
            self.up(at, places);
            self.down(places.0[last.1 as usize] as usize, places);
        }
    }

    fn up(&mut self, mut at: usize, places: &mut Places) {
        let moving = self.0[at];
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.0[parent] <= moving {
                break;
            }
            self.put(at, self.0[parent], places);
            at = parent;
        }
        self.put(at, moving, places);
    }

    fn down(&mut self, mut at: usize, places: &mut Places) {
        let moving = self.0[at];
        loop {
            let first = at * ARITY + 1;
            let mut least = (moving, at);
            for child in first..(first + ARITY).min(self.0.len()) {
                if self.0[child] < least.0 {
                    least = (self.0[child], child);
                }
            }
            if least.1 == at {
                break;
            }
            self.put(at, least.0, places);
            at = least.1;
        }
        self.put(at, moving, places);
    }

    fn put(&mut self, at: usize, entry: (f64, u32), places: &mut Places) {
        self.0[at] = entry;
        places.0[entry.1 as usize] = at as u32;
    }
}

/// When what happens to every thread.
#[derive(Debug)]
pub(super) struct Queue {
    heap: Heap,
    places: Places,
}

impl Queue {
    pub(super) fn new(threads: usize) -> Queue {
        Queue { heap: Heap(Vec::with_capacity(threads)), places: Places::new(threads) }
    }

    /// The earliest event: when, and whose.
    pub(super) fn first(&self) -> Option<(f64, u32)> {
        self.heap.first()
    }

    /// Sets the event of a thread.
    pub(super) fn set(&mut self, thread: u32, time: f64) {
        self.heap.set(thread, time, &mut self.places);
    }

    /// Takes the event of a thread away, if it has one.
    pub(super) fn remove(&mut self, thread: u32) {
        self.heap.remove(thread, &mut self.places);
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
