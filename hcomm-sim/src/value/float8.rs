//! What a byte of the 8-bit floats is worth, for people: nothing reduces these types.

use hcomm_core::dtype::DataType;

/// The value of a byte of a type, if it is an 8-bit float.
pub(super) fn decoder(dtype: DataType) -> Option<fn(u8) -> f32> {
    match dtype {
        DataType::Fp8e4m3 => Some(e4m3),
        DataType::Fp8e5m2 => Some(e5m2),
        DataType::Fp8e8m0 => Some(e8m0),
        DataType::Hif8 => Some(hif8),
        _ => None,
    }
}

/// 1, 4 and 3 bits, bias 7; no infinities, NaN where exponent and mantissa are all ones (OCP 8-bit floating point).
fn e4m3(byte: u8) -> f32 {
    if byte & 0x7f == 0x7f { f32::NAN } else { small(byte, 3, 7) }
}

/// 1, 5 and 2 bits, bias 15, infinities and NaNs as in IEEE 754 (OCP 8-bit floating point).
fn e5m2(byte: u8) -> f32 {
    match byte & 0x7f {
        0x7c => signed(byte, f32::INFINITY),
        0x7d.. => f32::NAN,
        _ => small(byte, 2, 15),
    }
}

/// 8 bits of exponent, bias 127, no sign: a scale; NaN is all ones (OCP microscaling formats).
fn e8m0(byte: u8) -> f32 {
    if byte == 0xff { f32::NAN } else { 2f32.powi(i32::from(byte) - 127) }
}

/// HiFloat8: after the sign a prefix code, the dot, that says how many bits the exponent has. An exponent is a sign and
/// a magnitude whose leading one is not stored; the rest is mantissa.
fn hif8(byte: u8) -> f32 {
    let bits = byte & 0x7f;
    // Width of the exponent, and bits of its prefix.
    let (width, dot) = match bits {
        _ if byte == 0x80 => return f32::NAN,
        0 => return 0.0,
        0x6f => return signed(byte, f32::INFINITY),
        0b110_0000.. => (4, 2),
        0b100_0000.. => (3, 2),
        0b010_0000.. => (2, 2),
        0b001_0000.. => (1, 3),
        0b000_1000.. => (0, 4),
        _ => return signed(byte, 2f32.powi(i32::from(bits) - 23)),
    };
    let fraction = 7 - dot - width;
    let mantissa = 1.0 + f32::from(bits & ((1 << fraction) - 1)) / f32::from(1u8 << fraction);
    let exponent = if width == 0 {
        0
    } else {
        let stored = bits >> fraction & ((1 << width) - 1);
        let leading = 1 << (width - 1);
        let magnitude = i32::from(leading | (stored & (leading - 1)));
        if stored & leading == 0 { magnitude } else { -magnitude }
    };
    signed(byte, mantissa * 2f32.powi(exponent))
}

/// A sign, an exponent and `fraction` bits of mantissa, with denormals and without special values.
fn small(byte: u8, fraction: u32, bias: i32) -> f32 {
    let mantissa = f32::from(byte & ((1 << fraction) - 1)) / f32::from(1u8 << fraction);
    let exponent = i32::from((byte & 0x7f) >> fraction);
    signed(
        byte,
        match exponent {
            0 => mantissa * 2f32.powi(1 - bias),
            _ => (1.0 + mantissa) * 2f32.powi(exponent - bias),
        },
    )
}

fn signed(byte: u8, value: f32) -> f32 {
    if byte & 0x80 == 0 { value } else { -value }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All values, by their bits: the sum of those that are finite, how many are NaN and infinite, the largest, and the
    /// smallest that is positive.
    fn summary(decode: fn(u8) -> f32) -> (f64, usize, usize, f32, f32) {
        let all: Vec<f32> = (0..=255).map(decode).collect();
        let finite = all.iter().copied().filter(|x| x.is_finite());
        (
            finite.clone().filter(|x| *x > 0.0).map(f64::from).sum(),
            all.iter().filter(|x| x.is_nan()).count(),
            all.iter().filter(|x| x.is_infinite()).count(),
            finite.clone().fold(0.0, f32::max),
            finite.filter(|x| *x > 0.0).fold(f32::MAX, f32::min),
        )
    }

    #[test]
    fn the_formats_ends_are_where_their_papers_say() {
        let ends = |decode| {
            let (_, nan, infinite, most, least) = summary(decode);
            (nan, infinite, most, least)
        };
        assert_eq!(ends(e4m3), (2, 0, 448.0, 2f32.powi(-9)));
        assert_eq!(ends(e5m2), (6, 2, 57344.0, 2f32.powi(-16)));
        assert_eq!(ends(e8m0), (1, 0, 2f32.powi(127), 2f32.powi(-127)));
        assert_eq!(ends(hif8), (1, 2, 32768.0, 2f32.powi(-22)));
    }

    /// Every positive value of HiFloat8 once: the dot leaves no gaps and no doubles.
    #[test]
    fn hif8_values_are_distinct_and_symmetric() {
        let mut positive: Vec<f32> = (1..0x80).map(hif8).collect();
        assert!((1..0x80u8).all(|byte| hif8(byte | 0x80) == -hif8(byte)));
        positive.sort_by(f32::total_cmp);
        assert!(positive.windows(2).all(|pair| pair[0] < pair[1]));
        // 3 mantissa bits around 1, fewer outwards.
        for value in [0.5, 0.5625, 1.125, 1.875, 2.25, 3.75, 4.5, 15.0, 20.0, 192.0, 256.0, 384.0] {
            assert!(positive.contains(&value), "{value}");
        }
        for missing in [1.0625, 4.25, 17.0, 272.0] {
            assert!(!positive.contains(&missing), "{missing}");
        }
    }
}
