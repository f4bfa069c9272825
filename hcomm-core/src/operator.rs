//! The collective operators: their buffers, and what they compute (DESIGN section 5).

use crate::shape::Shape;

/// A collective operator, by HCCL's name in snake case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// Every rank ends with every rank's input, in rank order.
    AllGather,
    /// Rank r ends with slot r of the reduction of all inputs.
    ReduceScatter,
    /// Every rank ends with the reduction of all inputs.
    AllReduce,
    /// Every rank ends with the root's input.
    Broadcast,
    /// The root ends with the reduction of all inputs.
    Reduce,
    /// Rank r ends with slot r of the root's input.
    Scatter,
    /// The root ends with every rank's input, in rank order.
    Gather,
    /// Rank r ends with slot r of every rank's input, in rank order.
    AllToAll,
    /// Rank `dst` ends with rank `src`'s input.
    SendRecv,
    /// No data: every rank's end comes after every rank's start.
    Barrier,
}

/// A buffer of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Buffer {
    /// The user's send buffer: read only.
    Input,
    /// The user's receive buffer.
    Output,
    /// The HCCL buffer: the only memory of a rank that its peers may touch.
    Scratch,
}

impl Buffer {
    /// The name in the language.
    pub const fn name(self) -> &'static str {
        match self {
            Buffer::Input => "input",
            Buffer::Output => "output",
            Buffer::Scratch => "scratch",
        }
    }

    /// All buffers, in the order of their discriminants.
    pub const ALL: [Buffer; 3] = [Buffer::Input, Buffer::Output, Buffer::Scratch];
}

/// What a chunk of an output must hold when the operator ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Chunk `chunk` of rank `rank`'s input.
    Copy {
        /// Whose input.
        rank: u32,
        /// Which chunk of it.
        chunk: u32,
    },
    /// The reduction over all ranks of chunk `chunk` of their inputs.
    Reduction {
        /// Which chunk of every input.
        chunk: u32,
    },
}

impl Operator {
    /// All operators, in the order of DESIGN section 5.
    pub const ALL: [Operator; 10] = [
        Operator::AllGather,
        Operator::ReduceScatter,
        Operator::AllReduce,
        Operator::Broadcast,
        Operator::Reduce,
        Operator::Scatter,
        Operator::Gather,
        Operator::AllToAll,
        Operator::SendRecv,
        Operator::Barrier,
    ];

    /// The name in the language, `all_gather`.
    pub const fn name(self) -> &'static str {
        match self {
            Operator::AllGather => "all_gather",
            Operator::ReduceScatter => "reduce_scatter",
            Operator::AllReduce => "all_reduce",
            Operator::Broadcast => "broadcast",
            Operator::Reduce => "reduce",
            Operator::Scatter => "scatter",
            Operator::Gather => "gather",
            Operator::AllToAll => "all_to_all",
            Operator::SendRecv => "send_recv",
            Operator::Barrier => "barrier",
        }
    }

    /// The operator of that name.
    pub fn from_name(name: &str) -> Option<Operator> {
        Operator::ALL.into_iter().find(|op| op.name() == name)
    }

    /// Whether `root` is a name in the operator's programs.
    pub const fn has_root(self) -> bool {
        matches!(self, Operator::Broadcast | Operator::Reduce | Operator::Scatter | Operator::Gather)
    }

    /// Whether `src` and `dst` are names in the operator's programs.
    pub const fn has_src_dst(self) -> bool {
        matches!(self, Operator::SendRecv)
    }

    /// Whether the operator reduces, so that `+=` has a meaning.
    pub const fn reduces(self) -> bool {
        matches!(self, Operator::AllReduce | Operator::Reduce | Operator::ReduceScatter)
    }

    /// Whether `split` defaults to the number of ranks (and otherwise to 1).
    pub const fn splits_by_ranks(self) -> bool {
        matches!(self, Operator::AllReduce | Operator::Broadcast | Operator::Reduce)
    }

    /// Slots of the input on `rank`: a slot is `count` elements, and `split` chunks.
    pub const fn input_slots(self, shape: &Shape, rank: u32) -> u32 {
        match self {
            Operator::AllGather | Operator::AllReduce | Operator::Reduce | Operator::Gather => 1,
            Operator::ReduceScatter | Operator::AllToAll => shape.ranks(),
            Operator::Broadcast => (rank == shape.root) as u32,
            Operator::Scatter => {
                if rank == shape.root {
                    shape.ranks()
                } else {
                    0
                }
            }
            Operator::SendRecv => (rank == shape.src) as u32,
            Operator::Barrier => 0,
        }
    }

    /// Slots of the output on `rank`: a slot is `count` elements, and `split` chunks.
    pub const fn output_slots(self, shape: &Shape, rank: u32) -> u32 {
        match self {
            Operator::AllGather | Operator::AllToAll => shape.ranks(),
            Operator::ReduceScatter | Operator::AllReduce | Operator::Broadcast | Operator::Scatter => 1,
            Operator::Reduce => (rank == shape.root) as u32,
            Operator::Gather => {
                if rank == shape.root {
                    shape.ranks()
                } else {
                    0
                }
            }
            Operator::SendRecv => (rank == shape.dst) as u32,
            Operator::Barrier => 0,
        }
    }

    /// The largest number of slots that an input or output has on any rank: what `scratch` holds by default.
    pub const fn largest_slots(self, ranks: u32) -> u32 {
        match self {
            Operator::AllGather
            | Operator::ReduceScatter
            | Operator::Scatter
            | Operator::Gather
            | Operator::AllToAll => ranks,
            Operator::AllReduce | Operator::Broadcast | Operator::Reduce | Operator::SendRecv => 1,
            Operator::Barrier => 0,
        }
    }

    /// What chunk `chunk` of `rank`'s output must hold (DESIGN section 5), with `split` chunks a slot.
    ///
    /// `chunk` is below `output_slots * split`.
    pub const fn expected(self, shape: &Shape, split: u32, rank: u32, chunk: u32) -> Expected {
        let (slot, part) = (chunk / split, chunk % split);
        match self {
            Operator::AllGather | Operator::Gather => Expected::Copy { rank: slot, chunk: part },
            Operator::ReduceScatter => Expected::Reduction { chunk: rank * split + part },
            Operator::AllReduce | Operator::Reduce => Expected::Reduction { chunk: part },
            Operator::Broadcast => Expected::Copy { rank: shape.root, chunk: part },
            Operator::Scatter => Expected::Copy { rank: shape.root, chunk: rank * split + part },
            Operator::AllToAll => Expected::Copy { rank: slot, chunk: rank * split + part },
            Operator::SendRecv | Operator::Barrier => Expected::Copy { rank: shape.src, chunk: part },
        }
    }
}

impl std::fmt::Display for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::fmt::Display for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
