//! The values of flags: never the same twice in a row, and never 0, which is what fresh memory holds.
//!
//! HCCL's form (facts 5.2): `counter << 16 | slice`, compared for equality. The counter is the rank's count of calls,
//! from 1 to 1000 and round; all ranks count the same calls. The slice counts the uses of a flag within a call, launch
//! after launch: what one flag holds before a record is always another value than what it is given.

use super::program::Program;

/// The largest counter; the one after it is 1.
pub const MAX_COUNTER: u32 = 1000;
/// The most uses of a flag in a launch: slices have 16 bits.
pub const MAX_STEPS: u32 = 1 << 15;

/// How the values of flags change from launch to launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Tags {
    /// Another one in every launch.
    #[default]
    PerCall,
    /// The same in every launch, as in HCCL's sample: a flag that was left by the last launch looks like a new one.
    Constant,
}

impl Program {
    /// The value of a flag in its use `step` of launch `round` of a call. `steps` is what [`Program::steps`] says.
    pub fn value(&self, steps: u32, counter: u32, round: u64, step: u32) -> u32 {
        let (counter, round) = match self.tags {
            Tags::PerCall => (counter.clamp(1, MAX_COUNTER), round),
            Tags::Constant => (1, 0),
        };
        let slice = round.wrapping_mul(u64::from(steps)).wrapping_add(u64::from(step)).wrapping_add(1);
        counter << 16 | (slice & 0xffff) as u32
    }
}

/// The counter of the call after a call.
pub(crate) const fn next_counter(counter: u32) -> u32 {
    if counter >= MAX_COUNTER { 1 } else { counter + 1 }
}

impl Tags {
    /// The counter of call `call`, from 0, where that of the first one is `first`.
    pub const fn counter(first: u32, call: u64) -> u32 {
        let before = if first == 0 { 0 } else { (first - 1) % MAX_COUNTER };
        let call = ((before as u64 + call % MAX_COUNTER as u64) % MAX_COUNTER as u64) as u32;
        next_counter(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_go_round_and_are_never_0() {
        assert_eq!([0, 1, 2].map(|call| Tags::counter(1, call)), [1, 2, 3]);
        assert_eq!([0, 1, 2].map(|call| Tags::counter(999, call)), [999, 1000, 1]);
        assert_eq!(Tags::counter(1, 1000), 1);
        assert!((0..3000).all(|call| (1..=MAX_COUNTER).contains(&Tags::counter(0, call))));
    }
}
