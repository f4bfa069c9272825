#[path = "../tests/check/builders.rs"]
mod builders;
use builders::*;
fn main() {
    let which = std::env::args().nth(1).unwrap();
    let n: u32 = std::env::args().nth(2).unwrap().parse().unwrap();
    let p = match which.as_str() {
        "mesh" => mesh_all_gather(n),
        "ring" => ring_all_reduce(n),
        "pairs" => all_pairs_all_reduce(n),
        "nhr" => nhr_all_gather(n),
        "ringag" => ring_all_gather(n),
        "shot" => one_shot_all_reduce(n),
        "tree" => tree_broadcast(n),
        "bar" => dissemination_barrier(n),
        "gr" => gather_reduce(n),
        _ => panic!(),
    };
    let t = std::time::Instant::now();
    let rss = || {
        std::fs::read_to_string("/proc/self/status")
            .unwrap()
            .lines()
            .filter(|l| l.starts_with("VmHWM") || l.starts_with("VmRSS"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let before = rss();
    let d = hcomm_core::check::check(&p, &Default::default());
    println!(
        "{which} {n}: {} ops {:?} found {} | before {} after {}",
        p.num_ops(),
        t.elapsed(),
        d.len(),
        before,
        rss()
    );
    for x in d.iter().take(3) {
        println!("{x:?}");
    }
}
