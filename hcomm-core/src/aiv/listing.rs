//! The listing of an AIV program: one line per operation, as a kernel would say it.

use std::fmt;

use super::program::{Copy, Flag, Gm, Op, OpKind, Parts, Program, Sync};
use super::tags::Tags;
use crate::listing::{Cells, Who};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list(f, None)
    }
}

/// The listing of one rank of a program.
#[derive(Clone, Copy, Debug)]
pub struct OneRank<'p>(pub &'p Program, pub u32);

impl fmt::Display for OneRank<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.list(f, Some(self.1))
    }
}

impl Program {
    fn list(&self, f: &mut fmt::Formatter<'_>, only: Option<u32>) -> fmt::Result {
        let (frame, blocks) = (&self.frame, self.num_blocks());
        let plural = if blocks == 1 { "" } else { "s" };
        writeln!(f, "{}: {} on AIV, {}, {blocks} block{plural}", frame.algorithm, frame.operator, Who(frame))?;
        write!(f, "split {}, scratch {}", frame.split, frame.scratch)?;
        if self.parts > 1 {
            write!(f, ", chunks cut into {} parts", self.parts)?;
        }
        for (i, name) in frame.notifies.iter().enumerate() {
            write!(f, "{}{i} = {name}", if i == 0 { ", flags " } else { ", " })?;
        }
        let ub = &self.ub;
        let tags = match self.tags {
            Tags::PerCall => "",
            Tags::Constant => ", the same tag in every launch",
        };
        writeln!(f, ", Unified Buffer {} x {} KB{tags}", ub.buffers, ub.piece >> 10)?;
        for (rank, program) in (0..).zip(&self.ranks).filter(|(rank, _)| only.is_none_or(|only| only == *rank)) {
            writeln!(f, "\nrank {rank}")?;
            for (block, ops) in program.blocks.iter().enumerate() {
                writeln!(f, "  block {block}")?;
                for op in ops {
                    writeln!(f, "    {}", Line(self, rank, op))?;
                }
            }
        }
        Ok(())
    }
}

/// An operation of a program, on a rank, as one line of its listing, without indentation.
pub struct Line<'p>(pub &'p Program, pub u32, pub &'p Op);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line(program, me, op) = self;
        let name = op.kind.name();
        match &op.kind {
            OpKind::Copy(Copy { dst, src, len, class, part, padded }) => {
                write!(f, "{name:<8} {} <- {}", Chunks(*me, dst, *len), Chunks(*me, src, *len))?;
                match part {
                    Some(Parts { first, len: 1 }) => write!(f, ", part {first}")?,
                    Some(parts) => write!(f, ", parts {}..{}", parts.first, parts.end())?,
                    None => {}
                }
                if !padded {
                    f.write_str(", not padded")?;
                }
                if program.frame.split > 1 {
                    write!(f, "  (length {class})")?;
                }
                Ok(())
            }
            OpKind::Record(Flag { peer, notify, part, step }) | OpKind::Wait(Flag { peer, notify, part, step }) => {
                write!(f, "{name:<8} rank {peer} {}", program.frame.notify_name(*notify))?;
                if program.flag_parts() > 1 {
                    write!(f, " part {part}")?;
                }
                write!(f, ", tag + {step}")
            }
            OpKind::SyncAll => match program.sync {
                Sync::Hard => write!(f, "{name}<true>"),
                Sync::Soft => write!(f, "{name}(gm, ub, {})", program.num_blocks()),
            },
            _ => f.write_str(name),
        }
    }
}

/// `scratch[3]` or `rank 1 scratch[3..5]`.
struct Chunks<'g>(u32, &'g Gm, u32);

impl fmt::Display for Chunks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Chunks(me, gm, len) = *self;
        if gm.rank != me {
            write!(f, "rank {} ", gm.rank)?;
        }
        write!(f, "{}", Cells(gm.cell, len))
    }
}
