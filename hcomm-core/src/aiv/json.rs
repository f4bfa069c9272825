//! AIV programs as JSON, `"schema": "hcomm.aiv/1"`, written and read back.
//!
//! The text is that of `hcomm.program/1`, with `parts`, `tags` (`per_call` or `constant`), `piece` and `buffers` (the
//! Unified Buffer), `sync` (`hard` or `soft`), and `ranks`: for each rank its `blocks`, for each block its operations. An operation is
//! `{"op": NAME, …, "at": index into spans}`: `Copy` with `dst` and `src` as `[rank, buffer, chunk]`, `len`, `class` and
//! `part` (and `parts`, how many) where they are not 1, 0 and all, and `"padded": false` where it is a plain `DataCopy`; `Record` and `Wait` with
//! `peer`, `notify`, `part` where it is not 0, and `step`.

use serde::{Deserialize, Serialize};

use super::program::{Copy, Flag, Gm, Op, OpKind, Parts, Program, Rank, Sync, UnifiedBuffer};
use super::tags::Tags;
use crate::ids::SpanId;
use crate::json::{BufferJson, HeadJson, ReadError, parse};
use crate::program::Cell;

/// The schema that is written and read.
pub const SCHEMA: &str = "hcomm.aiv/1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a program")]
struct ProgramJson {
    schema: String,
    head: HeadJson,
    parts: u32,
    tags: TagsJson,
    piece: u32,
    buffers: u32,
    #[serde(default)]
    sync: SyncJson,
    ranks: Vec<RankJson>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum SyncJson {
    #[default]
    Hard,
    Soft,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TagsJson {
    PerCall,
    Constant,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a rank with its `blocks`")]
struct RankJson {
    blocks: Vec<Vec<OpJson>>,
}

#[derive(Serialize, Deserialize)]
#[serde(expecting = "a place like [rank, buffer, chunk]")]
struct GmJson(u32, BufferJson, u32);

#[derive(Serialize, Deserialize)]
#[serde(tag = "op", deny_unknown_fields, expecting = "an operation with `op` and what it needs")]
enum OpJson {
    Copy {
        dst: GmJson,
        src: GmJson,
        #[serde(default = "one", skip_serializing_if = "is_one")]
        len: u32,
        #[serde(default, skip_serializing_if = "is_zero")]
        class: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<u32>,
        #[serde(default = "one", skip_serializing_if = "is_one")]
        parts: u32,
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        padded: bool,
        #[serde(default)]
        at: u32,
    },
    SetAtomic {
        #[serde(default)]
        at: u32,
    },
    SetAtomicNone {
        #[serde(default)]
        at: u32,
    },
    PipeBarrier {
        #[serde(default)]
        at: u32,
    },
    Record {
        peer: u32,
        notify: u32,
        #[serde(default, skip_serializing_if = "is_zero")]
        part: u32,
        step: u32,
        #[serde(default)]
        at: u32,
    },
    Wait {
        peer: u32,
        notify: u32,
        #[serde(default, skip_serializing_if = "is_zero")]
        part: u32,
        step: u32,
        #[serde(default)]
        at: u32,
    },
    SyncAll {
        #[serde(default)]
        at: u32,
    },
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
fn is_one(number: &u32) -> bool {
    *number == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
fn is_yes(value: &bool) -> bool {
    *value
}

impl Program {
    /// The program as JSON: one operation a line, so that it diffs well.
    pub fn to_json(&self) -> String {
        let value = ProgramJson {
            schema: SCHEMA.to_owned(),
            head: HeadJson::from(&self.frame),
            parts: self.parts,
            tags: match self.tags {
                Tags::PerCall => TagsJson::PerCall,
                Tags::Constant => TagsJson::Constant,
            },
            piece: self.ub.piece,
            buffers: self.ub.buffers,
            sync: match self.sync {
                Sync::Hard => SyncJson::Hard,
                Sync::Soft => SyncJson::Soft,
            },
            ranks: Vec::new(),
        };
        // Plain data, which always has a text.
        let head = serde_json::to_string(&value).unwrap_or_default();
        let head = head.strip_suffix("[]}").unwrap_or(&head);
        let mut text = String::with_capacity(head.len() + 100 * self.num_ops() as usize);
        text.push_str(head);
        text.push('[');
        for (r, rank) in self.ranks.iter().enumerate() {
            text.push_str(if r == 0 { "\n{\"blocks\":[" } else { ",\n{\"blocks\":[" });
            for (b, ops) in rank.blocks.iter().enumerate() {
                text.push_str(if b == 0 { "[" } else { ",[" });
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

impl ProgramJson {
    fn program(self) -> Result<Program, String> {
        if self.schema != SCHEMA {
            return Err(format!("the schema is \"{}\", and this reads \"{SCHEMA}\"", self.schema));
        }
        let frame = self.head.program()?;
        if frame.symmetric {
            return Err("symmetric windows are for AI CPU only".into());
        }
        let ranks = frame.num_ranks();
        if self.ranks.len() != ranks as usize {
            return Err(format!("the layout has {ranks} ranks, and `ranks` has {}", self.ranks.len()));
        }
        let block = |ops: Vec<OpJson>| ops.into_iter().map(OpJson::op).collect();
        let rank = |rank: RankJson| Rank { blocks: rank.blocks.into_iter().map(block).collect() };
        Ok(Program {
            frame,
            parts: self.parts,
            tags: match self.tags {
                TagsJson::PerCall => Tags::PerCall,
                TagsJson::Constant => Tags::Constant,
            },
            ub: UnifiedBuffer { piece: self.piece, buffers: self.buffers },
            sync: match self.sync {
                SyncJson::Hard => Sync::Hard,
                SyncJson::Soft => Sync::Soft,
            },
            ranks: self.ranks.into_iter().map(rank).collect(),
        })
    }
}

impl From<&Gm> for GmJson {
    fn from(gm: &Gm) -> GmJson {
        GmJson(gm.rank, gm.cell.buffer.into(), gm.cell.chunk)
    }
}

impl From<GmJson> for Gm {
    fn from(GmJson(rank, buffer, chunk): GmJson) -> Gm {
        Gm { rank, cell: Cell { buffer: buffer.into(), chunk } }
    }
}

impl From<&Op> for OpJson {
    fn from(op: &Op) -> OpJson {
        let at = op.at.0;
        match &op.kind {
            OpKind::Copy(Copy { dst, src, len, class, part, padded }) => OpJson::Copy {
                dst: dst.into(),
                src: src.into(),
                len: *len,
                class: *class,
                part: part.map(|part| part.first),
                parts: part.map_or(1, |part| part.len),
                padded: *padded,
                at,
            },
            OpKind::SetAtomic => OpJson::SetAtomic { at },
            OpKind::SetAtomicNone => OpJson::SetAtomicNone { at },
            OpKind::PipeBarrier => OpJson::PipeBarrier { at },
            OpKind::Record(Flag { peer, notify, part, step }) => {
                OpJson::Record { peer: *peer, notify: *notify, part: *part, step: *step, at }
            }
            OpKind::Wait(Flag { peer, notify, part, step }) => {
                OpJson::Wait { peer: *peer, notify: *notify, part: *part, step: *step, at }
            }
            OpKind::SyncAll => OpJson::SyncAll { at },
        }
    }
}

impl OpJson {
    fn op(self) -> Op {
        let (kind, at) = match self {
            OpJson::Copy { dst, src, len, class, part, parts, padded, at } => {
                let part = part.map(|first| Parts { first, len: parts });
                (OpKind::Copy(Copy { dst: dst.into(), src: src.into(), len, class, part, padded }), at)
            }
            OpJson::SetAtomic { at } => (OpKind::SetAtomic, at),
            OpJson::SetAtomicNone { at } => (OpKind::SetAtomicNone, at),
            OpJson::PipeBarrier { at } => (OpKind::PipeBarrier, at),
            OpJson::Record { peer, notify, part, step, at } => (OpKind::Record(Flag { peer, notify, part, step }), at),
            OpJson::Wait { peer, notify, part, step, at } => (OpKind::Wait(Flag { peer, notify, part, step }), at),
            OpJson::SyncAll { at } => (OpKind::SyncAll, at),
        };
        Op { kind, at: SpanId(at) }
    }
}
