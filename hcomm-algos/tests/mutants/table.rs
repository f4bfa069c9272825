//! What came of it: for every algorithm and kind of change, how the checks and the runs judge.

use std::collections::BTreeMap;
use std::fmt::Write;

const HEAD: &str = "\
# Mutants

How good the checks are, measured: every algorithm of the library is broken in every way that there is a name for, and
what the checks say of each mutant is compared with what it does when it runs. This page is written by the harness:

```sh
UPDATE_DOCS=1 cargo test --release -p hcomm-algos --features sweep --test mutants
```

**What is changed.** In lowered programs every operation is dropped, doubled, moved (by one, two, four places, to the
front, to the end, to another thread), sent to every other peer, shifted by a chunk at either end, given every other
notify index, turned from a copy into a reduction or back; every record is taken out with the wait that takes it. What does
no harm alone is changed once more (row `two changes`). In the text of the algorithm (rows `text:`) every statement is left
out, every chunk index, value and loop bound is one off, every peer is the next or the one before, every notify is another,
neighbouring phases, and neighbouring signals and waits, change places. Algorithms are taken at 2, 3, 4 and 5 ranks, or at
the layouts that they name up to 6 ranks, with the first and the last rank as root. Of a program with more than 400 mutants
every n-th is taken.

**What is true** is found out without the checks: the byte simulator runs the mutant through the smallest HCCL buffer,
so that it takes several rounds, two or three times in a row on new inputs, on scratch that nothing has written, with
counts so small that chunks differ in length, and in orders that look for trouble: first come first served, last come
first served, random steps, random priorities, one rank starved, one thread starved, and one operation held back as long
as anything else can go on, for one operation after the other (for all of them where the checks reject and nothing has
shown, for up to 120 of them otherwise). Beside bytes, hangs, lost records and notifies left set,
the harness notes in which order conflicting accesses came. If one run has them in one order, and another run in the
other, nothing orders them.

| column | meaning |
| --- | --- |
| refused | contradicts itself (a chunk or peer that does not exist): the evaluator or the simulator does not take it |
| harmful | some run ends with a wrong byte, reads what nothing wrote, loses a record, leaves a notify set, hangs, or leaves a barrier early |
| same bytes | two accesses, one of them a write, came in either order, and no byte came out wrong: both write the same, or nobody reads what they write |
| additions | two additions came in either order, which is wrong only because the algorithm is `deterministic` |
| harmless | no run shows anything |
| caught | rejected, of those that are refused, harmful or out of order |
| missed | accepted, although a run shows that it is wrong |
| by rule | rejected because source and destination of one task overlap, although it changes nothing there |
| false alarms | rejected, although no run shows anything wrong |

The ordinary test run takes some mutants of every algorithm and fails if one is missed or rejected for nothing. Beside it
the checks are held against all interleavings of small programs (`hcomm-core/tests/check/mutants.rs`, `wild.rs`).

";

/// Mutants of one row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) mutants: u32,
    /// Contradict themselves: neither the evaluator nor the simulator takes them.
    pub(crate) refused: u32,
    /// Some run does wrong.
    pub(crate) harmful: u32,
    /// Two accesses in either order, and no wrong byte.
    pub(crate) race: u32,
    /// Two additions in either order, which only `deterministic` forbids.
    pub(crate) additions: u32,
    /// No run shows anything.
    pub(crate) harmless: u32,
    /// Rejected, of all that are wrong.
    pub(crate) caught: u32,
    pub(crate) missed: u32,
    /// Rejected by a rule that says more than runs can show: which chunks a task may name.
    pub(crate) by_rule: u32,
    pub(crate) false_alarms: u32,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.mutants += other.mutants;
        self.refused += other.refused;
        self.harmful += other.harmful;
        self.race += other.race;
        self.additions += other.additions;
        self.harmless += other.harmless;
        self.caught += other.caught;
        self.missed += other.missed;
        self.by_rule += other.by_rule;
        self.false_alarms += other.false_alarms;
    }

    fn cells(&self) -> String {
        let Tally { mutants, refused, harmful, race, additions, harmless, caught, missed, by_rule, false_alarms } =
            self;
        format!(
            "{mutants} | {refused} | {harmful} | {race} | {additions} | {harmless} | {caught} | {missed} | {by_rule} | {false_alarms}"
        )
    }
}

/// All rows, and what the checks and the runs disagree about.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) by_algorithm: BTreeMap<(usize, String), Tally>,
    pub(crate) by_kind: BTreeMap<String, Tally>,
    pub(crate) disagreements: Vec<String>,
}

impl Table {
    pub(crate) fn add(&mut self, algorithm: (usize, &str), kind: &str, one: &Tally) {
        self.by_algorithm.entry((algorithm.0, algorithm.1.to_owned())).or_default().add(one);
        self.by_kind.entry(kind.to_owned()).or_default().add(one);
    }

    pub(crate) fn merge(&mut self, other: Table) {
        for (key, tally) in other.by_algorithm {
            self.by_algorithm.entry(key).or_default().add(&tally);
        }
        for (key, tally) in other.by_kind {
            self.by_kind.entry(key).or_default().add(&tally);
        }
        self.disagreements.extend(other.disagreements);
    }

    pub(crate) fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.by_kind.values().for_each(|tally| total.add(tally));
        total
    }

    /// The page.
    pub(crate) fn page(&self) -> String {
        format!("{HEAD}{}", self.markdown())
    }

    /// The two tables of the page.
    fn markdown(&self) -> String {
        const COLUMNS: &str = "| mutants | refused | harmful | same bytes | additions | harmless | caught | missed | by rule | false alarms |\n\
             | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n";
        let mut page = format!("## By kind of change\n\n| change {COLUMNS}");
        for (kind, tally) in &self.by_kind {
            let _ = writeln!(page, "| {kind} | {} |", tally.cells());
        }
        let _ = writeln!(page, "| **all** | {} |", self.total().cells());
        let _ = write!(page, "\n## By algorithm\n\n| algorithm {COLUMNS}");
        for ((_, algorithm), tally) in &self.by_algorithm {
            let _ = writeln!(page, "| `{algorithm}` | {} |", tally.cells());
        }
        page
    }
}
