//! `hcomm emit`

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

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
    let mine = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text.contains(hcomm_emit::MARK));
    let taken = files.iter().map(|(path, _)| command.out.join(path)).find(|path| path.exists());
    if let Some(path) = taken.filter(|_| !mine(&command.out.join("README.md"))) {
        let message = "is there, and not from a package of hcomm: give --out a folder that is new or empty";
        return Err(Failure::Usage(format!("{} {message}", path.display())));
    }
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
    let out = quoted(&out.to_string());
    let _ = write!(
        text,
        "build it on the stand-in:  cmake -S {out} -B {out}/build -DHCOMM_STANDIN=<dir> && cmake --build {out}/build\n\
         and run its test:          ctest --test-dir {out}/build --output-on-failure\n"
    );
    Ok(Answer { text, holds: true })
}

/// A path as a word of a shell's line.
fn quoted(path: &str) -> String {
    if !path.is_empty() && path.chars().all(|c| c.is_alphanumeric() || "/._-+,@%:=".contains(c)) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn paths_are_words() {
        assert_eq!(quoted("target/op-1"), "target/op-1");
        assert_eq!(quoted("my op"), "'my op'");
        assert_eq!(quoted("it's $x;"), r"'it'\''s $x;'");
    }
}
