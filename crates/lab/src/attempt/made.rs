//! Of which elements a wrong product is made, if it is small and no NaN.

use gemm::facts::Extras;
use gemm::problem::Problem;
use gemm::report::Report;
use gemm::{Error, Shape, emulated};

use super::{Try, operands, problem, task};
use crate::candidate::Candidate;
use crate::output::note;
use crate::probe::{MOST, Probe, launches};

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
    let instruction_limit = launches::instructions(own.instruction_limit, task.launch.grid);
    let extras = Extras { instruction_limit, sanitize: false, ..own };
    let launch = |problem: &Problem| emulated::launch(&task, problem, extras, emulated::unwatched).map(|ran| ran.c);
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
