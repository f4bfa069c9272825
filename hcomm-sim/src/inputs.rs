//! The inputs of a run: a pure function of (seed, invocation, rank, element).
//!
//! What is drawn depends on what becomes of it:
//!
//! * copied, or reduced by `max` or `min`: integers of full range; finite floats of both signs, 16 binades, and every
//!   mantissa.
//! * summed: integers of full range. Floats of odd elements are real-valued in (−1, 1) and round; those of even
//!   elements are integers so small that every partial sum is exact in any order, so that a missing or doubled
//!   contribution shows however many ranks there are and however coarse the type is.
//! * multiplied: odd integers (an even one would soon make every product 0). Floats of odd elements lie around 1 at a
//!   distance of at most 4/ranks; those of even elements are powers of two whose partial products are exact.

use crate::mix::{STEP, mix, scale};
use crate::value::{Element, with_element};
use hcomm_core::dtype::{DataType, ReduceOp};

/// Inputs of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    seed: u64,
    dtype: DataType,
    reduced: Option<ReduceOp>,
    ranks: u32,
}

/// How many ranks contribute a power of two other than 1 to a product that is exact.
const EXACT_FACTORS: u64 = 8;

impl Inputs {
    /// Inputs of `ranks` ranks for a program that copies them, or reduces them by `reduced`.
    pub fn new(seed: u64, dtype: DataType, reduced: Option<ReduceOp>, ranks: u32) -> Inputs {
        Inputs { seed, dtype, reduced, ranks: ranks.max(1) }
    }

    /// The type of an element.
    pub fn dtype(&self) -> DataType {
        self.dtype
    }

    /// Writes the input of `rank` in `invocation` from its element `first` on, as many whole elements as `out` holds.
    pub fn fill(&self, invocation: u64, rank: u32, first: u64, out: &mut [u8]) {
        let key = mix(mix(self.seed ^ STEP).wrapping_add(mix(invocation.wrapping_mul(STEP) ^ u64::from(rank))));
        let ranks = u64::from(self.ranks);
        with_element!(self.dtype, E => match (self.reduced, E::SIGNIFICAND) {
            (Some(ReduceOp::Sum), 1..) => {
                let exact = ExactSums::new(E::SIGNIFICAND, ranks);
                draw::<E>(key, first, out, |bits, element| {
                    if element % 2 == 1 { float(bits, 3) } else { exact.draw(bits, u64::from(rank), element) }
                });
            }
            (Some(ReduceOp::Prod), 1..) => draw::<E>(key, first, out, |bits, element| {
                if element % 2 == 1 { near_one(bits, ranks) } else { power_of_two(bits, u64::from(rank), element, ranks) }
            }),
            (Some(ReduceOp::Prod), 0) => draw::<E>(key, first, out, |bits, _| E::from_low_bits(bits | 1)),
            (_, 1..) => draw::<E>(key, first, out, |bits, _| float(bits, 4)),
            (_, 0) => draw::<E>(key, first, out, |bits, _| E::from_low_bits(bits)),
        });
    }

    /// Whether sums or products of element `element` are exact in any order.
    pub(crate) fn is_exact(&self, element: u64) -> bool {
        element.is_multiple_of(2)
            || !crate::value::rounds(self.dtype)
            || !matches!(self.reduced, Some(ReduceOp::Sum | ReduceOp::Prod))
    }
}

#[inline]
fn draw<E: Element>(key: u64, first: u64, out: &mut [u8], draw: impl Fn(u64, u64) -> E) {
    for (element, place) in (first..).zip(out.chunks_exact_mut(E::SIZE)) {
        draw(mix(key.wrapping_add(element.wrapping_mul(STEP))), element).store(place);
    }
}

/// A float of either sign and any mantissa, with an exponent in `-8..-8 + 2^binades`: sign and exponent come from the
/// high bits, the mantissa from the low ones.
#[inline]
fn float<E: Element>(bits: u64, binades: u32) -> E {
    compose(bits >> 63, (bits << 1 >> (64 - binades)) as i64 - 8, bits)
}

/// ±1.mantissa × 2^exponent.
#[inline]
fn compose<E: Element>(sign: u64, exponent: i64, mantissa: u64) -> E {
    let width = E::SIGNIFICAND - 1;
    let mantissa = mantissa & ((1 << width) - 1);
    let exponent = E::BIAS.wrapping_add_signed(exponent) << width;
    E::from_low_bits(sign << (E::SIZE * 8 - 1) | exponent | mantissa)
}

/// Integers whose magnitudes add up to at most 2^significand over all ranks.
struct ExactSums {
    ranks: u64,
    /// The largest magnitude.
    largest: u64,
    /// How many of the ranks contribute, to every element others.
    contribute: u64,
}

impl ExactSums {
    fn new(significand: u32, ranks: u64) -> ExactSums {
        let room = 1u64 << significand.min(30);
        ExactSums { ranks, largest: (room / ranks).max(1), contribute: room.min(ranks) }
    }

    #[inline]
    fn draw<E: Element>(&self, bits: u64, rank: u64, element: u64) -> E {
        if self.contribute < self.ranks && (rank + element / 2) % self.ranks >= self.contribute {
            return E::from_f64(0.0);
        }
        let magnitude = 1 + scale(bits << 1, self.largest);
        E::from_f64(if bits >> 63 == 1 { -(magnitude as f64) } else { magnitude as f64 })
    }
}

/// ±1, ±2 or ±1/2; other than ±1 for few of the ranks, to every element others.
#[inline]
fn power_of_two<E: Element>(bits: u64, rank: u64, element: u64, ranks: u64) -> E {
    let exponent = match (rank + element / 2) % ranks < EXACT_FACTORS {
        true => 1 - 2 * (bits & 1) as i64,
        false => 0,
    };
    compose(bits >> 63, exponent, 0)
}

/// Between 1 − 2/ranks and 1 + 4/ranks, of either sign.
#[inline]
fn near_one<E: Element>(bits: u64, ranks: u64) -> E {
    let width = E::SIGNIFICAND - 1;
    let all = 1u64 << width;
    let mantissa = scale(bits << 2, (all / ranks).saturating_mul(4).clamp(2, all));
    if bits >> 62 & 1 == 1 { compose(bits >> 63, 0, mantissa) } else { compose(bits >> 63, -1, all - 1 - mantissa) }
}

#[cfg(test)]
mod tests;
