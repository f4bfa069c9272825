//! What is emitted, to be read.
#![allow(clippy::unwrap_used, reason = "tests")]

use hcomm_core::product::Product;
use hcomm_core::spec::{Engine, Spec};
use hcomm_emit::{Options, Package};

fn library(name: &str) -> &'static Spec<'static> {
    hcomm_algos::LIBRARY.iter().find(|spec| spec.snake == name).copied().unwrap()
}

fn package(name: &str) -> Package {
    hcomm_emit::package(
        library(name),
        &Options { engine: Engine::AiCpu, product: Product::A950, fuse: false, tuner: None },
    )
    .unwrap()
}

fn file(package: &Package, path: &str) -> String {
    package.iter().find(|(name, _)| name == path).map(|(_, text)| text.clone()).unwrap_or_else(|| panic!("{path}"))
}

#[test]
fn schedules() {
    for name in
        ["mesh_all_gather", "nhr_all_gather", "ahc_all_reduce", "pipeline_all_reduce", "hierarchical_all_to_all_v"]
    {
        let class = hcomm_emit::class(library(name)).unwrap();
        insta::assert_snapshot!(name, format!("{}\n{}", class.header, class.source));
    }
}

#[test]
fn what_is_particular_to_a_package() {
    let package = package("nhr_broadcast");
    insta::assert_snapshot!(package.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>().join("\n"));
    for (name, path) in [
        ("header", "inc/hccl_nhr_broadcast.h"),
        ("entry", "op_host/nhr_broadcast_entry.cc"),
        ("operator", "common/operator.h"),
        ("readme", "README.md"),
        ("registration", "op_kernel_aicpu/libnhr_broadcast_aicpu_kernel.json"),
        ("protocols", "op_host/protocols.h"),
    ] {
        insta::assert_snapshot!(name, file(&package, path));
    }
}

/// Every algorithm is emitted, nothing is left to be filled in, lines are not too long, and no text is empty.
#[test]
fn the_library() {
    for spec in hcomm_algos::LIBRARY {
        for (path, text) in package(spec.snake) {
            assert!(text.len() > 40, "{}: {path}", spec.snake);
            let left = text.split('@').skip(1).step_by(1).find(|word| {
                let word = word.split(|c: char| !c.is_ascii_uppercase() && c != '_').next().unwrap_or("");
                word.len() > 3 && text.contains(&format!("@{word}@"))
            });
            assert_eq!(left, None, "{}: {path}", spec.snake);
            if path.ends_with(".cc") || path.ends_with(".h") {
                let long = text.lines().find(|line| line.chars().count() > 150);
                assert_eq!(long, None, "{}: {path}", spec.snake);
            }
        }
    }
}

#[test]
fn fused_operations_are_for_the_950() {
    let error = hcomm_emit::package(
        library("mesh_all_gather"),
        &Options { engine: Engine::AiCpu, product: Product::A3, fuse: true, tuner: None },
    );
    insta::assert_snapshot!(error.unwrap_err());
}

#[test]
fn kernels_of_vector_cores() {
    for name in ["mesh_all_gather", "hierarchical_all_reduce"] {
        let options = Options { engine: Engine::Aiv, product: Product::A950, fuse: false, tuner: None };
        let package = hcomm_emit::package(library(name), &options).unwrap();
        insta::assert_snapshot!(format!("aiv_{name}"), file(&package, &format!("op_kernel_aiv/{name}_kernel.h")));
    }
}

/// What packages for symmetric memory have of their own, and that A2 gets none.
#[test]
fn windows() {
    let of = |product| {
        let options = Options { engine: Engine::AiCpu, product, fuse: false, tuner: None };
        hcomm_emit::package(library("zero_copy_mesh_all_gather"), &options)
    };
    insta::assert_snapshot!("windows_a2", of(Product::A2).unwrap_err());
    for product in [Product::A950, Product::A3] {
        let package = of(product).unwrap();
        let parts = ["op_host/windows.h", "op_host/windows.cc", "op_host/protocols.h", "README.md"];
        let text: String = parts.iter().map(|part| format!("// {part}\n{}\n", file(&package, part))).collect();
        insta::assert_snapshot!(format!("windows_{product}"), text);
        // No HCCL buffer, and no lines of another form.
        for (path, text) in &package {
            assert!(!text.contains("HcclGetHcclBuffer") && !text.contains("HcclChannelGetHcclBuffer"), "{path}");
            assert!(!text.contains("@WINDOWS@") && !text.contains("@PLAIN@"), "{path}");
        }
    }
}

/// What Vector cores do not do, of the library.
#[test]
fn not_for_vector_cores() {
    let options = Options { engine: Engine::Aiv, product: Product::A950, fuse: false, tuner: None };
    let refused = hcomm_algos::LIBRARY.iter().filter_map(|spec| {
        let error = hcomm_emit::package(spec, &options).err()?;
        Some(format!("{}: {error}", spec.snake))
    });
    insta::assert_snapshot!(refused.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_tuner_is_of_the_operator() {
    let tuner = |text: &str| Options {
        engine: Engine::AiCpu,
        product: Product::A950,
        fuse: false,
        tuner: Some(text.to_owned()),
    };
    insta::assert_snapshot!(hcomm_emit::package(library("nhr_all_gather"), &tuner("choose_all_reduce(")).unwrap_err());
    let package = hcomm_emit::package(library("nhr_all_gather"), &tuner("choose_all_gather(")).unwrap();
    assert!(file(&package, "op_host/nhr_all_gather_entry.cc").contains("hcomm::choose_all_gather(bytes)"));
    assert_eq!(file(&package, "op_host/tuner.h"), "choose_all_gather(");
}
