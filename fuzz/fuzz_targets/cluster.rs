//! Any text is a cluster, a rank table, a fault, or an error. What is read answers what is asked of it.
#![no_main]

use hcomm_core::shape::Layout;
use hcomm_sim::cluster::{Cluster, rank_table};
use hcomm_sim::time::Fault;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(cluster) = Cluster::from_toml(text) {
        for layout in [Some(cluster.layout), Layout::flat(3), Layout::equal(2, 2, 2)].into_iter().flatten() {
            let _ = cluster.admits(&layout);
            if layout.ranks() > 1 {
                let _ = cluster.level_for(cluster.scope_of(&layout, 0, layout.ranks() - 1));
            }
        }
    }
    if let Ok(layout) = rank_table::layout(text) {
        assert!(layout.ranks() > 0);
    }
    let _ = text.parse::<Fault>();
});
