//! What the module's documentation says about chunks, cells and segments, for arbitrary programs and counts.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::counts::MAX_COUNT;
use crate::operator::Operator;
use crate::program::Cell;
use crate::shape::{Layout, Shape};
use proptest::prelude::*;

fn program(operator: Operator, ranks: u32, split: u32, scratch: u32) -> Program {
    Program {
        algorithm: "test".to_owned(),
        operator,
        shape: Shape::new(Layout::flat(ranks).unwrap()),
        split,
        scratch,
        deterministic: false,
        symmetric: false,
        notifies: Vec::new(),
        source: Default::default(),
        ranks: Vec::new(),
    }
}

fn rounds(split: u32, scratch: u32, count: u64, element: u32, hccl_buffer: u64) -> Rounds {
    Rounds::new(&program(Operator::AllToAll, 4, split, scratch), count, element, hccl_buffer).unwrap()
}

#[test]
fn a_barrier_is_one_round_of_nothing() {
    let barrier = program(Operator::Barrier, 4, 1, 0);
    for count in [0, 1, MAX_COUNT] {
        let rounds = Rounds::new(&barrier, count, 4, DEFAULT_HCCL_BUFFER).unwrap();
        assert_eq!((rounds.rounds, rounds.count), (1, 0), "{count}");
    }
}

/// Counts that are small, large, or beside a boundary.
fn counts() -> impl Strategy<Value = u64> {
    prop_oneof![
        0u64..5000,
        0u64..200_000_000,
        (1u64..600, -3i64..4).prop_map(|(blocks, off)| (blocks * 128).saturating_add_signed(off)),
        (MAX_COUNT - 9)..=MAX_COUNT,
    ]
}

fn elements() -> impl Strategy<Value = u32> {
    prop_oneof![Just(1u32), Just(2), Just(4), Just(8), Just(16)]
}

/// A split, cells, a count, an element size, and an HCCL buffer that is large enough for the cells.
fn cases() -> impl Strategy<Value = (u32, u32, u64, u32, u64)> {
    (prop_oneof![1u32..9, 1u32..700], 0u32..600, counts(), elements()).prop_flat_map(
        |(split, cells, count, element)| {
            let least = u64::from(cells) * ALIGN;
            let buffer = prop_oneof![least..least + 4096, least..least + DEFAULT_HCCL_BUFFER];
            (Just(split), Just(cells), Just(count), Just(element), buffer)
        },
    )
}

/// The first rounds, some in the middle, and the last ones.
fn some_rounds(rounds: &Rounds) -> Vec<u64> {
    let last = rounds.rounds - 1;
    let mut some = vec![0, 1, last / 2, last.saturating_sub(1), last];
    some.retain(|round| *round <= last);
    some.dedup();
    some
}

proptest! {
    #[test]
    fn rounds_partition_a_slot((split, cells, count, element, buffer) in cases()) {
        let rounds = rounds(split, cells, count, element, buffer);
        let mut whole = 0;
        prop_assert!(rounds.rounds >= 1);
        for index in some_rounds(&rounds) {
            let (start, bytes) = rounds.round(index).piece();
            prop_assert_eq!(start, index * rounds.per_round * u64::from(element));
            if index + 1 < rounds.rounds {
                prop_assert_eq!(bytes, rounds.per_round * u64::from(element));
                prop_assert_eq!(rounds.round_of((start + bytes) / u64::from(element)), index + 1);
            }
            whole = start + bytes;
        }
        prop_assert_eq!(whole, count * u64::from(element));
        prop_assert_eq!(rounds.round(rounds.rounds).piece().1, 0);
        prop_assert_eq!(rounds.round(u64::MAX).piece().1, 0);
    }

    #[test]
    fn chunks_partition_every_piece((split, cells, count, element, buffer) in cases(), slot in 0u32..4) {
        let rounds = rounds(split, cells, count, element, buffer);
        let slot_bytes = count * u64::from(element);
        for index in some_rounds(&rounds) {
            let round = rounds.round(index);
            let (start, bytes) = round.piece();
            let mut at = u64::from(slot) * slot_bytes + start;
            for class in 0..split {
                let len = round.chunk_len(class);
                prop_assert_eq!(round.offset(Buffer::Input, 0, u64::from(slot * split + class), class), at);
                prop_assert_eq!(round.offset(Buffer::Output, 0, u64::from(slot * split + class), class), at);
                prop_assert_eq!(len % u64::from(element), 0, "whole elements");
                prop_assert!(class == 0 || len <= round.chunk_len(class - 1), "the rest comes last");
                if len > 0 {
                    let first = at - u64::from(slot) * slot_bytes;
                    prop_assert_eq!(round.chunk_at(count, first), Some(u64::from(class)));
                    prop_assert_eq!(round.chunk_at(count, first + len - 1), Some(u64::from(class)));
                }
                at += len;
                if bytes >= u64::from(split) * ALIGN && class + 1 < split && round.chunk_len(class + 1) > 0 {
                    prop_assert_eq!((at - u64::from(slot) * slot_bytes - start) % ALIGN, 0, "on 128 bytes");
                }
            }
            prop_assert_eq!(at, u64::from(slot) * slot_bytes + start + bytes);
            prop_assert_eq!(round.chunk_at(count, start + bytes), None);
        }
    }

    #[test]
    fn cells_hold_every_chunk_and_fit_the_hccl_buffer((split, cells, count, element, buffer) in cases()) {
        let rounds = rounds(split, cells, count, element, buffer);
        for index in some_rounds(&rounds) {
            let round = rounds.round(index);
            prop_assert_eq!(round.cell() % ALIGN, 0);
            prop_assert!(round.chunk_len(0) <= round.cell());
            prop_assert!(round.cell() < round.chunk_len(0) + ALIGN);
            prop_assert!(u64::from(cells) * round.cell() <= buffer);
            for cell in [0, cells / 2, cells] {
                prop_assert_eq!(round.offset(Buffer::Scratch, 0, u64::from(cell), 0), u64::from(cell) * round.cell());
            }
        }
    }

    #[test]
    fn segments_are_the_chunks_merged_and_in_bounds(
        (split, cells, count, element, buffer) in cases(),
        (from, to) in (0usize..3, 0usize..3),
        (a, b, want, class) in any::<(u32, u32, u32, u32)>(),
    ) {
        let rounds = rounds(split, cells, count, element, buffer);
        let slots = 4;
        let size = |buffer| if buffer == Buffer::Scratch { cells } else { slots * split };
        let (src, dst) = (Buffer::ALL[from], Buffer::ALL[to]);
        if size(src) == 0 || size(dst) == 0 {
            return Ok(());
        }
        // A valid transfer: both ends in bounds, and of the class of the user buffer if one takes part.
        let class = class % split;
        let start = |buffer, wanted: u32| match buffer {
            Buffer::Scratch => wanted % size(buffer),
            _ => wanted % slots * split + class,
        };
        let (a, b) = (start(src, a), start(dst, b));
        let len = 1 + want % (size(src) - a).min(size(dst) - b);
        let transfer = Transfer { dst: Cell { buffer: dst, chunk: b }, src: Cell { buffer: src, chunk: a }, len, class };
        for index in some_rounds(&rounds) {
            let round = rounds.round(index);
            let bytes = |buffer| match buffer {
                Buffer::Scratch => u64::from(cells) * round.cell(),
                _ => u64::from(slots) * count * u64::from(element),
            };
            // What it must be, chunk by chunk.
            let mut naive: Vec<Segment> = Vec::new();
            for j in 0..len {
                let class = (class + j) % split;
                let place = |buffer, chunk: u32| round.offset(buffer, 0, u64::from(chunk + j), class);
                let rest = Segment { dst: place(dst, b), src: place(src, a), len: round.chunk_len(class) };
                match naive.last_mut() {
                    _ if rest.len == 0 => {}
                    Some(last) if last.dst + last.len == rest.dst && last.src + last.len == rest.src => last.len += rest.len,
                    _ => naive.push(rest),
                }
            }
            let segments = round.segments(&transfer, 0, 0);
            let mut joined: Vec<Segment> = Vec::new();
            for segment in &segments {
                prop_assert!((1..=MAX_TRANSFER).contains(&segment.len));
                prop_assert!(segment.src + segment.len <= bytes(src));
                prop_assert!(segment.dst + segment.len <= bytes(dst));
                prop_assert_eq!(segment.len % u64::from(element), 0);
                match joined.last_mut() {
                    Some(last) if last.dst + last.len == segment.dst && last.src + last.len == segment.src => {
                        prop_assert_eq!(last.len % MAX_TRANSFER, 0, "a cut that the limit did not ask for");
                        last.len += segment.len;
                    }
                    _ => joined.push(*segment),
                }
            }
            prop_assert_eq!(joined, naive);
        }
    }

    #[test]
    fn nothing_overflows(
        (split, cells, count, element) in (1u32.., any::<u32>(), 0u64..=MAX_COUNT, elements()),
        (dst, src, len, index) in any::<(u32, u32, u32, u64)>(),
    ) {
        let Ok(rounds) = Rounds::new(&program(Operator::AllGather, 2, split, cells), count, element, 1 << 40) else {
            return Ok(());
        };
        let transfer = Transfer {
            dst: Cell { buffer: Buffer::Scratch, chunk: dst },
            src: Cell { buffer: Buffer::Input, chunk: src },
            len,
            class: 0,
        };
        for segment in rounds.round(index % rounds.rounds).segments_iter(&transfer, 0, 0).take(50) {
            prop_assert!((1..=MAX_TRANSFER).contains(&segment.len));
        }
    }
}

#[test]
fn a_count_of_zero_is_one_round_of_nothing() {
    let rounds = rounds(4, 3, 0, 4, DEFAULT_HCCL_BUFFER);
    assert_eq!(rounds.rounds, 1);
    let round = rounds.round(0);
    assert_eq!((round.piece(), round.cell(), round.chunk_at(0, 0)), ((0, 0), 0, None));
    let all = Cell { buffer: Buffer::Input, chunk: 0 };
    let transfer = Transfer { dst: Cell { buffer: Buffer::Output, chunk: 0 }, src: all, len: 16, class: 0 };
    assert_eq!(round.segments(&transfer, 0, 0), []);
}

#[test]
fn an_odd_last_round() {
    // Three cells of 256 bytes hold one slot of three chunks: 192 fp32 a round.
    let rounds = rounds(3, 3, 192 * 2 + 5, 4, 3 * 256 + 100);
    assert_eq!((rounds.per_round, rounds.rounds), (192, 3));
    let last = rounds.round(2);
    assert_eq!(last.piece(), (192 * 2 * 4, 20));
    assert_eq!([0, 1, 2].map(|class| last.chunk_len(class)), [8, 8, 4]);
    assert_eq!(last.cell(), 128);
}

#[test]
fn a_transfer_longer_than_the_limit_is_cut() {
    // Without scratch a round is 256 MB of every slot, and two slots lie end to end if a round is a slot.
    let per_slot = MAX_TRANSFER;
    let rounds = rounds(2, 0, per_slot, 1, 0);
    let start = Cell { buffer: Buffer::Input, chunk: 1 };
    let transfer = Transfer { dst: Cell { buffer: Buffer::Output, chunk: 1 }, src: start, len: 5, class: 1 };
    let lens: Vec<u64> = rounds.round(0).segments(&transfer, 0, 0).iter().map(|segment| segment.len).collect();
    assert_eq!(lens, [MAX_TRANSFER, MAX_TRANSFER, MAX_TRANSFER / 2]);
}

#[test]
fn too_small_a_buffer_says_what_it_needs() {
    let program = program(Operator::AllGather, 2, 1, 10);
    let error = Rounds::new(&program, 1, 4, 1279).unwrap_err();
    assert_eq!(error, SizeError::BufferTooSmall { have: 1279, cells: 10, need: 1280 });
    assert!(Rounds::new(&program, 1, 4, 1280).is_ok());
    let error = Rounds::new(&program, MAX_COUNT + 1, 4, 1280).unwrap_err();
    assert_eq!(error, SizeError::Counts(CountsError::TooLarge { elements: MAX_COUNT + 1 }));
}

#[test]
fn symmetric_programs_without_scratch_take_one_round() {
    let (count, element) = (1 << 30, 4);
    let mut windows = program(Operator::AllGather, 2, 1, 0);
    windows.symmetric = true;
    let whole = Rounds::new(&windows, count, element, DEFAULT_HCCL_BUFFER).unwrap();
    assert_eq!((whole.rounds, whole.round(0).piece()), (1, (0, 4 << 30)));
    // A transfer is cut where it is longer than the hardware takes.
    let output = Cell { buffer: Buffer::Output, chunk: 1 };
    let transfer = Transfer { dst: output, ..Transfer::NONE };
    let lens: Vec<u64> = whole.round(0).segments(&transfer, 0, 1).iter().map(|segment| segment.len).collect();
    assert_eq!(lens, [MAX_TRANSFER; 16]);
    // With scratch, or without windows, the rounds stay.
    windows.scratch = 1;
    assert_eq!(Rounds::new(&windows, count, element, DEFAULT_HCCL_BUFFER).unwrap().rounds, 21);
    let plain = program(Operator::AllGather, 2, 1, 0);
    assert_eq!(Rounds::new(&plain, count, element, DEFAULT_HCCL_BUFFER).unwrap().rounds, 16);
    // No data, and all that there can be.
    windows.scratch = 0;
    for count in [0, 1, MAX_COUNT] {
        assert_eq!(Rounds::new(&windows, count, element, DEFAULT_HCCL_BUFFER).unwrap().rounds, 1);
    }
}
