//! The types that a matrix's elements may have, and what the bytes of one mean.

use std::fmt;

/// The type of a matrix's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    /// IEEE's double.
    F64,
    /// IEEE's float.
    F32,
    /// A float of which tensor cores read the upper 19 bits; in memory it has 32, the lower 13 of them 0.
    Tf32,
    /// IEEE's half.
    F16,
    /// The upper half of a float.
    Bf16,
    /// Eight bits, four of them exponent; no infinity (OCP 8-bit Floating Point Specification, revision 1.0).
    E4m3,
    /// Eight bits, five of them exponent (the same specification).
    E5m2,
    /// A whole number of 32 bits, with a sign.
    S32,
    /// A whole number of eight bits, with a sign.
    S8,
}

/// How a type narrower than a float divides its bits.
struct Format {
    exponent_bits: u32,
    fraction_bits: u32,
    /// Bits below the fraction that memory has and the type has not.
    unused_bits: u32,
    has_infinity: bool,
}

impl Element {
    /// Every type: floats, the widest first, then whole numbers.
    pub const ALL: [Element; 9] = [
        Element::F64,
        Element::F32,
        Element::Tf32,
        Element::F16,
        Element::Bf16,
        Element::E4m3,
        Element::E5m2,
        Element::S32,
        Element::S8,
    ];

    /// Bytes of one in memory.
    pub fn bytes(self) -> usize {
        match self {
            Element::F64 => 8,
            Element::F32 | Element::Tf32 | Element::S32 => 4,
            Element::F16 | Element::Bf16 => 2,
            Element::E4m3 | Element::E5m2 | Element::S8 => 1,
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Element::F64 => "f64",
            Element::F32 => "f32",
            Element::Tf32 => "tf32",
            Element::F16 => "f16",
            Element::Bf16 => "bf16",
            Element::E4m3 => "e4m3",
            Element::E5m2 => "e5m2",
            Element::S32 => "s32",
            Element::S8 => "s8",
        }
    }

    /// Bits of the significand, the leading one among them; of a whole number all.
    pub fn precision(self) -> i32 {
        match self {
            Element::F64 => f64::MANTISSA_DIGITS as i32,
            Element::F32 => f32::MANTISSA_DIGITS as i32,
            Element::Tf32 | Element::F16 => 11,
            Element::Bf16 => 8,
            Element::E4m3 => 4,
            Element::E5m2 => 3,
            Element::S32 => 32,
            Element::S8 => 8,
        }
    }

    /// The least and the largest whole number of a type that has no others: what is computed in it is exact.
    pub fn whole(self) -> Option<[i32; 2]> {
        match self {
            Element::S32 => Some([i32::MIN, i32::MAX]),
            Element::S8 => Some([i8::MIN.into(), i8::MAX.into()]),
            _ => None,
        }
    }

    /// Half of the distance from 1 to the next larger number: the largest relative error of one rounding.
    pub fn unit_roundoff(self) -> f64 {
        2.0f64.powi(-self.precision())
    }

    /// The least positive number, a subnormal one: below the least normal number it is what errors are counted in.
    pub fn smallest(self) -> f64 {
        match self {
            Element::F64 => f64::from_bits(1),
            Element::F32 => f32::from_bits(1).into(),
            _ => self.format().map_or(0.0, |format| format.smallest()),
        }
    }

    /// The number that the bytes of one element are, exactly.
    pub fn value(self, bytes: &[u8]) -> f64 {
        let mut value = [0.0];
        self.read(bytes, &mut value);
        value[0]
    }

    /// The numbers that the bytes of some elements are, exactly.
    pub fn read(self, bytes: &[u8], values: &mut [f64]) {
        match (self, self.format()) {
            (Element::F64, _) => convert(bytes, values, f64::from_le_bytes),
            (Element::S32, _) => convert(bytes, values, |b| i32::from_le_bytes(b).into()),
            (Element::S8, _) => convert(bytes, values, |b| i8::from_le_bytes(b).into()),
            (Element::F32, _) | (_, None) => convert(bytes, values, |b| f32::from_le_bytes(b).into()),
            (Element::Tf32, Some(format)) => convert(bytes, values, |b| format.value(u32::from_le_bytes(b))),
            (Element::F16 | Element::Bf16, Some(format)) => {
                convert(bytes, values, |b| format.value(u16::from_le_bytes(b).into()));
            }
            (Element::E4m3 | Element::E5m2, Some(format)) => {
                convert(bytes, values, |[byte]: [u8; 1]| format.value(byte.into()));
            }
        }
    }

    /// The bytes of the nearest element to a number, of two the even one; written to the front of eight. NaN becomes the least one,
    /// where all are whole numbers.
    pub fn nearest(self, value: f64) -> [u8; 8] {
        if let Some([least, most]) = self.whole() {
            let nearest = if value.is_nan() { least } else { (value.round_ties_even() as i32).clamp(least, most) };
            return i64::from(nearest).to_le_bytes();
        }
        let bits = match (self, self.format()) {
            (Element::F64, _) => value.to_bits(),
            (_, Some(format)) => format.nearest(value).into(),
            (_, None) => (value as f32).to_bits().into(),
        };
        bits.to_le_bytes()
    }

    /// The nearest element to a number, as a number.
    pub fn rounded(self, value: f64) -> f64 {
        self.value(&self.nearest(value)[..self.bytes()])
    }

    fn format(self) -> Option<Format> {
        let format = |exponent_bits, fraction_bits, unused_bits, has_infinity| {
            Some(Format { exponent_bits, fraction_bits, unused_bits, has_infinity })
        };
        match self {
            Element::F64 | Element::F32 | Element::S32 | Element::S8 => None,
            Element::Tf32 => format(8, 10, 13, true),
            Element::F16 => format(5, 10, 0, true),
            Element::Bf16 => format(8, 7, 0, true),
            Element::E4m3 => format(4, 3, 0, false),
            Element::E5m2 => format(5, 2, 0, true),
        }
    }
}

/// Every `SIZE` bytes are an element.
fn convert<const SIZE: usize>(bytes: &[u8], values: &mut [f64], value: impl Fn([u8; SIZE]) -> f64) {
    for (bytes, to) in bytes.as_chunks().0.iter().zip(values) {
        *to = value(*bytes);
    }
}

/// 2ⁿ, where it is a normal number.
fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

impl Format {
    fn bias(&self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    fn smallest(&self) -> f64 {
        power_of_two(1 - self.bias() - self.fraction_bits as i32)
    }

    /// The bits of the first number that is not finite, or, without infinity, of the only one.
    fn first_special(&self) -> u32 {
        let all_ones = (1 << (self.exponent_bits + self.fraction_bits)) - 1;
        if self.has_infinity { all_ones >> self.fraction_bits << self.fraction_bits } else { all_ones }
    }

    fn value(&self, bits: u32) -> f64 {
        let bits = bits >> self.unused_bits;
        let sign_bit = 1 << (self.exponent_bits + self.fraction_bits);
        let sign = if bits & sign_bit == 0 { 1.0 } else { -1.0 };
        let size = bits & (sign_bit - 1);
        if size >= self.first_special() {
            let infinite = self.has_infinity && size == self.first_special();
            return if infinite { sign * f64::INFINITY } else { f64::NAN };
        }
        let hidden = 1 << self.fraction_bits;
        let (exponent, fraction) = (size >> self.fraction_bits, size & (hidden - 1));
        // Subnormal numbers have the exponent of the least normal ones, and no hidden bit.
        let significand = if exponent == 0 { fraction } else { fraction + hidden };
        sign * f64::from(significand) * (self.smallest() * power_of_two(exponent.max(1) as i32 - 1))
    }

    fn nearest(&self, value: f64) -> u32 {
        let sign = u32::from(value.is_sign_negative()) << (self.exponent_bits + self.fraction_bits);
        let quiet = self.first_special() | 1 << (self.fraction_bits - 1);
        let size = if value.is_nan() {
            quiet
        } else {
            // A double's own exponent, 0 for what is subnormal there: such a number is far below all formats.
            let exponent = (value.abs().to_bits() >> 52) as i32 - 1023;
            let above_least = (exponent + self.bias() - 1).clamp(0, 1 << self.exponent_bits);
            let unit = self.smallest() * power_of_two(above_least);
            let units = (value.abs() / unit).round_ties_even();
            // The hidden bit of a normal number is the first step of its exponent, and so is a carry out of the fraction.
            let bits = f64::from(above_least) * f64::from(1 << self.fraction_bits) + units;
            if bits < f64::from(self.first_special()) { bits as u32 } else { self.first_special() }
        };
        (sign | size) << self.unused_bits
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    /// All numbers of a narrow type, by their bits.
    fn bit_patterns(element: Element) -> impl Iterator<Item = Vec<u8>> {
        (0..1u32 << (8 * element.bytes())).map(move |bits| bits.to_le_bytes()[..element.bytes()].to_vec())
    }

    #[test]
    fn every_number_of_a_narrow_type_is_its_own_nearest() {
        for element in [Element::F16, Element::Bf16, Element::E4m3, Element::E5m2, Element::S8] {
            for bytes in bit_patterns(element) {
                let value = element.value(&bytes);
                let back = element.nearest(value)[..element.bytes()].to_vec();
                assert!(
                    back == bytes || (value.is_nan() && element.value(&back).is_nan()),
                    "{element} {bytes:?} {value}"
                );
            }
        }
    }

    #[test]
    fn halves_are_those_of_the_crate_for_them() {
        for bytes in bit_patterns(Element::F16).map(|b| [b[0], b[1]]) {
            let (half, brain) = (f16::from_le_bytes(bytes).to_f64(), bf16::from_le_bytes(bytes).to_f64());
            assert!(Element::F16.value(&bytes).to_bits() == half.to_bits() || half.is_nan());
            assert!(Element::Bf16.value(&bytes).to_bits() == brain.to_bits() || brain.is_nan());
        }
    }

    #[test]
    fn no_neighbour_is_nearer() {
        for element in [Element::Tf32, Element::F16, Element::Bf16, Element::E4m3, Element::E5m2] {
            let unused = element.format().unwrap().unused_bits;
            let mut x = element.smallest() / 3.0;
            while element.rounded(x).is_finite() {
                let bits = u32::from_le_bytes(*element.nearest(x).first_chunk().unwrap());
                let off = |bits: u32| (element.value(&bits.to_le_bytes()[..element.bytes()]) - x).abs();
                let neighbours = [bits.saturating_sub(1 << unused), bits + (1 << unused)];
                assert!(
                    neighbours.into_iter().all(|other| off(bits) <= off(other) || off(other).is_nan()),
                    "{element} {x:e}"
                );
                assert_eq!(element.rounded(-x), -element.rounded(x), "{element} {x:e}");
                x *= 1.003;
            }
        }
    }

    #[test]
    fn ties_go_to_the_even_neighbour() {
        let just_above = 1.0f64.to_bits() + 1;
        for (element, step) in [(Element::Tf32, 2f64.powi(-10)), (Element::E4m3, 0.125), (Element::E5m2, 0.25)] {
            assert_eq!(element.rounded(1.0 + step / 2.0), 1.0, "{element}");
            assert_eq!(element.rounded(1.0 + 3.0 * step / 2.0), 1.0 + 2.0 * step, "{element}");
            let above = (1.0 + step / 2.0) * f64::from_bits(just_above);
            assert_eq!(element.rounded(above), 1.0 + step, "{element}");
            assert_eq!(element.unit_roundoff(), step / 2.0, "{element}");
        }
    }

    #[test]
    fn the_largest_and_the_least_numbers_are_those_of_the_specification() {
        assert_eq!(Element::E4m3.value(&[0x7e]), 448.0);
        assert_eq!(Element::E5m2.value(&[0x7b]), 57_344.0);
        assert!(Element::E4m3.value(&[0x7f]).is_nan());
        assert_eq!(Element::E5m2.value(&[0xfc]), f64::NEG_INFINITY);
        assert_eq!(Element::E4m3.smallest(), 2f64.powi(-9));
        assert_eq!(Element::E5m2.smallest(), 2f64.powi(-16));
        assert_eq!(Element::F16.smallest(), 2f64.powi(-24));
        assert_eq!(Element::Tf32.smallest(), 2f64.powi(-136));
        assert_eq!(Element::F32.smallest(), 2f64.powi(-149));
        // Without an infinity what is too large is not a number.
        assert!(Element::E4m3.rounded(1e9).is_nan());
        assert_eq!(Element::F16.rounded(65_520.0), f64::INFINITY);
        assert_eq!(Element::F16.rounded(65_519.0), 65_504.0);
    }

    #[test]
    fn a_tf32_is_a_float_whose_low_bits_are_zero() {
        for value in [1.0 / 3.0, -1e-40, 3e38, 1e-45] {
            let bits = u32::from_le_bytes(*Element::Tf32.nearest(value).first_chunk().unwrap());
            assert_eq!(bits & 0x1fff, 0);
            assert_eq!(Element::Tf32.rounded(value), f64::from(f32::from_bits(bits)), "{value}");
        }
    }
    #[test]
    fn whole_numbers_are_rounded_and_stay_in_their_range() {
        for (value, nearest) in [(0.5, 0.0), (1.5, 2.0), (-2.5, -2.0), (127.4, 127.0), (1e9, 127.0), (-1e9, -128.0)] {
            assert_eq!(Element::S8.rounded(value), nearest, "{value}");
        }
        assert_eq!(Element::S8.rounded(f64::NAN), -128.0);
        assert_eq!(Element::S32.rounded(f64::NAN), f64::from(i32::MIN));
        assert_eq!(Element::S32.rounded(2_147_467_264.0), 2_147_467_264.0);
        assert_eq!(Element::S32.nearest(-2.0)[..4], [0xfe, 0xff, 0xff, 0xff]);
    }
}
