//! What an author tests: the listing as a snapshot, the counts, and a run.
#![allow(clippy::unwrap_used, reason = "tests")]

use custom_operator::{AT_EIGHT, AT_SIXTY_FOUR, TwoWayRingAllGather};
use hcomm::prelude::*;
use hcomm::sim::{self, Config};

#[test]
fn listing() {
    insta::assert_snapshot!(hcomm::program(&TwoWayRingAllGather::SPEC, 3).unwrap());
}

#[test]
fn counts() {
    assert_eq!((AT_EIGHT.threads, AT_EIGHT.channels, AT_EIGHT.channel_notifies), (2, 2, 8));
    assert_eq!(AT_SIXTY_FOUR.resources.scratch_chunks, 128);
}

#[test]
fn it_gathers() {
    for ranks in 2..=9 {
        let program = hcomm::program(&TwoWayRingAllGather::SPEC, ranks).unwrap();
        for count in [0, 1, 3, 1000] {
            let report = sim::run(&program, &Config::new(count, DataType::Int16)).unwrap();
            assert!(report.ok(), "{ranks} ranks, {count} elements: {report:?}");
        }
    }
}
