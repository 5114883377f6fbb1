//! How A, B and C lie in memory.

use clap::ValueEnum;
use gemm::form::Layout as Stored;
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
    /// A and C row by row, B column by column (it lies there as N x K), as tensor cores read them: BLAS calls it TN.
    Tn,
}

impl Layout {
    /// The product that is computed row by row: by columns, what lies there is Cᵀ = Bᵀ·Aᵀ.
    pub fn shape(self, shape: Shape) -> Shape {
        match self {
            Layout::Row | Layout::Tn => shape,
            Layout::Column => Shape { m: shape.n, n: shape.m, k: shape.k },
        }
    }

    /// The operands of that product.
    pub fn operands(self, operands: &mut [Operand]) {
        if self != Layout::Column {
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
            Layout::Tn => ["K", "K", "N"],
        }
    }

    /// How B lies in memory in that product.
    pub fn of_b(self) -> Stored {
        if self == Layout::Tn { Stored::Columns } else { Stored::Rows }
    }

    /// The other layouts, each with what is said of it.
    pub fn others(self) -> Vec<(Layout, &'static str)> {
        let all = [
            (Layout::Row, "if A, B and C are read by rows: --layout row"),
            (Layout::Column, "if A, B and C are read by columns, as BLAS does: --layout column"),
            (Layout::Tn, "if B is read by columns, as N x K: --layout tn"),
        ];
        all.into_iter().filter(|(layout, _)| *layout != self).collect()
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
