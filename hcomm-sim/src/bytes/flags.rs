//! Notifies: one bit each, and the threads that wait for it.

/// All notifies of a run, by their number in the plan.
#[derive(Debug)]
pub(crate) struct Flags {
    flags: Vec<Flag>,
    /// By thread: who waits for the same notify after it.
    next: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Flag {
    set: bool,
    lost: u32,
    /// The last of those that wait, whose `next` is the first; [`NOBODY`] if none does.
    last: u32,
}

const NOBODY: u32 = u32::MAX;

impl Flags {
    pub(crate) fn new(flags: usize, threads: usize) -> Flags {
        Flags { flags: vec![Flag { set: false, lost: 0, last: NOBODY }; flags], next: vec![NOBODY; threads] }
    }

    /// Sets a flag and calls `wake` with every thread that waited for it, in the order in which they came; they must
    /// try again. Returns whether the record was lost because the flag was still set.
    pub(crate) fn record(&mut self, flag: u32, mut wake: impl FnMut(u32)) -> bool {
        let flag = &mut self.flags[flag as usize];
        let lost = flag.set;
        flag.set = true;
        flag.lost = flag.lost.saturating_add(u32::from(lost));
        let last = std::mem::replace(&mut flag.last, NOBODY);
        if last != NOBODY {
            let mut thread = self.next[last as usize];
            loop {
                let after = self.next[thread as usize];
                wake(thread);
                if thread == last {
                    break;
                }
                thread = after;
            }
        }
        lost
    }

    /// Clears a flag that is set, and otherwise notes that `thread` waits for it. Returns whether it was set.
    pub(crate) fn wait(&mut self, flag: u32, thread: u32) -> bool {
        let flag = &mut self.flags[flag as usize];
        if std::mem::take(&mut flag.set) {
            return true;
        }
        if flag.last == NOBODY {
            self.next[thread as usize] = thread;
        } else {
            self.next[thread as usize] = self.next[flag.last as usize];
            self.next[flag.last as usize] = thread;
        }
        flag.last = thread;
        false
    }

    /// How many records of a flag were lost.
    pub(crate) fn lost(&self, flag: u32) -> u32 {
        self.flags[flag as usize].lost
    }

    /// The flags that are set.
    pub(crate) fn set(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.flags).filter(|(_, flag)| flag.set).map(|(number, _)| number)
    }
}
