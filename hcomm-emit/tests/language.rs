//! All of the language as C++: what the library does not use, names that C++ has for itself, and what is refused.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use hcomm_core::shape::Layout;
use hcomm_core::spec::{Spec, SpecBuf};

fn parse(source: &str) -> SpecBuf {
    let tokens: proc_macro2::TokenStream = source.parse().unwrap();
    hcomm_lang::parse(tokens, "a/test.rs").unwrap_or_else(|error| panic!("{error}: {source}")).remove(0).spec
}

/// Calls `with` with all specs, borrowed.
fn with_specs(bufs: &[SpecBuf], specs: &mut Vec<&Spec<'_>>, with: &mut dyn FnMut(&[&Spec<'_>])) {
    match bufs.split_first() {
        None => with(specs),
        Some((first, rest)) => first.with_spec(|spec| {
            let mut more: Vec<&Spec<'_>> = specs.clone();
            more.push(spec);
            with_specs(rest, &mut more, with);
        }),
    }
}

/// Programs that make values visible: which chunks of the output are written, in which order.
const PROGRAMS: [&str; 10] = [
    // Variables that change, shadowing, loops that end by a condition.
    "pub Loops: all_gather { split: 64; copy_out {
        let mut x = 1; let x0 = x;
        while x < 40 { output[x] = scratch[x0]; x = x * 3 + 1; x -= 1; }
        let x = x % 7; output[x] = scratch[1];
        let x = x + 1; output[x] = scratch[1];
        for i in 0..3 { let x = i * 2; output[x] = scratch[2]; for i in x..x + 2 { output[i] = scratch[3]; } }
        let mut end = 4; for i in 0..end { end = end + i; output[end] = scratch[0]; }
        for _ in 0..2 { output[0] = scratch[0]; }
        let unused = 5;
    } }",
    // Arithmetic: precedence, signs, bits, conditions.
    "pub Arithmetic: all_gather { split: 256; copy_out {
        output[7 - 2 - 1] = scratch[0]; output[7 - (2 - 1)] = scratch[0]; output[12 / 2 * 3] = scratch[0];
        output[12 / (2 * 3)] = scratch[0]; output[100 - 7 % 4] = scratch[0]; output[-(-7) / 2] = scratch[0];
        output[8 + -7 / 2] = scratch[0]; output[8 + -7 % 4] = scratch[0]; output[(1 << 3) + 2] = scratch[0];
        output[1 << 3 + 2] = scratch[0]; output[6 & 3 | 8] = scratch[0]; output[(5 ^ 3) << 1] = scratch[0];
        output[200 >> rank + 1] = scratch[0]; output[!rank + 20] = scratch[0]; output[3 << rank] = scratch[0];
        output[if rank > 0 && ranks > 2 || rank == 0 { 1 } else { 2 } + 1] = scratch[0];
        let b = rank < 2; let c = !b | (rank == 3); let d = if c { b } else { !b };
        if b != c && !(d == c) { output[9] = scratch[0]; } else if d { output[10] = scratch[0]; } else { output[11] = scratch[0]; }
        output[min(rank, 3) + max(2, rank) + abs(rank - 3)] = scratch[0];
        output[gcd(12, 18 * rank) + lcm(rank, 4)] = scratch[0]; output[log2_floor(ranks) + 8 * log2_ceil(ranks)] = scratch[0];
        output[pow2(rank % 7) + div_ceil(-7 + rank, 2) + 3] = scratch[0]; output[wrap(-5, 3) + wrap(rank, 2)] = scratch[0];
        if is_pow2(ranks) { output[12] = scratch[0]; }
    } }",
    // Helper functions that call each other, with truth values, loops and early returns.
    "pub Helpers: all_gather { split: 128;
        fn even(x) { x % 2 == 0 }
        fn half(x) { if even(x) { return x / 2; } half(x + 1) }
        fn sum(to) { let mut all = 0; for i in 0..to { if i == 7 { return all; } all += i; } all }
        fn first(x) { while x > 3 { if x > 100 { return 100; } return x - 1; } x }
        copy_out {
            output[half(rank + 3)] = scratch[0]; output[sum(rank + 5)] = scratch[0]; output[sum(9)] = scratch[0];
            output[first(rank + 2)] = scratch[0]; if even(rank) { output[first(50)] = scratch[0]; }
        } }",
    // Names that C++ or the emitted code has for itself.
    "pub Names: all_gather { split: 64; fn new(class) { class + 1 } fn double(Rank) { Rank * 2 } copy_out {
        let int = new(1); let Copy = double(int); let NULL = 3; let _under = 4; let __x__y = 5; let linux = 6; let zahl = 7;
        let Schedule = 8; let rank_ = 9; let assert = 10; let dstSlot = 11; let größe = 12; let i64 = 13; let new_ = 14;
        output[int] = scratch[0]; output[Copy] = scratch[0]; output[NULL + _under + __x__y + linux] = scratch[0];
        output[Schedule + rank_ + assert + dstSlot] = scratch[0]; output[größe + zahl] = scratch[0];
        output[new_ + i64] = scratch[0];
    } }",
    // Lanes: some that do nothing, bounds, loops and variables of their own, two `par` of different widths.
    "pub Lanes: all_gather { split: 8; scratch: 64;
        par { lane { copy_out { output[0] = scratch[0]; } } lane { if rank == 1 { copy_out { output[1] = scratch[1]; } } }
              lane for x in 2..5 { let y = x + 1; copy_out { output[y] = scratch[y]; } } lane { let y = 7; copy_out { output[y] = scratch[y]; } } }
        copy_out { output[2] = scratch[2]; }
        par(2) for x in 0..rank { copy_out { output[x + 1] = scratch[x]; } }
        par for peer in peers { pre_sync { signal peer.own; wait peer.own; } }
        par(rank + 1) for peer in node_peers { pre_sync { signal peer; wait peer; } }
    }",
    // Reads and reductions, whole buffers, empty runs, chunks that are empty.
    "pub Moves: all_reduce { split: 6; scratch: 14;
        copy_in { scratch[0..6] = input; scratch[6..12] = input; scratch[3..3] = input[2..2]; }
        for peer in peers { pre_sync { signal peer; wait peer; } move { scratch[6..12] += peer.scratch[0..6]; scratch[1..5] = peer.scratch[1..5]; } post_sync { signal peer; wait peer; } }
        copy_out { output = scratch[6..12]; output[1..4] += scratch[7..10]; output[5] += input[5]; }
    }",
    // Roots, and a body of `if` and `else`.
    "pub Rooted: scatter { split: 2; let mut place = 0; if rank == root { place = ranks; } else { place = wrap(rank - root, ranks); }
        if rank == root { for peer in peers { pre_sync { wait peer; } move { peer.scratch[0..2] = input[2 * peer..2 * peer + 2]; } post_sync { signal peer; } }
            copy_out { output = input[2 * rank..2 * rank + 2]; } }
        else { pre_sync { signal root; } post_sync { wait root; } if place >= 0 { copy_out { output = scratch[0..2]; } } }
    }",
    // Counts by rank with several chunks a slot, handed on cell by cell.
    "pub Slots: all_gather_v { split: 3; let next = wrap(rank + 1, ranks); let prev = wrap(rank - 1, ranks);
        copy_in { scratch[3 * rank..3 * rank + 3] = input; }
        for step in 0..ranks - 1 { let slot = wrap(rank - step, ranks); pre_sync { signal prev; wait next; }
            move { for k in 0..3 { next.scratch[3 * slot + k] = scratch[3 * slot + k]; } } post_sync { signal next; wait prev; } }
        copy_out { output = scratch; }
    }",
    // Symmetric memory with a scratch of its own: writes, reads and reductions in peers' buffers, and rounds.
    "pub Windows: all_reduce { memory: symmetric; split: 2; scratch: 3; let next = wrap(rank + 1, ranks); let prev = wrap(rank - 1, ranks);
        copy_in { scratch[0..2] = input; output = input; }
        pre_sync { signal prev; signal next; wait next; wait prev; }
        move { next.output[1] = scratch[1]; next.output[0] += input[0]; scratch[2] = prev.input[1]; scratch[0] += next.output[0];
               output[1] = prev.scratch[2]; next.scratch[1] = output[1]; }
        post_sync { signal prev; signal next; wait next; wait prev; }
    }",
    // Counts by pair, relayed through the rank behind.
    "pub Relay: all_to_all_v { scratch: 2 * ranks; let next = wrap(rank + 1, ranks); let prev = wrap(rank - 1, ranks);
        copy_in { for to in 0..ranks { scratch[to] = input[to]; } }
        pre_sync { signal prev; wait next; } move { for to in 0..ranks { next.scratch[ranks + to] = scratch[to]; } } post_sync { signal next; wait prev; }
        copy_out { output[rank] = input[rank]; }
    }",
];

/// What a rank count brings up that the emitter did not see is an error of the schedule, and ends it.
const FAULTS: [&str; 6] = [
    "pub Bounds: all_gather { copy_in { scratch[2 * rank] = input; } }",
    "pub Divides: all_gather { copy_in { scratch[5 / (ranks - 2)] = input; } }",
    "pub Endless: all_gather { let mut x = 1; while x > 0 { x = x + 1 - 1; } }",
    "pub Overflows: all_gather { let mut x = 2; for i in 0..70 { x = x * x; } copy_in { scratch[x] = input; } }",
    "pub Myself: barrier { pre_sync { signal at(wrap(rank + 2, ranks)); } }",
    "pub Shifts: all_gather { copy_in { scratch[1 >> 64 * rank] = input; } }",
];

#[test]
fn programs_and_faults() {
    let bufs: Vec<SpecBuf> = PROGRAMS.iter().chain(&FAULTS).map(|source| parse(source)).collect();
    let layouts = |spec: &Spec<'_>| match spec.name {
        "Lanes" => {
            [Layout::equal(1, 3, 2), Layout::unequal(&[1, 3, 2]), Layout::flat(4)].into_iter().flatten().collect()
        }
        _ => [2, 3, 5].into_iter().filter_map(Layout::flat).collect(),
    };
    with_specs(&bufs, &mut Vec::new(), &mut |specs| {
        let driver = support::driver("language", specs);
        let (programs, faults) = specs.split_at(PROGRAMS.len());
        support::compare(&driver, programs, layouts);
        let line = |spec: &&Spec<'_>| format!("{} 1 2 0 2 1 0 0 1 4 4096 1 2 0 8 0 0 0\n", spec.snake);
        let input: String = faults.iter().map(line).collect();
        insta::assert_snapshot!("faults_at_run_time", support::run(&driver, &input));
    });
}

/// What is wrong with an algorithm that cannot be emitted.
fn refused(spec: SpecBuf) -> String {
    spec.with_spec(|spec| {
        let error = hcomm_emit::class(spec).unwrap_err();
        format!("{}:{}", error.at.unwrap().line, error)
    })
}

#[test]
fn what_is_refused() {
    let mut symmetric = parse("pub P: broadcast { copy_out { output = input; } }");
    symmetric.symmetric = true;
    insta::assert_snapshot!([
        refused(symmetric),
        // Which chunk the cell holds depends on the rank that wrote it.
        refused(parse("pub P: all_reduce { split: 3; scratch: 4; let next = wrap(rank + 1, ranks); let prev = wrap(rank - 1, ranks);
            copy_in { scratch[0] = input[rank % 3]; } pre_sync { signal prev; wait next; }
            move { next.scratch[1] = scratch[0]; } post_sync { signal next; wait prev; }
            move { scratch[2] = scratch[1]; } }")),
        refused(parse("pub P: batch_send_recv { copy_in { scratch[0] = input[0]; }\n move { scratch[1] = scratch[0]; } }")),
    ]
    .join("\n"));
}
