//! What the checks say of threads, notifies and chunks of the translation, said of blocks, flags and parts of chunks.

use std::borrow::Cow;

use crate::diag::Diagnostic;

/// The message with AIV's words, where chunks are cut into `parts`.
pub(super) fn of_blocks(mut diagnostic: Diagnostic, parts: u32) -> Diagnostic {
    diagnostic.message = text(&diagnostic.message, parts);
    for related in &mut diagnostic.related {
        related.message = text(&related.message, parts);
    }
    diagnostic.help = diagnostic.help.map(|help| text(&help, parts));
    // Lengths are those of parts, which is not to be seen from them.
    if parts > 1 && diagnostic.message.contains(" of a slot") {
        let note =
            format!("chunk k of a slot is cut into {parts} parts here, which count as its chunks {parts}k and on");
        diagnostic = diagnostic.with_related(note, None);
    }
    diagnostic
}

/// Longest first, so that none is left half replaced.
const WORDS: [(&str, &str); 14] = [
    ("a notify is one bit, so one of the two is lost", "a flag holds one value, so the first is lost"),
    (
        "a notify that stays set lets a wait of the next round pass too early",
        "what no wait has seen, the next signal writes over",
    ),
    ("record a notify that the thread waits for first", "let it wait for a flag first"),
    ("two lanes on one notify", "two blocks on one flag"),
    ("channel notifies", "flags"),
    ("channel notify", "flag"),
    ("notify", "flag"),
    ("the main thread of rank", "block 0 of rank"),
    ("its main thread", "its block 0"),
    ("(main thread)", "(block 0)"),
    ("the main thread", "block 0"),
    ("another thread of rank", "another block of rank"),
    ("threads", "blocks"),
    ("thread", "block"),
];

fn text(text: &str, parts: u32) -> String {
    let met = meetings(text);
    let words = WORDS.iter().fold(met, |text, (from, to)| text.replace(from, to));
    if parts > 1 { chunks(&words, parts) } else { words }
}

/// `waits for its notify 2, which X sets` is what a block does that waits for the others.
fn meetings(text: &str) -> String {
    const NOTIFY: &str = "waits for its notify ";
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(NOTIFY) {
        said += before;
        said += "waits at SyncAll";
        let after = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
        // Who is missing comes to a meeting: it sets nothing.
        rest = match after.split_once(" sets ") {
            Some((who, after)) if who.starts_with(", which ") && !who.contains(NOTIFY) => {
                said += who;
                said += " comes to ";
                after
            }
            _ => after,
        };
    }
    said + rest
}

/// `scratch[5]` of chunks that are cut into 4 parts is `scratch[1] (part 1 of 4)`.
fn chunks(text: &str, parts: u32) -> String {
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let opens =
            ["input[", "output[", "scratch["].iter().filter_map(|name| Some((rest.find(name)?, name.len()))).min();
        let Some((at, len)) = opens else { break };
        let (before, after) = rest.split_at(at + len);
        said += before;
        rest = after;
        let Some((index, after)) = rest.split_once(']') else { continue };
        if let Some(cell) = cell(index, parts) {
            said += &cell;
            rest = after;
        }
    }
    said + rest
}

/// What stands behind the opening bracket, for chunks that are parts.
fn cell(index: &str, parts: u32) -> Option<Cow<'static, str>> {
    let (first, end) = match index.split_once("..") {
        Some((first, end)) => (first.parse::<u32>().ok()?, end.parse::<u32>().ok()?),
        None => (index.parse().ok()?, index.parse::<u32>().ok()?.checked_add(1)?),
    };
    let last = end.checked_sub(1)?;
    let (chunk, of_last) = (first / parts, last / parts);
    let (part, last) = (first % parts, last % parts);
    let which = match (chunk == of_last, part == 0 && last == parts - 1) {
        (true, true) => return Some(format!("{chunk}]").into()),
        (false, true) => return Some(format!("{chunk}..{}]", of_last + 1).into()),
        (true, false) if part == last => format!("{chunk}] (part {part} of {parts})"),
        (true, false) => format!("{chunk}] (parts {part}..{} of {parts})", last + 1),
        (false, false) => format!("{chunk}..{}] (from part {part} to part {last} of {parts})", of_last + 1),
    };
    Some(which.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_blocks_and_their_notifies_meetings() {
        assert_eq!(
            text("the main thread of rank 1 waits for its notify 12, which thread 2 of rank 1 sets only after it", 1),
            "block 0 of rank 1 waits at SyncAll, which block 2 of rank 1 comes to only after it"
        );
        assert_eq!(text("deadlock: 4 threads wait in a circle", 1), "deadlock: 4 blocks wait in a circle");
    }

    #[test]
    fn chunks_are_parts_of_chunks() {
        assert_eq!(
            text("race on scratch[5] of rank 0: input[4..8]", 4),
            "race on scratch[1] (part 1 of 4) of rank 0: input[1]"
        );
        assert_eq!(text("output[1..3], input[0..8]", 4), "output[0] (parts 1..3 of 4), input[0..2]");
        assert_eq!(text("output[3..6]", 4), "output[0..2] (from part 3 to part 1 of 4)");
        assert_eq!(text("output[x] scratch[", 4), "output[x] scratch[");
    }
}
