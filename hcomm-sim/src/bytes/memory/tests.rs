//! The rope against a plain array.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use hcomm_core::dtype::DataType;
use proptest::prelude::*;

const LEN: u64 = 48;

fn store(meter: &Rc<Meter>, bytes: &[u8]) -> Slice {
    Slice::whole(meter.keep(bytes.to_vec()).unwrap(), bytes.len() as u64)
}

/// Every byte, and whether the parts are in order, without holes, and not empty.
fn plain(memory: &Memory, at: u64, len: u64) -> Vec<Option<u8>> {
    let mut parts = Vec::new();
    memory.read(at, len, &mut parts);
    let mut all = Vec::new();
    for part in parts {
        assert!(part.len() > 0);
        match part {
            Part::Gap(len) => all.extend((0..len).map(|_| None)),
            Part::Written(slice) => {
                let mut bytes = vec![0; slice.len as usize];
                slice.read(&mut bytes);
                all.extend(bytes.into_iter().map(Some));
            }
        }
    }
    assert_eq!(all.len() as u64, len);
    all
}

#[derive(Clone, Debug)]
enum Action {
    /// Write new bytes.
    Store { at: u64, bytes: Vec<u8> },
    /// Copy a range, gaps left out, as the parts come.
    Copy { from: u64, to: u64, len: u64 },
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let store = (0..LEN, prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, mut bytes)| {
        bytes.truncate((LEN - at) as usize);
        Action::Store { at, bytes }
    });
    let copy = (0..LEN, 0..LEN, 1..LEN).prop_map(|(from, to, len)| Action::Copy {
        from,
        to,
        len: len.min(LEN - from).min(LEN - to),
    });
    prop::collection::vec(prop_oneof![store, copy], 0..40)
}

proptest! {
    #[test]
    fn behaves_as_an_array(actions in actions()) {
        let meter = Meter::new(u64::MAX, 0);
        let mut memory = Memory::default();
        let mut model = vec![None; LEN as usize];
        for action in actions {
            match action {
                Action::Store { at, bytes } => {
                    memory.write(at, store(&meter, &bytes));
                    for (place, byte) in model[at as usize..].iter_mut().zip(bytes) {
                        *place = Some(byte);
                    }
                }
                Action::Copy { from, to, len } => {
                    let mut parts = Vec::new();
                    memory.read(from, len, &mut parts);
                    let mut at = to;
                    for part in parts {
                        let len = part.len();
                        if let Part::Written(slice) = part {
                            memory.write(at, slice);
                        }
                        at += len;
                    }
                    let source = model[from as usize..(from + len) as usize].to_vec();
                    for (place, byte) in model[to as usize..].iter_mut().zip(source) {
                        *place = byte.or(*place);
                    }
                }
            }
            prop_assert_eq!(plain(&memory, 0, LEN), model.clone());
            // No two neighbours could be one piece.
            let pieces: Vec<_> = memory.pieces.iter().collect();
            for pair in pieces.windows(2) {
                let ((a, one), (b, other)) = (pair[0], pair[1]);
                prop_assert!(*a + one.len <= *b);
                prop_assert!(*a + one.len < *b || !one.continues(other));
            }
        }
        for at in 0..LEN {
            let len = (LEN - at).min(7);
            prop_assert_eq!(plain(&memory, at, len), model[at as usize..(at + len) as usize].to_vec());
        }
        // What is no longer in the buffer is no longer alive.
        let pieces = memory.pieces.len() as u64;
        prop_assert!(meter.live.get() <= pieces * (20 + OVERHEAD));
        memory.clear();
        prop_assert_eq!(meter.live.get(), 0);
    }
}

#[test]
fn pieces_that_come_together_again_are_one() {
    let meter = Meter::new(u64::MAX, 0);
    let whole = store(&meter, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let mut memory = Memory::default();
    memory.write(10, whole.cut(0, 2));
    memory.write(14, whole.cut(4, 4));
    assert_eq!(memory.pieces.len(), 2);
    memory.write(12, whole.cut(2, 2));
    assert_eq!(memory.pieces.len(), 1);
    // Overwritten by other bytes, and then by the old ones.
    memory.write(12, store(&meter, &[9, 9]));
    assert_eq!(memory.pieces.len(), 3);
    memory.write(12, whole.cut(2, 2));
    assert_eq!(memory.pieces.len(), 1);
    assert_eq!(plain(&memory, 10, 8), [1, 2, 3, 4, 5, 6, 7, 8].map(Some));
}

#[test]
fn the_meter_refuses_what_is_over_the_limit_and_forgets_what_is_gone() {
    let meter = Meter::new(2 * OVERHEAD + 30, 0);
    let first = meter.keep(vec![0; 20]).unwrap();
    assert_eq!(meter.keep(vec![0; 11]).unwrap_err(), 2 * OVERHEAD + 31);
    let second = meter.keep(vec![0; 10]).unwrap();
    drop(first);
    assert!(meter.keep(vec![0; 20]).is_ok());
    drop(second);
    assert_eq!(meter.live.get(), 0);
}

#[test]
fn an_input_stays_where_there_is_room_and_reads_the_same_where_there_is_not() {
    let inputs = Rc::new(Inputs::new(1, DataType::Int32, None, 2));
    let (roomy, tight) = (Meter::new(64 + OVERHEAD, 0), Meter::new(64 + OVERHEAD, 1));
    let mut memory = Memory::default();
    memory.write(0, Slice::whole(Bytes::input(&inputs, &roomy, 3, 1, 64), 64));
    memory.write(64, Slice::whole(Bytes::input(&inputs, &tight, 3, 1, 64), 64));
    assert_eq!(memory.pieces.len(), 2);
    assert_eq!(plain(&memory, 0, 64), plain(&memory, 64, 64));
    assert_eq!(plain(&memory, 8, 12), plain(&memory, 72, 12));
    assert_eq!((roomy.live.get(), tight.live.get()), (64 + OVERHEAD, 0));
    memory.clear();
    assert_eq!(roomy.live.get(), 0);
}
