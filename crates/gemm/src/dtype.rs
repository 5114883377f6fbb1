//! Combinations of types: of A and B, of the sum along K, and of C.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::element::Element;
use crate::error::Error;

/// The types of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dtype {
    /// Of the elements of A and B.
    pub input: Element,
    /// In which products are summed.
    pub sum: Element,
    /// Of the elements of C.
    pub output: Element,
}

/// How the products of a row of A and a column of B become a sum: what an error bound follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    /// One after the other, in any order, each rounded to the nearest number of the sum's type: by FMA, and by the tensor cores
    /// in f64.
    Rounded,
    /// By tensor cores: so many products and the sum so far at once. Every term is cut off so many bits below the largest, and
    /// the result to so many significant bits (MMA-Sim, arXiv 2511.10909).
    Cut {
        /// Products that are added at once.
        terms: u32,
        /// Bits of a term that count, below the exponent of the largest one.
        bits: u32,
        /// Significant bits of the result.
        precision: i32,
    },
    /// By tensor cores in the same way, but only so many products, beginning at 0; such sums are added in the sum's type, each time
    /// rounded to the nearest number.
    Promoted {
        /// As of [`Sum::Cut`].
        terms: u32,
        /// As of [`Sum::Cut`].
        bits: u32,
        /// As of [`Sum::Cut`].
        precision: i32,
        /// Products of which tensor cores make the sum.
        every: u32,
    },
    /// Of numbers in f32, each cut into a high and a low part in f16, of 11 bits each; the product of the low parts is left out. Tensor
    /// cores multiply and sum as of [`Sum::Promoted`], the products of high parts apart from the others.
    Halved {
        /// Products of which tensor cores make the sum.
        every: u32,
    },
}

impl Sum {
    /// Whether it loses bits of an f32, as tensor cores' sums of fp8 along all of K do.
    pub fn loses_bits(self) -> bool {
        matches!(self, Sum::Cut { precision, .. } if precision < 24)
    }
}

impl Dtype {
    /// Everything in f32.
    pub const F32: Dtype = Dtype::of(Element::F32, Element::F32, Element::F32);
    /// Everything in f64.
    pub const F64: Dtype = Dtype::of(Element::F64, Element::F64, Element::F64);
    /// Inputs in tf32, the rest in f32.
    pub const TF32: Dtype = Dtype::of(Element::Tf32, Element::F32, Element::F32);
    /// Inputs and C in bf16, summed in f32.
    pub const BF16: Dtype = Dtype::of(Element::Bf16, Element::F32, Element::Bf16);
    /// Inputs and C in f16, summed in f32.
    pub const F16: Dtype = Dtype::of(Element::F16, Element::F32, Element::F16);
    /// Inputs in e4m3, summed in f32, C in bf16.
    pub const E4M3: Dtype = Dtype::of(Element::E4m3, Element::F32, Element::Bf16);
    /// Inputs in s8, summed in s32: exact.
    pub const S8: Dtype = Dtype::of(Element::S8, Element::S32, Element::S32);

    /// Every combination that has a name, the widest first.
    pub const ALL: [(&'static str, Dtype); 12] = [
        ("f64", Dtype::F64),
        ("f32", Dtype::F32),
        ("tf32", Dtype::TF32),
        ("bf16", Dtype::BF16),
        ("bf16-f32", Dtype::of(Element::Bf16, Element::F32, Element::F32)),
        ("f16", Dtype::F16),
        ("f16-f32", Dtype::of(Element::F16, Element::F32, Element::F32)),
        ("e4m3", Dtype::E4M3),
        ("e4m3-f32", Dtype::of(Element::E4m3, Element::F32, Element::F32)),
        ("e5m2", Dtype::of(Element::E5m2, Element::F32, Element::Bf16)),
        ("e5m2-f32", Dtype::of(Element::E5m2, Element::F32, Element::F32)),
        ("s8", Dtype::S8),
    ];

    /// Everything in f16: no level multiplies so, and many a kernel does.
    const F16_SUM: (&'static str, Dtype) = ("f16-sum", Dtype::of_all(Element::F16));

    /// A combination, with a name or without.
    pub const fn of(input: Element, sum: Element, output: Element) -> Dtype {
        Dtype { input, sum, output }
    }

    /// Everything in one type.
    pub const fn of_all(element: Element) -> Dtype {
        Dtype::of(element, element, element)
    }

    /// Its name on the command line: the inputs' type, and C's where that is not the usual one.
    pub fn name(self) -> &'static str {
        let mut all = Dtype::ALL.iter().chain([&Dtype::F16_SUM]);
        all.find(|(_, dtype)| *dtype == self).map_or("unnamed", |(name, _)| name)
    }

    /// Whether it has a name.
    pub fn is_named(self) -> bool {
        self.name() != "unnamed"
    }

    /// How the vendor's library sums, on the GPUs that have tensor cores for these types: fp8 in as few as 14 bits.
    pub fn vendor_sum(self) -> Sum {
        match self.input {
            Element::F64 | Element::F32 | Element::S32 | Element::S8 => Sum::Rounded,
            Element::Tf32 => Sum::Cut { terms: 4, bits: 24, precision: 24 },
            Element::F16 | Element::Bf16 => Sum::Cut { terms: 8, bits: 24, precision: 24 },
            Element::E4m3 | Element::E5m2 => Sum::Cut { terms: 32, bits: 13, precision: 14 },
        }
    }

    /// The macros that tell a kernel its types: `ELEMENT=float` where all are one, else `INPUT_BF16` and `OUTPUT_F32`.
    pub fn macros(self) -> Vec<String> {
        match self {
            Dtype::F32 => return vec!["ELEMENT=float".to_string()],
            Dtype::F64 => return vec!["ELEMENT=double".to_string()],
            _ => {}
        }
        [("INPUT", self.input), ("OUTPUT", self.output)]
            .map(|(role, element)| format!("{role}_{}", element.name().to_uppercase()))
            .to_vec()
    }

    /// The error that an element of C may have: relative to the sum of its products' absolute values, then to the element itself,
    /// then absolute. A sum of `k` products was made as `sum` says, and rounded to C's type; the reference was made in f64. Rounding
    /// errors add up as γₙ = n·u / (1 − n·u) (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). What is cut off
    /// makes nothing larger, so no sum on the way exceeds that of the absolute values, and these errors add up as they are. Sums of
    /// whole numbers have none.
    pub fn bound(self, sum: Sum, k: u32) -> [f64; 3] {
        if self.sum.whole().is_some() {
            return [0.0; 3];
        }
        // ANCHOR: bound
        let gamma = |steps: f64, error: f64| steps * error / (1.0 - steps * error);
        let unit = self.sum.unit_roundoff();
        // Two more roundings are granted for a product rounded on its own and for the magnitude's own error.
        let steps = f64::from(k) + 2.0;
        let cut = |k: u32, terms: u32, bits: u32, precision: i32| {
            let terms_cut = f64::from(terms + 1) * 2.0f64.powi(-(bits as i32));
            (f64::from(k.div_ceil(terms)) + 2.0) * (terms_cut + 2.0f64.powi(1 - precision))
        };
        let of_the_sum = match sum {
            Sum::Rounded => gamma(steps, unit),
            Sum::Cut { terms, bits, precision } => cut(k, terms, bits, precision),
            Sum::Promoted { terms, bits, precision, every } => {
                // What is cut off makes no part larger than the sum of its absolute values.
                cut(k.min(every), terms, bits, precision) + gamma(f64::from(k.div_ceil(every)) + 2.0, unit)
            }
            Sum::Halved { every } => {
                // The high part leaves at most 2^-11 of a number, the low part 2^-11 of that: each number has lost 2^-22, and so has
                // the product without that of the low parts. Sums of products with low parts are less than 2^-9 of the others.
                let products = cut(k.min(every), 16, 25, 24) * (1.0 + 2.0f64.powi(-9));
                3.0 * 2.0f64.powi(-22) + products + gamma(f64::from(3 * k.div_ceil(every)) + 2.0, unit)
            }
        };
        let relative = of_the_sum + gamma(steps, f64::EPSILON / 2.0);
        // ANCHOR_END: bound
        if self.output == self.sum {
            return [relative, 0.0, 0.0];
        }
        let narrow = self.output.unit_roundoff();
        [relative * (1.0 + narrow), narrow, self.output.smallest() / 2.0]
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dtype {
    type Err = Error;

    fn from_str(name: &str) -> Result<Dtype, Error> {
        let mut all = Dtype::ALL.iter().chain([&Dtype::F16_SUM]);
        let known = all.find(|(known, _)| *known == name).map(|(_, dtype)| *dtype);
        known.ok_or_else(|| {
            let names: Vec<&str> = Dtype::ALL.iter().map(|(name, _)| *name).collect();
            Error::usage(format!("`{name}` is no element type"), format!("there are {}", names.join(", ")))
        })
    }
}

impl Serialize for Dtype {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Dtype {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Dtype, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(|error: Error| serde::de::Error::custom(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_found_by_its_name_and_by_no_other() {
        for (name, dtype) in Dtype::ALL {
            assert_eq!(name.parse::<Dtype>().unwrap(), dtype);
            assert_eq!(dtype.name(), name);
        }
        let unknown = "f31".parse::<Dtype>().unwrap_err().to_string();
        assert!(unknown.starts_with("`f31` is no element type\nhint: there are f64, f32, tf32"), "{unknown}");
    }

    #[test]
    fn a_bound_grows_with_k_and_with_every_coarser_way_to_sum() {
        let relative = |dtype: Dtype, sum, k| dtype.bound(sum, k)[0];
        let tensor = Sum::Cut { terms: 16, bits: 25, precision: 24 };
        let eight_bits = Sum::Cut { terms: 32, bits: 13, precision: 14 };
        assert!(relative(Dtype::F32, Sum::Rounded, 200) > relative(Dtype::F32, Sum::Rounded, 100));
        assert!(relative(Dtype::F64, Sum::Rounded, 4096) < 1e-12);
        assert!(relative(Dtype::BF16, tensor, 4096) < relative(Dtype::BF16, eight_bits, 4096));
        let promoted = Sum::Promoted { terms: 32, bits: 13, precision: 14, every: 128 };
        assert!(relative(Dtype::BF16, promoted, 4096) < relative(Dtype::BF16, eight_bits, 4096) / 20.0);
        assert!(relative(Dtype::BF16, promoted, 4096) < 1.01 * relative(Dtype::BF16, eight_bits, 128));
        assert!(relative(Dtype::BF16, promoted, 4096) > relative(Dtype::BF16, promoted, 128));
        let halved = |k| relative(Dtype::F32, Sum::Halved { every: 128 }, k);
        assert!(halved(128) < 2.0f64.powi(-17) && halved(4096) < relative(Dtype::F32, Sum::Rounded, 4096) / 10.0);
        assert_eq!(Dtype::F32.bound(Sum::Rounded, 10)[1..], [0.0, 0.0]);
        assert_eq!(Dtype::S8.bound(Sum::Rounded, 131_071), [0.0; 3]);
        assert_eq!(Dtype::BF16.bound(tensor, 10)[1], 2f64.powi(-8));
    }
}
