//! `--product 'C += lower(A) * B'`: what is computed, where it is not plainly A * B.

use std::fmt;
use std::str::FromStr;

use gemm::check::{Check, Method};
use gemm::form::Form;
use gemm::matrix::Matrix;
use gemm::problem::{Fill, Problem};
use gemm::report::Report;
use gemm::{Error, Shape};

use super::Try;
use super::layout::Layout;
use crate::operands::Operands;
use crate::output::note;

/// The elements of a square matrix that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The lower triangle with the diagonal.
    Lower,
    /// The upper triangle with the diagonal.
    Upper,
    /// The lower triangle without the diagonal.
    StrictlyLower,
    /// The upper triangle without the diagonal.
    StrictlyUpper,
    /// The lower triangle, with ones on the diagonal.
    UnitLower,
    /// The upper triangle, with ones on the diagonal.
    UnitUpper,
    /// The lower triangle, which is the upper one as well.
    SymmetricLower,
    /// The upper triangle, which is the lower one as well.
    SymmetricUpper,
}

/// What stands for an element.
enum Stand {
    Element(usize, usize),
    Number(f64),
}

impl Part {
    /// All of them, under their names.
    pub const ALL: [(&'static str, Part); 8] = [
        ("lower", Part::Lower),
        ("upper", Part::Upper),
        ("strictly_lower", Part::StrictlyLower),
        ("strictly_upper", Part::StrictlyUpper),
        ("unit_lower", Part::UnitLower),
        ("unit_upper", Part::UnitUpper),
        ("symmetric_lower", Part::SymmetricLower),
        ("symmetric_upper", Part::SymmetricUpper),
    ];

    fn name(self) -> &'static str {
        Part::ALL.iter().find(|(_, part)| *part == self).map_or("", |(name, _)| name)
    }

    /// Whether it is of the lower triangle.
    pub fn is_lower(self) -> bool {
        matches!(self, Part::Lower | Part::StrictlyLower | Part::UnitLower | Part::SymmetricLower)
    }

    /// Whether an element of C belongs to it.
    pub fn has(self, row: usize, column: usize) -> bool {
        if self.is_lower() { column <= row } else { column >= row }
    }

    fn stand(self, row: usize, column: usize) -> Stand {
        let other_side = if self.is_lower() { column > row } else { column < row };
        match self {
            Part::SymmetricLower | Part::SymmetricUpper if other_side => Stand::Element(column, row),
            Part::StrictlyLower | Part::StrictlyUpper if row == column => Stand::Number(0.0),
            Part::UnitLower | Part::UnitUpper if row == column => Stand::Number(1.0),
            _ if other_side => Stand::Number(0.0),
            _ => Stand::Element(row, column),
        }
    }

    /// The element as it is multiplied, of a matrix with these.
    pub fn at(self, row: usize, column: usize, of: impl Fn(usize, usize) -> f64) -> f64 {
        match self.stand(row, column) {
            Stand::Element(row, column) => of(row, column),
            Stand::Number(number) => number,
        }
    }
}

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Formula {
    /// The parts of A, B and C that count.
    pub parts: [Option<Part>; 3],
    /// The product is added to C.
    pub added: bool,
    /// A factor that is no argument.
    pub times: f64,
    /// What would be negative becomes 0.
    pub relu: bool,
}

impl Default for Formula {
    fn default() -> Formula {
        Formula { parts: [None; 3], added: false, times: 1.0, relu: false }
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c] = [0, 1, 2].map(|at| match self.parts[at] {
            Some(part) => format!("{}({})", part.name(), ["A", "B", "C"][at]),
            None => ["A", "B", "C"][at].to_string(),
        });
        let (sign, times) = match (self.added, self.times) {
            (true, times) if times < 0.0 => ("-=", -times),
            (true, times) => ("+=", times),
            (false, times) => ("=", times),
        };
        let times = if times == 1.0 { String::new() } else { format!("{times} * ") };
        match self.relu {
            true => write!(f, "{c} {sign} relu({times}{a} * {b})"),
            false => write!(f, "{c} {sign} {times}{a} * {b}"),
        }
    }
}

impl FromStr for Formula {
    type Err = String;

    fn from_str(text: &str) -> Result<Formula, String> {
        let wrong = || {
            let parts = Part::ALL.map(|(name, _)| name).join(", ");
            format!(
                "`{text}` is no product as `C = A * B`, `C += A * B`, `C = relu(A * B)` or `C = 0.5 * lower(A) * B`; parts are {parts}"
            )
        };
        let flat: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = flat.split_once('=').ok_or_else(wrong)?;
        let mut formula = Formula::default();
        let (c, sign) = match left.strip_suffix('+').or(left.strip_suffix('-')) {
            Some(c) => (c, if left.ends_with('-') { -1.0 } else { 1.0 }),
            None => (left, 1.0),
        };
        formula.added = c.len() != left.len();
        formula.times = sign;
        formula.parts[2] = part_of(c, "C").ok_or_else(wrong)?;
        let inside = right.strip_prefix("relu(").and_then(|rest| rest.strip_suffix(')'));
        formula.relu = inside.is_some() && !formula.added;
        if inside.is_some() && formula.added {
            return Err(wrong());
        }
        let mut left = ["A", "B"].iter().enumerate();
        for word in inside.unwrap_or(right).split('*') {
            match word.parse::<f64>() {
                Ok(times) if times.is_finite() && times != 0.0 => formula.times *= times,
                _ => {
                    let (place, name) = left.next().ok_or_else(wrong)?;
                    formula.parts[place] = part_of(word, name).ok_or_else(wrong)?;
                }
            }
        }
        if left.next().is_some() {
            return Err(wrong());
        }
        Ok(formula)
    }
}

/// The part in `lower(A)`; nothing where the word names another matrix.
fn part_of(word: &str, name: &str) -> Option<Option<Part>> {
    if word == name {
        return Some(None);
    }
    let (part, inside) = word.strip_suffix(')')?.split_once('(')?;
    let known = Part::ALL.iter().find(|(known, _)| *known == part)?;
    let fits = inside == name && (name != "C" || matches!(known.1, Part::Lower | Part::Upper));
    fits.then_some(Some(known.1))
}

impl Formula {
    /// The matrices of a problem as it takes them: what does not count holds what the product needs there.
    ///
    /// # Errors
    /// [`Error::Usage`], where a matrix of which a part counts is no square.
    pub fn masked(&self, layout: Layout, problem: Problem) -> Result<Problem, Error> {
        let [rows, columns, steps] = [problem.shape.m, problem.shape.n, problem.shape.k];
        let turned = layout.turns_c();
        let (m, n) = if turned { (columns, rows) } else { (rows, columns) };
        for (part, (name, sides)) in self.parts.iter().zip([("A", (m, steps)), ("B", (steps, n)), ("C", (m, n))]) {
            if part.is_some() && sides.0 != sides.1 {
                return Err(Error::usage(
                    format!("--product: {name} is {} x {}, and a triangle is one of a square", sides.0, sides.1),
                    format!("sizes that make {name} square"),
                ));
            }
        }
        let [of_a, of_b] = if turned { [1, 0] } else { [0, 1] };
        let mut made = problem;
        for (which, part) in [(of_a, self.parts[0]), (of_b, self.parts[1])] {
            let Some(part) = part else { continue };
            let matrix = if which == 0 { &made.a } else { &made.b };
            let [of_first, of_second] = [made.form.a, made.form.layout];
            // Stored as it is multiplied by the user, and not as its transpose.
            let rows_first = (if which == 0 { of_first } else { of_second }).is_rows() != turned;
            let (rows, columns) = (matrix.rows(), matrix.columns());
            let at =
                |row: usize, column: usize| if rows_first { matrix.at(row, column) } else { matrix.at(column, row) };
            let value = |row: usize, column: usize| match rows_first {
                true => part.at(row, column, at),
                false => part.at(column, row, at),
            };
            let mut places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
            let next = || places.next().map_or(0.0, |(row, column)| value(row, column));
            let masked = Matrix::filled(matrix.element(), [rows, columns, matrix.leading()], next)?;
            *(if which == 0 { &mut made.a } else { &mut made.b }) = masked;
        }
        Ok(made)
    }

    /// Whether of A or B a part counts.
    pub fn takes_parts(&self) -> bool {
        self.parts[..2].iter().any(Option::is_some)
    }

    /// Whether C is not to be all that is computed.
    pub fn leaves_out(&self) -> bool {
        self.relu || self.parts[2].is_some()
    }

    /// The product where C leaves something out: what is right in the place of elements that are not to be written and are as they were, and of
    /// 0 for what is negative.
    pub fn completed(&self, layout: Layout, problem: &Problem, product: &Matrix) -> Result<Matrix, Error> {
        if !self.leaves_out() {
            return Ok(product.clone());
        }
        let (rows, columns) = (product.rows(), product.columns());
        let mut places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let turned = layout.turns_c();
        let next = || {
            let (row, column) = places.next().unwrap_or_default();
            let (before, after) = (problem.c.at(row, column), product.at(row, column));
            let is_in = |part: Part| if turned { part.has(column, row) } else { part.has(row, column) };
            let is_beside = self.parts[2].is_some_and(|part| !is_in(part));
            let is_as_before = before == after || before.is_nan() && after.is_nan();
            let is_cut = self.relu && after == 0.0;
            if !(is_beside && is_as_before || !is_beside && is_cut) {
                return after;
            }
            let steps = 0..problem.shape.k as usize;
            let sum: f64 = steps.map(|k| problem.a_at(row, k) * problem.b_at(k, column)).sum();
            let added = if problem.form.beta == 0.0 { 0.0 } else { problem.form.beta * before };
            let whole = problem.form.alpha * sum + added;
            if is_cut && whole > 0.0 { after } else { whole }
        };
        Matrix::filled(product.element(), [rows, columns, product.leading()], next)
    }

    /// Judges anew where a factor's parts that do not count held other numbers.
    pub fn reread(
        &self,
        (layout, method): (Layout, Method),
        problem: &Problem,
        product: &Matrix,
        report: &mut Report,
    ) -> Result<(), Error> {
        let check = Check::of(problem, Fill::Reals, &self.completed(layout, problem, product)?, method);
        if !check.right {
            note(
                "note: the kernel reads elements of a factor that its part leaves out: with other numbers there, C is wrong",
            );
            report.check = check;
        }
        Ok(())
    }

    /// Judges anew a product of which a part is to be written.
    pub fn rechecked(
        &self,
        (layout, method): (Layout, Method),
        problem: &Problem,
        product: &Matrix,
        report: &mut Report,
    ) -> Result<Matrix, Error> {
        if !self.leaves_out() {
            return Ok(product.clone());
        }
        let whole = self.completed(layout, problem, product)?;
        report.check = Check::of(problem, Fill::Reals, &whole, method);
        report.check.note_overwritten(&report.overwritten, &problem.c, &whole);
        Ok(whole)
    }
}

/// What is multiplied, as the product takes it.
pub fn problem(attempt: &Try, shape: Shape, operands: &Operands) -> Result<Problem, Error> {
    attempt.product.masked(attempt.layout, whole(attempt, shape, operands)?)
}

/// The same with random numbers everywhere, also where the product takes none of them.
pub fn whole(attempt: &Try, shape: Shape, operands: &Operands) -> Result<Problem, Error> {
    let ([a, layout], alpha, beta) = (attempt.layout.of_factors(), operands.alpha, operands.beta);
    let form = Form { alpha, beta, a, layout, ..Form::PLAIN };
    let made = Problem::in_form(attempt.layout.shape(shape), attempt.how.dtype, form, Fill::Reals, attempt.how.seed)?;
    if !attempt.zeroed || beta != 0.0 {
        return Ok(made);
    }
    let extents = [made.c.rows(), made.c.columns(), made.c.leading()];
    Ok(Problem { c: Matrix::filled(made.c.element(), extents, || 0.0)?, ..made })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_read_as_they_are_written() {
        for text in [
            "C = A * B",
            "C += A * B",
            "C -= 2 * A * B",
            "C = 0.5 * lower(A) * B",
            "upper(C) = A * B",
            "C = relu(A * B)",
            "C = A * strictly_upper(B)",
        ] {
            assert_eq!(text.parse::<Formula>().unwrap().to_string(), text);
        }
        assert_eq!("C=A*B".parse(), Ok(Formula::default()));
        for wrong in [
            "",
            "C",
            "C = A",
            "C = B * A",
            "D = A * B",
            "C = A * B * B",
            "C = left(A) * B",
            "C = 0 * A * B",
            "C += relu(A * B)",
        ] {
            assert!(wrong.parse::<Formula>().is_err(), "{wrong}");
        }
    }
}
