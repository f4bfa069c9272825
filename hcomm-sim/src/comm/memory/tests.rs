//! Memory as segments: what is where it was put, and what is refused.

#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;
use crate::comm::error::Code;

fn memory() -> Segments {
    Segments::new(1 << 30)
}

#[test]
fn bytes_are_where_they_were_put() {
    let memory = memory();
    let a = memory.alloc(Place::Device(0), 3 * PAGE).unwrap();
    let b = memory.alloc(Place::Device(1), 3 * PAGE).unwrap();
    let bytes: Vec<u8> = (0..2 * PAGE).map(|at| (at % 251) as u8).collect();
    memory.write(a + 100, &bytes).unwrap();
    memory.copy(b + 7, a + 100, bytes.len() as u64).unwrap();
    let mut got = vec![1; bytes.len()];
    memory.read(b + 7, &mut got).unwrap();
    assert_eq!(got, bytes);
    let mut fresh = vec![1; 7];
    memory.read(b, &mut fresh).unwrap();
    assert_eq!(fresh, [0; 7]);
    assert_eq!(memory.find(b + 7), Some((Region { addr: b, size: 3 * PAGE }, Place::Device(1))));
}

#[test]
fn copies_may_overlap() {
    for (dst, src) in [(100, 0), (0, 100), (PAGE + 5, 3), (3, PAGE + 5), (9, 9)] {
        let memory = memory();
        let a = memory.alloc(Place::Host, 4 * PAGE).unwrap();
        let all: Vec<u8> = (0..4 * PAGE).map(|at| (at * 7 % 253) as u8).collect();
        memory.write(a, &all).unwrap();
        let len = 2 * PAGE + 77;
        memory.copy(a + dst, a + src, len).unwrap();
        let mut expected = all.clone();
        expected.copy_within(src as usize..(src + len) as usize, dst as usize);
        let mut got = vec![0; all.len()];
        memory.read(a, &mut got).unwrap();
        assert!(got == expected, "to {dst} from {src}");
    }
}

#[test]
fn reductions_are_atomic_and_cross_pages() {
    let memory = memory();
    // The second is not aligned: its elements lie across pages.
    for shift in [0, 2] {
        let count = PAGE / 4 + 100;
        let sum = memory.alloc(Place::Device(0), 4 * count + 8).unwrap() + shift;
        let ones = memory.alloc(Place::Device(1), 4 * count).unwrap();
        memory.write(ones, &1i32.to_le_bytes().repeat(count as usize)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        memory.reduce(sum, ones, count, DataType::Int32, ReduceOp::Sum).unwrap();
                    }
                });
            }
        });
        let mut got = vec![0; 4 * count as usize];
        memory.read(sum, &mut got).unwrap();
        assert!(got == 100i32.to_le_bytes().repeat(count as usize), "shifted by {shift}");
    }
}

#[test]
fn what_is_not_allocated_is_an_error() {
    let memory = memory();
    let a = memory.alloc(Place::Device(0), 100).unwrap();
    assert_eq!(memory.copy(a + 60, a, 41).unwrap_err().code, Code::Memory);
    assert_eq!(memory.copy(a, a + 60, 41).unwrap_err().code, Code::Memory);
    assert_eq!(memory.fill(a, 1, 101).unwrap_err().code, Code::Memory);
    assert_eq!(memory.write(a + u64::from(u32::MAX), &[0]).unwrap_err().code, Code::Memory);
    assert_eq!(memory.read(u64::MAX, &mut [0; 4]).unwrap_err().code, Code::Memory);
    assert_eq!(memory.reduce(a, a, u64::MAX, DataType::Int32, ReduceOp::Sum).unwrap_err().code, Code::Para);
    assert_eq!(memory.alloc(Place::Device(0), 1 << 30).unwrap_err().code, Code::Oom);
    assert_eq!(memory.alloc(Place::Device(0), u64::MAX).unwrap_err().code, Code::Oom);
    assert_eq!(memory.alloc(Place::Host, 0).unwrap_err().code, Code::Para);
    assert_eq!(memory.free(a + 1).unwrap_err().code, Code::NotFound);
    assert_eq!(memory.used(Place::Device(0)), 100);
    memory.free(a).unwrap();
    assert_eq!(memory.used(Place::Device(0)), 0);
    assert_eq!(memory.free(a).unwrap_err().code, Code::NotFound);
    assert_eq!(memory.read(a, &mut [0]).unwrap_err().code, Code::Memory);
}
