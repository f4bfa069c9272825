//! Compiling emitted code, and what it is compared with.
#![allow(dead_code, reason = "each test uses some of it")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use hcomm_core::counts::Counts;
use hcomm_core::instance::instantiate;
use hcomm_core::lower::aicpu;
use hcomm_core::operator::{Buffer, CountsBy};
use hcomm_core::program::{Cell, OpKind, Program};
use hcomm_core::shape::{Layout, Shape};
use hcomm_core::sizes::Rounds;
use hcomm_core::spec::Spec;

/// Flags that emitted code compiles with.
pub(crate) const FLAGS: [&str; 6] = ["-std=c++14", "-O0", "-Wall", "-Wextra", "-Werror", "-Wshadow"];

/// A folder for the files of a test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Compiles files to objects, two at a time.
pub(crate) fn compile(folder: &Path, files: &[String], flags: &[String]) {
    let queue = Mutex::new(files.iter());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(file) = queue.lock().unwrap().next() else { break };
                    let mut gxx = Command::new("g++");
                    gxx.args(FLAGS).args(flags).arg("-c").arg(file).arg("-o").arg(format!("{file}.o"));
                    let output = gxx.current_dir(folder).output().unwrap();
                    assert!(output.status.success(), "{file}:\n{}", String::from_utf8_lossy(&output.stderr));
                }
            });
        }
    });
}

/// The driver for some algorithms, compiled.
pub(crate) fn driver(name: &str, specs: &[&Spec<'_>]) -> PathBuf {
    let folder = folder(name);
    let mut files = vec!["chunks.cc".to_owned(), "schedule.cc".into(), "driver.cc".into(), "registry.cc".into()];
    for (file, text) in hcomm_emit::SCHEDULE {
        fs::write(folder.join(file), text).unwrap();
    }
    fs::write(folder.join("driver.cc"), include_str!("../cpp/driver.cc")).unwrap();
    let mut registry = String::from("#include <memory>\n#include <string>\n\n");
    let mut cases = String::new();
    for spec in specs {
        let class = hcomm_emit::class(spec).unwrap();
        fs::write(folder.join(format!("{}.h", spec.snake)), &class.header).unwrap();
        fs::write(folder.join(format!("{}.cc", spec.snake)), &class.source).unwrap();
        files.push(format!("{}.cc", spec.snake));
        let _ = writeln!(registry, "#include \"{}.h\"", spec.snake);
        let _ = writeln!(
            cases,
            "    if (name == \"{}\") {{ return std::unique_ptr<Schedule>(new {}(problem)); }}",
            spec.snake, class.name
        );
    }
    let _ = write!(
        registry,
        "\nusing namespace hcomm_op;\n\nstd::unique_ptr<Schedule> Make(const std::string &name, const Problem &problem);\n\nstd::unique_ptr<Schedule> Make(const std::string &name, const Problem &problem)\n{{\n{cases}    return nullptr;\n}}\n"
    );
    fs::write(folder.join("registry.cc"), registry).unwrap();
    compile(&folder, &files, &[]);
    let objects: Vec<String> = files.iter().map(|file| format!("{file}.o")).collect();
    let output = Command::new("g++").args(&objects).args(["-o", "driver"]).current_dir(&folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("driver")
}

/// Runs a program on a text.
pub(crate) fn run(program: &Path, input: &str) -> String {
    run_with(&mut Command::new(program), input)
}

/// The same for a command with settings.
pub(crate) fn run_with(command: &mut Command, input: &str) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    writer.join().unwrap().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Counts to try, by the operator: for the V operators slots of different sizes, some of them empty.
pub(crate) fn counts(program: &Program, count: u64) -> Counts {
    let ranks = u64::from(program.num_ranks());
    let slot = |i: u64| count * (i % 3) / 2 + i % 2;
    match program.operator.counts() {
        CountsBy::All => Counts::Same(count),
        CountsBy::Rank => Counts::by_rank(&(0..ranks).map(slot).collect::<Vec<_>>()),
        CountsBy::Pair => {
            let row = |from: u64| (0..ranks).map(|to| slot(from * 5 + to * 7 + 1)).collect();
            Counts::by_pair(&(0..ranks).map(row).collect::<Vec<_>>())
        }
    }
}

/// Compares all operations of all ranks of schedules with those of the programs, on layouts that are given for each.
pub(crate) fn compare(driver: &Path, specs: &[&Spec<'_>], layouts: impl Fn(&Spec<'_>) -> Vec<Layout>) {
    let (mut input, mut wants) = (String::new(), Vec::new());
    for spec in specs {
        for layout in layouts(spec) {
            let mut roles = Some(Shape::first_roles(layout));
            while let Some(shape) = roles {
                roles = shape.next_roles(spec.operator);
                let Ok(instance) = instantiate(spec, &shape) else { continue };
                let program = aicpu::lower(&instance);
                // None, fewer than ranks, not a multiple of anything, several rounds.
                let mut sizes = vec![(0, 4, 1), (3, 2, 1), (1000, 4, 100), (5001, 4, 2)];
                if program.symmetric && program.scratch == 0 {
                    // One round whatever the size, of transfers that are cut at 256 MB.
                    sizes.push(((3 << 28) + 5, 4, 1));
                }
                for (count, element, cells) in sizes {
                    let counts = counts(&program, count);
                    let buffer = 128 * cells * u64::from(program.scratch.max(1)) + 77;
                    let rounds = Rounds::new(&program, counts.clone(), element, buffer).unwrap();
                    for rank in 0..shape.ranks() {
                        input += &case(&program, &counts, (element, buffer), rank);
                        let what =
                            format!("{} on {layout}, root {}, count {count}, rank {rank}", spec.snake, shape.root);
                        wants.push((what, expected(&program, &rounds, rank)));
                    }
                }
            }
        }
    }
    let output = run(driver, &input);
    let mut found = output.split("end\n");
    for (what, want) in &wants {
        let have = by_thread(found.next().unwrap(), want.len());
        for (thread, (have, want)) in have.iter().zip(want).enumerate() {
            if have != want {
                let differ = have.iter().zip(want).position(|(have, want)| have != want);
                let at = differ.unwrap_or(have.len().min(want.len()));
                let part = |all: &[String]| all[at..all.len().min(at + 3)].join("; ");
                panic!("{what}, thread {thread}, operation {at}:\n have {}\n want {}", part(have), part(want));
            }
        }
        assert_eq!(have.len(), want.len(), "{what}: threads");
    }
    assert_eq!(found.next(), Some(""));
    assert!(wants.len() > 20);
}

/// A call of an operator on one rank, as the driver reads it.
pub(crate) fn case(program: &Program, counts: &Counts, (element, hccl_buffer): (u32, u64), rank: u32) -> String {
    let (shape, operator) = (&program.shape, program.operator);
    let layout = &shape.layout;
    let list = |numbers: Vec<u64>| {
        numbers.iter().fold(format!("{}", numbers.len()), |mut text, number| {
            let _ = write!(text, " {number}");
            text
        })
    };
    let firsts = (0..=layout.nodes())
        .map(|node| u64::from(if node == layout.nodes() { layout.ranks() } else { layout.first_of(node) }));
    let by = match operator.counts() {
        CountsBy::All => 0,
        CountsBy::Rank => 1,
        CountsBy::Pair => 2,
    };
    let of = match counts {
        Counts::Same(_) => Vec::new(),
        Counts::ByRank(slots) => slots.iter().map(|slot| slot.count).collect(),
        Counts::ByPair { send, .. } => send.iter().flatten().map(|slot| slot.count).collect(),
    };
    let slots = [operator.input_slots(shape, rank), operator.output_slots(shape, rank)];
    let starts = |buffer: Buffer, slots: u32| match counts {
        Counts::Same(_) => Vec::new(),
        _ => (0..slots).map(|slot| counts.extent(program, buffer, rank, slot).start).collect(),
    };
    format!(
        "{} {} {} {rank} {} {} {} {element} {hccl_buffer} {} {} {by} {} {} {} {}\n",
        program.algorithm,
        layout.pods(),
        list(firsts.collect()),
        shape.root,
        shape.src,
        shape.dst,
        slots[0],
        slots[1],
        counts.largest(),
        list(of),
        list(starts(Buffer::Input, slots[0])),
        list(starts(Buffer::Output, slots[1])),
    )
}

/// What a rank of a program does in all rounds, thread by thread, as the driver prints it.
pub(crate) fn expected(program: &Program, rounds: &Rounds, rank: u32) -> Vec<Vec<String>> {
    let buffer = |cell: Cell| cell.buffer as u32;
    let mut threads: Vec<Vec<String>> = Vec::new();
    for ops in &program.ranks[rank as usize].threads {
        let mut lines = Vec::new();
        for index in 0..rounds.rounds {
            let round = rounds.round(index);
            for op in ops {
                let (name, peer) = match op.kind {
                    OpKind::LocalCopy(_) => ("copy", 0),
                    OpKind::LocalReduce(_) => ("reduce", 0),
                    OpKind::Write(peer, _) => ("write", peer),
                    OpKind::WriteReduce(peer, _) => ("write-reduce", peer),
                    OpKind::Read(peer, _) => ("read", peer),
                    OpKind::ReadReduce(peer, _) => ("read-reduce", peer),
                    OpKind::WriteWithNotify(peer, ..) => ("write", peer),
                    OpKind::WriteReduceWithNotify(peer, ..) => ("write-reduce", peer),
                    OpKind::ThreadNotifyRecord { thread, notify } => {
                        lines.push(format!("thread-record {thread} {notify}"));
                        continue;
                    }
                    OpKind::ThreadNotifyWait { notify } => {
                        lines.push(format!("thread-wait {notify}"));
                        continue;
                    }
                    OpKind::ChannelNotifyRecord { peer, notify } => {
                        lines.push(format!("record {peer} {notify}"));
                        continue;
                    }
                    OpKind::ChannelNotifyWait { peer, notify } => {
                        lines.push(format!("wait {peer} {notify}"));
                        continue;
                    }
                };
                let (Some(transfer), Some((to, from))) = (op.kind.transfer(), op.kind.sides(rank)) else { continue };
                let mut any = false;
                for segment in round.segments_iter(transfer, to, from) {
                    any = true;
                    lines.push(format!(
                        "{name} {peer} {} {} {} {} {}",
                        buffer(transfer.dst),
                        segment.dst,
                        buffer(transfer.src),
                        segment.src,
                        segment.len
                    ));
                }
                // The last part of a fused write carries the record, if there is a part.
                if let OpKind::WriteWithNotify(peer, _, notify) | OpKind::WriteReduceWithNotify(peer, _, notify) =
                    op.kind
                {
                    if any && let Some(last) = lines.last_mut() {
                        last.insert_str(0, "fused-");
                    }
                    lines.push(format!("record {peer} {notify}"));
                }
            }
        }
        threads.push(lines);
    }
    threads
}

/// The lines of the driver by thread.
pub(crate) fn by_thread(text: &str, threads: usize) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new(); threads];
    for line in text.lines() {
        let (thread, op) = line.split_once(' ').unwrap();
        let thread: usize = thread.parse().unwrap_or_else(|_| panic!("{line}"));
        if found.len() <= thread {
            found.resize(thread + 1, Vec::new());
        }
        found[thread].push(op.to_owned());
    }
    found
}
