//! What a run is given beside the program.

use hcomm_core::counts::Counts;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_core::sizes;

/// What a run is given beside the program.
///
/// ```
/// use hcomm_core::dtype::{DataType, ReduceOp};
/// use hcomm_sim::Config;
///
/// let config = Config::new(1_000_003, DataType::Bf16).reduce(ReduceOp::Max).repeat(3);
/// assert_eq!(config.repeat, 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Elements of slots.
    pub counts: Counts,
    /// Their type.
    pub dtype: DataType,
    /// What `+=` does; of no meaning to operators that do not reduce.
    pub reduce: ReduceOp,
    /// Bytes of scratch on every rank.
    pub hccl_buffer: u64,
    /// Invocations back to back, each on other inputs. 0 is 1.
    pub repeat: u64,
    /// Whether input and output overlap as the operator defines.
    pub in_place: bool,
    /// What the inputs are drawn from.
    pub seed: u64,
    /// Who goes on when several threads could.
    pub schedule: Schedule,
    /// The most bytes that inputs and results of reductions may take. Bytes that are only copied take none, however
    /// many ranks hold them.
    pub memory_limit: u64,
    /// The most operations that a run may take. Every chunk of a transfer counts, since it may be a transfer of its
    /// own.
    pub operation_limit: u64,
    /// AIV: Vector cores of a rank that take blocks, if fewer than there are blocks.
    pub cores: Option<u32>,
    /// AIV: what the counter of calls stands at for the first invocation, from 1 to 1000. The next one after 1000 is 1.
    pub counter: u32,
}

/// Who goes on when several threads could.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Schedule {
    /// Each thread until it blocks, then the one that has waited longest: the fastest to run.
    #[default]
    Fifo,
    /// Any of them with the same probability, operation by operation; transfers take two steps for every segment, so
    /// that what happens in between shows. The seed decides all of it.
    Random {
        /// What the choices are drawn from.
        seed: u64,
    },
}

impl Config {
    /// `count` elements of type `dtype` a slot: one invocation, `sum`, the default HCCL buffer, not in place.
    pub fn new(count: u64, dtype: DataType) -> Config {
        Config {
            counts: Counts::Same(count),
            dtype,
            reduce: ReduceOp::Sum,
            hccl_buffer: sizes::DEFAULT_HCCL_BUFFER,
            repeat: 1,
            in_place: false,
            seed: 0,
            schedule: Schedule::Fifo,
            memory_limit: 8 << 30,
            operation_limit: 2_000_000_000,
            cores: None,
            counter: 1,
        }
    }

    /// Sets counts that are not the same for all slots, as the V operators take them.
    #[must_use]
    pub fn counts(mut self, counts: Counts) -> Config {
        self.counts = counts;
        self
    }

    /// Sets what `+=` does.
    #[must_use]
    pub fn reduce(mut self, reduce: ReduceOp) -> Config {
        self.reduce = reduce;
        self
    }

    /// Sets the bytes of scratch.
    #[must_use]
    pub fn hccl_buffer(mut self, bytes: u64) -> Config {
        self.hccl_buffer = bytes;
        self
    }

    /// Sets the number of invocations.
    #[must_use]
    pub fn repeat(mut self, invocations: u64) -> Config {
        self.repeat = invocations;
        self
    }

    /// Sets whether input and output overlap.
    #[must_use]
    pub fn in_place(mut self, in_place: bool) -> Config {
        self.in_place = in_place;
        self
    }

    /// Sets what the inputs are drawn from.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Config {
        self.seed = seed;
        self
    }

    /// Sets who goes on when several threads could.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Config {
        self.schedule = schedule;
        self
    }

    /// Sets the most bytes that inputs and results of reductions may take.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Config {
        self.memory_limit = bytes;
        self
    }

    /// Sets how many Vector cores take the blocks of a rank.
    #[must_use]
    pub fn cores(mut self, cores: u32) -> Config {
        self.cores = Some(cores);
        self
    }

    /// Sets the counter of calls, which makes the values of AIV's flags, for the first invocation.
    #[must_use]
    pub fn counter(mut self, counter: u32) -> Config {
        self.counter = counter;
        self
    }

    /// Sets the most operations that a run may take.
    #[must_use]
    pub fn operation_limit(mut self, operations: u64) -> Config {
        self.operation_limit = operations;
        self
    }
}

impl Default for Config {
    /// 1024 elements of `fp32`.
    fn default() -> Self {
        Config::new(1024, DataType::Fp32)
    }
}
