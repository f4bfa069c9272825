//! What came of it: for every algorithm and kind of change, how the checks and the runs judge.

use std::collections::BTreeMap;
use std::fmt::Write;

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
        self.harmless += other.harmless;
        self.caught += other.caught;
        self.missed += other.missed;
        self.by_rule += other.by_rule;
        self.false_alarms += other.false_alarms;
    }

    fn cells(&self) -> String {
        let Tally { mutants, refused, harmful, race, harmless, caught, missed, by_rule, false_alarms } = self;
        format!(
            "{mutants} | {refused} | {harmful} | {race} | {harmless} | {caught} | {missed} | {by_rule} | {false_alarms}"
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

    /// The two tables of the page.
    pub(crate) fn markdown(&self) -> String {
        const HEAD: &str = "| mutants | refused | harmful | race | harmless | caught | missed | by rule | false alarms |\n\
             | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n";
        let mut page = format!("## By kind of change\n\n| change {HEAD}");
        for (kind, tally) in &self.by_kind {
            let _ = writeln!(page, "| {kind} | {} |", tally.cells());
        }
        let _ = writeln!(page, "| **all** | {} |", self.total().cells());
        let _ = write!(page, "\n## By algorithm\n\n| algorithm {HEAD}");
        for ((_, algorithm), tally) in &self.by_algorithm {
            let _ = writeln!(page, "| `{algorithm}` | {} |", tally.cells());
        }
        page
    }
}
