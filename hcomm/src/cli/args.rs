//! The arguments, and the numbers with units in them.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use hcomm_sim::time::Fault;

use crate::counts::Counts;
use crate::dtype::{DataType, ReduceOp};
use crate::operator::Operator;
use crate::product::{Product, Release};
use crate::shape::{Layout, MAX_RANKS};

/// The largest message that is tuned for.
const MAX_SIZE: u64 = 64 << 30;

/// Collective algorithms for HCOMM: what they need, what they do, and whether they are right.
#[derive(Debug, Parser)]
#[command(name = "hcomm", version, disable_help_subcommand = true)]
#[command(after_help = "Exit status: 0 it holds, 1 it does not hold, 2 wrong usage.\n\n\
                        Example: hcomm run mesh_all_gather --ranks 4 --count 1000 --dtype fp32")]
pub(super) struct Args {
    /// Print JSON, for scripts.
    #[arg(long, global = true)]
    pub(super) json: bool,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the algorithms: operator, engines, rank limits.
    List,
    /// Count the resources that an algorithm needs, for every rank and as the maximum.
    Resources(Resources),
    /// Show the lowered program, or the task graph.
    Show(Show),
    /// Prove that an algorithm does not hang, does not race, loses no notify and computes the operator.
    Check(Check),
    /// Run an algorithm on simulated ranks with real bytes, and compare every byte of the result.
    Run(Box<Run>),
    /// Find the fastest algorithm for an operator on a cluster, by size, and how far it is from the bound.
    Tune(Tune),
    /// Write an algorithm as a C++ operator package for HCOMM.
    Emit(Emit),
}

/// On which ranks.
#[derive(Debug, ClapArgs)]
pub(super) struct Where {
    /// How many ranks, on one node.
    #[arg(long, value_parser = ranks, conflicts_with = "layout")]
    pub(super) ranks: Option<Layout>,
    /// Nodes × locals (2x4), pods × nodes × locals (2x2x4), or the ranks of each node ([3,5]).
    #[arg(long, value_parser = layout)]
    pub(super) layout: Option<Layout>,
    /// Take the layout from a rank table of HCCL (versions 1.0, 1.2 and 2.0).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ranks", "layout"])]
    pub(super) rank_table: Option<PathBuf>,
    /// The root of broadcast, reduce, scatter and gather [default: 0].
    #[arg(long)]
    pub(super) root: Option<u32>,
    /// The sender of send_recv [default: 0].
    #[arg(long)]
    pub(super) src: Option<u32>,
    /// The receiver of send_recv [default: 1].
    #[arg(long)]
    pub(super) dst: Option<u32>,
    #[command(flatten)]
    pub(super) kernel: Kernel,
}

/// On which engine.
#[derive(Debug, Clone, Copy, ClapArgs)]
pub(super) struct Kernel {
    /// What carries the program out.
    #[arg(long, value_enum, default_value = "ai-cpu")]
    pub(super) engine: EngineArg,
    /// AIV: blocks of every rank [default: one for each lane and one for the rest, as far as there are cores].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(crate::aiv::MAX_BLOCKS)))]
    pub(super) blocks: Option<u32>,
    /// AIV: two pieces of 95 KB in the Unified Buffer, one read while the other is written, in place of one of 190 KB.
    #[arg(long)]
    pub(super) double_buffer: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Resources {
    /// The algorithm, by its name in `hcomm list`.
    pub(super) algorithm: String,
    #[command(flatten)]
    pub(super) place: Where,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Show {
    /// The algorithm, by its name in `hcomm list`.
    pub(super) algorithm: String,
    #[command(flatten)]
    pub(super) place: Where,
    /// Only this rank (listing).
    #[arg(long)]
    pub(super) rank: Option<u32>,
    /// What to show.
    #[arg(long, value_enum, default_value = "listing")]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) target: Target,
}

/// For which product.
#[derive(Debug, Clone, ClapArgs)]
pub(super) struct Target {
    /// The product: a2, a3 or 950 [default: that of the cluster; 950 without one].
    #[arg(long, value_parser = product)]
    pub(super) product: Option<Product>,
    /// The CANN release, which sets the limits: 8.5 (40 threads) or 9.0 (200 threads).
    #[arg(long, value_parser = release, default_value = "9.0")]
    pub(super) cann: Release,
    /// Fuse a write and the record behind it into one operation (950 only).
    #[arg(long)]
    pub(super) fuse: bool,
}

impl Target {
    /// The product that is meant.
    pub(super) fn product(&self) -> Product {
        self.product.unwrap_or(Product::A950)
    }
}

#[derive(Debug, ClapArgs)]
pub(super) struct Check {
    /// The algorithm, by its name in `hcomm list`.
    #[arg(required_unless_present = "program")]
    pub(super) algorithm: Option<String>,
    /// Check this program in place of an algorithm: a file of `hcomm show --format json`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["algorithm", "ranks", "layout", "rank_table", "blocks", "double_buffer"])]
    pub(super) program: Option<PathBuf>,
    /// Rank counts on one node, like 8, 2..=16 or 2..17 [default: those that the algorithm is verified for].
    #[arg(long, value_parser = rank_range, conflicts_with = "layout")]
    pub(super) ranks: Option<(u32, u32)>,
    /// Nodes × locals (2x4), pods × nodes × locals (2x2x4), or the ranks of each node ([3,5]).
    #[arg(long, value_parser = layout)]
    pub(super) layout: Option<Layout>,
    /// Take the layout from a rank table of HCCL (versions 1.0, 1.2 and 2.0).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ranks", "layout"])]
    pub(super) rank_table: Option<PathBuf>,
    /// The form where input and output overlap must hold too.
    #[arg(long)]
    pub(super) in_place: bool,
    #[command(flatten)]
    pub(super) kernel: Kernel,
    /// AIV: Vector cores that are free on every rank, if fewer than there are blocks.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) cores: Option<u32>,
    /// Whether the product takes elements of this type, too.
    #[arg(long, value_parser = dtype)]
    pub(super) dtype: Option<DataType>,
    /// The reduction for `--dtype`.
    #[arg(long, value_parser = reduce, default_value = "sum", requires = "dtype")]
    pub(super) reduce: ReduceOp,
    #[command(flatten)]
    pub(super) target: Target,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Run {
    /// The algorithm, by its name in `hcomm list`.
    #[arg(required_unless_present = "program")]
    pub(super) algorithm: Option<String>,
    /// Run this program in place of an algorithm: a file of `hcomm show --format json`.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "algorithm", "ranks", "layout", "rank_table", "root", "src", "dst", "fuse", "blocks", "double_buffer"
    ])]
    pub(super) program: Option<PathBuf>,
    #[command(flatten)]
    pub(super) place: Where,
    /// Elements of a slot, with K, M or G for 2^10, 2^20 or 2^30. In the V operators slots take 0, 1 and 2 times as many
    /// in turn. A barrier needs none.
    #[arg(long, value_parser = amount)]
    pub(super) count: Option<u64>,
    /// Elements of each slot of a V operator: one for each rank (3,0,5), or a row of what each rank sends to every rank
    /// (1,2;3,4).
    #[arg(long, value_parser = counts, conflicts_with = "count")]
    pub(super) counts: Option<Counts>,
    /// The element type.
    #[arg(long, value_parser = dtype, default_value = "fp32")]
    pub(super) dtype: DataType,
    /// The reduction, where the operator has one.
    #[arg(long, value_parser = reduce)]
    pub(super) reduce: Option<ReduceOp>,
    /// Let input and output overlap, as the operator defines it.
    #[arg(long)]
    pub(super) in_place: bool,
    /// Bytes of the HCCL buffer (scratch) of a rank, with K, M or G.
    #[arg(long, value_parser = amount, default_value = "200M")]
    pub(super) hccl_buffer: u64,
    /// Call the operator this often, back to back, on the same data and flags. The time is that of one call.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000), default_value = "1")]
    pub(super) repeat: u32,
    /// Seed of the data.
    #[arg(long, default_value = "1")]
    pub(super) seed: u64,
    /// AIV: Vector cores that are free on every rank, if fewer than there are blocks.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) cores: Option<u32>,
    /// Time it on a cluster: a preset (a2-server, a2-multi, a3-superpod, 950-mesh, 950-clos), or a TOML file. The
    /// cluster says the product.
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) cluster: Option<String>,
    /// Say which operations and source lines the time is made of.
    #[arg(long)]
    pub(super) explain: bool,
    /// Let something go wrong: dead:FROM>TO, slow:FROM>TO:PART, stall:RANK[:MICROSECONDS], lose:FROM>TO:NOTIFY[:NTH].
    #[arg(long, value_parser = fault)]
    pub(super) fault: Vec<Fault>,
    /// Write what was done when as Chrome trace events, for Perfetto.
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
    /// Only these ranks in the trace, like 0..8 or 3 [default: as many as have 200,000 operations together].
    #[arg(long, value_name = "RANKS", value_parser = some_ranks, requires = "trace")]
    pub(super) trace_ranks: Option<std::ops::Range<u32>>,
    /// Write a report as one HTML file: timeline, links, critical path.
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    #[command(flatten)]
    pub(super) target: Target,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Tune {
    /// The operator: all_gather, reduce_scatter, all_reduce and so on.
    #[arg(value_parser = operator)]
    pub(super) operator: Operator,
    /// The cluster: a preset (a2-server, a2-multi, a3-superpod, 950-mesh, 950-clos), or a TOML file.
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) cluster: String,
    /// How many ranks, on one node [default: the cluster's layout].
    #[arg(long, value_parser = ranks, conflicts_with = "layout")]
    pub(super) ranks: Option<Layout>,
    /// Nodes × locals (2x4), pods × nodes × locals (2x2x4), or the ranks of each node ([3,5]).
    #[arg(long, value_parser = layout)]
    pub(super) layout: Option<Layout>,
    /// Take the layout from a rank table of HCCL (versions 1.0, 1.2 and 2.0).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ranks", "layout"])]
    pub(super) rank_table: Option<PathBuf>,
    /// The root of broadcast, reduce, scatter and gather [default: 0].
    #[arg(long)]
    pub(super) root: Option<u32>,
    /// Which engines to compare.
    #[arg(long, value_enum, default_value = "both")]
    pub(super) engine: Engines,
    /// Bytes of the message: one (4M), several (1K,1M) or a range that doubles (1K..1G).
    #[arg(long, value_parser = sizes, default_value = "1K..1G")]
    pub(super) sizes: Sizes,
    /// The element type.
    #[arg(long, value_parser = dtype, default_value = "fp32")]
    pub(super) dtype: DataType,
    /// The reduction, where the operator has one.
    #[arg(long, value_parser = reduce)]
    pub(super) reduce: Option<ReduceOp>,
    /// Bytes of the HCCL buffer (scratch) of a rank, with K, M or G.
    #[arg(long, value_parser = amount, default_value = "200M")]
    pub(super) hccl_buffer: u64,
    /// The CANN release, which sets the limits: 8.5 (40 threads) or 9.0 (200 threads).
    #[arg(long, value_parser = release, default_value = "9.0")]
    pub(super) cann: Release,
    /// Buffers lie in symmetric windows: take algorithms with symmetric memory too.
    #[arg(long)]
    pub(super) symmetric: bool,
    /// What to print.
    #[arg(long, value_enum, default_value = "table")]
    pub(super) format: TuneFormat,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Emit {
    /// The algorithm, by its name in `hcomm list`.
    pub(super) algorithm: String,
    /// What carries the operator out.
    #[arg(long, value_enum, default_value = "ai-cpu")]
    pub(super) engine: EngineArg,
    /// The folder that the package is written to. It is made if it is not there; files of the package's names are
    /// written anew.
    #[arg(long, value_name = "DIR")]
    pub(super) out: PathBuf,
    /// The product: a2, a3 or 950.
    #[arg(long, value_parser = product, default_value = "950")]
    pub(super) product: Product,
    /// Fuse a write and the record behind it into one operation (950 only).
    #[arg(long)]
    pub(super) fuse: bool,
    /// A table of `hcomm tune OPERATOR --format cpp`: the package can be asked whether its algorithm is the best for a
    /// size.
    #[arg(long, value_name = "FILE")]
    pub(super) tuner: Option<PathBuf>,
}

/// Sizes in bytes, ascending.
pub(super) type Sizes = Vec<u64>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TuneFormat {
    /// For people.
    Table,
    /// All times of all algorithms.
    Json,
    /// A table for C++ to choose by.
    Cpp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Engines {
    /// AI CPU only.
    #[value(alias = "ai_cpu", alias = "aicpu")]
    AiCpu,
    /// Vector cores only.
    Aiv,
    /// Both, where the product's Vector cores reach all ranks.
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum EngineArg {
    /// AI CPU kernels fill task queues.
    #[value(alias = "ai_cpu", alias = "aicpu")]
    AiCpu,
    /// Vector cores move the data themselves.
    Aiv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// One line an operation.
    Listing,
    /// `hcomm.program/1`, or `hcomm.aiv/1` on AIV, which `run` and `check` of a program read.
    Json,
    /// The task graph for Graphviz.
    Dot,
    /// The task graph for Mermaid.
    Mermaid,
}

fn names<T: std::fmt::Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

fn ranks(text: &str) -> Result<Layout, String> {
    let wrong = || format!("a communicator has between 1 and {MAX_RANKS} ranks");
    let ranks: u32 = text.parse().map_err(|_| wrong())?;
    Layout::flat(ranks).ok_or_else(wrong)
}

/// First and last of a range of rank counts.
fn rank_range(text: &str) -> Result<(u32, u32), String> {
    let wrong = || format!("rank counts are like 8, 2..=16 or 2..17, between 1 and {MAX_RANKS}");
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
    let (first, last) = match text.split_once("..") {
        None => (number(text)?, number(text)?),
        Some((first, rest)) => match rest.strip_prefix('=') {
            Some(last) => (number(first)?, number(last)?),
            None => (number(first)?, number(rest)?.checked_sub(1).ok_or_else(wrong)?),
        },
    };
    if first == 0 || last < first || last > MAX_RANKS { Err(wrong()) } else { Ok((first, last)) }
}

/// The ranks of a trace.
fn some_ranks(text: &str) -> Result<std::ops::Range<u32>, String> {
    let wrong = || "ranks are like 3, 0..8 or 0..=7, from 0 on".to_owned();
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|rank| *rank < MAX_RANKS + 1).ok_or_else(wrong);
    let (first, end) = match text.split_once("..") {
        None => (number(text)?, number(text)? + 1),
        Some((first, rest)) => match rest.strip_prefix('=') {
            Some(last) => (number(first)?, number(last)? + 1),
            None => (number(first)?, number(rest)?),
        },
    };
    if first < end { Ok(first..end) } else { Err(wrong()) }
}

fn layout(text: &str) -> Result<Layout, String> {
    let wrong = || format!("a layout is like 2x4, 2x2x4 or [3,5], with at most {MAX_RANKS} ranks");
    let numbers = |text: &str, separator: char| -> Result<Vec<u32>, String> {
        text.split(separator).map(|number| number.trim().parse().map_err(|_| wrong())).collect()
    };
    let layout = match text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(nodes) => Layout::unequal(&numbers(nodes, ',')?),
        None => match numbers(text, 'x')?[..] {
            [locals] => Layout::flat(locals),
            [nodes, locals] => Layout::equal(1, nodes, locals),
            [pods, nodes, locals] => Layout::equal(pods, nodes, locals),
            _ => None,
        },
    };
    layout.ok_or_else(wrong)
}

fn product(text: &str) -> Result<Product, String> {
    Product::from_name(&text.to_lowercase()).ok_or_else(|| format!("products are {}", names(&Product::ALL)))
}

fn release(text: &str) -> Result<Release, String> {
    match text {
        "8.5" => Ok(Release::Cann85),
        "9.0" => Ok(Release::Cann90),
        _ => Err("releases are 8.5 (and before) and 9.0 (and after)".into()),
    }
}

fn dtype(text: &str) -> Result<DataType, String> {
    DataType::from_name(text).ok_or_else(|| format!("types are {}", names(&DataType::ALL)))
}

fn reduce(text: &str) -> Result<ReduceOp, String> {
    ReduceOp::from_name(text).ok_or_else(|| format!("reductions are {}", names(&ReduceOp::ALL)))
}

/// A number with K, M or G for 2^10, 2^20 or 2^30.
fn amount(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.trim().as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let wrong = || "a whole number, with K, M or G for 2^10, 2^20 or 2^30".to_owned();
    let number: u64 = digits.trim().replace('_', "").parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

fn operator(text: &str) -> Result<Operator, String> {
    Operator::from_name(text).ok_or_else(|| format!("operators are {}", names(&Operator::ALL)))
}

fn fault(text: &str) -> Result<Fault, String> {
    text.parse()
}

/// `4M`, `1K,1M`, or `1K..1G`, which doubles from the first up to the last.
fn sizes(text: &str) -> Result<Sizes, String> {
    let mut sizes = match text.split_once("..") {
        None => text.split(',').map(amount).collect::<Result<Sizes, String>>()?,
        Some((first, last)) => {
            let (first, last) = (amount(first)?, amount(last.trim_start_matches('='))?);
            std::iter::successors(Some(first), |size| size.checked_mul(2).filter(|next| *next > *size))
                .take_while(|size| *size <= last)
                .collect()
        }
    };
    sizes.sort_unstable();
    sizes.dedup();
    match sizes.last() {
        Some(last) if *last <= MAX_SIZE && sizes[0] > 0 => Ok(sizes),
        _ => Err("sizes are between 1 and 64G bytes, like 4M, 1K,1M or 1K..1G".into()),
    }
}

/// Counts by rank, or by pair with a row for each sender.
fn counts(text: &str) -> Result<Counts, String> {
    let row = |row: &str| row.split(',').map(amount).collect::<Result<Vec<u64>, String>>();
    match text.contains(';') {
        false => Ok(Counts::by_rank(&row(text)?)),
        true => Ok(Counts::by_pair(&text.split(';').map(row).collect::<Result<Vec<_>, String>>()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn amounts() {
        assert_eq!(amount("200M"), Ok(200 << 20));
        assert_eq!(amount("1_000"), Ok(1000));
        assert_eq!(amount("2k"), Ok(2048));
        for wrong in ["", "M", "1.5M", "-1", "99999999999G", "é"] {
            assert!(amount(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges_of_sizes() {
        assert_eq!(sizes("4M"), Ok(vec![4 << 20]));
        assert_eq!(sizes("1K,3,1K"), Ok(vec![3, 1024]));
        assert_eq!(sizes("1K..9K"), Ok(vec![1024, 2048, 4096, 8192]));
        for wrong in ["", "0", "1G..1K", "0..4", "..", "1K..", "999G"] {
            assert!(sizes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rank_ranges() {
        assert_eq!(rank_range("8"), Ok((8, 8)));
        assert_eq!(rank_range("2..=16"), Ok((2, 16)));
        assert_eq!(rank_range("2..17"), Ok((2, 16)));
        for wrong in ["", "0..=4", "5..=4", "3..3", "2..", "..=4", "2..=9999999999", "2..0"] {
            assert!(rank_range(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn layouts() {
        assert_eq!(layout("2x4").map(|l| (l.nodes(), l.ranks())), Ok((2, 8)));
        assert_eq!(layout("2x2x4").map(|l| (l.pods(), l.nodes(), l.ranks())), Ok((2, 4, 16)));
        assert_eq!(layout("[3, 5]").map(|l| (l.nodes(), l.ranks())), Ok((2, 8)));
        for wrong in ["", "x", "0x4", "[3,0]", "[]", "1x1x1x1", "9999999x9999999"] {
            assert!(layout(wrong).is_err(), "{wrong}");
        }
    }
}
