//! What else may be meant, where the product is wrong; and what no compiler would take.

use cuda_source::roles::lanes;
use cuda_source::{Launch, Parameter};
use device::Device;
use gemm::facts::Facts;
use gemm::report::Report;
use gemm::{Error, Shape, judge};

use super::layout::Layout;
use super::{Try, launch, operands, report, varied};
use crate::candidate::Candidate;
use crate::expression::parts;
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
    let all = || arguments(attempt, candidate, !report.overwritten.is_empty()).into_iter();
    let right = shapes.filter_map(|shape| all().find(|(other, _)| is_right(other, candidate, shape))).next();
    let found = right.map(|(_, hint)| note(&format!("hint: every element is right {hint}")));
    found.is_some()
}

/// Other layouts, and other meanings of the arguments.
pub fn alternatives(attempt: &Try, candidate: &Candidate) -> Vec<(Try, String)> {
    let other = |layout: Layout| {
        let args = leading(&attempt.args, attempt.layout, layout);
        (Try { layout, ..with_args(attempt, args) }, layout.hint().to_string())
    };
    attempt.layout.others().map(other).chain(arguments(attempt, candidate, false)).collect()
}

/// Other meanings of the arguments; of the matrices, too, where the kernel writes to what is taken for an input.
pub fn arguments(attempt: &Try, candidate: &Candidate, writes_inputs: bool) -> Vec<(Try, String)> {
    let mut alternatives = Vec::new();
    if writes_inputs {
        alternatives.extend(ORDERS.iter().map(|order| in_order(attempt, order)));
    }
    if !attempt.by_name && attempt.guess.is_none() {
        return alternatives;
    }
    if !writes_inputs {
        let exchanged = |matrix: &str| match matrix {
            "A" => "B",
            "B" => "A",
            _ => "C",
        };
        alternatives.push(renamed(attempt, exchanged));
    }
    let words: Vec<&str> = parts(&attempt.args);
    let written = candidate.written.as_ref().map(|(_, choice)| &choice.kernel);
    let parameters = || written.iter().flat_map(|kernel| &kernel.parameters);
    let lanes = parameters().filter(|own| own.pointer).filter_map(|own| lanes(&own.element)).max();
    // Sizes stand for each other as a whole, distances of rows with them.
    let exchanged = SIZE_ORDERS.iter().map(|order| {
        let word = |c: char| ["M", "N", "K"].iter().position(|size| *size == c.to_string()).map_or(c, |at| order[at]);
        let args: String = words.iter().map(|own| each_size(own, &word)).collect::<Vec<_>>().join(",");
        let hint = match order {
            ['M', 'K', 'N'] => format!("if the kernel's K is the columns of C, and its N those of A: --args {args}"),
            _ => format!("if its sizes are in this order: --args {args}"),
        };
        (args, hint)
    });
    let counted = VECTORS.iter().filter_map(|sizes| {
        let lanes = lanes.filter(|_| !attempt.args.contains('/'))?;
        let word = |word: &&str| if sizes.contains(word) { format!("{word}/{lanes}") } else { word.to_string() };
        let args = words.iter().map(word).collect::<Vec<_>>().join(",");
        Some((args.clone(), {
            let verb = if sizes.len() == 1 { "is" } else { "are" };
            format!("if {} {verb} counted in vectors of {lanes}: --args {args}", sizes.join(" and "))
        }))
    });
    let is_pitch = |own: &Parameter| !own.pointer && own.name.to_ascii_lowercase().contains("pitch");
    let pitched = (parameters().any(is_pitch) && parameters().count() == words.len()).then(|| {
        let bytes = attempt.how.dtype.input.bytes();
        let word =
            |(word, own): (&&str, &Parameter)| if is_pitch(own) { format!("{word}*{bytes}") } else { word.to_string() };
        let args = words.iter().zip(parameters()).map(word).collect::<Vec<_>>().join(",");
        (args.clone(), format!("if a pitch is counted in bytes: --args {args}"))
    });
    let all: Vec<(String, String)> = exchanged.chain(counted).chain(pitched).collect();
    for (at, (args, hint)) in all.iter().enumerate() {
        if *args != attempt.args && !all[..at].iter().any(|(before, _)| before == args) {
            alternatives.push((with_args(attempt, args.clone()), hint.clone()));
        }
    }
    alternatives
}

/// Launches of a kernel whose file has none, beside the one that is taken first.
pub fn launches(attempt: &Try, given: &dyn Fn(&str) -> bool) -> Vec<(Try, String)> {
    if attempt.planned.is_some() || given("grid") {
        return Vec::new();
    }
    let tiles = LAUNCHES.iter().filter(|_| !given("block")).map(|(block, grid)| (block.to_string(), grid.to_string()));
    let turned = |c: char| match c {
        'M' => 'N',
        'N' => 'M',
        other => other,
    };
    [(attempt.block.clone(), each_size(&attempt.grid, &turned))]
        .into_iter()
        .chain(tiles)
        .map(|(block, grid)| {
            let hint = format!("if it is launched so: --block {block} --grid '{grid}'");
            (Try { block, grid, ..attempt.clone() }, hint)
        })
        .collect()
}

/// Blocks that are usual, and grids of them.
const LAUNCHES: [(&str, &str); 5] = [
    ("16,16", "cdiv(N,16),cdiv(M,16)"),
    ("16,16", "cdiv(M,16),cdiv(N,16)"),
    ("8,8", "cdiv(N,8),cdiv(M,8)"),
    ("8,8", "cdiv(M,8),cdiv(N,8)"),
    ("256", "cdiv(M*N,256)"),
];

/// A word with its sizes renamed; numbers, matrices and factors stay.
fn each_size(word: &str, renamed: &dyn Fn(char) -> char) -> String {
    let is_size = !word.contains('=') && word.contains(['M', 'N', 'K']);
    if is_size { word.chars().map(renamed).collect() } else { word.to_string() }
}

/// M, N and K in other orders, the one that is most usual first.
const SIZE_ORDERS: [[char; 3]; 5] =
    [['M', 'K', 'N'], ['N', 'M', 'K'], ['K', 'N', 'M'], ['N', 'K', 'M'], ['K', 'M', 'N']];
/// Sizes that a kernel may count in vectors.
const VECTORS: [&[&str]; 4] = [&["N", "K"], &["N"], &["K"], &["M", "K"]];

/// Whether the factors are exchanged in another reading.
pub fn exchanges_factors(attempt: &Try, other: &Try) -> bool {
    let first = |attempt: &Try| {
        parts(&attempt.args).iter().find_map(|word| (*word == "A" || *word == "B").then(|| word.to_string()))
    };
    first(attempt) != first(other)
}

/// The same with other arguments, which its launch counts by as well.
pub fn with_args(attempt: &Try, args: String) -> Try {
    let planned = attempt.planned.clone().map(|planned| planned.with_args(&args));
    Try { args, planned, ..attempt.clone() }
}

/// The other orders of A, B and C, those that keep A before B first.
const ORDERS: [[&str; 3]; 5] = [["C", "A", "B"], ["A", "C", "B"], ["C", "B", "A"], ["B", "C", "A"], ["B", "A", "C"]];

/// The matrices in another order, among the other arguments.
fn in_order(attempt: &Try, order: &[&'static str; 3]) -> (Try, String) {
    let mut left = order.iter();
    renamed(attempt, |_| left.next().copied().unwrap_or("C"))
}

/// The same with other names for its matrices.
fn renamed(attempt: &Try, mut name: impl FnMut(&str) -> &'static str) -> (Try, String) {
    let word = |word: &str| match word.trim() {
        matrix @ ("A" | "B" | "C") => name(matrix).to_string(),
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
    let ran = || -> Result<bool, Error> {
        let (operands, grid) = (operands(attempt, candidate, &shape)?, launch::grid(attempt, &shape)?);
        let Some(limit) = attempt.budget.next(attempt.how.instruction_limit, grid) else { return Ok(false) };
        let mut limited = attempt.clone();
        limited.how.instruction_limit = limit;
        match report(&limited, candidate, &Device::Emulator, shape, &operands) {
            Ok((report, _)) => {
                if let Facts::Emulator(counted) = &report.facts {
                    attempt.budget.took(&counted.total);
                }
                Ok(report.check.right)
            }
            Err(why) => {
                attempt.budget.failed(&why.to_string(), limit);
                Err(why)
            }
        }
    };
    ran().unwrap_or(false)
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
        arguments(attempt, candidate, writes_inputs).into_iter().find(|(other, _)| is_right(other, candidate, shape))
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
