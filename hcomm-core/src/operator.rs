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
    /// As all_gather, with a count and a place in the output for each rank.
    AllGatherV,
    /// As reduce_scatter, with a count and a place in the input for each rank.
    ReduceScatterV,
    /// As all_to_all, with a count for each pair of ranks, and places in both buffers.
    AllToAllV,
    /// As all_to_all_v, where every rank knows all counts, and buffers have no gaps.
    AllToAllVc,
    /// Items to send and to receive, which match in pairs: at most one for each ordered pair of ranks.
    BatchSendRecv,
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

/// Whose counts a slot has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountsBy {
    /// Every slot has the same count.
    All,
    /// A slot has the count of a rank.
    Rank,
    /// A slot has the count of a pair of ranks: from whom, to whom.
    Pair,
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
    pub const ALL: [Operator; 15] = [
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
        Operator::AllGatherV,
        Operator::ReduceScatterV,
        Operator::AllToAllV,
        Operator::AllToAllVc,
        Operator::BatchSendRecv,
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
            Operator::AllGatherV => "all_gather_v",
            Operator::ReduceScatterV => "reduce_scatter_v",
            Operator::AllToAllV => "all_to_all_v",
            Operator::AllToAllVc => "all_to_all_vc",
            Operator::BatchSendRecv => "batch_send_recv",
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
        matches!(self, Operator::AllReduce | Operator::Reduce | Operator::ReduceScatter | Operator::ReduceScatterV)
    }

    /// Whether HCCL uses symmetric windows for the operator (facts 7.2; the page of `HcclCommSymWinRegister`): all have
    /// buffers of the same size on every rank.
    pub const fn has_windows(self) -> bool {
        matches!(self, Operator::AllGather | Operator::ReduceScatter | Operator::AllReduce | Operator::AllToAll)
    }

    /// Whether `split` defaults to the number of ranks (and otherwise to 1).
    pub const fn splits_by_ranks(self) -> bool {
        matches!(self, Operator::AllReduce | Operator::Broadcast | Operator::Reduce)
    }

    /// Whether input and output may overlap (facts 9.2): the smaller of the two in the larger, at the rank's own slot.
    pub const fn has_in_place(self) -> bool {
        matches!(
            self,
            Operator::AllGather
                | Operator::AllReduce
                | Operator::Broadcast
                | Operator::Gather
                | Operator::Reduce
                | Operator::ReduceScatter
                | Operator::Scatter
        )
    }

    /// Slots of the input on `rank`: a slot is `count` elements, and `split` chunks.
    pub const fn input_slots(self, shape: &Shape, rank: u32) -> u32 {
        match self {
            Operator::AllGather | Operator::AllGatherV | Operator::AllReduce | Operator::Reduce | Operator::Gather => 1,
            Operator::ReduceScatter
            | Operator::ReduceScatterV
            | Operator::AllToAll
            | Operator::AllToAllV
            | Operator::AllToAllVc
            | Operator::BatchSendRecv => shape.ranks(),
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
            Operator::AllGather
            | Operator::AllGatherV
            | Operator::AllToAll
            | Operator::AllToAllV
            | Operator::AllToAllVc
            | Operator::BatchSendRecv => shape.ranks(),
            Operator::ReduceScatter
            | Operator::ReduceScatterV
            | Operator::AllReduce
            | Operator::Broadcast
            | Operator::Scatter => 1,
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
            | Operator::AllToAll
            | Operator::AllGatherV
            | Operator::ReduceScatterV
            | Operator::AllToAllV
            | Operator::AllToAllVc
            | Operator::BatchSendRecv => ranks,
            Operator::AllReduce | Operator::Broadcast | Operator::Reduce | Operator::SendRecv => 1,
            Operator::Barrier => 0,
        }
    }

    /// Whose counts a slot has: the same everywhere, one for each rank, or one for each pair of ranks.
    pub const fn counts(self) -> CountsBy {
        match self {
            Operator::AllGatherV | Operator::ReduceScatterV => CountsBy::Rank,
            Operator::AllToAllV | Operator::AllToAllVc | Operator::BatchSendRecv => CountsBy::Pair,
            _ => CountsBy::All,
        }
    }

    /// How many length classes there are, with `split` chunks a slot: chunks of one class are of one length.
    pub const fn classes(self, ranks: u32, split: u32) -> u32 {
        match self.counts() {
            CountsBy::All => split,
            CountsBy::Rank => ranks.saturating_mul(split),
            CountsBy::Pair => ranks.saturating_mul(ranks).saturating_mul(split),
        }
    }

    /// The length class of chunk `chunk` of `rank`'s input or output, below [`classes`](Self::classes): chunk k of a
    /// slot, and where counts are by rank or by pair, of whose slot.
    pub const fn class(self, ranks: u32, split: u32, buffer: Buffer, rank: u32, chunk: u32) -> u32 {
        let (slot, part) = (chunk / split, chunk % split);
        let owner = match (self, buffer) {
            // The one slot of that buffer is the rank's own.
            (Operator::AllGatherV, Buffer::Input) | (Operator::ReduceScatterV, Buffer::Output) => rank,
            (Operator::AllGatherV | Operator::ReduceScatterV, _) => slot,
            // From the rank to the slot's, and from the slot's rank to this one.
            (Operator::AllToAllV | Operator::AllToAllVc | Operator::BatchSendRecv, Buffer::Input) => {
                rank.wrapping_mul(ranks).wrapping_add(slot)
            }
            (Operator::AllToAllV | Operator::AllToAllVc | Operator::BatchSendRecv, _) => {
                slot.wrapping_mul(ranks).wrapping_add(rank)
            }
            _ => return part,
        };
        owner.wrapping_mul(split).wrapping_add(part)
    }

    /// What chunk `chunk` of `rank`'s output must hold (DESIGN section 5), with `split` chunks a slot.
    ///
    /// `chunk` is below `output_slots * split`.
    pub const fn expected(self, shape: &Shape, split: u32, rank: u32, chunk: u32) -> Expected {
        let (slot, part) = (chunk / split, chunk % split);
        match self {
            Operator::AllGather | Operator::AllGatherV | Operator::Gather => Expected::Copy { rank: slot, chunk: part },
            Operator::ReduceScatter | Operator::ReduceScatterV => Expected::Reduction { chunk: rank * split + part },
            Operator::AllReduce | Operator::Reduce => Expected::Reduction { chunk: part },
            Operator::Broadcast => Expected::Copy { rank: shape.root, chunk: part },
            Operator::Scatter => Expected::Copy { rank: shape.root, chunk: rank * split + part },
            Operator::AllToAll | Operator::AllToAllV | Operator::AllToAllVc | Operator::BatchSendRecv => {
                Expected::Copy { rank: slot, chunk: rank * split + part }
            }
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
