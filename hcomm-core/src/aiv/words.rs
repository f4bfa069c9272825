//! What the checks say of threads, said of blocks.

use crate::diag::Diagnostic;

/// The message with AIV's words.
pub(super) fn of_blocks(mut diagnostic: Diagnostic, parts: u32) -> Diagnostic {
    diagnostic.message = text(&diagnostic.message);
    for related in &mut diagnostic.related {
        related.message = text(&related.message);
    }
    diagnostic.help = diagnostic.help.map(|help| text(&help));
    if parts > 1 {
        let note =
            format!("chunk c is cut into {parts} parts here, which are chunks {parts}c to {parts}c + {}", parts - 1);
        diagnostic = diagnostic.with_related(note, None);
    }
    diagnostic
}

/// Longest first, so that none is left half replaced.
const WORDS: [(&str, &str); 7] = [
    ("the main thread of rank", "block 0 of rank"),
    ("its main thread", "its block 0"),
    ("(main thread)", "(block 0)"),
    ("the main thread", "block 0"),
    ("another thread of rank", "another block of rank"),
    ("threads", "blocks"),
    ("thread", "block"),
];

fn text(text: &str) -> String {
    let text = WORDS.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    meetings(&text)
}

/// `waits for its notify 2` is what a block does that waits for the others.
fn meetings(text: &str) -> String {
    const NOTIFY: &str = "waits for its notify ";
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(NOTIFY) {
        said += before;
        said += "waits at SyncAll";
        rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
    }
    said + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_blocks_and_their_notifies_meetings() {
        assert_eq!(
            text("the main thread of rank 1 waits for its notify 12, which thread 2 of rank 1 comes to"),
            "block 0 of rank 1 waits at SyncAll, which block 2 of rank 1 comes to"
        );
        assert_eq!(text("deadlock: 4 threads wait in a circle"), "deadlock: 4 blocks wait in a circle");
    }
}
