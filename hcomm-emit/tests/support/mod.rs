//! Compiling emitted code, and what it is compared with.
#![allow(dead_code, reason = "each test uses some of it")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use hcomm_core::counts::Counts;
use hcomm_core::operator::{Buffer, CountsBy};
use hcomm_core::program::{Cell, OpKind, Program};
use hcomm_core::sizes::Rounds;
use hcomm_core::spec::Spec;

/// Flags that emitted code compiles with.
pub(crate) const FLAGS: [&str; 6] = ["-std=c++14", "-O1", "-Wall", "-Wextra", "-Werror", "-Wshadow"];

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
pub(crate) fn driver(name: &str, specs: &[&Spec<'static>]) -> PathBuf {
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
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    writer.join().unwrap().unwrap();
    String::from_utf8(output.stdout).unwrap()
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
                    OpKind::WriteWithNotify(..) | OpKind::WriteReduceWithNotify(..) => unreachable!("not fused"),
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
                for segment in round.segments_iter(transfer, to, from) {
                    lines.push(format!(
                        "{name} {peer} {} {} {} {} {}",
                        buffer(transfer.dst),
                        segment.dst,
                        buffer(transfer.src),
                        segment.src,
                        segment.len
                    ));
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
