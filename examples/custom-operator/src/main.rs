//! The `hcomm` command line for this crate's operator: `cargo run -- run two_way_ring_all_gather --ranks 4 --count 1000`.

hcomm::main!(custom_operator::TwoWayRingAllGather);
