//! The types that a buffer's elements, and a kernel's parameters, may have.

use cuda_source::types::Scalar;
use gemm::Element as Float;

/// A number's type, as `--arg` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// A whole number with a sign, of so many bytes.
    Signed(usize),
    /// A whole number without.
    Unsigned(usize),
    /// A floating-point number.
    Float(Float),
}

/// The names of the types.
const NAMES: [(&str, Element); 15] = [
    ("i8", Element::Signed(1)),
    ("u8", Element::Unsigned(1)),
    ("i16", Element::Signed(2)),
    ("u16", Element::Unsigned(2)),
    ("i32", Element::Signed(4)),
    ("u32", Element::Unsigned(4)),
    ("i64", Element::Signed(8)),
    ("u64", Element::Unsigned(8)),
    ("e4m3", Element::Float(Float::E4m3)),
    ("e5m2", Element::Float(Float::E5m2)),
    ("f16", Element::Float(Float::F16)),
    ("bf16", Element::Float(Float::Bf16)),
    ("tf32", Element::Float(Float::Tf32)),
    ("f32", Element::Float(Float::F32)),
    ("f64", Element::Float(Float::F64)),
];

impl Element {
    /// The type of this name, or why there is none.
    pub fn named(name: &str) -> Result<Element, String> {
        let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, element)| *element);
        known.ok_or_else(|| format!("`{name}` is no type; there are {}", NAMES.map(|(name, _)| name).join(" ")))
    }

    /// The type that a parameter of the PTX has, unless it is a structure.
    pub fn of_parameter(kind: &str, bytes: u64) -> Option<Element> {
        match (kind, bytes) {
            ("f32", 4) => Some(Element::Float(Float::F32)),
            ("f64", 8) => Some(Element::Float(Float::F64)),
            ("f16", 2) => Some(Element::Float(Float::F16)),
            ("bf16", 2) => Some(Element::Float(Float::Bf16)),
            (kind, 1 | 2 | 4 | 8) if kind.starts_with('s') => Some(Element::Signed(bytes as usize)),
            (_, 1 | 2 | 4 | 8) => Some(Element::Unsigned(bytes as usize)),
            _ => None,
        }
    }

    /// The name of the type that a kernel's text calls so, if it is a number's.
    pub fn of_text(scalar: Scalar, text: &str) -> &'static str {
        let whole = || {
            let word =
                |word: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part.starts_with(word));
            let bits = match () {
                _ if word("char") || word("uchar") || word("int8") || word("uint8") || word("bool") => "8",
                _ if word("short") || word("ushort") || word("int16") || word("uint16") => "16",
                _ if word("long") || word("int64") || word("uint64") || word("size_t") || word("ulong") => "64",
                _ => "32",
            };
            let signed = !(word("u") || word("size_t") || word("bool"));
            let is_meant = |name: &&str| name.starts_with(if signed { 'i' } else { 'u' }) && &name[1..] == bits;
            NAMES.iter().map(|(name, _)| *name).find(is_meant).unwrap_or("i32")
        };
        match scalar {
            Scalar::F64 => "f64",
            Scalar::F32 => "f32",
            Scalar::F16 => "f16",
            Scalar::Bf16 => "bf16",
            Scalar::E4m3 => "e4m3",
            Scalar::E5m2 => "e5m2",
            Scalar::Whole => whole(),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, element)| *element == self).map_or("", |(name, _)| name)
    }

    /// Bytes of one.
    pub fn bytes(self) -> usize {
        match self {
            Element::Signed(bytes) | Element::Unsigned(bytes) => bytes,
            Element::Float(float) => float.bytes(),
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Element::Float(_))
    }

    /// The bytes of a number that is written as a word: `-3`, `0x1f`, `0.5`, `inf`, `nan`.
    pub fn parse(self, word: &str) -> Result<Vec<u8>, String> {
        let no_number = || format!("`{word}` is no {}", self.name());
        if self.is_float() {
            return Ok(self.float(word.parse().map_err(|_| no_number())?));
        }
        let (sign, digits) = word.strip_prefix('-').map_or((1, word), |rest| (-1, rest));
        let hexadecimal = digits.strip_prefix("0x").map(|digits| i128::from_str_radix(digits, 16));
        let number = sign * hexadecimal.unwrap_or_else(|| digits.parse()).map_err(|_| no_number())?;
        self.whole(number).ok_or_else(|| format!("{number} does not fit into {}", self.name()))
    }

    /// The bytes of a whole number, if it fits.
    pub fn whole(self, number: i128) -> Option<Vec<u8>> {
        let bits = 8 * self.bytes() as u32;
        let fits = match self {
            Element::Signed(_) => number >= -(1 << (bits - 1)) && number < 1 << (bits - 1),
            Element::Unsigned(_) => number >= 0 && number < 1 << bits,
            _ => return Some(self.float(number as f64)),
        };
        fits.then(|| number.to_le_bytes()[..self.bytes()].to_vec())
    }

    /// The bytes of a real number, rounded; of a whole one for whole types.
    pub fn float(self, number: f64) -> Vec<u8> {
        match self {
            Element::Float(float) => float.nearest(number)[..float.bytes()].to_vec(),
            Element::Signed(bytes) => (number as i64).to_le_bytes()[..bytes].to_vec(),
            Element::Unsigned(bytes) => (number as u64).to_le_bytes()[..bytes].to_vec(),
        }
    }

    /// The number that bytes are, exact for whole ones.
    pub fn number(self, bytes: &[u8]) -> Number {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let shift = 64 - 8 * bytes.len() as u32;
        match self {
            Element::Signed(_) => Number::Whole((i64::from_le_bytes(wide) << shift >> shift).into()),
            Element::Unsigned(_) => Number::Whole(u64::from_le_bytes(wide).into()),
            Element::Float(Float::F64) => Number::Double(f64::from_le_bytes(wide)),
            // Every other one is a float, exactly.
            Element::Float(float) => Number::Single(float.value(bytes) as f32),
        }
    }
}

/// A number out of a buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Of a whole type.
    Whole(i128),
    /// Of a floating-point type up to f32.
    Single(f32),
    /// Of f64.
    Double(f64),
}

impl Number {
    /// As a double, rounded.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Whole(number) => number as f64,
            Number::Single(number) => number.into(),
            Number::Double(number) => number,
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Whole(number) => write!(f, "{number}"),
            Number::Single(number) => write!(f, "{number}"),
            Number::Double(number) => write!(f, "{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_reads_what_it_writes() {
        for (name, element) in NAMES {
            assert_eq!(Element::named(name), Ok(element));
            assert_eq!(element.name(), name);
            let bytes = element.parse("5").unwrap();
            assert_eq!(bytes.len(), element.bytes(), "{name}");
            assert_eq!(element.number(&bytes).to_string(), "5", "{name}");
        }
        assert_eq!(Element::Signed(2).number(&Element::Signed(2).parse("-3").unwrap()), Number::Whole(-3));
        assert_eq!(Element::Unsigned(1).parse("0xff"), Ok(vec![255]));
        assert!(Element::Float(Float::F32).number(&Element::Float(Float::F32).parse("nan").unwrap()).to_f64().is_nan());
    }

    #[test]
    fn what_does_not_fit_says_so() {
        assert_eq!(Element::Unsigned(1).parse("256").unwrap_err(), "256 does not fit into u8");
        assert_eq!(Element::Unsigned(4).parse("-1").unwrap_err(), "-1 does not fit into u32");
        assert_eq!(Element::Signed(1).parse("-129").unwrap_err(), "-129 does not fit into i8");
        assert_eq!(Element::Signed(4).parse("1.5").unwrap_err(), "`1.5` is no i32");
        assert!(Element::named("float").unwrap_err().starts_with("`float` is no type; there are i8 u8"));
    }
}
