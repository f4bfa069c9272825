//! Products: their limits, and the operations, data types and reductions that they offer.

use crate::diag::{Code, Diagnostic};
use crate::dtype::{DataType, ReduceOp};
use crate::program::{OpKind, Program};
use crate::resources::Resources;
use crate::shape::Layout;
use crate::spec::BudgetField;

/// A product that HCOMM runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// Atlas A2 (Ascend910B).
    A2,
    /// Atlas A3 (Ascend910_93).
    A3,
    /// Ascend 950PR and 950DT.
    A950,
}

/// A CANN release, as far as limits depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Release {
    /// Up to CANN 8.5.
    Cann85,
    /// From CANN 9.0.
    Cann90,
}

/// What a product gives a communicator (facts 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Threads of a communicator.
    pub threads: u32,
    /// Thread notifies of a communicator, charged as threads × the largest number on one.
    pub thread_notifies: u32,
    /// Notify indices on one channel.
    pub notify_num_per_channel: u32,
}

impl Limits {
    /// The limits of a release; they are the same for all products.
    pub const fn of(release: Release) -> Limits {
        Limits {
            threads: match release {
                Release::Cann85 => 40,
                Release::Cann90 => 200,
            },
            thread_notifies: 65536,
            notify_num_per_channel: 64,
        }
    }

    /// The first rank of a program that is over a limit, told at a place.
    pub fn program_overrun(&self, program: &Program, at: Option<crate::spec::Span>) -> Option<Diagnostic> {
        let ranks = program.num_ranks();
        (0..ranks).find_map(|rank| {
            let need = crate::resources::of_program(program, rank);
            Some(Diagnostic { at, ..self.overrun(&program.algorithm, ranks, &need)? }.on(ranks, rank))
        })
    }

    /// What is said where an algorithm needs more than a communicator has.
    pub fn overrun(&self, algorithm: &str, ranks: u32, need: &Resources) -> Option<Diagnostic> {
        let (field, need, limit) = self.first_overrun(need)?;
        let message =
            format!("`{algorithm}` needs {need} {} at {ranks} ranks, and a communicator has {limit}", field.name());
        let help = match field {
            BudgetField::NotifyNumPerChannel => "use fewer named notifies",
            _ => "bound the lanes with `par(n) for …`",
        };
        Some(Diagnostic::new(Code::H401, message, None).with_help(help))
    }

    /// The first count that is over a limit: which, the need, the limit.
    pub const fn first_overrun(&self, need: &Resources) -> Option<(BudgetField, u64, u64)> {
        let charged = need.threads as u64 * need.notify_num_per_thread as u64;
        if need.threads > self.threads {
            Some((BudgetField::Threads, need.threads as u64, self.threads as u64))
        } else if charged > self.thread_notifies as u64 {
            Some((BudgetField::ThreadNotifies, charged, self.thread_notifies as u64))
        } else if need.notify_num_per_channel > self.notify_num_per_channel {
            let (need, limit) = (need.notify_num_per_channel as u64, self.notify_num_per_channel as u64);
            Some((BudgetField::NotifyNumPerChannel, need, limit))
        } else {
            None
        }
    }
}

impl Product {
    /// All products.
    pub const ALL: [Product; 3] = [Product::A2, Product::A3, Product::A950];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Product::A2 => "a2",
            Product::A3 => "a3",
            Product::A950 => "950",
        }
    }

    /// The product of that name.
    pub fn from_name(name: &str) -> Option<Product> {
        Product::ALL.into_iter().find(|product| product.name() == name)
    }

    /// Whether a write can set the peer's flag in one operation (facts 3.4: 950 only).
    ///
    /// # Errors
    ///
    /// H402 where it cannot.
    pub fn admits_fused(self) -> Result<(), Diagnostic> {
        if self == Product::A950 {
            return Ok(());
        }
        let message = format!("{} has no WriteWithNotify: a fused write and record is offered on the 950 only", self);
        Err(Diagnostic::new(Code::H402, message, None).with_help("leave the write and the record apart"))
    }

    /// How the product reduces elements of a type in an operation.
    pub const fn reduction(self, kind: &OpKind, dtype: DataType, reduce: ReduceOp) -> Reduction {
        let local = matches!(kind, OpKind::LocalReduce(_));
        let inline = match dtype {
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Fp16 | DataType::Fp32 | DataType::Bf16 => {
                true
            }
            DataType::Uint8 | DataType::Uint16 | DataType::Uint32 => !local && matches!(self, Product::A950),
            DataType::Int64 | DataType::Uint64 | DataType::Fp64 => false,
            _ => return Reduction::None, // copied only
        };
        if inline && !matches!(reduce, ReduceOp::Prod) {
            return Reduction::Inline;
        }
        // HCCL's AicpuReduce: join the threads, then a scalar loop on the AI CPU. HcommThreadJoin is on the 950 only.
        let scalar = match reduce {
            ReduceOp::Prod => !matches!(
                dtype,
                DataType::Int16 | DataType::Bf16 | DataType::Uint8 | DataType::Uint16 | DataType::Uint32
            ),
            _ => matches!(dtype, DataType::Int64 | DataType::Uint64 | DataType::Fp64),
        };
        if local && scalar && matches!(self, Product::A950) { Reduction::AiCpu } else { Reduction::None }
    }

    /// What joins two ranks (facts 1.4 and 3.4): on A2 the devices of a server, on A3 those of a superpod share a fabric,
    /// and others go through a network card; on the 950 all is UB.
    pub fn link(self, layout: &Layout, a: u32, b: u32) -> Link {
        let (node_a, node_b) = (layout.place(a).0, layout.place(b).0);
        let near = match self {
            Product::A2 => node_a == node_b,
            Product::A3 => layout.pod_of(node_a) == layout.pod_of(node_b),
            Product::A950 => return Link::Ub,
        };
        if near { Link::Hccs } else { Link::Roce }
    }

    /// Whether the product has the operations of a program, on the links that they are for.
    ///
    /// # Errors
    ///
    /// H402 for the first operation that it has not.
    pub fn admits_operations(self, program: &Program) -> Result<(), Diagnostic> {
        if program.symmetric {
            self.admits_windows(program)?;
        }
        for (rank, threads) in (0..).zip(&program.ranks) {
            for op in threads.threads.iter().flatten() {
                match op.kind {
                    OpKind::WriteWithNotify(..) | OpKind::WriteReduceWithNotify(..) => self.admits_fused()?,
                    OpKind::ReadReduce(peer, _) if self.link(&program.shape.layout, rank, peer) == Link::Roce => {
                        let at = program.source.spans.get(op.at.index()).copied();
                        let message = format!(
                            "rank {rank} reads and reduces from rank {peer} over RoCE, which {self} does not offer"
                        );
                        let help =
                            "let the owner of the data write and reduce, or read it into scratch and reduce locally";
                        let diagnostic = Diagnostic::new(Code::H402, message, at).with_help(help);
                        return Err(diagnostic.on(program.num_ranks(), rank));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Whether the product has symmetric windows for a program (facts 7.2: not on A2; on A3 over HCCS, so in one superpod,
    /// whose servers have the same number of ranks; on the 950 in any layout).
    fn admits_windows(self, program: &Program) -> Result<(), Diagnostic> {
        let layout = &program.shape.layout;
        let (message, help) = match self {
            Product::A950 => return Ok(()),
            Product::A2 => (
                "a2 has no symmetric windows: they are offered on a3 and the 950".to_owned(),
                "use an algorithm that moves the data through scratch, or another product".to_owned(),
            ),
            Product::A3 if layout.pods() > 1 => (
                format!("symmetric windows on a3 end with the superpod, and the layout has {} of them", layout.pods()),
                "make the communicator within a superpod".to_owned(),
            ),
            Product::A3 if !layout.is_equal() => (
                "symmetric windows on a3 are for servers with the same number of ranks, and they differ here"
                    .to_owned(),
                "use the same number of ranks on every server, or an algorithm that goes through scratch".to_owned(),
            ),
            Product::A3 => return Ok(()),
        };
        let at = program.source.spans.first().copied();
        Err(Diagnostic::new(Code::H402, message, at).with_help(help))
    }

    /// Whether the product moves elements of a type (facts 9.2).
    ///
    /// # Errors
    ///
    /// H402 if it does not.
    pub fn admits_type(self, dtype: DataType) -> Result<(), Diagnostic> {
        let (message, help) = match dtype {
            DataType::Int128 => (
                "int128 is a type of HCCL that none of its operators takes".to_owned(),
                "move it as twice as many int64",
            ),
            DataType::Hif8 | DataType::Fp8e4m3 | DataType::Fp8e5m2 | DataType::Fp8e8m0 if self != Product::A950 => {
                (format!("{dtype} is offered on the 950 only, not on {self}"), "move it as uint8")
            }
            _ => return Ok(()),
        };
        Err(Diagnostic::new(Code::H402, message, None).with_help(help))
    }

    /// Whether the product can carry out a program on elements of a type.
    ///
    /// # Errors
    ///
    /// H402 for the first operation that it cannot.
    pub fn admits(self, program: &Program, dtype: DataType, reduce: ReduceOp) -> Result<(), Diagnostic> {
        self.admits_type(dtype)?;
        self.admits_operations(program)?;
        let ops = program.ranks.iter().flat_map(|rank| &rank.threads).flatten();
        for op in ops {
            if op.kind.reduces() && self.reduction(&op.kind, dtype, reduce) == Reduction::None {
                let at = program.source.spans.get(op.at.index()).copied();
                let message = format!("{} of {dtype} with {reduce} is not offered on {self}", op.kind.name());
                return Err(Diagnostic::new(Code::H402, message, at).with_help(self.instead(&op.kind, dtype, reduce)));
            }
        }
        Ok(())
    }

    /// Whether some reduction of a program is a loop on the AI CPU. That loop is not atomic as a reduction by the
    /// hardware is: reductions into one chunk must then be ordered, as under `deterministic`.
    pub fn reduces_on_ai_cpu(self, program: &Program, dtype: DataType, reduce: ReduceOp) -> bool {
        let mut ops = program.ranks.iter().flat_map(|rank| &rank.threads).flatten();
        ops.any(|op| op.kind.reduces() && self.reduction(&op.kind, dtype, reduce) == Reduction::AiCpu)
    }

    /// What to do where [`reduction`](Self::reduction) finds none.
    fn instead(self, kind: &OpKind, dtype: DataType, reduce: ReduceOp) -> String {
        let local = OpKind::LocalReduce(crate::program::Transfer::NONE);
        if !matches!(kind, OpKind::LocalReduce(_)) && self.reduction(&local, dtype, reduce) == Reduction::AiCpu {
            return "only the AI CPU's arithmetic does this: use an algorithm that reduces locally, such as \
                    one_shot_all_reduce"
                .into();
        }
        let types: Vec<&str> = DataType::ALL
            .into_iter()
            .filter(|dtype| self.reduction(kind, *dtype, reduce) != Reduction::None)
            .map(DataType::name)
            .collect();
        match types.is_empty() {
            true => format!("{} with {reduce} is offered for no type on {self}", kind.name()),
            false => format!("{} with {reduce} is offered for {} on {self}", kind.name(), types.join(", ")),
        }
    }
}

/// What joins two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// HCCS, and SIO between the dies of a device: memory semantics.
    Hccs,
    /// RoCE, through a network card.
    Roce,
    /// UB.
    Ub,
}

/// How a reduction is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// By the hardware, as part of the transfer (facts 3.4).
    Inline,
    /// By a scalar loop on the AI CPU (facts 3.4, `AicpuReduce`).
    AiCpu,
    /// Not at all.
    None,
}

impl std::fmt::Display for Product {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
