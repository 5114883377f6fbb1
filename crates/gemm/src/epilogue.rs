//! What becomes of a sum before it is rounded to C's type, and how many products a launch makes: as kernels take it.

use std::fmt;

use serde::Serialize;

use crate::form::Form;
use crate::shape::Shape;

/// How many products, each matrix so many elements behind the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Batch {
    /// How many.
    pub count: u32,
    /// Elements from one A to the next, from one B, and from one C. An A or B may serve all: 0.
    pub strides: [u64; 3],
}

impl Batch {
    /// A single product.
    pub const ONE: Batch = Batch { count: 1, strides: [0; 3] };

    /// The kernel's structure: three strides, then the number.
    pub fn words(&self) -> [u64; 4] {
        let [a, b, c] = self.strides;
        [a, b, c, u64::from(self.count)]
    }
}

/// A function of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[non_exhaustive]
pub enum Activation {
    /// The sum as it is.
    #[default]
    None,
    /// The sum, or 0 where it is less.
    Relu,
    /// `x / (1 + e⁻ˣ)`.
    Silu,
    /// `x · (1 + erf(x / √2)) / 2`.
    Gelu,
    /// The same with `tanh(√(2/π) · (x + 0.044715·x³))` in place of erf.
    GeluTanh,
}

impl Activation {
    /// Every one.
    pub const ALL: [Activation; 5] =
        [Activation::None, Activation::Relu, Activation::Silu, Activation::Gelu, Activation::GeluTanh];

    /// The kernel's number: nothing, ReLU, a sigmoid of a polynomial, or, of an f32 C, erf itself.
    fn number(self, wide: bool) -> u32 {
        match self {
            Activation::None => 0,
            Activation::Relu => 1,
            Activation::Gelu if wide => 3,
            Activation::Silu | Activation::Gelu | Activation::GeluTanh => 2,
        }
    }

    /// The numbers u of `x / (1 + 2^(x·(u₀ + u₁·x² + u₂·x⁴)))`. Those of GELU are fitted: up to |x| = 6 its error is below 2·10⁻⁵·|x|,
    /// a hundredth of what a bf16 rounds; behind that both are 0 or x.
    fn polynomial(self) -> [f32; 3] {
        let tanh = 2.0 * (2.0 / std::f64::consts::PI).sqrt();
        let natural = match self {
            Activation::None | Activation::Relu => [0.0; 3],
            Activation::Silu => [1.0, 0.0, 0.0],
            Activation::Gelu => [1.595_435_666_193_046, 0.073_596_514_358_941, -0.000_631_614_581_132],
            Activation::GeluTanh => [tanh, 0.044_715 * tanh, 0.0],
        };
        // No minus before a zero: what is not used is 0 in every bit.
        natural.map(|u: f64| (0.0 - u * std::f64::consts::LOG2_E) as f32)
    }
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Activation::None => "the sum",
            Activation::Relu => "ReLU",
            Activation::Silu => "SiLU",
            Activation::Gelu => "GELU",
            Activation::GeluTanh => "GELU by tanh",
        })
    }
}

/// `D = act(alpha · r · c · A·B + bias) + beta·C`, with what a kernel is to be told beside A, B, alpha and beta.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Epilogue {
    /// The address of C, where that is not D's.
    pub c: Option<u64>,
    /// Elements from a row of C to the next.
    pub ldc: u32,
    /// Elements from a product's C to the next one's.
    pub stride: u64,
    /// Whether beta·C is a factor, and no summand.
    pub multiplied: bool,
    /// The address of the bias, of C's type; 0, if there is none.
    pub bias: u64,
    /// Whether it has a number for each row, and not for each column.
    pub bias_of_rows: bool,
    /// The addresses of f32 factors of each row, and of each column; 0 for none.
    pub scales: [u64; 2],
    /// What comes then.
    pub activation: Activation,
    /// Whether C is f32.
    pub wide: bool,
}

impl Epilogue {
    /// Of a product in this form without any: C is where D is.
    pub fn none(shape: &Shape, form: &Form, batch: Batch) -> Epilogue {
        Epilogue {
            c: None,
            ldc: form.leading(shape)[2] as u32,
            stride: batch.strides[2],
            multiplied: false,
            bias: 0,
            bias_of_rows: false,
            scales: [0; 2],
            activation: Activation::None,
            wide: false,
        }
    }

    /// Whether it makes nothing of a sum but what alpha and beta do.
    pub fn leaves_sums(&self) -> bool {
        self.bias == 0 && self.scales == [0; 2] && self.activation == Activation::None && !self.multiplied
    }

    /// The kernel's structure, where D is at this address: four addresses, a stride, four integers of 32 bits, and three floats.
    pub fn words(&self, d: u64) -> [u64; 9] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let [u0, u1, u2] = self.activation.polynomial().map(f32::to_bits);
        let flags = [self.bias_of_rows, self.multiplied].map(u32::from);
        [
            self.c.unwrap_or(d),
            self.bias,
            self.scales[0],
            self.scales[1],
            self.stride,
            pair(self.ldc, flags[0]),
            pair(flags[1], self.activation.number(self.wide)),
            pair(u0, u1),
            u64::from(u2),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a kernel computes it, in f64.
    fn by_polynomial(activation: Activation, x: f64) -> f64 {
        let [u0, u1, u2] = activation.polynomial().map(f64::from);
        let square = (x * x).min(36.0);
        x / (1.0 + (x * (u0 + square * (u1 + square * u2))).min(60.0).exp2())
    }

    /// Its series.
    fn erf(x: f64) -> f64 {
        if x.abs() > 4.0 {
            return x.signum();
        }
        let terms = (1..150).scan((x, x), |(term, sum), n| {
            *term *= -x * x / f64::from(n);
            *sum += *term / f64::from(2 * n + 1);
            Some(*sum)
        });
        terms.last().unwrap_or(x) * 2.0 / std::f64::consts::PI.sqrt()
    }

    #[test]
    fn polynomials_are_the_activations() {
        for step in -4000..4000 {
            let x = f64::from(step) / 250.0;
            let silu = x / (1.0 + (-x).exp());
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            let tanh = x / 2.0 * (1.0 + inner.tanh());
            let gelu = x / 2.0 * (1.0 + erf(x / 2.0f64.sqrt()));
            for (activation, expected, relative) in
                [(Activation::Silu, silu, 2e-7), (Activation::GeluTanh, tanh, 2e-7), (Activation::Gelu, gelu, 2e-5)]
            {
                let error = (by_polynomial(activation, x) - expected).abs();
                assert!(error <= relative * x.abs() + 1e-9, "{activation} at {x}: {error}");
            }
        }
    }

    #[test]
    fn structures_are_the_kernels() {
        let shape = Shape { m: 3, n: 5, k: 7 };
        let batch = Batch { count: 4, strides: [21, 0, 15] };
        assert_eq!(batch.words(), [21, 0, 15, 4]);
        let none = Epilogue::none(&shape, &Form::PLAIN, batch);
        assert_eq!(none.words(99), [99, 0, 0, 0, 15, 5, 0, 0, 0]);
        let some = Epilogue { c: Some(7), bias_of_rows: true, multiplied: true, activation: Activation::Relu, ..none };
        assert_eq!(some.words(99)[..7], [7, 0, 0, 0, 15, 5 | 1 << 32, 1 | 1 << 32]);
        let gelu = |wide| Epilogue { activation: Activation::Gelu, wide, ..none }.words(0)[6] >> 32;
        assert_eq!((gelu(false), gelu(true)), (2, 3));
    }
}
