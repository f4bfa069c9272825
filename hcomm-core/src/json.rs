//! Programs as JSON, `"schema": "hcomm.program/1"`, written and read back.
//!
//! The text is an object: `schema`, `algorithm`, `operator`, `layout` (`pods`, and `nodes`: the ranks of each node),
//! `root`, `src`, `dst`, `split`, `scratch`, `deterministic`, `symmetric`, `notifies` (names by index), `file`, `spans`
//! (`[line, column, end line, end column]`), and `ranks`: for each rank its threads, for each thread its operations.
//! An operation is `{"op": NAME, …, "at": index into spans}` with the fields of [`OpKind`]: `peer`, `notify`,
//! `thread`; transfers have `dst` and `src` as `[buffer, chunk]`, and `len` and `class` where they are not 1 and 0.
//!
//! Reading checks what a file alone can say (schema, names, ranges that memory depends on). Whether the program is
//! right is for the checks to say.

use serde::{Deserialize, Serialize};

use crate::ids::SpanId;
use crate::operator::{Buffer, Operator};
use crate::program::{Cell, Op, OpKind, Program, RankProgram, Source, Transfer};
use crate::shape::{Layout, MAX_RANKS, Shape};
use crate::spec::Span;

/// The schema that is written and read.
pub const SCHEMA: &str = "hcomm.program/1";
/// The longest name or path that is read, in bytes.
const MAX_NAME: usize = 4096;
/// The most chunks of a slot, and cells of scratch, that are read.
const MAX_CHUNKS: u32 = 1 << 26;

/// Why a file is not a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", place(*.line, *.column))]
pub struct ReadError {
    /// Line, from 1; 0 if the fault has no place.
    pub line: usize,
    /// Column, from 1; 0 if the fault has no place.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl ReadError {
    /// A fault of the whole file.
    pub(crate) fn whole(message: String) -> ReadError {
        ReadError { line: 0, column: 0, message }
    }
}

fn place(line: usize, column: usize) -> String {
    if line == 0 { String::new() } else { format!("line {line}, column {column}: ") }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(expecting = "a program")]
struct ProgramJson {
    schema: String,
    algorithm: String,
    operator: String,
    layout: LayoutJson,
    #[serde(default)]
    root: u32,
    #[serde(default)]
    src: u32,
    #[serde(default)]
    dst: u32,
    split: u32,
    scratch: u32,
    #[serde(default)]
    deterministic: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    symmetric: bool,
    notifies: Vec<String>,
    #[serde(default)]
    file: String,
    #[serde(default)]
    spans: Vec<[u32; 4]>,
    ranks: Vec<RankJson>,
}

/// All of a program but what its ranks do: for formats of other engines.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(expecting = "the head of a program")]
pub(crate) struct HeadJson {
    algorithm: String,
    operator: String,
    layout: LayoutJson,
    #[serde(default)]
    root: u32,
    #[serde(default)]
    src: u32,
    #[serde(default)]
    dst: u32,
    split: u32,
    scratch: u32,
    #[serde(default)]
    deterministic: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    symmetric: bool,
    notifies: Vec<String>,
    #[serde(default)]
    file: String,
    #[serde(default)]
    spans: Vec<[u32; 4]>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(expecting = "a layout with `pods` and `nodes`")]
struct LayoutJson {
    pods: u32,
    nodes: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(expecting = "a rank with its `threads`")]
struct RankJson {
    threads: Vec<Vec<OpJson>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(expecting = "an operation with `op` and what it needs")]
struct OpJson {
    op: OpName,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    peer: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    thread: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    notify: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    dst: Option<CellJson>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    src: Option<CellJson>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    len: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    class: Option<u32>,
    #[serde(default)]
    at: u32,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(expecting = "a place like [buffer, chunk]")]
struct CellJson(BufferJson, u32);

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BufferJson {
    Input,
    Output,
    Scratch,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
enum OpName {
    LocalCopy,
    LocalReduce,
    Write,
    Read,
    WriteReduce,
    ReadReduce,
    WriteWithNotify,
    WriteReduceWithNotify,
    ThreadNotifyRecord,
    ThreadNotifyWait,
    ChannelNotifyRecord,
    ChannelNotifyWait,
}

impl Program {
    /// The program as JSON: one operation a line, so that it diffs well.
    pub fn to_json(&self) -> String {
        let HeadJson {
            algorithm,
            operator,
            layout,
            root,
            src,
            dst,
            split,
            scratch,
            deterministic,
            symmetric,
            notifies,
            file,
            spans,
        } = HeadJson::from(self);
        let value = ProgramJson {
            schema: SCHEMA.to_owned(),
            algorithm,
            operator,
            layout,
            root,
            src,
            dst,
            split,
            scratch,
            deterministic,
            symmetric,
            notifies,
            file,
            spans,
            ranks: Vec::new(),
        };
        // Plain data, which always has a text.
        let head = serde_json::to_string(&value).unwrap_or_default();
        let head = head.strip_suffix("[]}").unwrap_or(&head);
        let mut text = String::with_capacity(head.len() + 100 * self.num_ops() as usize);
        text.push_str(head);
        text.push('[');
        for (r, rank) in self.ranks.iter().enumerate() {
            text.push_str(if r == 0 { "\n{\"threads\":[" } else { ",\n{\"threads\":[" });
            for (t, ops) in rank.threads.iter().enumerate() {
                text.push_str(if t == 0 { "[" } else { ",[" });
                for (i, op) in ops.iter().enumerate() {
                    text.push_str(if i == 0 { "\n" } else { ",\n" });
                    text.push_str(&serde_json::to_string(&OpJson::from(op)).unwrap_or_default());
                }
                text.push(']');
            }
            text.push_str("]}");
        }
        text.push_str("\n]}\n");
        text
    }

    /// Reads a program.
    ///
    /// # Errors
    ///
    /// If the text is not JSON, not of this schema, or names what cannot be.
    pub fn from_json(text: &str) -> Result<Program, ReadError> {
        let json: ProgramJson = parse(text)?;
        json.program().map_err(ReadError::whole)
    }
}

/// Reads a value of a format.
pub(crate) fn parse<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, ReadError> {
    serde_json::from_str(text).map_err(|error| ReadError {
        line: error.line(),
        column: error.column(),
        message: message(&error.to_string()),
    })
}

/// Serde's message without the place, which [`ReadError`] has.
fn message(text: &str) -> String {
    text.split(" at line ").next().unwrap_or(text).to_owned()
}

impl ProgramJson {
    fn program(self) -> Result<Program, String> {
        if self.schema != SCHEMA {
            return Err(format!("the schema is \"{}\", and this reads \"{SCHEMA}\"", self.schema));
        }
        let ProgramJson {
            algorithm,
            operator,
            layout,
            root,
            src,
            dst,
            split,
            scratch,
            deterministic,
            symmetric,
            notifies,
            file,
            spans,
            ranks,
            ..
        } = self;
        let head = HeadJson {
            algorithm,
            operator,
            layout,
            root,
            src,
            dst,
            split,
            scratch,
            deterministic,
            symmetric,
            notifies,
            file,
            spans,
        };
        let frame = head.program()?;
        if ranks.len() != frame.num_ranks() as usize {
            return Err(format!("the layout has {} ranks, and `ranks` has {}", frame.num_ranks(), ranks.len()));
        }
        let mut programs = Vec::with_capacity(ranks.len());
        for (rank, json) in ranks.iter().enumerate() {
            let mut threads = Vec::with_capacity(json.threads.len());
            for (thread, ops) in json.threads.iter().enumerate() {
                let read = |(i, op): (usize, &OpJson)| {
                    op.op().map_err(|what| format!("rank {rank}, thread {thread}, operation {i}: {what}"))
                };
                threads.push(ops.iter().enumerate().map(read).collect::<Result<Vec<Op>, String>>()?);
            }
            programs.push(RankProgram { threads });
        }
        Ok(Program { ranks: programs, ..frame })
    }
}

impl From<&Program> for HeadJson {
    fn from(program: &Program) -> HeadJson {
        let layout = &program.shape.layout;
        HeadJson {
            algorithm: program.algorithm.clone(),
            operator: program.operator.name().to_owned(),
            layout: LayoutJson {
                pods: layout.pods(),
                nodes: (0..layout.nodes()).filter_map(|node| layout.locals_of(node)).collect(),
            },
            root: program.shape.root,
            src: program.shape.src,
            dst: program.shape.dst,
            split: program.split,
            scratch: program.scratch,
            deterministic: program.deterministic,
            symmetric: program.symmetric,
            notifies: program.notifies.clone(),
            file: program.source.file.clone(),
            spans: program.source.spans.iter().map(|s| [s.line, s.column, s.end_line, s.end_column]).collect(),
        }
    }
}

impl HeadJson {
    /// The program without what its ranks do.
    pub(crate) fn program(self) -> Result<Program, String> {
        let operator =
            Operator::from_name(&self.operator).ok_or_else(|| format!("there is no operator \"{}\"", self.operator))?;
        // Names are printed, and must not do things to a terminal.
        for name in self.notifies.iter().chain([&self.algorithm, &self.file]) {
            if name.chars().any(char::is_control) || name.len() > MAX_NAME {
                let start: String = name.chars().take(40).collect();
                return Err(format!("{start:?} is not a name: control characters, or more than {MAX_NAME} bytes"));
            }
        }
        let layout = self.layout.layout()?;
        let ranks = layout.ranks();
        for (name, role) in [("root", self.root), ("src", self.src), ("dst", self.dst)] {
            if role >= ranks {
                return Err(format!("`{name}` is {role}, and ranks are 0 to {}", ranks - 1));
            }
        }
        if self.split == 0 || u64::from(self.split) * u64::from(ranks) > u64::from(MAX_CHUNKS) {
            return Err(format!("`split` is {}: it is between 1 and {}", self.split, MAX_CHUNKS / ranks));
        }
        if self.scratch > MAX_CHUNKS {
            return Err(format!("`scratch` is {}: it is at most {MAX_CHUNKS}", self.scratch));
        }
        let spans = self.spans.iter().map(|s| Span { line: s[0], column: s[1], end_line: s[2], end_column: s[3] });
        Ok(Program {
            algorithm: self.algorithm,
            operator,
            shape: Shape { layout, root: self.root, src: self.src, dst: self.dst },
            split: self.split,
            scratch: self.scratch,
            deterministic: self.deterministic,
            symmetric: self.symmetric,
            notifies: self.notifies,
            source: Source { file: self.file, spans: spans.collect() },
            ranks: Vec::new(),
        })
    }
}

impl LayoutJson {
    fn layout(&self) -> Result<Layout, String> {
        let (pods, nodes) = (self.pods, self.nodes.len() as u32);
        let wrong = || {
            format!(
                "`layout` has {pods} pods of the nodes {:?}: at least one rank each, at most {MAX_RANKS} in all, \
                     and pods of the same number of equal nodes",
                self.nodes.iter().take(8).collect::<Vec<_>>()
            )
        };
        let same = self.nodes.windows(2).all(|pair| pair[0] == pair[1]);
        let layout = match self.nodes.first() {
            Some(locals) if same && pods > 0 && nodes.is_multiple_of(pods) => {
                Layout::equal(pods, nodes / pods, *locals)
            }
            Some(_) if pods == 1 => Layout::unequal(&self.nodes),
            _ => None,
        };
        layout.ok_or_else(wrong)
    }
}

impl From<&Op> for OpJson {
    fn from(op: &Op) -> OpJson {
        let (name, peer, notify, thread) = match op.kind {
            OpKind::LocalCopy(_) => (OpName::LocalCopy, None, None, None),
            OpKind::LocalReduce(_) => (OpName::LocalReduce, None, None, None),
            OpKind::Write(peer, _) => (OpName::Write, Some(peer), None, None),
            OpKind::Read(peer, _) => (OpName::Read, Some(peer), None, None),
            OpKind::WriteReduce(peer, _) => (OpName::WriteReduce, Some(peer), None, None),
            OpKind::ReadReduce(peer, _) => (OpName::ReadReduce, Some(peer), None, None),
            OpKind::WriteWithNotify(peer, _, notify) => (OpName::WriteWithNotify, Some(peer), Some(notify), None),
            OpKind::WriteReduceWithNotify(peer, _, notify) => {
                (OpName::WriteReduceWithNotify, Some(peer), Some(notify), None)
            }
            OpKind::ThreadNotifyRecord { thread, notify } => {
                (OpName::ThreadNotifyRecord, None, Some(notify), Some(thread))
            }
            OpKind::ThreadNotifyWait { notify } => (OpName::ThreadNotifyWait, None, Some(notify), None),
            OpKind::ChannelNotifyRecord { peer, notify } => {
                (OpName::ChannelNotifyRecord, Some(peer), Some(notify), None)
            }
            OpKind::ChannelNotifyWait { peer, notify } => (OpName::ChannelNotifyWait, Some(peer), Some(notify), None),
        };
        let transfer = op.kind.transfer();
        OpJson {
            op: name,
            peer,
            thread,
            notify,
            dst: transfer.map(|t| t.dst.into()),
            src: transfer.map(|t| t.src.into()),
            len: transfer.map(|t| t.len).filter(|len| *len != 1),
            class: transfer.map(|t| t.class).filter(|class| *class != 0),
            at: op.at.0,
        }
    }
}

impl OpJson {
    fn op(&self) -> Result<Op, String> {
        fn need<T: Copy>(name: &str, field: Option<T>) -> Result<T, String> {
            field.ok_or_else(|| format!("`{name}` is missing"))
        }
        let transfer = || {
            let (dst, src) = (need("dst", self.dst)?, need("src", self.src)?);
            Ok::<_, String>(Transfer {
                dst: dst.into(),
                src: src.into(),
                len: self.len.unwrap_or(1),
                class: self.class.unwrap_or(0),
            })
        };
        let peer = || need("peer", self.peer);
        let notify = || need("notify", self.notify);
        let kind = match self.op {
            OpName::LocalCopy => OpKind::LocalCopy(transfer()?),
            OpName::LocalReduce => OpKind::LocalReduce(transfer()?),
            OpName::Write => OpKind::Write(peer()?, transfer()?),
            OpName::Read => OpKind::Read(peer()?, transfer()?),
            OpName::WriteReduce => OpKind::WriteReduce(peer()?, transfer()?),
            OpName::ReadReduce => OpKind::ReadReduce(peer()?, transfer()?),
            OpName::WriteWithNotify => OpKind::WriteWithNotify(peer()?, transfer()?, notify()?),
            OpName::WriteReduceWithNotify => OpKind::WriteReduceWithNotify(peer()?, transfer()?, notify()?),
            OpName::ThreadNotifyRecord => {
                OpKind::ThreadNotifyRecord { thread: need("thread", self.thread)?, notify: notify()? }
            }
            OpName::ThreadNotifyWait => OpKind::ThreadNotifyWait { notify: notify()? },
            OpName::ChannelNotifyRecord => OpKind::ChannelNotifyRecord { peer: peer()?, notify: notify()? },
            OpName::ChannelNotifyWait => OpKind::ChannelNotifyWait { peer: peer()?, notify: notify()? },
        };
        Ok(Op { kind, at: SpanId(self.at) })
    }
}

impl From<Cell> for CellJson {
    fn from(cell: Cell) -> CellJson {
        CellJson(cell.buffer.into(), cell.chunk)
    }
}

impl From<CellJson> for Cell {
    fn from(CellJson(buffer, chunk): CellJson) -> Cell {
        Cell { buffer: buffer.into(), chunk }
    }
}

impl From<Buffer> for BufferJson {
    fn from(buffer: Buffer) -> BufferJson {
        match buffer {
            Buffer::Input => BufferJson::Input,
            Buffer::Output => BufferJson::Output,
            Buffer::Scratch => BufferJson::Scratch,
        }
    }
}

impl From<BufferJson> for Buffer {
    fn from(buffer: BufferJson) -> Buffer {
        match buffer {
            BufferJson::Input => Buffer::Input,
            BufferJson::Output => Buffer::Output,
            BufferJson::Scratch => Buffer::Scratch,
        }
    }
}
