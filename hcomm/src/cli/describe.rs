//! Counts and tables as text and JSON.

use serde_json::{Value, json};

use crate::resources::Resources;
use crate::spec::Engine;

/// To which side a column's cells are flush.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Rows as columns two spaces apart, without trailing space.
pub(super) fn table(rows: &[Vec<String>], align: &[Align]) -> String {
    let mut widths = vec![0; align.len()];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for ((cell, align), width) in row.iter().zip(align).zip(&widths) {
            let width = *width;
            line += &match align {
                Align::Left => format!("{cell:<width$}  "),
                Align::Right => format!("{cell:>width$}  "),
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// The counts of an engine in one line.
pub(super) fn counts(need: &Resources, engine: Engine) -> String {
    let n = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    if engine == Engine::Aiv {
        return [
            n(need.blocks, "block"),
            n(need.flags, "flag"),
            n(need.channels, "channel"),
            format!("{} of scratch", n(need.scratch_chunks, "chunk")),
        ]
        .join(", ");
    }
    [
        n(need.threads, "thread"),
        format!("{} ({} a thread)", n(need.thread_notifies, "thread notify"), need.notify_num_per_thread),
        n(need.channels, "channel"),
        format!("{} ({} a channel)", n(need.channel_notifies, "channel notify"), need.notify_num_per_channel),
        format!("{} of scratch", n(need.scratch_chunks, "chunk")),
    ]
    .join(", ")
    .replace("notifys", "notifies")
}

/// The counts of an engine as JSON, by the names of DESIGN section 6.
pub(super) fn counts_json(need: &Resources, engine: Engine) -> Value {
    if engine == Engine::Aiv {
        return json!({
            "blocks": need.blocks,
            "flags": need.flags,
            "channels": need.channels,
            "scratch_chunks": need.scratch_chunks,
        });
    }
    json!({
        "threads": need.threads,
        "notify_num_per_thread": need.notify_num_per_thread,
        "thread_notifies": need.thread_notifies,
        "channels": need.channels,
        "notify_num_per_channel": need.notify_num_per_channel,
        "channel_notifies": need.channel_notifies,
        "scratch_chunks": need.scratch_chunks,
    })
}
