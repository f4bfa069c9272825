//! `hcomm emit`

use std::fmt::Write as _;
use std::fs;

use hcomm_emit::{EmitError, Options};
use serde_json::json;

use super::args::{Emit as Command, Kernel};
use super::report::{self, Style};
use super::{Answer, Failure, select};
use crate::diag::{Code, Diagnostic};
use crate::spec::Spec;

pub(super) fn emit(library: &[&Spec<'static>], command: &Command, json: bool, style: Style) -> Result<Answer, Failure> {
    let spec = select::algorithm(library, &command.algorithm)?;
    let engine = select::engine(spec, &Kernel { engine: command.engine, blocks: None, double_buffer: false })?;
    let tuner = command
        .tuner
        .as_ref()
        .map(|path| fs::read_to_string(path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display()))));
    let options = Options { tuner: tuner.transpose()?, engine, product: command.product, fuse: command.fuse };
    let files = hcomm_emit::package(spec, &options).map_err(|EmitError { message, at }| {
        report::failure(spec.file, &[Diagnostic::new(Code::H402, message, at)], style)
    })?;
    for (path, text) in &files {
        let path = command.out.join(path);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        written.map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
    }
    let out = command.out.display();
    if json {
        let names: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
        let value = json!({ "algorithm": spec.snake, "engine": engine.name(), "out": out.to_string(), "files": names });
        return Ok(Answer { text: format!("{value:#}\n"), holds: true });
    }
    let mut text = format!("{}: {} files in {out}\n", spec.snake, files.len());
    let _ = write!(
        text,
        "build it on the stand-in:  cmake -S {out} -B {out}/build -DHCOMM_STANDIN=<dir> && cmake --build {out}/build\n\
         and run its test:          ctest --test-dir {out}/build --output-on-failure\n"
    );
    Ok(Answer { text, holds: true })
}
