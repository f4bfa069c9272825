//! Messages on standard error, by `HCOMM_LOG`.

use std::sync::OnceLock;

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Off,
    Error,
    Warn,
    Info,
}

fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| match std::env::var("HCOMM_LOG").as_deref() {
        Ok("off") => Level::Off,
        Ok("error") => Level::Error,
        Ok("info") => Level::Info,
        _ => Level::Warn,
    })
}

/// A call that failed.
pub(crate) fn error(function: &str, sentence: &str) {
    if level() >= Level::Error {
        eprintln!("[hcomm][error] {function}: {sentence}");
    }
}

/// Something that is likely not meant.
pub(crate) fn warn(function: &str, sentence: &str) {
    if level() >= Level::Warn {
        eprintln!("[hcomm][warn] {function}: {sentence}");
    }
}

/// Something that happened.
pub(crate) fn info(function: &str, sentence: &str) {
    if level() >= Level::Info {
        eprintln!("[hcomm][info] {function}: {sentence}");
    }
}
