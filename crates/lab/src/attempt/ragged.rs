//! A kernel that is right on sizes that its file names, tried on small ones that are no multiples of a tile.
//!
//! Only sizes that the kernel compares are changed: without a guard, it is for whole tiles, and says so by that.

use std::process::ExitCode;

use device::Device;
use gemm::report::Report;
use gemm::{Error, Shape};

use super::{Try, launch, operands, other, report};
use crate::candidate::Candidate;
use crate::expression::parts;
use crate::output::note;

/// Beyond one tile or two of most kernels, and off all of them.
const RAGGED: Shape = Shape { m: 69, n: 45, k: 39 };
/// What is a multiple of this may be whole tiles.
const TILE: u32 = 8;

/// Whole tiles of most kernels, and no square: what a size of the kernel's stands for shows.
const WHOLE: Shape = Shape { m: 64, n: 32, k: 96 };

/// Runs the kernel there once, with all checks, and says so. What is wrong there is said, and makes the exit code that of a fault.
pub fn tried(attempt: &Try, candidate: &Candidate) -> ExitCode {
    let by_name = if attempt.by_name { other::alternatives(attempt, candidate) } else { Vec::new() };
    let meanings = [(attempt.clone(), String::new())].into_iter().chain(by_name);
    let wanted = |(attempt, hint)| Some((shape(&attempt, candidate)?, attempt, hint));
    let mut meanings = meanings.filter_map(wanted);
    let Some((shape, attempt, hint)) = meanings.find(|(_, attempt, _)| other::is_right(attempt, candidate, WHOLE))
    else {
        return ExitCode::SUCCESS;
    };
    let ran = operands(&attempt, candidate, &shape)
        .and_then(|operands| report(&attempt, candidate, &Device::Emulator, shape, &operands));
    let flags = format!("--m {} --n {} --k {}", shape.m, shape.n, shape.k);
    let meaning = if hint.is_empty() { hint } else { format!(", {hint}") };
    let wrong = match ran {
        Ok((report, _)) if report.check.right => {
            note(&format!("note: right on {shape} as well, off its tiles{meaning}"));
            return ExitCode::SUCCESS;
        }
        // There it does not run at all.
        Err(Error::Usage { .. }) => return ExitCode::SUCCESS,
        Ok((report, _)) => {
            format!("the product is wrong in {} of {} elements", report.check.wrong, report.check.elements)
        }
        Err(fault) => other::in_words(attempt.layout.renamed(fault), candidate).to_string(),
    };
    note(&format!("note: wrong on {shape}, off its tiles; {flags} runs it there{meaning}\nerror: {wrong}"));
    ExitCode::FAILURE
}

/// Refuses a grid that host code counts for other sizes, where it leaves elements out and the kernel does not ask how many blocks there are.
///
/// # Errors
/// [`Error::Usage`], with the launch.
pub fn is_enough(attempt: &Try, candidate: &Candidate, report: &Report) -> Result<(), Error> {
    let Some(planned) = attempt.planned.as_ref().filter(|planned| planned.parts[0]) else { return Ok(()) };
    let left_out = report.check.first.iter().all(|element| element.got.is_nan());
    if !left_out
        || !planned.is_fixed()
        || planned.covers_host_sizes(attempt)
        || candidate.kernel.ptx.contains("%nctaid")
    {
        return Ok(());
    }
    Err(Error::usage(
        format!("the launch of {} is for other sizes, and leaves elements of C out", planned.place()),
        "--grid X,Y says how many blocks M, N and K take, as in --grid 'cdiv(N,64),cdiv(M,64)'; or --m, --n and --k are those of host code",
    ))
}

/// Sizes off the tiles, in the directions that have a guard; none where there is no guard, or where the launch leaves the edges out.
fn shape(attempt: &Try, candidate: &Candidate) -> Option<Shape> {
    let (_, choice) = candidate.written.as_ref()?;
    let (words, parameters) = (parts(&attempt.args), &choice.kernel.parameters);
    let is_guarded = |size: &str| {
        words.len() == parameters.len()
            && words.iter().zip(parameters).any(|(word, parameter)| *word == size && parameter.guarded)
    };
    let whole = super::shape(&attempt.sizes);
    let square = !words.contains(&"M") && !words.contains(&"K");
    let shape = match square {
        true if is_guarded("N") => Shape { m: RAGGED.n, n: RAGGED.n, k: RAGGED.n },
        true => return None,
        false => {
            let of = |size: &str, whole: u32, ragged: u32| if is_guarded(size) { ragged } else { whole };
            Shape { m: of("M", whole.m, RAGGED.m), n: of("N", whole.n, RAGGED.n), k: of("K", whole.k, RAGGED.k) }
        }
    };
    let were_whole = [whole.m, whole.n, whole.k].iter().all(|size| size % TILE == 0);
    (were_whole && shape != whole && covers(attempt, &shape)).then_some(shape)
}

/// Whether the launch has blocks enough for all of C: host code may round down, and then the sizes are whole tiles by its word. Nor does
/// a grid of so many blocks, whatever the sizes are, cover others than its own.
fn covers(attempt: &Try, shape: &Shape) -> bool {
    let larger = Shape { m: 8 * shape.m, n: 8 * shape.n, k: shape.k };
    let (Ok(launch), Ok(grown)) = (launch::launch(attempt, shape), launch::launch(attempt, &larger)) else {
        return false;
    };
    let tile = u64::from(launch.tile.m) * u64::from(launch.tile.n);
    let grows = grown.grid.count() > launch.grid.count();
    grows && launch.grid.count().saturating_mul(tile) >= u64::from(shape.m) * u64::from(shape.n)
}
