//! What generated code calls to say itself in few words, and the assertion of a budget that only the user's crate
//! knows.

use crate::resources::Resources;
use crate::shape::Layout;
use crate::spec::Span;

/// The longest message of an assertion, in bytes.
const MAX_MESSAGE: usize = 240;

/// A place.
pub const fn span(line: u32, column: u32, end_line: u32, end_column: u32) -> Span {
    Span { line, column, end_line, end_column }
}

/// Counts at a rank count, in the order of the fields of [`Resources`].
pub const fn counted(ranks: u32, counts: [u32; 9]) -> (u32, Resources) {
    let [
        threads,
        notify_num_per_thread,
        thread_notifies,
        channels,
        notify_num_per_channel,
        channel_notifies,
        scratch_chunks,
        blocks,
        flags,
    ] = counts;
    let resources = Resources {
        threads,
        notify_num_per_thread,
        thread_notifies,
        channels,
        notify_num_per_channel,
        channel_notifies,
        scratch_chunks,
        blocks,
        flags,
    };
    (ranks, resources)
}

/// A layout of equal nodes.
///
/// # Panics
///
/// If there is no such layout, which the macro has seen to.
pub const fn layout(pods: u32, nodes: u32, locals: u32) -> Layout {
    match Layout::equal(pods, nodes, locals) {
        Some(layout) => layout,
        None => panic!("a layout that there is not"),
    }
}

/// A layout of unequal nodes.
///
/// # Panics
///
/// If there is no such layout, which the macro has seen to.
pub const fn unequal_layout(locals: &[u32]) -> Layout {
    match Layout::unequal(locals) {
        Some(layout) => layout,
        None => panic!("a layout that there is not"),
    }
}

/// Asserts that an algorithm's need of a resource is within a limit of the user's, at all rank counts for which it is
/// known: `needs` are rank counts and needs, ascending.
///
/// # Panics
///
/// If one is not. In a `const` that is a compile error at the limit, with the numbers.
#[track_caller]
pub const fn assert_budget(resource: &str, algorithm: &str, needs: &[(u32, u32)], limit: i128) {
    let mut i = 0;
    while i < needs.len() {
        let (ranks, need) = needs[i];
        if need as i128 > limit {
            let fits = if i == 0 { None } else { Some(needs[i - 1].0) };
            let message = over(resource, algorithm, ranks, need as i128, "the limit is ", limit);
            panic!("{}", fitting(message, fits).text());
        }
        i += 1;
    }
}

/// `X needs 63 threads at 64 ranks, the limit is 8`
pub(crate) const fn over(resource: &str, algorithm: &str, ranks: u32, need: i128, whose: &str, limit: i128) -> Message {
    let message = Message::new().with(algorithm).with(" needs ").with_number(need).with(" ").with(resource);
    message.with(" at ").with_number(ranks as i128).with(" ranks, ").with(whose).with_number(limit)
}

/// `: fits up to 9 ranks`
const fn fitting(message: Message, fits: Option<u32>) -> Message {
    match fits {
        Some(fits) => message.with(": fits up to ").with_number(fits as i128).with(" ranks"),
        None => message.with(": fits no rank count that was tried"),
    }
}

/// `X is declared for 1 to 16 ranks, not 64`
pub(crate) const fn undeclared(algorithm: &str, most: u32, ranks: u32) -> Message {
    let message = Message::new().with(algorithm).with(" is declared for 1 to ").with_number(most as i128);
    message.with(" ranks, not ").with_number(ranks as i128)
}

/// `X has a fault at 64 ranks: …`
pub(crate) const fn faulty(algorithm: &str, ranks: u32) -> Message {
    let message = Message::new().with(algorithm).with(" has a fault at ").with_number(ranks as i128);
    message.with(" ranks: name them in its `verify` header to see which, or ask `hcomm check`")
}

/// `X has no rank 4 at 4 ranks`
pub(crate) const fn no_rank(algorithm: &str, rank: u32, ranks: u32) -> Message {
    let message = Message::new().with(algorithm).with(" has no rank ").with_number(rank as i128);
    message.with(" at ").with_number(ranks as i128).with(" ranks")
}

/// Text in a `const` context, where formatting and allocation are not to be had. What does not fit is left out.
pub(crate) struct Message {
    bytes: [u8; MAX_MESSAGE],
    len: usize,
}

impl Message {
    const fn new() -> Message {
        Message { bytes: [0; MAX_MESSAGE], len: 0 }
    }

    const fn with(self, text: &str) -> Message {
        self.with_bytes(text.as_bytes())
    }

    const fn with_number(self, number: i128) -> Message {
        // 39 digits are the most that 128 bits take.
        let (mut digits, mut first, mut rest) = ([0; 39], 39, number.unsigned_abs());
        loop {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let message = if number < 0 { self.with("-") } else { self };
        message.with_bytes(digits.split_at(first).1)
    }

    const fn with_bytes(mut self, bytes: &[u8]) -> Message {
        // All or nothing, so that no character is cut.
        if bytes.len() <= MAX_MESSAGE - self.len {
            let mut i = 0;
            while i < bytes.len() {
                self.bytes[self.len] = bytes[i];
                self.len += 1;
                i += 1;
            }
        }
        self
    }

    pub(crate) const fn text(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "over budget",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_numbers() {
        let message = fitting(over("threads", "MeshAllGather", 64, 63, "the limit is ", 8), Some(9));
        assert_eq!(message.text(), "MeshAllGather needs 63 threads at 64 ranks, the limit is 8: fits up to 9 ranks");
        let message = fitting(over("channels", "A", 2, 0, "the limit is ", i128::MIN), None);
        assert_eq!(
            message.text(),
            "A needs 0 channels at 2 ranks, the limit is -170141183460469231731687303715884105728: fits no rank count \
             that was tried"
        );
        assert_eq!(undeclared("A", 16, 64).text(), "A is declared for 1 to 16 ranks, not 64");
        assert_eq!(no_rank("A", 4, 4).text(), "A has no rank 4 at 4 ranks");
        let message = faulty("A", 64);
        assert!(message.text().starts_with("A has a fault at 64 ranks: "), "{}", message.text());
    }

    #[test]
    fn a_long_name_is_left_out_whole() {
        let name = "ö".repeat(200);
        assert_eq!(no_rank(&name, 4, 4).text(), " has no rank 4 at 4 ranks");
    }

    #[test]
    fn a_need_within_the_limit_passes() {
        assert_budget("threads", "A", &[(2, 1), (3, 2)], 2);
        assert_budget("threads", "A", &[], -1);
    }

    #[test]
    #[should_panic(expected = "A needs 2 threads at 3 ranks, the limit is 1: fits up to 2 ranks")]
    fn the_first_need_over_the_limit_is_named() {
        assert_budget("threads", "A", &[(2, 1), (3, 2), (4, 3)], 1);
    }
}
