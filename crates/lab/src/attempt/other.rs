//! What else may be meant, where the product is wrong; and what no compiler would take.

use cuda_source::Launch;
use device::Device;
use gemm::report::Report;
use gemm::{Error, Shape, judge};

use super::layout::Layout;
use super::{Try, operands, report, varied};
use crate::candidate::Candidate;
use crate::output::note;
use crate::sanitize::faults::sharpened;
use crate::shared_memory;
use crate::written::ordinary;

/// Refuses a kernel whose static shared memory no ptxas takes.
pub fn static_shared(candidate: &Candidate) -> Result<(), Error> {
    let entry = &candidate.kernel.entry;
    let kernel = emulator::Module::parse(&candidate.kernel.ptx).and_then(|module| module.kernel(entry));
    kernel.map_or(Ok(()), |kernel| shared_memory::fits(&named(candidate), kernel.static_shared()))
}

/// Refuses a kernel whose blocks all meet, and whose file launches it otherwise.
pub fn cooperative(candidate: &Candidate) -> Result<(), Error> {
    let meets = candidate.kernel.ptx.contains("%envreg2");
    let launch = candidate.written.as_ref().and_then(|(program, choice)| ordinary(program, &choice.kernel));
    launch.filter(|_| meets).map_or(Ok(()), |Launch { path, line, .. }| {
        Err(Error::Fault(format!(
            "{path}:{line}: the blocks of the grid are to meet at `grid.sync()`, and this launch is no cooperative one\n\
             hint: `cudaLaunchCooperativeKernel` in the place of `<<<…>>>`, with no more blocks than the GPU holds together; or two launches, one for each side of it"
        )))
    })
}

/// Says how the product would be right, as in `reading` if there is one; whether it would.
pub fn propose(attempt: &Try, candidate: &Candidate, report: &Report, reading: Option<&str>) -> bool {
    if let Some(hint) = reading {
        note(&format!("hint: every element is right {hint}"));
        return true;
    }
    // Some kernels take whole tiles only, and the smaller problem has none.
    let shape = report.shape;
    let small = shape.m.max(shape.n).max(shape.k) <= WHOLE;
    // Nor does one tell anything on which the kernel is right as it stands.
    let shapes = [judge::smaller(&shape)].into_iter().filter(|smaller| !is_right(attempt, candidate, *smaller));
    let shapes = shapes.chain(small.then_some(shape));
    let all = || arguments(attempt, !report.overwritten.is_empty()).into_iter();
    let right = shapes.filter_map(|shape| all().find(|(other, _)| is_right(other, candidate, shape))).next();
    let found = right.map(|(_, hint)| note(&format!("hint: every element is right {hint}")));
    found.is_some()
}

/// Other layouts, and other meanings of the arguments.
pub fn alternatives(attempt: &Try) -> Vec<(Try, String)> {
    let other = |layout: Layout| {
        let args = leading(&attempt.args, attempt.layout, layout);
        (Try { layout, ..with_args(attempt, args) }, layout.hint().to_string())
    };
    attempt.layout.others().map(other).chain(arguments(attempt, false)).collect()
}

/// Other meanings of the arguments; of the matrices, too, where the kernel writes to what is taken for an input.
pub fn arguments(attempt: &Try, writes_inputs: bool) -> Vec<(Try, String)> {
    let mut alternatives = Vec::new();
    if writes_inputs {
        alternatives.extend(ORDERS.iter().map(|order| in_order(attempt, order)));
    }
    if !attempt.by_name {
        return alternatives;
    }
    let swapped: Vec<&str> = attempt
        .args
        .split(',')
        .map(|word| match word.trim() {
            "N" => "K",
            "K" => "N",
            other => other,
        })
        .collect();
    let args = swapped.join(",");
    let hint = format!("if the kernel's K is the columns of C, and its N those of A: --args {args}");
    alternatives.push((with_args(attempt, args), hint));
    alternatives
}

/// The same with other arguments, which its launch counts by as well.
pub fn with_args(attempt: &Try, args: String) -> Try {
    let planned = attempt.planned.clone().map(|planned| planned.with_args(&args));
    Try { args, planned, ..attempt.clone() }
}

/// The other orders of A, B and C, those that keep A before B first.
const ORDERS: [[&str; 3]; 5] = [["C", "A", "B"], ["A", "C", "B"], ["C", "B", "A"], ["B", "C", "A"], ["B", "A", "C"]];

/// The matrices in another order, among the other arguments.
fn in_order(attempt: &Try, order: &[&str; 3]) -> (Try, String) {
    let mut left = order.iter();
    let word = |word: &str| match word.trim() {
        "A" | "B" | "C" => left.next().copied().unwrap_or(word).to_string(),
        other => other.to_string(),
    };
    let args = attempt.args.split(',').map(word).collect::<Vec<_>>().join(",");
    let hint = format!("if its matrices are in this order: --args {args}");
    (with_args(attempt, args), hint)
}

/// The distances of rows as another layout has them.
pub fn leading(args: &str, before: Layout, layout: Layout) -> String {
    let words: Vec<&str> = args.split(',').collect();
    // Sizes before or behind the matrices stay; a distance stands right behind its matrix.
    let word = |(at, word): (usize, &&str)| {
        let matrix = at.checked_sub(1).and_then(|before| words.get(before)).copied();
        let place = ["A", "B", "C"].iter().position(|name| Some(*name) == matrix);
        let is_distance = place.is_some_and(|place| *word == before.leading()[place]);
        let alone = args.matches(['M', 'N', 'K']).count() > 3;
        match place {
            Some(place) if is_distance && alone => layout.leading()[place].to_string(),
            _ => word.to_string(),
        }
    };
    words.iter().enumerate().map(word).collect::<Vec<_>>().join(",")
}

/// Whether the emulator finds nothing wrong with it on these sizes.
pub fn is_right(attempt: &Try, candidate: &Candidate, shape: Shape) -> bool {
    let Ok(operands) = operands(attempt, candidate, &shape) else { return false };
    let ran = report(attempt, candidate, &Device::Emulator, shape, &operands);
    ran.is_ok_and(|(report, _)| report.check.right)
}

/// What is said of an address that may be right in another layout, or on other sizes.
const OF_PLACES: [&str; 5] = ["past the end", "before the start", "uninitialised", "no multiple of", "never written"];

/// Whether an error is of that kind.
pub fn is_of_places(error: &Error) -> bool {
    let Error::Fault(text) = error else { return false };
    let first = text.lines().next().unwrap_or_default();
    OF_PLACES.iter().any(|words| first.contains(words))
}

/// Sizes that are multiples of every usual tile.
const WHOLE: u32 = 256;

/// Says after a fault how there would be none: by other arguments, or where nobody chose the sizes, in whole tiles.
pub fn propose_after_fault(
    attempt: &Try,
    given: &dyn Fn(&str) -> bool,
    candidate: &Candidate,
    error: &Error,
    reading: Option<&str>,
) {
    let Error::Fault(text) = error else { return };
    let first = text.lines().next().unwrap_or_default();
    let writes_inputs = ["write", "store", "atomic"].iter().any(|word| first.contains(word))
        && [" A ", " B "].iter().any(|name| first.contains(name));
    if let Some(hint) = reading {
        return note(&format!("note: there is no fault, and every element is right, {hint}"));
    }
    let shape = judge::smaller(&super::shape(&attempt.sizes));
    if let Some((_, hint)) =
        arguments(attempt, writes_inputs).into_iter().find(|(other, _)| is_right(other, candidate, shape))
    {
        return note(&format!("note: there is no fault, and every element is right, {hint}"));
    }
    if writes_inputs {
        note("note: A and B are inputs, and the kernel writes there: are the arguments in its order?");
    }
    if OF_PLACES.iter().chain(&["race on C"]).any(|words| first.contains(words)) {
        let shape = super::shape(&attempt.sizes);
        let varied = varied::sizes(attempt, candidate, shape, first.contains("no multiple of"))
            .or_else(|| varied::launch(attempt, candidate, shape, first.contains("race on C")))
            .or_else(|| varied::mended(attempt, candidate, shape));
        if let Some(text) = varied {
            return note(&format!("hint: {text}"));
        }
    }
    let chosen = ["m", "n", "k", "size"].iter().any(|flag| given(flag));
    let shape = Shape { m: WHOLE, n: WHOLE, k: WHOLE };
    if !chosen && attempt.by_name && is_right(attempt, candidate, shape) {
        note(&format!("note: with --size {WHOLE} the kernel is right: does it take whole tiles only?"));
    }
}

/// The kernel's name as its file has it, where the compiler has made another of it.
pub fn named(candidate: &Candidate) -> String {
    let entry = &candidate.kernel.entry;
    match candidate.written.as_ref().filter(|_| entry.starts_with("_Z")) {
        Some((_, choice)) => choice.expression.clone(),
        None => entry.clone(),
    }
}

/// An error with the kernel's own name instead of the compiler's, and what the PTX says of it.
pub fn in_words(error: Error, candidate: &Candidate) -> Error {
    let name = named(candidate);
    let said = |text: String| text.replace(candidate.kernel.entry.as_str(), &name);
    let error = match error {
        Error::Fault(text) => Error::Fault(sharpened(text, &candidate.kernel.ptx)),
        other => other,
    };
    match error {
        _ if name == candidate.kernel.entry => error,
        Error::Fault(text) => Error::Fault(said(text)),
        Error::Usage { message, hint } => Error::Usage { message: said(message), hint: said(hint) },
    }
}
