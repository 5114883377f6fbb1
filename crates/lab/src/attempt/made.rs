//! Of which elements a wrong product is made, if it is small and no NaN.

use std::rc::Rc;

use gemm::facts::Extras;
use gemm::matrix::Matrix;
use gemm::problem::Problem;
use gemm::report::Report;
use gemm::{Error, Shape};

use super::formula::Formula;
use super::layout::Layout;
use super::varied::trial;
use super::{Try, operands, problem, task};
use crate::candidate::Candidate;
use crate::output::note;
use crate::probe::{MOST, Probe};

/// A K of whole tiles.
const WHOLE: u32 = 64;

/// Says it.
pub fn explain(attempt: &Try, candidate: &Candidate, report: &Report) {
    let first = &report.check.first;
    let of_numbers = !first.is_empty() && first.iter().all(|element| element.got.is_finite());
    let shape = &report.shape;
    let work = u64::from(shape.m) * u64::from(shape.n) * u64::from(shape.k);
    if attempt.layout.turns_c() || !report.overwritten.is_empty() || !of_numbers || work > MOST {
        return;
    }
    // Its launches are others than those of a search, and have no checks.
    let attempt = &Try { budget: Rc::default(), ..attempt.clone() };
    let explained = |shape| explained(attempt, candidate, (report, shape)).ok().flatten();
    // Where zeros fill the last tile, it may have set a sum to 0: with a whole one there is more to see.
    let whole = Shape { k: shape.k.next_multiple_of(WHOLE), ..*shape };
    let text = match explained(*shape) {
        Some(text) if Probe::is_nothing(&text) && whole.k != shape.k => {
            explained(whole).map(|text| format!("with K = {}: {text}", whole.k)).or(Some(text))
        }
        text => text,
    };
    if let Some(text) = text {
        note(&format!("hint: {text}"));
    }
}

fn explained(attempt: &Try, candidate: &Candidate, (report, shape): (&Report, Shape)) -> Result<Option<String>, Error> {
    let operands = operands(attempt, candidate, &shape)?;
    let plain = problem(attempt, shape, &operands)?;
    let task = task(attempt, candidate, shape, &operands)?;
    let own = attempt.how.options()?.extras;
    let extras = Extras { sanitize: false, ..own };
    let launch = |problem: &Problem| match trial(attempt, &task, problem, extras)? {
        Some(ran) => Ok(ran.c),
        None => Err(Error::Fault("it is cut off".to_string())),
    };
    let [a, b, _] = attempt.layout.by_columns();
    let turned = [a, b];
    Probe {
        plain,
        launch: &launch,
        turned,
        ptx: &candidate.kernel.ptx,
        names: ["A", "B"],
        added: "C",
        whole: false,
        sums: &report.sums,
    }
    .say()
}

/// What fits exactly into every type of two bytes.
const BASE: usize = 128;
/// Launches that show where each element of a factor lies.
const LAUNCHES: usize = 16;

/// Refuses a kernel that multiplies each element of A, or of B, as it belongs, and finds it in another place: a factor that is packed before, tile by
/// tile. A mistake in an index makes no tiles.
///
/// # Errors
/// [`Error::Usage`], with the factor and an element.
pub fn is_plain(attempt: &Try, candidate: &Candidate, shape: Shape) -> Result<(), Error> {
    if attempt.layout != Layout::Row || attempt.product != Formula::default() {
        return Ok(());
    }
    for turned in [false, true] {
        let Ok(Some([row, column, from_row, from_column])) = packed(attempt, candidate, (shape, turned)) else {
            continue;
        };
        let factor = if turned { "A" } else { "B" };
        return Err(Error::usage(
            format!(
                "{}: {factor} is read as if it lay in tiles, one behind the other: {factor}[{row}][{column}] is taken from the place of \
                 {factor}[{from_row}][{from_column}], and each element from a place of its own",
                super::other::named(candidate)
            ),
            "`lab try` fills plain matrices, by --layout; `lab sanitize` runs any kernel, with a packed matrix by --arg @FILE, and --expect C=@FILE says what is to \
             come out",
        ));
    }
    Ok(())
}

/// An element of B, or of A where it is `turned`, and the place that it comes from, if it lies in tiles, and C is the product of what is taken.
fn packed(attempt: &Try, candidate: &Candidate, (shape, turned): (Shape, bool)) -> Result<Option<[usize; 4]>, Error> {
    let operands = operands(attempt, candidate, &shape)?;
    let (plain, task) = (problem(attempt, shape, &operands)?, task(attempt, candidate, shape, &operands)?);
    let extras = Extras { sanitize: false, ..attempt.how.options()?.extras };
    let [m, n, k] = [shape.m, shape.n, shape.k].map(|size| size as usize);
    let (lines, rows, columns) = if turned { (n, m, k) } else { (m, k, n) };
    let digits = (1..).find(|digits| BASE.pow(*digits) >= rows * columns).unwrap_or(1);
    let turns = k.div_ceil(lines);
    if turns * digits as usize > LAUNCHES || plain.a.element().bytes() < 2 || plain.form.beta != 0.0 {
        return Ok(None);
    }
    let filled = |matrix: &Matrix, of: &dyn Fn(usize, usize) -> f64| {
        let mut places = (0..matrix.rows()).flat_map(|row| (0..matrix.columns()).map(move |column| (row, column)));
        let extents = [matrix.rows(), matrix.columns(), matrix.leading()];
        Matrix::filled(matrix.element(), extents, || places.next().map_or(0.0, |(row, column)| of(row, column)))
    };
    let launch =
        |one: &dyn Fn(usize, usize) -> f64, other: &dyn Fn(usize, usize) -> f64| -> Result<Option<Matrix>, Error> {
            let (a, b) = if turned { (other, one) } else { (one, other) };
            let made = Problem { a: filled(&plain.a, a)?, b: filled(&plain.b, b)?, ..plain.clone() };
            Ok(trial(attempt, &task, &made, extras)?.map(|ran| ran.c))
        };
    // Where each element comes from, by row and column.
    let mut from = vec![0; rows * columns];
    for turn in 0..turns {
        let step = |line: usize| turn * lines + line;
        let one = |row: usize, column: usize| {
            let (line, at) = if turned { (column, row) } else { (row, column) };
            f64::from(u8::from(at == step(line)))
        };
        for digit in 0..digits {
            let number = |row: usize, column: usize| ((row * columns + column) / BASE.pow(digit) % BASE) as f64;
            let Some(c) = launch(&one, &number)? else { return Ok(None) };
            for line in (0..lines).filter(|line| step(*line) < k) {
                for other in 0..if turned { rows } else { columns } {
                    let got = (if turned { c.at(other, line) } else { c.at(line, other) }) / plain.form.alpha;
                    if got < 0.0 || got >= BASE as f64 || got.fract() != 0.0 {
                        return Ok(None);
                    }
                    let at = if turned { other * columns + step(line) } else { step(line) * columns + other };
                    from[at] += got as usize * BASE.pow(digit);
                }
            }
        }
    }
    if !lies_in_tiles(&from, [rows, columns]) {
        return Ok(None);
    }
    // And all steps are summed.
    let small = |row: usize, column: usize| ((row * 5 + column * 3) % 5) as f64 - 2.0;
    let Some(c) = launch(&small, &small)? else { return Ok(None) };
    let taken = |row: usize, column: usize| {
        let place = from[row * columns + column];
        small(place / columns, place % columns)
    };
    let sum = |row: usize, column: usize| -> f64 {
        let steps = 0..k;
        match turned {
            true => steps.map(|step| taken(row, step) * small(step, column)).sum(),
            false => steps.map(|step| small(row, step) * taken(step, column)).sum(),
        }
    };
    let right =
        (0..m * n).all(|at| c.at(at / n, at % n) == c.element().rounded(plain.form.alpha * sum(at / n, at % n)));
    let moved = (0..from.len()).find(|&at| from[at] != at);
    Ok(moved.filter(|_| right).map(|at| [at / columns, at % columns, from[at] / columns, from[at] % columns]))
}

/// Whether each element has a place of its own, and the first places hold a part of some rows and columns: a tile.
fn lies_in_tiles(from: &[usize], [rows, columns]: [usize; 2]) -> bool {
    let mut at = vec![None; from.len()];
    for (element, &place) in from.iter().enumerate() {
        if at.get(place) != Some(&None) {
            return false;
        }
        at[place] = Some(element);
    }
    let (mut high, mut wide) = (0, 0);
    at.into_iter().flatten().enumerate().any(|(before, element)| {
        (high, wide) = (high.max(element / columns + 1), wide.max(element % columns + 1));
        high * wide == before + 1 && high > 1 && wide > 1 && 2 * high <= rows && 2 * wide <= columns
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_told_from_elements_that_are_mixed_up() {
        let lies = |of: &dyn Fn(usize, usize) -> usize| {
            let from: Vec<usize> = (0..32 * 64).map(|at| of(at / 64, at % 64)).collect();
            lies_in_tiles(&from, [32, 64])
        };
        assert!(lies(&|k, n| ((n / 16 * 4 + k / 8) * 8 + k % 8) * 16 + n % 16), "[N/16][K/8][8][16]");
        assert!(lies(&|k, n| (n / 16 * 32 + k) * 16 + n % 16), "[N/16][K][16]");
        assert!(lies(&|k, n| (k / 2 * 64 + n) * 2 + k % 2), "[K/2][N][2]");
        assert!(!lies(&|k, n| k * 64 + n), "row by row");
        assert!(!lies(&|k, n| n * 32 + k), "column by column");
        assert!(!lies(&|k, n| (k ^ 1) * 64 + n), "rows exchanged");
        assert!(!lies(&|k, n| (k / 16 * 16 + n % 16) * 64 + n / 16 * 16 + k % 16), "squares transposed");
        assert!(!lies(&|k, n| k * 64 + n % 16), "one place for several");
    }
}
