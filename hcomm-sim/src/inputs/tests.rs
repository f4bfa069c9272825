//! What inputs promise: the same for a seed, different otherwise, finite, and exact where they say so.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::value::reduce;

const FLOATS: [DataType; 4] = [DataType::Fp16, DataType::Bf16, DataType::Fp32, DataType::Fp64];

fn drawn(inputs: &Inputs, invocation: u64, rank: u32, first: u64, elements: usize) -> Vec<u8> {
    let mut out = vec![0; elements * inputs.dtype().size() as usize];
    inputs.fill(invocation, rank, first, &mut out);
    out
}

fn values(dtype: DataType, bytes: &[u8]) -> Vec<f64> {
    with_element!(dtype, E => bytes.chunks_exact(E::SIZE).map(|bytes| E::load(bytes).to_f64()).collect())
}

#[test]
fn a_range_is_the_same_wherever_it_starts_and_differs_by_all_that_it_depends_on() {
    let reductions = [None, Some(ReduceOp::Sum), Some(ReduceOp::Prod), Some(ReduceOp::Max)];
    for dtype in DataType::ALL {
        for reduced in reductions {
            let inputs = Inputs::new(7, dtype, reduced, 5);
            let size = dtype.size() as usize;
            let all = drawn(&inputs, 1, 2, 0, 300);
            assert_eq!(drawn(&inputs, 1, 2, 100, 50), all[100 * size..150 * size]);
            assert_ne!(drawn(&inputs, 0, 2, 0, 300), all);
            assert_ne!(drawn(&inputs, 1, 1, 0, 300), all);
            assert_ne!(drawn(&Inputs::new(8, dtype, reduced, 5), 1, 2, 0, 300), all);
        }
    }
}

#[test]
fn floats_are_finite_and_of_both_signs() {
    for dtype in FLOATS {
        for reduced in [None, Some(ReduceOp::Sum), Some(ReduceOp::Prod), Some(ReduceOp::Min)] {
            for ranks in [1, 2, 64, 4096] {
                let inputs = Inputs::new(1, dtype, reduced, ranks);
                let values = values(dtype, &drawn(&inputs, 0, ranks - 1, 0, 2000));
                assert!(values.iter().all(|value| value.is_finite() && value.abs() < 3e9));
                assert!(values.iter().any(|value| *value < 0.0) && values.iter().any(|value| *value > 0.0));
            }
        }
    }
}

#[test]
fn integers_have_the_full_range() {
    let inputs = Inputs::new(1, DataType::Uint8, None, 2);
    let mut seen = [false; 256];
    for byte in drawn(&inputs, 0, 0, 0, 4000) {
        seen[usize::from(byte)] = true;
    }
    assert!(seen.iter().all(|seen| *seen));
    let odd = Inputs::new(1, DataType::Int64, Some(ReduceOp::Prod), 2);
    assert!(drawn(&odd, 0, 0, 0, 100).chunks(8).all(|bytes| bytes[0] & 1 == 1));
}

/// Reduces all ranks' inputs in ascending and in descending order.
fn both_orders(inputs: &Inputs, op: ReduceOp, ranks: u32) -> (Vec<f64>, Vec<f64>) {
    let dtype = inputs.dtype();
    let fold = |order: &mut dyn Iterator<Item = u32>| {
        let mut acc = drawn(inputs, 0, order.next().unwrap(), 0, 200);
        order.for_each(|rank| reduce(dtype, op, &mut acc, &drawn(inputs, 0, rank, 0, 200)));
        values(dtype, &acc)
    };
    (fold(&mut (0..ranks)), fold(&mut (0..ranks).rev()))
}

#[test]
fn even_elements_are_exact_in_any_order_and_odd_ones_are_not() {
    for dtype in FLOATS {
        for op in [ReduceOp::Sum, ReduceOp::Prod] {
            for ranks in [3, 64, 3000] {
                let inputs = Inputs::new(11, dtype, Some(op), ranks);
                let (up, down) = both_orders(&inputs, op, ranks);
                let exact = (0..ranks).map(|rank| values(dtype, &drawn(&inputs, 0, rank, 0, 200))).fold(
                    vec![if op == ReduceOp::Sum { 0.0 } else { 1.0 }; 200],
                    |acc, rank| {
                        acc.iter().zip(rank).map(|(a, b)| if op == ReduceOp::Sum { a + b } else { a * b }).collect()
                    },
                );
                for element in (0..200).step_by(2) {
                    assert!(inputs.is_exact(element as u64));
                    assert_eq!((up[element], down[element]), (exact[element], exact[element]), "{dtype} {op} {ranks}");
                }
                let rounded = (1..200).step_by(2).filter(|element| up[*element] != down[*element]).count();
                assert!(!inputs.is_exact(1));
                assert!(rounded > 5, "{dtype} {op} {ranks}: {rounded}");
                assert!(up.iter().chain(&down).all(|value| value.is_finite()));
            }
        }
    }
}
