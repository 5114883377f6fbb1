//! How A, B and C lie in memory.

use clap::ValueEnum;
use gemm::task::Operand;
use gemm::{Error, Shape};

/// How matrices lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Layout {
    /// Row by row, as C has arrays.
    #[default]
    Row,
    /// Column by column, as BLAS has them.
    Column,
}

impl Layout {
    /// The product that is computed row by row: by columns, what lies there is Cᵀ = Bᵀ·Aᵀ.
    pub fn shape(self, shape: Shape) -> Shape {
        match self {
            Layout::Row => shape,
            Layout::Column => Shape { m: shape.n, n: shape.m, k: shape.k },
        }
    }

    /// The operands of that product.
    pub fn operands(self, operands: &mut [Operand]) {
        if self == Layout::Row {
            return;
        }
        for operand in operands {
            *operand = match *operand {
                Operand::A => Operand::B,
                Operand::B => Operand::A,
                other => other,
            };
        }
    }

    /// The distances of two rows, or columns, of A, B and C, as `--args` has them.
    pub fn leading(self) -> [&'static str; 3] {
        match self {
            Layout::Row => ["K", "N", "N"],
            Layout::Column => ["M", "K", "M"],
        }
    }

    /// The emulator's word on a fault, with the kernel's own names for A and B.
    pub fn renamed(self, error: Error) -> Error {
        match error {
            Error::Fault(text) if self == Layout::Column => {
                let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
                let word = |word: &str| match word {
                    "A" => "B".to_string(),
                    "B" => "A".to_string(),
                    other => other.to_string(),
                };
                let first = first.split(' ').map(word).collect::<Vec<_>>().join(" ");
                Error::Fault(if rest.is_empty() { first } else { format!("{first}\n{rest}") })
            }
            other => other,
        }
    }
}
