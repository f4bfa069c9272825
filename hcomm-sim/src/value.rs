//! Arithmetic on raw little-endian bytes, for every [`DataType`].
//!
//! * Integers wrap.
//! * `fp16` and `bf16` are computed in `f32` and rounded once for every reduction of two values, as inline reduction
//!   hardware does. That is the correctly rounded result: `f32` has more than twice their significand.
//! * `max` and `min` of floats are IEEE 754-2019's `maximum` and `minimum`: NaN if either is NaN (the canonical quiet
//!   NaN, so that no payload depends on the order), and −0 is below +0. So they do not depend on the order at all.
//!
//! A new type is one implementation of `Element` and one line in `with_element`.

mod float8;

use half::{bf16, f16};
use hcomm_core::dtype::{DataType, ReduceOp};

/// Replaces every element of `acc` by its reduction with the element of `other` at the same place.
///
/// Both are whole elements of `dtype`; what one has more than the other is left alone.
pub fn reduce(dtype: DataType, op: ReduceOp, acc: &mut [u8], other: &[u8]) {
    with_element!(dtype, E => match op {
        ReduceOp::Sum => zip::<E>(acc, other, E::plus),
        ReduceOp::Prod => zip::<E>(acc, other, E::times),
        ReduceOp::Max => zip::<E>(acc, other, E::larger),
        ReduceOp::Min => zip::<E>(acc, other, E::smaller),
    });
}

/// The value of the first element in `bytes`, for people; empty if there is none.
pub fn show(dtype: DataType, bytes: &[u8]) -> String {
    if let (Some(value), Some(byte)) = (float8::decoder(dtype), bytes.first()) {
        return value(*byte).to_string();
    }
    with_element!(dtype, E => bytes.get(..E::SIZE).map(|bytes| E::load(bytes).to_string()).unwrap_or_default())
}

/// Whether sums and products of the type are rounded, so that they depend on the order.
pub const fn rounds(dtype: DataType) -> bool {
    matches!(dtype, DataType::Fp16 | DataType::Fp32 | DataType::Fp64 | DataType::Bf16)
}

/// Half the distance from 1 to the next value: the largest relative error of one rounding. 0 for integers.
pub(crate) fn unit_roundoff(dtype: DataType) -> f64 {
    with_element!(dtype, E => if E::SIGNIFICAND == 0 { 0.0 } else { 0.5f64.powi(E::SIGNIFICAND as i32) })
}

/// A type of element: how it lies in memory, and how two are combined.
pub(crate) trait Element: Copy + std::fmt::Display {
    /// Bytes.
    const SIZE: usize;
    /// Bits of the significand, the hidden one included; 0 for integers.
    const SIGNIFICAND: u32;
    /// What is added to the exponent of a float; 0 for integers.
    const BIAS: u64;

    /// Reads `SIZE` bytes.
    fn load(bytes: &[u8]) -> Self;
    /// Writes `SIZE` bytes.
    fn store(self, bytes: &mut [u8]);
    /// The value whose bits are the low ones of `bits`.
    fn from_low_bits(bits: u64) -> Self;
    /// The nearest value.
    fn from_f64(value: f64) -> Self;
    /// The nearest `f64`.
    fn to_f64(self) -> f64;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn larger(self, other: Self) -> Self;
    fn smaller(self, other: Self) -> Self;
}

/// Evaluates `$body` with `$E` as the element type of `$dtype`.
macro_rules! with_element {
    ($dtype:expr, $E:ident => $body:expr) => {{
        use ::hcomm_core::dtype::DataType;
        #[allow(unused_imports, reason = "not every body names the trait's items")]
        use $crate::value::Element;
        macro_rules! arm {
            ($t:ty) => {{
                type $E = $t;
                $body
            }};
        }
        match $dtype {
            DataType::Int8 => arm!(i8),
            DataType::Int16 => arm!(i16),
            DataType::Int32 => arm!(i32),
            DataType::Int64 => arm!(i64),
            DataType::Uint8 => arm!(u8),
            DataType::Uint16 => arm!(u16),
            DataType::Uint32 => arm!(u32),
            DataType::Uint64 => arm!(u64),
            DataType::Fp16 => arm!(::half::f16),
            DataType::Fp32 => arm!(f32),
            DataType::Fp64 => arm!(f64),
            DataType::Bf16 => arm!(::half::bf16),
            DataType::Int128 => arm!(i128),
            // Copied only, so their bytes are all there is to them.
            DataType::Hif8 | DataType::Fp8e4m3 | DataType::Fp8e5m2 | DataType::Fp8e8m0 => arm!(u8),
        }
    }};
}
pub(crate) use with_element;

fn zip<E: Element>(acc: &mut [u8], other: &[u8], combine: impl Fn(E, E) -> E) {
    for (acc, other) in acc.chunks_exact_mut(E::SIZE).zip(other.chunks_exact(E::SIZE)) {
        combine(E::load(acc), E::load(other)).store(acc);
    }
}

macro_rules! lies_in_memory {
    ($t:ty) => {
        const SIZE: usize = size_of::<$t>();

        #[inline]
        fn load(bytes: &[u8]) -> Self {
            let mut own = [0; size_of::<$t>()];
            own.copy_from_slice(bytes);
            <$t>::from_le_bytes(own)
        }

        #[inline]
        fn store(self, bytes: &mut [u8]) {
            bytes.copy_from_slice(&self.to_le_bytes());
        }
    };
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Element for $t {
            const SIGNIFICAND: u32 = 0;
            const BIAS: u64 = 0;
            lies_in_memory!($t);

            #[inline]
            fn from_low_bits(bits: u64) -> Self {
                bits as $t
            }

            #[inline]
            fn from_f64(value: f64) -> Self {
                value as $t
            }

            #[inline]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline]
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline]
            fn smaller(self, other: Self) -> Self {
                self.min(other)
            }
        }
    )*};
}

macro_rules! floats {
    ($($t:ty: $significand:literal, $bias:literal, $bits:ty, $wide:ty, $widen:expr, $narrow:expr;)*) => {$(
        impl Element for $t {
            const SIGNIFICAND: u32 = $significand;
            const BIAS: u64 = $bias;
            lies_in_memory!($t);

            #[inline]
            fn from_low_bits(bits: u64) -> Self {
                <$t>::from_bits(bits as $bits)
            }

            #[inline]
            fn from_f64(value: f64) -> Self {
                $narrow(value as $wide)
            }

            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline]
            fn plus(self, other: Self) -> Self {
                $narrow($widen(self) + $widen(other))
            }

            #[inline]
            fn times(self, other: Self) -> Self {
                $narrow($widen(self) * $widen(other))
            }

            #[inline]
            fn larger(self, other: Self) -> Self {
                let (a, b) = ($widen(self), $widen(other));
                if a.is_nan() || b.is_nan() {
                    <$t>::NAN
                } else if a > b || (a == b && b.is_sign_negative()) {
                    self
                } else {
                    other
                }
            }

            #[inline]
            fn smaller(self, other: Self) -> Self {
                let (a, b) = ($widen(self), $widen(other));
                if a.is_nan() || b.is_nan() {
                    <$t>::NAN
                } else if a < b || (a == b && a.is_sign_negative()) {
                    self
                } else {
                    other
                }
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64, i128);
floats! {
    f16: 11, 15, u16, f32, f16::to_f32, f16::from_f32;
    bf16: 8, 127, u16, f32, bf16::to_f32, bf16::from_f32;
    f32: 24, 127, u32, f32, std::convert::identity, std::convert::identity;
    f64: 53, 1023, u64, f64, std::convert::identity, std::convert::identity;
}

#[cfg(test)]
mod tests;
