//! The time of a run on a cluster, for `hcomm run --cluster`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use hcomm_sim::bound::{self, Bandwidth, Bound};
use hcomm_sim::cluster::{Cluster, PRESETS};
use hcomm_sim::picture::{self, About, Selection, Written};
use hcomm_sim::time::{self, AnyProgram, LinkUse, Options, TimeError, Timing};
use hcomm_sim::{Config, Report};
use serde_json::{Value, json};

use super::Failure;
use super::args::Run as Command;
use super::describe::{Align, counts, table};
use super::report::{self, Style};
use crate::diag::{Code, Diagnostic};
use crate::resources::Resources;

/// The longest cluster file that is read.
const MAX_FILE: u64 = 1 << 20;
/// The most operations that are recorded for explanations and pictures.
const RECORDED: usize = 4_000_000;
/// How many lines of an explanation are printed.
const LINES: usize = 12;

/// A run's time, and how it compares.
pub(super) struct Timed {
    pub(super) cluster: Cluster,
    pub(super) timing: Timing,
    pub(super) bound: Bound,
    pub(super) bandwidth: Bandwidth,
    /// Whether the run called the operator more than once.
    of_one_call: bool,
}

/// The cluster of that name, or of that file.
pub(super) fn cluster(name: &str) -> Result<Cluster, Failure> {
    if let Some(cluster) = Cluster::preset(name) {
        return Ok(cluster);
    }
    let path = Path::new(name);
    let metadata = std::fs::metadata(path).map_err(|error| {
        let presets: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).collect();
        let presets = presets.join(", ");
        Failure::Usage(format!("`--cluster {name}` is neither a preset ({presets}) nor a file: {error}"))
    })?;
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return Err(Failure::Usage(format!("{name}: a cluster is a file of at most {MAX_FILE} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    Cluster::from_toml(&text).map_err(|error| Failure::Usage(format!("{name}: {error}")))
}

/// Whether what is asked for beside the time can be given, before anything is run.
pub(super) fn admits(command: &Command, ranks: u32) -> Result<(), Failure> {
    let wants = [
        ("explain", command.explain),
        ("fault", !command.fault.is_empty()),
        ("trace", command.trace.is_some()),
        ("report", command.report.is_some()),
    ];
    if command.cluster.is_none()
        && let Some((option, _)) = wants.into_iter().find(|(_, given)| *given)
    {
        return Err(Failure::Usage(format!("`--{option}` needs a cluster: `--cluster NAME|FILE`")));
    }
    if let (Some(trace), Some(report)) = (&command.trace, &command.report)
        && trace == report
    {
        return Err(Failure::Usage(format!("`--trace` and `--report` are both {}", trace.display())));
    }
    match command.trace_ranks.as_ref().filter(|asked| asked.end > ranks) {
        None => Ok(()),
        Some(asked) => Err(Failure::Usage(format!(
            "`--trace-ranks`: {} is not a rank: they are 0 to {}",
            asked.end - 1,
            ranks - 1
        ))),
    }
}

/// Times a program.
pub(super) fn timed(
    command: &Command,
    code: AnyProgram<'_>,
    config: &Config,
    style: Style,
) -> Result<Option<Timed>, Failure> {
    let program = code.frame();
    let Some(name) = &command.cluster else { return Ok(None) };
    let cluster = cluster(name)?;
    let records = command.explain || command.trace.is_some() || command.report.is_some();
    let options = Options { record: records.then_some(RECORDED), faults: command.fault.clone(), ..Options::default() };
    let timing = time::simulate(code, &cluster, config, &options).map_err(|error| match error {
        TimeError::Stuck(_) | TimeError::LeftSet(_) | TimeError::Overrun { .. } => {
            let diagnostic = Diagnostic::new(Code::H102, error.to_string(), None);
            report::failure(&program.source.file, &[diagnostic], style)
        }
        error => Failure::Usage(error.to_string()),
    })?;
    let bound = bound::bound(code, &config.counts, config.dtype.size(), &cluster);
    let bytes = bound::message_bytes(program, &config.counts, config.dtype.size());
    let bandwidth = bound::bandwidth(program.operator, program.num_ranks(), bytes, timing.time);
    Ok(Some(Timed { cluster, timing, bound, bandwidth, of_one_call: command.repeat > 1 }))
}

impl Timed {
    /// Bound by time, at most 1.
    pub(super) fn efficiency(&self) -> f64 {
        if self.timing.time > 0.0 { self.bound.time / self.timing.time } else { 1.0 }
    }

    /// Whether every rank ended.
    pub(super) fn completes(&self) -> bool {
        self.timing.stuck.is_none()
    }

    /// For people.
    pub(super) fn text(&self, code: AnyProgram<'_>, explain: bool) -> String {
        let Timed { cluster, timing, bound, bandwidth, of_one_call } = self;
        if let Some(stuck) = &timing.stuck {
            let text = stuck.to_string();
            let lines: Vec<String> = text.lines().map(|line| format!("           {line}\n")).collect();
            return format!("time       does not end on {}\n{}", cluster.name, lines.concat());
        }
        let mut text = format!(
            "time       {}{} on {}, {:.2} GB/s (algorithm), {:.2} GB/s (bus)\n",
            us(timing.time),
            if *of_one_call { " for one call" } else { "" },
            cluster.name,
            bandwidth.alg,
            bandwidth.bus
        );
        let cut = if bound.cut.is_empty() { String::new() } else { format!(": {}", bound.cut) };
        text += &format!("bound      {}, efficiency {:.1} %{cut}\n", us(bound.time), 100.0 * self.efficiency());
        let used = |link: &&LinkUse| link.link.is_between_ranks() && link.load.bytes > 0.0;
        let busiest = timing.links.iter().filter(used);
        if let Some(busiest) = busiest.max_by(|a, b| a.utilisation(timing.time).total_cmp(&b.utilisation(timing.time)))
        {
            let part = 100.0 * busiest.utilisation(timing.time);
            text += &format!(
                "links      {} used; the busiest is {}: {part:.1} % of {:.1} GB/s, shared by up to {}\n",
                timing.links.iter().filter(used).count(),
                busiest.name,
                busiest.gbps,
                busiest.load.most
            );
        }
        if explain {
            text += &self.explanation(code);
        }
        text
    }

    /// What the time is made of, by statement.
    fn explanation(&self, code: AnyProgram<'_>) -> String {
        let program = code.frame();
        let Some(recording) = &self.timing.recording else { return String::new() };
        if self.timing.is_truncated {
            return format!("more than {RECORDED} operations: no explanation; use fewer ranks or a smaller count\n");
        }
        let path = recording.critical_path();
        let shares = time::shares(recording, code, &path);
        let mut text = format!("\nThe last rank ends after a chain of {} operations:\n", path.len());
        let header = ["PART", "TIME us", "COUNT", "OVERHEAD", "DATA", "SHARING", "REDUCTION", "OPERATION", "WHERE"];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        let total = self.timing.time.max(f64::MIN_POSITIVE);
        let fixed = |ns: f64| format!("{:.2}", ns / 1000.0);
        for share in shares.iter().take(LINES) {
            let place = program.source.spans.get(share.at.index());
            rows.push(vec![
                format!("{:.1} %", 100.0 * share.time / total),
                fixed(share.time),
                share.count.to_string(),
                fixed(share.overhead),
                fixed(share.data),
                fixed(share.sharing),
                fixed(share.reduction),
                share.name.to_owned(),
                place.map_or_else(String::new, |at| format!("{}:{}:{}", program.source.file, at.line, at.column)),
            ]);
        }
        let right = [Align::Right; 7].into_iter().chain([Align::Left; 2]).collect::<Vec<_>>();
        text += &table(&rows, &right);
        if shares.len() > LINES {
            text += &format!("and {} more\n", shares.len() - LINES);
        }
        text
    }

    /// Writes the trace and the report that were asked for.
    pub(super) fn pictures(
        &self,
        command: &Command,
        code: AnyProgram<'_>,
        config: &Config,
        need: Option<&Resources>,
        report: &Report,
    ) -> Result<Option<Written>, Failure> {
        let mut written = None;
        let failed = |path: &Path, error: std::io::Error| Failure::Usage(format!("{}: {error}", path.display()));
        if let Some(path) = &command.trace {
            let selection = Selection { ranks: command.trace_ranks.clone(), events: None };
            let write = || {
                let mut out = BufWriter::new(File::create(path)?);
                let written = picture::chrome_trace(code, &self.timing, &selection, &mut out)?;
                out.flush().map(|()| written)
            };
            written = Some(write().map_err(|error| failed(path, error))?);
        }
        if let Some(path) = &command.report {
            let mut facts = vec![
                ("data".to_owned(), format!("{} elements of {}", report.count, config.dtype)),
                ("rounds".to_owned(), self.timing.rounds.to_string()),
                (
                    "verified".to_owned(),
                    format!("{} bytes, {} mismatches", report.bytes_checked, report.mismatches.count),
                ),
            ];
            if let Some(need) = need {
                facts.push(("resources".into(), counts(need, code.engine())));
            }
            facts.push(("checks".into(), "deadlock, notifies, races, result: hold".into()));
            facts.push(("cluster".into(), self.cluster.about.clone()));
            let about = About { cluster: &self.cluster.name, bound: &self.bound, bandwidth: self.bandwidth, facts };
            let html = picture::html_report(code, &self.timing, &about);
            std::fs::write(path, html).map_err(|error| failed(path, error))?;
        }
        Ok(written)
    }

    /// For scripts: fields of DESIGN section 12, and more.
    pub(super) fn json(&self, code: AnyProgram<'_>, value: &mut Value) {
        let program = code.frame();
        let Some(object) = value.as_object_mut() else { return };
        let Timed { cluster, timing, bound, bandwidth, .. } = self;
        object.insert("cluster".into(), json!(cluster.name));
        if let Some(stuck) = &timing.stuck {
            let waits = stuck.waits.iter().map(|wait| {
                json!({
                    "rank": wait.place.rank, wait.place.unit: wait.place.thread, "notify": wait.notify.to_string(),
                    "since_us": wait.since / 1000.0, "timeout_s": stuck.timeout,
                    "line": wait.place.at.map(|at| at.line),
                })
            });
            let transfers = stuck.transfers.iter().map(|transfer| {
                json!({ "rank": transfer.place.rank, transfer.place.unit: transfer.place.thread, "link": transfer.link,
                        "since_us": transfer.since / 1000.0, "line": transfer.place.at.map(|at| at.line) })
            });
            let stuck = json!({
                "at_us": stuck.at / 1000.0, "completed": stuck.completed, "stalled": stuck.stalled,
                "waits": waits.collect::<Vec<_>>(), "transfers": transfers.collect::<Vec<_>>(),
            });
            object.insert("stuck".into(), stuck);
            return;
        }
        object.insert("time_us".into(), json!(timing.time / 1000.0));
        object.insert("alg_gbps".into(), json!(bandwidth.alg));
        object.insert("bus_gbps".into(), json!(bandwidth.bus));
        object.insert("bound_us".into(), json!(bound.time / 1000.0));
        object.insert("efficiency".into(), json!(self.efficiency()));
        object.insert("cut".into(), json!(bound.cut));
        if let Some(recording) = &timing.recording
            && !timing.is_truncated
        {
            let shares = time::shares(recording, code, &recording.critical_path());
            let shares = shares.iter().map(|share| {
                let at = program.source.spans.get(share.at.index());
                json!({
                    "operation": share.name, "count": share.count, "time_us": share.time / 1000.0,
                    "overhead_us": share.overhead / 1000.0, "data_us": share.data / 1000.0,
                    "sharing_us": share.sharing / 1000.0, "reduction_us": share.reduction / 1000.0,
                    "file": at.map(|_| &program.source.file), "line": at.map(|at| at.line),
                    "column": at.map(|at| at.column),
                })
            });
            object.insert("critical_path".into(), shares.collect());
        }
    }
}

/// What of a trace was written, for people.
pub(super) fn traced(written: &Written) -> String {
    let more = match written.is_all() {
        true => "",
        false if (written.of_operations as u64) < written.carried_out => "; more than can be recorded",
        false => "; `--trace-ranks` chooses others",
    };
    format!("trace      {written}{more}\n")
}

/// The same, for scripts.
pub(super) fn traced_json(written: &Written) -> Value {
    json!({
        "first_rank": written.ranks.start, "ranks": written.ranks.len(), "operations": written.operations,
        "of_operations": written.carried_out, "is_complete": written.is_all(),
    })
}

/// A time in nanoseconds with the unit that suits it.
pub(super) fn us(ns: f64) -> String {
    match ns {
        _ if ns < 1e6 => format!("{:.2} us", ns / 1e3),
        _ if ns < 1e9 => format!("{:.3} ms", ns / 1e6),
        _ => format!("{:.3} s", ns / 1e9),
    }
}
