//! What other orders of blocks and warps say, and the emulator beside a card.

use common::progress::of_blocks;
use emulator::{Schedule, Warning};
use gemm::check::Check;
use gemm::facts::{Extras, Facts};
use gemm::judge::{self, Judged, Verdict};
use gemm::matrix::Matrix;
use gemm::problem::{Fill, Problem};
use gemm::task::Task;
use gemm::{Error, Shape, emulated};

use super::launch::grid;
use super::{Try, operands, problem, task};
use crate::candidate::Candidate;
use crate::operands::Operands;
use crate::output::note;

/// What is doubtful in any order in a kernel that is right with the first block first; a fault is an error.
pub fn in_every_order(
    attempt: &Try,
    candidate: &Candidate,
    shape: Shape,
    operands: &Operands,
    first: (&Matrix, Vec<Warning>),
) -> Result<Vec<Warning>, Error> {
    let (problem, extras) = (problem(attempt, shape, operands)?, attempt.how.options()?.extras);
    let task = task(attempt, candidate, shape, operands)?;
    if attempt.product.leaves_out() {
        return part_in_every_order(attempt, (&task, &problem), extras, first);
    }
    let orders = judge::in_every_order(&task, &problem, extras, first, of_blocks)?;
    orders.differs.iter().for_each(|differs| depends(differs));
    Ok(orders.warnings)
}

/// The same of a product of which a part is written.
fn part_in_every_order(
    attempt: &Try,
    (task, problem): (&Task, &Problem),
    extras: Extras,
    (first, mut doubtful): (&Matrix, Vec<Warning>),
) -> Result<Vec<Warning>, Error> {
    for schedule in Schedule::ALL.into_iter().filter(|&schedule| schedule != Schedule::FirstFirst) {
        let ran = emulated::launch(task, problem, Extras { schedule, ..extras }, of_blocks)?;
        let whole = attempt.product.completed(attempt.layout, problem, &ran.c)?;
        let check = Check::of(problem, Fill::Reals, &whole, task.method());
        if !check.right {
            let (wrong, elements) = (check.wrong, check.elements);
            return Err(Error::Fault(format!(
                "the product is wrong in {wrong} of {elements} elements with {schedule}"
            )));
        }
        if let Some((row, column)) = first.first_difference(&whole) {
            depends(&format!("element ({row}, {column}) is another with {schedule}"));
        }
        if let Facts::Emulator(counted) = &ran.facts {
            Warning::gather(&mut doubtful, &counted.warnings);
        }
    }
    Ok(doubtful)
}

/// Says that the product is not the same in every order.
pub fn depends(differs: &str) {
    note(&format!("note: the product depends on the order of blocks and warps: {differs}"));
}

/// What the emulator says of a kernel that a card has run, on a problem that does not take it long.
pub fn beside_the_card(attempt: &Try, candidate: &Candidate, shape: Shape) -> Result<Judged, Error> {
    let small = judge::smaller(&shape);
    if attempt.product.leaves_out() {
        let verdict = Verdict::Unknown("C is not all of the product; `--backend emulator` looks".to_string());
        return Ok(Judged { shape, orders: Vec::new(), verdict, differs: None, warnings: Vec::new() });
    }
    let grid = |shape| grid(attempt, shape);
    if small != shape && grid(&small)? == grid(&shape)? {
        let why =
            "the grid is the same for a smaller problem, and this one is large; `--backend emulator` takes its time";
        let verdict = Verdict::Unknown(why.to_string());
        return Ok(Judged { shape, orders: Vec::new(), verdict, differs: None, warnings: Vec::new() });
    }
    let operands = operands(attempt, candidate, &small)?;
    let problem = problem(attempt, small, &operands)?;
    let task = task(attempt, candidate, small, &operands)?;
    Ok(judge::judge(&task, &problem, attempt.how.options()?.extras, of_blocks))
}
