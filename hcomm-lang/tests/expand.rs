//! What `collective!` makes of programs.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod common;

use std::time::Instant;

use common::{PROGRAMS, tokens};

fn source(name: &str) -> &'static str {
    PROGRAMS.iter().find(|(known, _)| *known == name).unwrap().1
}

/// The expansion as a file of Rust.
fn expansion(source: &str) -> String {
    prettyplease::unparse(&syn::parse2(hcomm_lang::expand(tokens(source))).unwrap())
}

#[test]
fn mesh_all_gather() {
    insta::assert_snapshot!(expansion(source("mesh_all_gather")));
}

#[test]
fn one_of_each_construct() {
    // The constructs of `everything`, in a program that is right.
    let source = "
        #[cfg(unix)]
        pub(crate) Constructs: reduce {
            split: ranks; scratch: ranks * doubled(1); deterministic; max_ranks: 16; engines: ai_cpu;
            budget: { threads: 40, channels: board::CHANNELS };
            verify: layout { 2 x 2, [1, 2] };
            fn doubled(n) { if n > 8 { return n + n; } 2 * n }
            copy_in { scratch[0..ranks] = input; }
            let mut turns = 0;
            while turns < 2 { turns += 1; }
            if rank == root {
                for peer in peers {
                    pre_sync { signal peer; wait peer; }
                    move { scratch[0..ranks] += peer.scratch[0..ranks]; }
                    post_sync { signal peer; wait peer; }
                }
                copy_out { output = scratch[0..ranks]; }
            } else {
                par { lane { pre_sync { signal root; wait root; } post_sync { signal root; wait root; } } }
            }
        }";
    insta::assert_snapshot!(expansion(source));
}

#[test]
fn a_wrong_program_gives_its_item_and_one_error() {
    for (source, errors) in [
        ("pub Wrong: all_gather { copy_in { scratch[rank] = input; } let x = y; }", 1),
        ("pub Wrong: all_gather { copy_in { scratch[ranks] = input; } }", 1),
        ("pub Wrong: all_gather { let x = 1 / (rank - rank); }", 1),
        ("pub Wrong: all_gather { copy_in { input = input; } par { } }", 2),
        ("pub Wrong: all_gahter { copy_in { scratch[rank] = input; } }", 1),
    ] {
        let text = expansion(source);
        assert_eq!(text.matches("compile_error!").count(), errors, "{text}");
        assert!(text.contains("pub struct Wrong;") && text.contains("impl ::hcomm::Collective for Wrong"), "{text}");
    }
    let nothing = hcomm_lang::expand("not a program".parse().unwrap()).to_string();
    assert!(nothing.contains("compile_error") && !nothing.contains("struct"), "{nothing}");
}

#[test]
fn several_algorithms_in_one_block() {
    let both = format!("{}\n{}", source("mesh_all_gather"), source("ring_all_gather"));
    let text = expansion(&both);
    assert!(text.contains("pub struct MeshAllGather;") && text.contains("pub struct RingAllGather;"));
    assert!(!text.contains("compile_error"));
}

/// A dev build takes below 50 ms for an algorithm. This bound is wide, for machines that do other work meanwhile; the
/// line that is printed is what to read.
#[test]
fn an_expansion_is_quick() {
    for (name, source) in &PROGRAMS[..6] {
        let tokens = tokens(source);
        let start = Instant::now();
        let expanded = hcomm_lang::expand(tokens);
        let took = start.elapsed();
        eprintln!("{name}: {:.1} ms, {} bytes", took.as_secs_f64() * 1e3, expanded.to_string().len());
        assert!(took.as_millis() < 1000, "{name} took {took:?}");
    }
}
