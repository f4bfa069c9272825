//! What `collective!` makes compiles where nothing is in scope and everything must be documented.
#![no_implicit_prelude]
#![deny(missing_docs, warnings, unreachable_pub, unused, clippy::all)]

use ::std::assert_eq;

/// Names that the expansion uses inside must not be seen here, nor be taken from here.
#[derive(::std::fmt::Debug)]
pub struct Spec;

/// A type of the user's that is named as one of the language's own.
#[allow(non_camel_case_types, dead_code, reason = "the test is about the name")]
type u32 = ();

/// A limit of the board.
pub const THREADS: u8 = 7;

::hcomm::collective! {
    /// One algorithm.
    #[doc(alias = "mesh")]
    #[must_use]
    pub Mesh: all_gather {
        budget: { threads: THREADS, channels: self::limits::CHANNELS };
        copy_in { scratch[rank] = input; }
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.scratch[rank] = scratch[rank]; }
            post_sync { signal peer; wait peer; }
        }
        copy_out { output = scratch; }
    }

    // And another in the same block, private, without documentation.
    Ring: all_gather {
        let next = wrap(rank + 1, ranks);
        let prev = wrap(rank - 1, ranks);
        copy_in { scratch[rank] = input; }
        for step in 0..ranks - 1 {
            let chunk = wrap(rank - step, ranks);
            par {
                lane { pre_sync { wait next; } move { next.scratch[chunk] = scratch[chunk]; } post_sync { signal next; } }
                lane { pre_sync { signal prev; } post_sync { wait prev; } }
            }
        }
        copy_out { output = scratch; }
    }
}

mod limits {
    pub(crate) const CHANNELS: usize = 7;
}

const PLAN: ::hcomm::plan::Plan = ::hcomm::plan_for!(Mesh, 8);

/// Algorithms are made by macros too: an expression that one puts there keeps its place in the order of operations.
macro_rules! shifted {
    ($name:ident, $by:expr) => {
        ::hcomm::collective! {
            $name: all_gather {
                copy_in { scratch[wrap(rank + 2 * $by - 2 * $by, ranks)] = input; }
                par for peer in peers {
                    pre_sync  { signal peer; wait peer; }
                    move      { peer.scratch[rank] = scratch[rank]; }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { output = scratch; }
            }
        }
    };
}

shifted!(Shifted, 1 + 2);

fn main() {
    assert_eq!(PLAN.resources.threads, 7);
    assert_eq!(Ring::resources(4).threads, 2);
    assert_eq!(Ring::resources_at(4, 0).channels, 2);
    assert_eq!(Shifted::SPEC.name, "Shifted");
    assert_eq!(Shifted::plan(3).ranks, 3);
    assert_eq!(::std::format!("{:?} {:?}", Mesh, Spec), "Mesh Spec");
    {
        ::hcomm::collective! {
            Local: barrier {
                for peer in peers { pre_sync { signal peer; } }
                for peer in peers { pre_sync { wait peer; } }
                for peer in peers { post_sync { signal peer; } }
                for peer in peers { post_sync { wait peer; } }
            }
        }
        assert_eq!(<Local as ::hcomm::Collective>::SPEC.snake, "local");
    }
}
