//! Emitted packages compile, ask for the resources that were counted, and their kernels queue the program: host side and
//! kernel run on an interface that prints what it is told.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::{Path, PathBuf};
use std::{fs, process::Command};

use hcomm_core::instance::instantiate;
use hcomm_core::lower::{aicpu, fuse};
use hcomm_core::product::Product;
use hcomm_core::resources;
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::sizes::Rounds;
use hcomm_core::spec::{Engine, Spec, Verify};
use hcomm_emit::Options;

fn library(name: &str) -> &'static Spec<'static> {
    hcomm_algos::LIBRARY.iter().find(|spec| spec.snake == name).copied().unwrap()
}

fn headers() -> Vec<String> {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("hcomm-abi/include");
    vec![format!("-I{}", include.display())]
}

/// Writes a package into a folder and returns the names of its C++ files.
fn write(folder: &Path, spec: &Spec<'_>, options: &Options) -> Vec<String> {
    let mut sources = Vec::new();
    for (path, text) in hcomm_emit::package(spec, options).unwrap() {
        let file = folder.join(&path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        if path.ends_with(".cc") {
            sources.push(path);
        }
    }
    sources
}

fn flags(spec: &Spec<'_>, product: Product) -> Vec<String> {
    let mut flags = headers();
    flags.extend(["inc", "common", "op_host", "op_kernel_aicpu", "."].map(|folder| format!("-I{folder}")));
    flags.extend([format!("-DFAKE_KERNEL=HcommOp{}", spec.name), "-DHCOMM_OP_VENDOR=\"cust\"".to_owned()]);
    let protocol = if product == Product::A950 { "UB_CTP" } else { "HCCS" };
    flags.push(format!("-DFAKE_PROTOCOL=COMM_PROTOCOL_{protocol}"));
    flags.push(format!("-DFAKE_WINDOWS={}", u8::from(spec.headers.symmetric)));
    flags
}

/// A package with the interface that prints, as a program.
fn driver(spec: &Spec<'_>, options: &Options) -> PathBuf {
    let fused = if options.fuse { "_fused" } else { "" };
    let folder = support::folder(&format!("package_{}_{}{fused}", spec.snake, options.product));
    let mut files = write(&folder, spec, options);
    let mut objects = files.clone();
    for (name, text) in [
        ("fake_hcomm.h", include_str!("cpp/fake_hcomm.h")),
        ("fake_hcomm.cc", include_str!("cpp/fake_hcomm.cc")),
        ("package_driver.cc", include_str!("cpp/package_driver.cc")),
    ] {
        fs::write(folder.join(name), text).unwrap();
        if name.ends_with(".cc") {
            files.push(name.into());
            objects.push(name.into());
        }
    }
    support::compile(&folder, &files, &flags(spec, options.product));
    // The test program has a `main` of its own.
    objects.retain(|file| file != "testcase/main.cc");
    let objects: Vec<String> = objects.iter().map(|file| format!("{file}.o")).collect();
    let output = Command::new("g++").args(&objects).args(["-o", "driver"]).current_dir(&folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("driver")
}

/// What the kernel queues is the program, between the start and the finish, and what the host acquires is what was counted.
fn compare(spec: &Spec<'_>, product: Product, fused: bool) {
    let name = spec.snake;
    let driver = driver(spec, &Options { engine: Engine::AiCpu, product, fuse: fused, tuner: None });
    let layouts: Vec<Layout> = match spec.headers.verify {
        Verify::Ranks(..) => [2, 3, 8].into_iter().filter_map(Layout::flat).collect(),
        Verify::Layouts(layouts) => layouts.iter().take(5).copied().collect(),
    };
    let (mut input, mut wants) = (String::new(), Vec::new());
    for layout in layouts {
        let mut roles = Some(Shape::first_roles(layout));
        while let Some(shape) = roles {
            roles = shape.next_roles(spec.operator);
            let Ok(instance) = instantiate(spec, &shape) else { continue };
            let mut program = aicpu::lower(&instance);
            for (count, element) in [(7, 4), (3001, 2)] {
                let counts = support::counts(&program, count);
                let buffer = 128 * 4 * u64::from(program.scratch.max(1)) + 5;
                let rounds = Rounds::new(&program, counts.clone(), element, buffer).unwrap();
                if fused {
                    fuse::fuse_notify(&mut program, Product::A950).unwrap();
                }
                for rank in 0..shape.ranks() {
                    input += &support::case(&program, &counts, (element, buffer), rank);
                    let need = resources::of_rank(spec, &shape, rank).unwrap();
                    let mut want = support::expected(&program, &rounds, rank);
                    want[0].insert(0, "start".into());
                    want[0].push("finish 0".into());
                    wants.push((
                        format!("{name} on {layout}, root {}, count {count}, rank {rank}", shape.root),
                        want,
                        need,
                    ));
                }
            }
        }
    }
    let output = support::run(&driver, &input);
    let mut found = output.split("end\n");
    for (what, want, need) in &wants {
        let text = found.next().unwrap();
        let mut parts = text.split("done 0\n");
        for call in 0..2 {
            let have = support::by_thread(parts.next().unwrap(), want.len());
            for (thread, (have, want)) in have.iter().zip(want).enumerate() {
                assert_eq!(have, want, "{what}, call {call}, thread {thread}");
            }
            assert_eq!(have.len(), want.len(), "{what}");
        }
        // Threads, their context, two more contexts and, if there are peers, channels: acquired once, by the first call.
        let channels = if need.channels > 0 { need.notify_num_per_channel.max(3) } else { 0 };
        let mut once = if need.channels > 0 { 5 } else { 4 };
        if spec.headers.symmetric && product == Product::A950 && need.channels > 0 {
            once += 1; // how the channels were described: they are acquired again, so that peers learn of windows
        }
        let resources = format!(
            "resources {} {} {} {channels} {once}\n",
            need.threads,
            need.notify_num_per_thread + 1,
            need.channels
        );
        assert_eq!(parts.next(), Some(resources.as_str()), "{what}");
    }
    assert_eq!(found.next(), Some(""));
    // Where the kernel is not found, nothing is queued: a start signal that stays would start a later call too early.
    let first = input.lines().next().unwrap();
    let output = support::run_with(Command::new(driver).env("FAKE_NO_KERNEL", "1"), &format!("{first}\n"));
    assert_eq!(output, "done 10\ndone 10\nresources 0 0 0 0 0\nend\n");
}

#[test]
fn hierarchical_all_to_all_v() {
    compare(library("hierarchical_all_to_all_v"), Product::A950, false);
}

#[test]
fn writes_with_notify() {
    compare(library("nhr_reduce_scatter"), Product::A950, true);
}

#[test]
fn symmetric_windows() {
    compare(library("zero_copy_mesh_all_gather"), Product::A950, true);
}

/// Windows and a scratch of its own: the HCCL buffer is asked for, and there are rounds.
#[test]
fn symmetric_windows_and_scratch() {
    let source = "pub WindowsAndScratch: all_reduce { memory: symmetric; split: 2; scratch: 3;
        let next = wrap(rank + 1, ranks); let prev = wrap(rank - 1, ranks);
        copy_in { scratch[0..2] = input; output = input; }
        pre_sync { signal prev.a; signal next.b; wait next.a; wait prev.b; }
        move { next.output[0] += input[0]; scratch[2] = prev.input[1]; output[1] += prev.scratch[1]; }
        post_sync { signal prev.c; signal next.d; wait next.c; wait prev.d; }
    }";
    let tokens: proc_macro2::TokenStream = source.parse().unwrap();
    let bufs = hcomm_lang::parse(tokens, "a/test.rs").unwrap();
    bufs[0].spec.with_spec(|spec| compare(spec, Product::A3, false));
}

#[test]
#[cfg_attr(not(feature = "sweep"), ignore = "many packages: run with --features sweep")]
fn more_packages() {
    for name in [
        "pipeline_all_reduce",
        "mesh_all_gather",
        "one_shot_all_reduce",
        "nhr_broadcast",
        "rhd_reduce",
        "mesh_reduce_scatter_v",
        "hierarchical_scatter",
        "hierarchical_gather",
        "grouped_mesh_all_to_all",
        "read_send_recv",
        "mesh_barrier",
        "ring_all_gather_v",
        "pairwise_all_to_all_vc",
        "mesh_all_to_all_v",
        "pairwise_batch_send_recv",
        "ahc_all_gather",
    ] {
        compare(library(name), Product::A950, false);
    }
    // On A3 buffers that are not registered are not found, on the 950 they have no window.
    for name in [
        "zero_copy_mesh_all_reduce",
        "zero_copy_mesh_all_to_all",
        "zero_copy_mesh_reduce_scatter",
        "zero_copy_ring_all_gather",
    ] {
        compare(library(name), Product::A3, false);
        compare(library(name), Product::A950, false);
    }
}
