//! How A, B and C lie in memory.

use clap::ValueEnum;
use gemm::check::{Check, Method};
use gemm::dtype::Sum;
use gemm::matrix::Matrix;
use gemm::problem::{Fill, Problem};
use gemm::report::Report;
use gemm::task::Operand;
use gemm::{Error, Shape, Tile, form};

/// How matrices lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Layout {
    /// Row by row, as C has arrays.
    #[default]
    Row,
    /// Column by column, as BLAS has them.
    Column,
    /// Row by row, and B as its transpose, N x K.
    Nt,
}

impl Layout {
    /// The product that is computed row by row: by columns, what lies there is Cᵀ = Bᵀ·Aᵀ.
    pub fn shape(self, shape: Shape) -> Shape {
        match self {
            Layout::Row | Layout::Nt => shape,
            Layout::Column => Shape { m: shape.n, n: shape.m, k: shape.k },
        }
    }

    /// How B lies in that product.
    pub fn of_b(self) -> form::Layout {
        match self {
            Layout::Row | Layout::Column => form::Layout::Rows,
            Layout::Nt => form::Layout::Columns,
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

    /// A report on the product that is computed row by row, as one on the product that was asked for.
    pub fn in_its_terms(self, report: &mut Report, problem: &Problem, product: &Matrix) {
        if self != Layout::Column {
            return;
        }
        let shape = self.shape(problem.shape);
        let Tile { m, n, k } = report.launch.tile;
        let tile = Tile { m: n, n: m, k };
        let (a, b) = (problem.b.transposed(), problem.a.transposed());
        let (before, after) = (problem.c.transposed(), product.transposed());
        let problem = Problem { shape, a, b, c: before, ..problem.clone() };
        let mut check = Check::of(&problem, Fill::Reals, &after, Method { tile, sum: Sum::Rounded });
        for name in &mut report.overwritten {
            *name = if *name == "A" { "B" } else { "A" };
        }
        report.overwritten.sort_unstable();
        check.note_overwritten(&report.overwritten, &problem.c, &after);
        (report.shape, report.check, report.launch.tile) = (shape, check, tile);
        if report.matrices.is_some() {
            report.matrices = Some([&problem.a, &problem.b, &after].map(Matrix::values));
        }
    }

    /// The distances of two rows, or columns, of A, B and C, as `--args` has them.
    pub fn leading(self) -> [&'static str; 3] {
        match self {
            Layout::Row => ["K", "N", "N"],
            Layout::Column => ["M", "K", "M"],
            Layout::Nt => ["K", "K", "N"],
        }
    }

    /// The other layouts, each with what is said of it.
    pub fn others(self) -> Vec<(Layout, &'static str)> {
        let all = [
            (Layout::Row, "if A, B and C are read by rows: --layout row"),
            (Layout::Column, "if A, B and C are read by columns, as BLAS does: --layout column"),
            (Layout::Nt, "if B is read as N x K, transposed: --layout nt"),
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
