//! Where the NaN of a wrong product comes from, which another launch with numbers in C shows.

use common::progress::of_blocks;
use gemm::check::WrongElement;
use gemm::facts::Facts;
use gemm::matrix::Matrix;
use gemm::problem::Problem;
use gemm::report::Report;
use gemm::{Error, Shape, emulated};

use super::{Try, operands, problem, task};
use crate::candidate::Candidate;
use crate::output::note;

/// What C holds instead of NaN: hardly the sum of products of numbers below 1.
const MARK: f64 = 208.0;

/// Says where the first wrong elements have their NaN from, if all of them are NaN and C is not to be read; whether that says all.
pub fn nan(attempt: &Try, candidate: &Candidate, report: &Report) -> bool {
    let first = &report.check.first;
    let asked = !first.is_empty() && report.form.beta == 0.0 && report.overwritten.is_empty();
    if !asked || first.iter().any(|element| !element.got.is_nan()) {
        return false;
    }
    let Ok(after) = with_numbers_in_c(attempt, candidate, report.shape) else { return false };
    let got = |element: &WrongElement| match attempt.layout.turns_c() {
        false => after.at(element.row, element.col),
        true => after.at(element.col, element.row),
    };
    let kept = first.iter().all(|element| got(element) == MARK);
    let of_its_own = first.iter().all(|element| got(element).is_nan());
    if let Some(text) = exchanged_axes(report, &after).filter(|_| kept && !attempt.layout.turns_c()) {
        note(&format!("hint: {text}"));
        return true;
    }
    let stored = match &report.facts {
        Facts::Emulator(counted) => counted.total.global_store.bytes,
        Facts::Cuda { .. } => 0,
    };
    let elements = u64::from(report.shape.m) * u64::from(report.shape.n);
    if kept && stored >= elements * report.configuration.dtype.output.bytes() as u64 {
        note(
            "hint: C holds NaN before the launch, and these elements are not written, though as many are stored as C has: blocks or threads store to the same \
             elements. A block's first row and column are `blockIdx` times what a block stores, not times its threads; where tiles come in another order, each comes once",
        );
        return true;
    }
    note(match (kept, of_its_own) {
        (true, _) => {
            "hint: C holds NaN before the launch, and these elements are not written: do blocks and guards reach them? \
             what has no defined value, as beyond the end of a local array, a compiler does not store"
        }
        (_, true) => {
            "hint: the NaN is not from C: is there a variable without a value, an index beyond a local array, or an infinity?"
        }
        _ => "hint: C holds NaN before the launch, and these come from there: is C read although beta is 0?",
    });
    false
}

/// Whether rows are left out because the grid has the blocks for rows along x: if it had them along y, all would be reached.
fn exchanged_axes(report: &Report, after: &Matrix) -> Option<String> {
    let (m, n, grid) = (report.shape.m as usize, report.shape.n as usize, report.launch.grid);
    let reached = |row: &usize| (0..n).any(|column| after.at(*row, column) != MARK);
    let rows = (0..m).filter(reached).count();
    let (x, y) = (grid.x as usize, grid.y as usize);
    let of_block = rows / y.max(1);
    let is_prefix = rows < m && of_block > 0 && rows % y == 0 && (0..rows).all(|row| reached(&row));
    (is_prefix && x * of_block >= m && (x - 1) * of_block >= n && y * of_block >= n).then(|| {
        format!(
            "rows from {rows} on are not written: {y} blocks along y reach {of_block} rows each, and {x} along x are more than {n} columns need: \
             are x and y of the grid exchanged?"
        )
    })
}

/// Says that sums in few bits may be all that is wrong, if wrong elements are close to what they should be.
pub fn narrow_sums(report: &mut Report) {
    let narrow = report.sums.iter().find(|summed| matches!(summed.accumulator.as_str(), "f16" | "bf16"));
    let is_close =
        |element: &WrongElement| (element.got - element.expected).abs() <= 0.05 * element.expected.abs().max(1.0);
    let close =
        !report.check.first.is_empty() && report.overwritten.is_empty() && report.check.first.iter().all(is_close);
    if let Some(summed) = narrow.filter(|_| close) {
        let sums = &summed.accumulator;
        let text =
            format!("wrong elements are close to right: the kernel sums in {sums}, and the check expects sums in f32");
        report.check.suggestion = Some(text);
    }
}

/// C after a launch on the emulator that begins with the same number everywhere in it.
fn with_numbers_in_c(attempt: &Try, candidate: &Candidate, shape: Shape) -> Result<Matrix, Error> {
    let operands = operands(attempt, candidate, &shape)?;
    let plain = problem(attempt, shape, &operands)?;
    let extents = [plain.c.rows(), plain.c.columns(), plain.c.leading()];
    let c = Matrix::filled(plain.c.element(), extents, || MARK)?;
    let task = task(attempt, candidate, shape, &operands)?;
    emulated::launch(&task, &Problem { c, ..plain }, attempt.how.options()?.extras, of_blocks).map(|ran| ran.c)
}
