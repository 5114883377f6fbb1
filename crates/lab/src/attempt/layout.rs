//! How A, B and C lie in memory.

use clap::ValueEnum;
use gemm::check::{Check, Method};
use gemm::dtype::Sum;
use gemm::form::{self, Form};
use gemm::matrix::Matrix;
use gemm::problem::{Fill, Problem};
use gemm::report::Report;
use gemm::task::Operand;
use gemm::{Error, Shape, Tile};

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
    /// Row by row, and A as its transpose, K x M.
    Tn,
    /// Row by row, A and B as their transposes.
    Tt,
    /// A by rows, B and C by columns.
    Rcc,
    /// A and B by rows, C by columns.
    Rrc,
    /// A and C by columns, B by rows.
    Crc,
}

/// A matrix that lies column by column.
const COLUMNS: bool = true;

impl Layout {
    /// Whether A, B and C lie column by column.
    pub fn by_columns(self) -> [bool; 3] {
        match self {
            Layout::Row => [false, false, false],
            Layout::Nt => [false, COLUMNS, false],
            Layout::Tn => [COLUMNS, false, false],
            Layout::Tt => [COLUMNS, COLUMNS, false],
            Layout::Column => [COLUMNS, COLUMNS, COLUMNS],
            Layout::Rcc => [false, COLUMNS, COLUMNS],
            Layout::Rrc => [false, false, COLUMNS],
            Layout::Crc => [COLUMNS, false, COLUMNS],
        }
    }

    /// Whether C lies column by column: then what is computed row by row is its transpose.
    pub fn turns_c(self) -> bool {
        self.by_columns()[2]
    }

    /// The product that is computed row by row: where C lies by columns, what lies there is Cᵀ = Bᵀ·Aᵀ.
    pub fn shape(self, shape: Shape) -> Shape {
        match self.turns_c() {
            false => shape,
            true => Shape { m: shape.n, n: shape.m, k: shape.k },
        }
    }

    /// How the factors lie in that product.
    pub fn of_factors(self) -> [form::Layout; 2] {
        let [a, b, turned] = self.by_columns();
        let of = |turned: bool| if turned { form::Layout::Columns } else { form::Layout::Rows };
        if turned { [of(!b), of(!a)] } else { [of(a), of(b)] }
    }

    /// The operands of that product.
    pub fn operands(self, operands: &mut [Operand]) {
        if !self.turns_c() {
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
        if !self.turns_c() {
            return;
        }
        let shape = self.shape(problem.shape);
        let Tile { m, n, k } = report.launch.tile;
        let tile = Tile { m: n, n: m, k };
        let [of_b, of_a] = self.of_factors();
        // What is stored the other way round is the factor as it is multiplied.
        let factor =
            |stored: &Matrix, of: form::Layout| if of.is_rows() { stored.transposed() } else { stored.clone() };
        let (a, b) = (factor(&problem.b, of_a), factor(&problem.a, of_b));
        let (before, after) = (problem.c.transposed(), product.transposed());
        let form = Form { a: form::Layout::Rows, layout: form::Layout::Rows, ..problem.form };
        let problem = Problem { shape, a, b, c: before, form, ..problem.clone() };
        let mut check = Check::of(&problem, Fill::Reals, &after, Method { tile, sum: Sum::Rounded });
        for name in &mut report.overwritten {
            *name = if *name == "A" { "B" } else { "A" };
        }
        report.overwritten.sort_unstable();
        check.note_overwritten(&report.overwritten, &problem.c, &after);
        (report.shape, report.check, report.launch.tile, report.form) = (shape, check, tile, form);
        if report.matrices.is_some() {
            report.matrices = Some([&problem.a, &problem.b, &after].map(Matrix::values));
        }
    }

    /// The distances of two rows, or columns, of A, B and C, as `--args` has them.
    pub fn leading(self) -> [&'static str; 3] {
        let [a, b, c] = self.by_columns();
        [if a { "M" } else { "K" }, if b { "K" } else { "N" }, if c { "M" } else { "N" }]
    }

    /// The other layouts, those that are usual first.
    pub fn others(self) -> impl Iterator<Item = Layout> {
        let all =
            [Layout::Row, Layout::Column, Layout::Nt, Layout::Tn, Layout::Tt, Layout::Rcc, Layout::Rrc, Layout::Crc];
        all.into_iter().filter(move |layout| *layout != self)
    }

    /// What is to be the case for it, and the flag.
    pub fn hint(self) -> &'static str {
        match self {
            Layout::Row => "if A, B and C are read by rows: --layout row",
            Layout::Column => "if A, B and C are read by columns, as BLAS does: --layout column",
            Layout::Nt => "if B is read as N x K, transposed: --layout nt",
            Layout::Tn => "if A is read as K x M, transposed: --layout tn",
            Layout::Tt => "if A is read as K x M and B as N x K, both transposed: --layout tt",
            Layout::Rcc => "if A is read by rows, and B and C by columns: --layout rcc",
            Layout::Rrc => "if A and B are read by rows, and C by columns: --layout rrc",
            Layout::Crc => "if B is read by rows, and A and C by columns: --layout crc",
        }
    }

    /// The emulator's word on a fault, with the kernel's own names for A and B.
    pub fn renamed(self, error: Error) -> Error {
        match error {
            Error::Fault(text) if self.turns_c() => {
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
