//! The command line: one module a command, all of them text in and text out.

mod args;
mod check;
mod describe;
mod emit;
mod list;
mod report;
mod resources;
mod run;
mod select;
mod show;
mod time;
mod tune;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::spec::Spec;
use args::{Args, Command};

/// What a command has to say.
#[derive(Debug)]
struct Answer {
    /// Text or JSON, for the standard output.
    text: String,
    /// Whether what was asked holds.
    holds: bool,
}

/// Why a command has no answer.
#[derive(Debug)]
enum Failure {
    /// The command cannot be meant: exit status 2.
    Usage(String),
    /// What was asked does not hold: exit status 1. Text for the error output, JSON for the standard output.
    Fault {
        /// For people.
        text: String,
        /// For scripts.
        json: serde_json::Value,
    },
}

/// The `hcomm` command line for `library`. Exit status 0 is "holds", 1 "does not hold", 2 a wrong usage.
pub fn main(library: &[&Spec<'static>]) -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // A closed pipe is the reader's choice.
            let _ = error.print();
            return ExitCode::from(error.exit_code().clamp(0, 2) as u8);
        }
    };
    let mut names: Vec<&str> = library.iter().map(|spec| spec.snake).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let _ = writeln!(std::io::stderr(), "error: there are two algorithms of the name `{}`", twice[0]);
        return ExitCode::from(2);
    }
    let json = args.json;
    match command(library, &args) {
        Ok(answer) => match write(&answer.text) {
            Ok(()) => ExitCode::from(u8::from(!answer.holds)),
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "error: the output could not be written: {error}");
                ExitCode::from(1)
            }
        },
        Err(Failure::Usage(message)) => {
            let _ = writeln!(std::io::stderr(), "error: {message}");
            ExitCode::from(2)
        }
        Err(Failure::Fault { text, json: value }) => {
            if json {
                let _ = write(&format!("{value:#}\n"));
            } else {
                let _ = std::io::stderr().write_all(text.as_bytes());
            }
            ExitCode::from(1)
        }
    }
}

/// Writes to the standard output. A closed pipe is the reader's choice.
fn write(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

fn command(library: &[&Spec<'static>], args: &Args) -> Result<Answer, Failure> {
    let style = report::Style { color: std::io::stderr().is_terminal() };
    match &args.command {
        Command::List => Ok(list::list(library, args.json)),
        Command::Resources(command) => resources::resources(library, command, args.json, style),
        Command::Show(command) => show::show(library, command, args.json, style),
        Command::Check(command) => check::check(library, command, args.json, style),
        Command::Run(command) => run::run(library, command, args.json, style),
        Command::Tune(command) => tune::tune(library, command, args.json),
        Command::Emit(command) => emit::emit(library, command, args.json, style),
    }
}
