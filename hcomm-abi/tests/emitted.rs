//! Packages that hcomm emits: built by CMake on the stand-in, their tests run by CTest, and what they called checked.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::PathBuf;
use std::process::Command;

use hcomm_core::product::Product;
use hcomm_core::spec::Engine;

mod support;
use support::{has, standin, succeeds};

/// Emits, builds and tests an algorithm. The package's test compares every element of every rank's output.
fn works(name: &str, engine: Engine, product: Product, fuse: bool) {
    if !has("g++") || !has("cmake") {
        return;
    }
    let spec = hcomm_algos::LIBRARY.iter().find(|spec| spec.snake == name).unwrap();
    let options = hcomm_emit::Options { engine, product, fuse, tuner: None };
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("emitted-{name}-{}-{product}-{fuse}", engine.name()));
    let _not_there = std::fs::remove_dir_all(&folder);
    for (path, text) in hcomm_emit::package(spec, &options).unwrap() {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let build = folder.join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&folder).arg("-B").arg(&build).arg("-DCMAKE_BUILD_TYPE=None");
    succeeds(configure.arg(format!("-DHCOMM_STANDIN={}", standin().display())));
    succeeds(Command::new("cmake").arg("--build").arg(&build).args(["--parallel", "2"]));
    let test = succeeds(Command::new("ctest").arg("--test-dir").arg(&build).arg("--output-on-failure"));
    let text = String::from_utf8_lossy(&test.stdout).into_owned();
    assert!(text.contains("100% tests passed"), "{text}");
}

#[test]
fn ai_cpu() {
    works("nhr_reduce_scatter", Engine::AiCpu, Product::A950, true);
}

#[test]
fn vector_cores() {
    works("one_shot_all_reduce", Engine::Aiv, Product::A950, false);
}

/// Windows of A3 are mapped memory, those of the 950 any, of which peers learn with the channels.
#[test]
fn symmetric_windows() {
    works("zero_copy_mesh_all_reduce", Engine::AiCpu, Product::A3, false);
    works("zero_copy_ring_all_gather", Engine::AiCpu, Product::A950, false);
}

/// The whole library on one engine.
fn all(engine: Engine, product: Product, of: impl Fn(&hcomm_core::spec::Spec<'_>) -> bool) {
    for spec in hcomm_algos::LIBRARY.iter().filter(|spec| of(spec)) {
        let options = hcomm_emit::Options { engine, product, fuse: false, tuner: None };
        // What a kernel does not do is refused, and every refusal has its test.
        if engine == Engine::AiCpu || hcomm_emit::package(spec, &options).is_ok() {
            works(spec.snake, engine, product, false);
        }
    }
}

#[test]
#[cfg_attr(not(feature = "sweep"), ignore = "many minutes: run with --features sweep")]
fn the_whole_library_on_ai_cpu() {
    all(Engine::AiCpu, Product::A950, |_| true);
    all(Engine::AiCpu, Product::A3, |spec| spec.headers.symmetric);
}

#[test]
#[cfg_attr(not(feature = "sweep"), ignore = "many minutes: run with --features sweep")]
fn the_whole_library_on_aiv() {
    all(Engine::Aiv, Product::A950, |_| true);
}
