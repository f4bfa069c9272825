//! Slips of the pen do not compile: a `signal` or a `wait` left out of any phase of any algorithm, a chunk index that is
//! one off, two phases swapped. The few that do no harm are listed, each with the reason.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use hcomm_algos::LIBRARY;
use hcomm_core::spec::SpecBuf;
use hcomm_core::verify::verify;

use support::slips::{Slip, slips};

/// Whether the macro would take it. The smallest rank counts and layouts first, as most slips show there.
fn compiles(spec: &SpecBuf) -> bool {
    let mut small = spec.clone();
    small.verify_ranks.1 = small.verify_ranks.1.min(4);
    small.verify_layouts.sort_by_key(hcomm_core::shape::Layout::ranks);
    small.verify_layouts.truncate(2);
    small.with_spec(verify).is_empty() && spec.with_spec(verify).is_empty()
}

const KINDS: [&str; 4] = ["no signal", "no wait", "other chunk", "swap phases"];

/// What was done before has already ordered the transfer behind the peer's last use of the chunk; the handshake is there
/// for the notify, which has to be taken before it is set again.
const ORDERED: &str = "the steps before say that the peer is done with the chunk, so the transfer may come first";
const TWO_SIGNALS: &str = "two signals of two notifies to one rank: which is set first makes no difference";
const ALIKE: &str = "both phases are the same handshake, on two notifies";

/// Slips that compile because they do no harm: algorithm, kind, what is written there, which one of those, and why.
const HARMLESS: [(&str, &str, &str, usize, &str); 20] = [
    ("rhd_all_gather", "swap phases", "post_sync pre_sync", 0, TWO_SIGNALS),
    ("rhd_all_gather", "swap phases", "pre_sync move", 2, ORDERED),
    ("ahc_all_gather", "swap phases", "pre_sync move", 2, ORDERED),
    ("rhd_reduce_scatter", "swap phases", "post_sync pre_sync", 0, TWO_SIGNALS),
    ("rhd_reduce_scatter", "swap phases", "pre_sync move", 2, ORDERED),
    ("ahc_reduce_scatter", "swap phases", "pre_sync move", 2, ORDERED),
    ("ring_all_reduce", "swap phases", "pre_sync move", 1, ORDERED),
    ("bidirectional_ring_all_reduce", "swap phases", "pre_sync move", 1, ORDERED),
    ("bidirectional_ring_all_reduce", "swap phases", "pre_sync move", 3, ORDERED),
    ("rhd_all_reduce", "swap phases", "post_sync pre_sync", 0, TWO_SIGNALS),
    ("rhd_all_reduce", "swap phases", "pre_sync move", 2, ORDERED),
    ("rhd_all_reduce", "swap phases", "pre_sync move", 3, ORDERED),
    ("nhr_all_reduce", "swap phases", "pre_sync move", 1, ORDERED),
    ("nb_all_reduce", "swap phases", "pre_sync move", 1, ORDERED),
    ("hierarchical_all_reduce", "swap phases", "pre_sync move", 2, ORDERED),
    ("three_level_all_reduce", "swap phases", "pre_sync move", 2, ORDERED),
    ("pipeline_all_reduce", "swap phases", "pre_sync move", 2, ORDERED),
    ("ahc_all_reduce", "swap phases", "pre_sync move", 2, ORDERED),
    ("rhd_reduce", "swap phases", "pre_sync move", 2, ORDERED),
    ("mesh_barrier", "swap phases", "pre_sync post_sync", 0, ALIKE),
];

fn is_listed(algorithm: &str, slip: &Slip) -> bool {
    HARMLESS.iter().any(|&(name, kind, text, nth, _)| {
        (name, kind, text, nth) == (algorithm, slip.kind, slip.text.as_str(), slip.nth)
    })
}

#[test]
fn slips_of_the_pen_do_not_compile() {
    let (mut tried, mut listed, mut wrong) = (0, 0, Vec::new());
    for spec in LIBRARY {
        assert!(compiles(&SpecBuf::from(*spec)), "{}", spec.snake);
        for slip in slips(spec).into_iter().filter(|slip| KINDS.contains(&slip.kind)) {
            tried += 1;
            let (compiles, is_listed) = (compiles(&slip.spec), is_listed(spec.snake, &slip));
            listed += usize::from(is_listed);
            if compiles != is_listed {
                let verdict = if compiles { "compiles" } else { "is listed as harmless, and does not compile" };
                wrong.push(format!("{}, {}: `{}` ({}) {verdict}", spec.snake, slip.kind, slip.text, slip.nth));
            }
        }
    }
    assert!(wrong.is_empty(), "of {tried} slips:\n{}", wrong.join("\n"));
    assert_eq!(listed, HARMLESS.len(), "a harmless slip is listed that is not there");
    assert!(tried > 1500, "only {tried} slips");
}
