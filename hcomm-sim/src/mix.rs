//! The one source of pseudo-random bits: inputs and schedules must stay the same for a seed in every release, which
//! no library promises.

/// SplitMix64's finaliser: a bijection whose every output bit depends on every input bit.
#[inline]
pub(crate) const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// SplitMix64's step.
pub(crate) const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// `bits` scaled to `0..below`, without the bias mattering for what it is used for.
#[inline]
pub(crate) const fn scale(bits: u64, below: u64) -> u64 {
    ((bits as u128 * below as u128) >> 64) as u64
}
