//! Arithmetic against models that are wider, and known cases.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn one(dtype: DataType, op: ReduceOp, a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut acc = a.to_vec();
    reduce(dtype, op, &mut acc, b);
    acc
}

/// All pairs of 8 and 16 bit integers that are at an end of the range or small, against `i128`.
#[test]
fn integers_wrap() {
    macro_rules! check {
        ($($t:ty: $dtype:ident),*) => {$(
            let values = [<$t>::MIN, <$t>::MIN + 1, 0, 1, 2, 3, 7, 100, <$t>::MAX / 2, <$t>::MAX - 1, <$t>::MAX];
            for a in values {
                for b in values {
                    let got = |op| {
                        let bytes = one(DataType::$dtype, op, &a.to_le_bytes(), &b.to_le_bytes());
                        <$t>::from_le_bytes(bytes.try_into().unwrap())
                    };
                    let (wide_a, wide_b) = (a as i128, b as i128);
                    assert_eq!(got(ReduceOp::Sum), (wide_a + wide_b) as $t);
                    assert_eq!(got(ReduceOp::Prod), wide_a.wrapping_mul(wide_b) as $t);
                    assert_eq!(got(ReduceOp::Max) as i128, wide_a.max(wide_b));
                    assert_eq!(got(ReduceOp::Min) as i128, wide_a.min(wide_b));
                }
            }
        )*};
    }
    check!(i8: Int8, i16: Int16, i32: Int32, i64: Int64, u8: Uint8, u16: Uint16, u32: Uint32, u64: Uint64);
}

/// The sum and the product of two halves are exact in `f64`: rounding that once is the reference.
#[test]
fn halves_are_rounded_once() {
    let mut bits = 1u64;
    for _ in 0..200_000 {
        bits = crate::mix::mix(bits.wrapping_add(crate::mix::STEP));
        let (a, b) = (f16::from_bits(bits as u16), f16::from_bits((bits >> 16) as u16));
        if a.is_finite() && b.is_finite() {
            let (wide_a, wide_b) = (f64::from(a), f64::from(b));
            assert_eq!(a.plus(b).to_bits(), f16::from_f64(wide_a + wide_b).to_bits(), "{a} + {b}");
            assert_eq!(a.times(b).to_bits(), f16::from_f64(wide_a * wide_b).to_bits(), "{a} * {b}");
        }
        let (a, b) = (bf16::from_bits((bits >> 32) as u16), bf16::from_bits((bits >> 48) as u16));
        if a.is_finite() && b.is_finite() {
            let (wide_a, wide_b) = (f64::from(a), f64::from(b));
            assert_eq!(a.times(b).to_bits(), bf16::from_f64(wide_a * wide_b).to_bits(), "{a} * {b}");
            // Exact in f64 if the exponents are not far apart.
            if (wide_a / wide_b).abs().log2().abs() < 40.0 {
                assert_eq!(a.plus(b).to_bits(), bf16::from_f64(wide_a + wide_b).to_bits(), "{a} + {b}");
            }
        }
    }
}

#[test]
fn floats_at_the_edges() {
    let sum = |a: f32, b: f32| {
        f32::from_le_bytes(one(DataType::Fp32, ReduceOp::Sum, &a.to_le_bytes(), &b.to_le_bytes()).try_into().unwrap())
    };
    assert_eq!(sum(1.0, f32::EPSILON / 2.0), 1.0);
    assert_eq!(sum(f32::MAX, f32::MAX), f32::INFINITY);
    let max = f16::MAX;
    assert_eq!(max.plus(max), f16::INFINITY);
    assert_eq!(f16::from_f32(2048.0).plus(f16::ONE), f16::from_f32(2048.0));
    assert_eq!(bf16::from_f32(256.0).plus(bf16::ONE), bf16::from_f32(256.0));
    assert_eq!(1e300f64.times(1e300), f64::INFINITY);
}

#[test]
fn max_and_min_do_not_depend_on_the_order() {
    fn check<E: Element + PartialEq>(values: &[E], nan: E) {
        let bytes = |value: E| {
            let mut bytes = vec![0; E::SIZE];
            value.store(&mut bytes);
            bytes
        };
        for a in values {
            for b in values {
                assert_eq!(bytes(a.larger(*b)), bytes(b.larger(*a)));
                assert_eq!(bytes(a.smaller(*b)), bytes(b.smaller(*a)));
            }
            assert_eq!(bytes(a.larger(nan)), bytes(nan));
            assert_eq!(bytes(nan.smaller(*a)), bytes(nan));
        }
        let [minus_zero, zero, one] = [values[0], values[1], values[2]];
        assert_eq!(bytes(minus_zero.larger(zero)), bytes(zero));
        assert_eq!(bytes(zero.smaller(minus_zero)), bytes(minus_zero));
        assert_eq!(bytes(zero.larger(one)), bytes(one));
        assert_eq!(bytes(zero.smaller(one)), bytes(zero));
    }
    check(&[-0.0, 0.0, 1.0, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE], f32::NAN);
    check(&[-0.0, 0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE], f64::NAN);
    check(&[f16::NEG_ZERO, f16::ZERO, f16::ONE, f16::INFINITY, f16::NEG_INFINITY], f16::NAN);
    check(&[bf16::NEG_ZERO, bf16::ZERO, bf16::ONE, bf16::INFINITY, bf16::NEG_INFINITY], bf16::NAN);
}

#[test]
fn only_whole_elements_that_both_have_are_reduced() {
    assert_eq!(one(DataType::Int16, ReduceOp::Sum, &[1, 0, 2, 0, 9], &[1, 0]), [2, 0, 2, 0, 9]);
}

#[test]
fn values_are_shown_as_numbers() {
    assert_eq!(show(DataType::Int8, &[255]), "-1");
    assert_eq!(show(DataType::Bf16, &bf16::from_f32(-1.5).to_le_bytes()), "-1.5");
    assert_eq!(show(DataType::Fp64, &[0]), "");
}

#[test]
fn the_unit_roundoff_is_that_of_the_type() {
    assert_eq!(unit_roundoff(DataType::Fp32), f64::from(f32::EPSILON) / 2.0);
    assert_eq!(unit_roundoff(DataType::Fp64), f64::EPSILON / 2.0);
    assert_eq!(unit_roundoff(DataType::Fp16), f64::from(f16::EPSILON) / 2.0);
    assert_eq!(unit_roundoff(DataType::Bf16), f64::from(bf16::EPSILON) / 2.0);
    assert_eq!(unit_roundoff(DataType::Int32), 0.0);
}
