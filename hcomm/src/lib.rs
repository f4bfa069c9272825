//! hcomm: operator development for collective communication on Huawei's HCOMM.
//!
//! Describe an algorithm in a [`collective!`] block, as what each rank does. If it compiles, it is proven for the
//! rank counts that it names; its resource counts are constants; and the program for AI CPU, its graph and its run on
//! simulated ranks come from the same description.
//!
//! ```
//! use hcomm::prelude::*;
//!
//! collective! {
//!     /// All-gather on a full mesh: every rank writes its slice into every peer, on all links at once.
//!     pub MyAllGather: all_gather {
//!         copy_in { scratch[rank] = input; }
//!         par for peer in peers {
//!             pre_sync  { signal peer; wait peer; }
//!             move      { peer.scratch[rank] = scratch[rank]; }
//!             post_sync { signal peer; wait peer; }
//!         }
//!         copy_out { output = scratch; }
//!     }
//! }
//!
//! const R: Resources = MyAllGather::resources(8);
//! assert_eq!((R.threads, R.channels, R.channel_notifies), (7, 7, 14));
//!
//! let program = hcomm::program(&MyAllGather::SPEC, 4)?;
//! print!("{program}");
//!
//! let report = hcomm::sim::run(&program, &hcomm::sim::Config::new(1000, DataType::Fp32))?;
//! assert!(report.ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`main!`] gives a crate the `hcomm` command line for its own algorithms.

pub mod cli;

pub use hcomm_core::{
    Collective, aiv, check, counts, diag, draw, dtype, eval, graph, ids, instance, json, listing, lower, operator,
    plan, plan_for, product, program, resources, shape, sizes, spec, verify,
};
pub use hcomm_macros::collective;

#[doc(hidden)]
pub use hcomm_core::__private;

/// The algorithms of the library.
pub mod algos {
    pub use hcomm_algos::*;
}

/// The simulator.
pub mod sim {
    pub use hcomm_sim::*;
}

/// What an author of algorithms uses most.
pub mod prelude {
    pub use crate::collective;
    pub use crate::dtype::{DataType, ReduceOp};
    pub use crate::plan::Plan;
    pub use crate::plan_for;
    pub use crate::program::Program;
    pub use crate::resources::Resources;
    pub use crate::shape::{Layout, Shape};
    pub use crate::{Collective, program};
}

/// The AI CPU program of an algorithm for `ranks` ranks on one node.
///
/// # Errors
///
/// What is wrong with the algorithm at this rank count: the first fault that was found.
pub fn program(spec: &spec::Spec<'_>, ranks: u32) -> Result<program::Program, diag::Diagnostic> {
    let layout = shape::Layout::flat(ranks).ok_or_else(|| {
        let message = format!("{ranks} ranks: a communicator has between 1 and {}", shape::MAX_RANKS);
        diag::Diagnostic::new(diag::Code::H001, message, None)
    })?;
    match instance::instantiate(spec, &shape::Shape::new(layout)) {
        Ok(instance) => Ok(lower::aicpu::lower(&instance)),
        Err(mut faults) => Err(faults.swap_remove(0)),
    }
}

/// A `main` function with the `hcomm` command line, for the algorithms that are named.
///
/// ```no_run
/// hcomm::main!(hcomm::algos::MeshAllGather, hcomm::algos::RingAllReduce);
/// ```
#[macro_export]
macro_rules! main {
    ($($algorithm:ty),+ $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::cli::main(&[$(&<$algorithm as $crate::Collective>::SPEC),+])
        }
    };
}
