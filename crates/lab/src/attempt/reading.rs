//! Which product a kernel computes exactly, where it is not the one that it was taken for: other layouts of A, B and C, C added to,
//! triangles.
//!
//! A reading counts where it gives every element of C on small whole numbers, at several sizes, with what does not count in the matrices
//! filled as well. Whether it is taken is for the file to say.

use gemm::dtype::Dtype;
use gemm::facts::Extras;
use gemm::matrix::Matrix;
use gemm::problem::Problem;
use gemm::report::Report;
use gemm::{Error, Shape, judge};

use super::formula::{Formula, Part};
use super::layout::Layout;
use super::other::{arguments, exchanges_factors, is_right, launches, leading, with_args};
use super::said::Said;
use super::varied::{stretched, trial};
use super::{Try, operands, task};
use crate::candidate::Candidate;
use crate::expression::parts;
use crate::output::note;

/// Multiply-adds of a launch, at most.
const MOST: u64 = 1 << 23;
/// What the matrices hold: so small that sums are exact in every type.
const LARGEST: i64 = 2;
/// Layouts that are tried whatever a file says.
const USUAL: [Layout; 3] = [Layout::Row, Layout::Column, Layout::Nt];

/// Another product.
#[derive(Clone)]
pub struct Reading {
    /// What is tried then.
    pub attempt: Try,
    /// What is the case then, and the flags that say so.
    pub hint: String,
    /// By what it is meant, if the file says so, or says nothing else.
    by: Option<&'static str>,
    /// Whether what the file says leaves it open.
    open: bool,
}

fn hint(attempt: &Try, before: &Try) -> String {
    let layout = (attempt.layout != before.layout).then(|| attempt.layout.hint().to_string());
    let formula =
        (attempt.product != before.product).then(|| format!("if the product is {0}: --product '{0}'", attempt.product));
    layout.into_iter().chain(formula).collect::<Vec<_>>().join(", and ")
}

/// Numbers of a launch, in the user's terms: A as M x K, B as K x N, C before and after as M x N.
struct Numbers {
    sizes: [usize; 3],
    a: Vec<f64>,
    b: Vec<f64>,
    before: Vec<f64>,
    after: Vec<f64>,
    alpha: f64,
    beta: f64,
    c: Matrix,
}

/// The readings that give every element at these sizes and at others, the plainest first; where flags do not say how the matrices lie, what is
/// computed, what the arguments are, or how it is launched.
pub fn all(attempt: &Try, candidate: &Candidate, shape: Shape, given: &dyn Fn(&str) -> bool) -> Vec<Reading> {
    let shape = if work(&shape) > MOST { judge::smaller(&shape) } else { shape };
    let (said, words) = (Said::of(attempt, candidate), parts(&attempt.args));
    let search = Search { candidate, said: &said, given };
    let found = search.as_named(attempt, shape);
    if !found.is_empty() || given("args") {
        return found;
    }
    let at = |sizes: [u32; 3], why: String| {
        let [m, n, k] = sizes;
        let (mut other, shape) = (attempt.clone(), Shape { m, n, k });
        (other.sizes.m, other.sizes.n, other.sizes.k) = (Some(m), Some(n), Some(k));
        let own = Reading { attempt: other, hint: why, by: None, open: true };
        let found = if work(&shape) > MOST { Vec::new() } else { search.as_named(&own.attempt, shape) };
        match found.is_empty() && (work(&shape) > MOST || is_right(&own.attempt, candidate, shape)) {
            true => vec![own],
            false => found.into_iter().map(|reading| reading.behind(&own)).collect(),
        }
    };
    let sizes = [("M", shape.m), ("N", shape.n), ("K", shape.k)];
    let is_said = |name: &str| words.iter().any(|word| !word.contains('=') && word.contains(name));
    let (there, missing): (Vec<_>, Vec<_>) = sizes.iter().partition(|(name, _)| is_said(name));
    if there.is_empty() {
        // They are the file's own.
        let own = own_sizes(candidate).filter(|own| *own != [shape.m, shape.n, shape.k]);
        let [m, n, k] = own.unwrap_or_default();
        let why =
            format!("with --m {m} --n {n} --k {k}, as the file has them, since no argument of the kernel says a size");
        return own.map(|own| at(own, why)).unwrap_or_default();
    }
    // A size that no argument says may be bound to another one, as in a triangle's product.
    let bound = missing.iter().take(1).filter(|_| there.len() == 2).flat_map(|(name, size)| {
        there.iter().filter(move |(_, other)| other != size).map(move |(_, other)| (*name, *other))
    });
    may_be_meant(bound.map(|(name, size)| {
        let why = format!("with --{} {size}, since no argument of the kernel says {name}", name.to_lowercase());
        at(sizes.map(|(own, before)| if own == name { size } else { before }), why)
    }))
}

/// M, N and K, or the one size of square matrices, by the constants of a file that has names for them.
fn own_sizes(candidate: &Candidate) -> Option<[u32; 3]> {
    let (program, _) = candidate.written.as_ref()?;
    let constant =
        |name: &str| program.constant(name).and_then(|size| u32::try_from(size).ok()).filter(|size| *size > 0);
    let square = ["N", "SIZE", "WIDTH", "n", "size", "MATRIX_SIZE"].into_iter().find_map(constant);
    let all = [constant("M"), constant("N"), constant("K")];
    match all {
        [Some(m), Some(n), Some(k)] => Some([m, n, k]),
        [None, _, None] => square.map(|size| [size; 3]),
        _ => None,
    }
}

/// The readings of the first way that leaves one open; else those of the first way that has some.
fn may_be_meant(ways: impl Iterator<Item = Vec<Reading>>) -> Vec<Reading> {
    let mut first = Vec::new();
    for found in ways {
        if found.iter().any(|reading| reading.open) {
            return found;
        }
        if first.is_empty() {
            first = found;
        }
    }
    first
}

/// What readings are looked for in.
struct Search<'a> {
    candidate: &'a Candidate,
    said: &'a Said,
    given: &'a dyn Fn(&str) -> bool,
}

impl Search<'_> {
    /// The readings with these sizes; with other arguments and launches, where names and the file leave them open.
    fn as_named(&self, attempt: &Try, shape: Shape) -> Vec<Reading> {
        let Search { candidate, said, given } = self;
        let found = of_arguments(attempt, candidate, (shape, said), given);
        if let Some(found) = found.iter().find(|found| !found.is_empty()) {
            return found.clone();
        }
        let others = |taken: Vec<(Try, String)>, by: Option<&'static str>, open: bool| {
            may_be_meant(taken.into_iter().map(|(other, hint)| {
                let is_exchanged = exchanges_factors(attempt, &other);
                let by = by.or((is_exchanged && said.has_factors_exchanged()).then_some(SAYS));
                let open = open && !(is_exchanged && by.is_none() && said.names_factors());
                let own = Reading { attempt: other, hint, by, open };
                match of_arguments(&own.attempt, candidate, (shape, said), given) {
                    None if is_right(&own.attempt, candidate, shape) => vec![own],
                    None => Vec::new(),
                    Some(found) => found.into_iter().map(|reading| reading.behind(&own)).collect(),
                }
            }))
        };
        let launched = || others(launches(attempt, given), Some("the file has no launch"), true);
        let arguments = || {
            let by = match &attempt.guess {
                Some(_) => Some("names do not say what else is meant"),
                None => said.has_inner_n().then_some(SAYS),
            };
            others(arguments(attempt, candidate, false), by, !said.has_sizes())
        };
        // Where it is what it was taken for, its arguments are right.
        let is_open = found.is_some() && !given("args");
        let found = launched();
        if found.is_empty() && is_open { arguments() } else { found }
    }
}

/// What a file says of a reading.
const SAYS: &str = "the file says so";

/// The readings with the arguments and the launch as they are; `None` where it is what it was taken for.
fn of_arguments(
    attempt: &Try,
    candidate: &Candidate,
    (shape, said): (Shape, &Said),
    given: &dyn Fn(&str) -> bool,
) -> Option<Vec<Reading>> {
    let is_open = |layout: &Layout| {
        let transposed = [Layout::Tn, Layout::Tt].contains(layout) && !said.is_explicit();
        !given("layout") && (USUAL.contains(layout) || transposed || said.has_layout(*layout))
    };
    let layouts = std::iter::once(attempt.layout).chain(attempt.layout.others().filter(is_open));
    let mut found = Vec::new();
    for layout in layouts {
        let args = leading(&attempt.args, attempt.layout, layout);
        let other = Try { layout, ..with_args(attempt, args) };
        let Some(numbers) = numbers(&other, candidate, shape, 1) else { continue };
        let is_own = layout == attempt.layout;
        if is_own && numbers.is(&attempt.product) {
            return None;
        }
        let formulas = if given("product") { vec![attempt.product] } else { numbers.formulas() };
        for formula in formulas {
            let fits = |numbers: &Numbers| numbers.is(&formula);
            if fits(&numbers) && holds(&other, candidate, shape, &fits) {
                let is_said = (is_own || said.has_layout(layout)) && said.has_formula(&formula);
                let other = Try { product: formula, ..other.clone() };
                // Any factor fits some mistake; and no mistake turns all three.
                if is_said || formula.times == 1.0 {
                    let plain = Formula { parts: [None; 3], added: false, relu: false, ..formula } == formula;
                    let is_other = if layout == Layout::Column && plain {
                        said.has_layout(Layout::Row)
                    } else {
                        said.is_explicit()
                    };
                    let open = is_said || !is_other;
                    let by = is_said.then_some(SAYS);
                    found.push(Reading { hint: hint(&other, attempt), attempt: other, by, open });
                }
            }
        }
    }
    Some(found)
}

impl Reading {
    /// It, behind another that it needs.
    fn behind(self, first: &Reading) -> Reading {
        let hint = format!("{}, and {}", first.hint, self.hint);
        Reading { hint, by: self.by.and(first.by), open: self.open && first.open, attempt: self.attempt }
    }
}

/// The reading that the file's own words say, which is told; an error, where several are as good as one and the file says nothing.
pub fn meant(attempt: &Try, candidate: &Candidate, readings: &[Reading]) -> Result<Option<Box<Try>>, Error> {
    if let Some((reading, by)) = readings.iter().find_map(|reading| reading.by.map(|by| (reading, by))) {
        let hint = &reading.hint;
        note(&format!("note: every element is right {hint}; {by}, and it is checked as that"));
        return Ok(Some(Box::new(reading.attempt.clone())));
    }
    let name = super::other::named(candidate);
    // Blocks that add to C need zeros there, whatever is meant.
    let atomic = ["red.global", "atom.global", "red.gpu", "red.relaxed", "cp.reduce"];
    let adds = atomic.iter().any(|words| candidate.kernel.ptx.contains(words));
    let may_be_meant = |reading: &&Reading| reading.open && !(reading.attempt.product.added && adds);
    match readings.iter().find(may_be_meant) {
        Some(reading) => Err(Error::usage(
            format!("{name}: it is not {}, and the file does not say what else is meant", attempt.product),
            format!("every element is right {}", reading.hint),
        )),
        None => Ok(None),
    }
}

/// Refuses a kernel that is wrong with arguments that are guessed.
///
/// # Errors
/// [`Error::Usage`], with what is not clear.
pub fn is_no_guess(attempt: &Try, candidate: &Candidate) -> Result<(), Error> {
    let Some(unclear) = &attempt.guess else { return Ok(()) };
    let shape = super::shape(&attempt.sizes);
    let shape = if work(&shape) > MOST { judge::smaller(&shape) } else { shape };
    if numbers(attempt, candidate, shape, 1).is_some_and(|numbers| numbers.is(&attempt.product)) {
        return Ok(());
    }
    Err(Error::usage(
        format!(
            "{}: it is not clear {unclear}, and it is not right as {}",
            super::other::named(candidate),
            attempt.args
        ),
        "--args says what each parameter is, as in --args A,B,C,M,N/4,K/4; `lab sanitize` runs any kernel, with what is expected of a buffer by --expect",
    ))
}

/// Refuses a kernel that is said to compute more than a product.
///
/// # Errors
/// [`Error::Usage`], with the word that says so.
pub fn is_no_other(attempt: &Try, candidate: &Candidate) -> Result<(), Error> {
    let said = Said::of(attempt, candidate);
    if let Some(word) = said.in_tiles() {
        let name = super::other::named(candidate);
        return Err(Error::usage(
            format!(
                "{name}: by `{word}` the file says that a matrix does not lie row by row, and so C is not {}",
                attempt.product
            ),
            "`lab try` fills plain matrices, by --layout; `lab sanitize` runs any kernel, and --expect C=@FILE says what is to come out",
        ));
    }
    said.beyond().map_or(Ok(()), |word| {
        let name = super::other::named(candidate);
        Err(Error::usage(
            format!("{name}: C is not {}, and by `{word}` the file says that it is more than a product", attempt.product),
            "`lab sanitize` runs any kernel, and --expect C=@FILE says what is to come out; --product 'C = A * B' checks for the product alone",
        ))
    })
}

/// The same product in tf32, where that is what the kernel's tensor cores multiply, and all that is wrong.
pub fn in_tf32(
    attempt: &Try,
    candidate: &Candidate,
    report: &Report,
    given: &dyn Fn(&str) -> bool,
) -> Option<Box<Try>> {
    let coarse = report.sums.iter().find(|summed| summed.input == "tf32")?;
    if report.check.right || attempt.how.dtype != Dtype::F32 || given("dtype") {
        return None;
    }
    let mut other = attempt.clone();
    other.how.dtype = Dtype::TF32;
    is_right(&other, candidate, report.shape).then(|| {
        let instruction = &coarse.instruction;
        note(&format!("note: factors are cut to tf32 ({instruction}), and it is checked as that: --dtype tf32"));
        Box::new(other)
    })
}

/// Whether it fits with other numbers, and at one more set of sizes at least.
fn holds(attempt: &Try, candidate: &Candidate, shape: Shape, fits: &dyn Fn(&Numbers) -> bool) -> bool {
    let at = |shape: Shape, seed: u64| numbers(attempt, candidate, shape, seed).is_some_and(|numbers| fits(&numbers));
    let Shape { m, n, k } = shape;
    let twice = |m, n, k| Shape { m, n, k };
    let others = [
        twice(2 * m, 2 * n, 2 * k),
        twice(m.div_ceil(2), n.div_ceil(2), k.div_ceil(2)),
        twice(2 * m, n, k),
        twice(m, 2 * n, k),
        twice(m, n, 2 * k),
        twice(2 * m, n, 2 * k),
    ];
    let others = others.into_iter().filter(|other| work(other) <= 8 * MOST);
    at(shape, 2) && others.into_iter().any(|other| at(other, 3))
}

fn work(shape: &Shape) -> u64 {
    u64::from(shape.m).saturating_mul(u64::from(shape.n)).saturating_mul(u64::from(shape.k))
}

/// Launches the kernel on small whole numbers.
fn numbers(attempt: &Try, candidate: &Candidate, shape: Shape, seed: u64) -> Option<Numbers> {
    let ran = || -> Result<Numbers, Error> {
        let plain = Try { product: Formula::default(), ..attempt.clone() };
        let operands = operands(&plain, candidate, &shape)?;
        let made = super::problem(&plain, shape, &operands)?;
        let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed);
        let mut drawn = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as i64 % (2 * LARGEST + 1) - LARGEST) as f64
        };
        let mut filled = |matrix: &Matrix| {
            Matrix::filled(matrix.element(), [matrix.rows(), matrix.columns(), matrix.leading()], &mut drawn)
        };
        let problem = Problem { a: filled(&made.a)?, b: filled(&made.b)?, c: filled(&made.c)?, ..made };
        let mut task = task(&plain, candidate, shape, &operands)?;
        let given = super::shape(&attempt.sizes);
        if given != shape && super::launch::grid(attempt, &given)? == task.launch.grid {
            task.launch.grid = stretched(task.launch.grid, given, shape);
        }
        let own = attempt.how.options()?.extras;
        let Some(ran) = trial(attempt, &task, &problem, Extras { sanitize: false, ..own })? else {
            return Err(Error::Fault("it is cut off".to_string()));
        };
        if !ran.overwritten.is_empty() {
            return Err(Error::Fault("an input is written".to_string()));
        }
        Ok(Numbers::of(attempt.layout, shape, &problem, &ran.c))
    };
    ran().ok()
}

impl Numbers {
    fn of(layout: Layout, shape: Shape, problem: &Problem, after: &Matrix) -> Numbers {
        let [m, n, k] = [shape.m, shape.n, shape.k].map(|size| size as usize);
        let turned = layout.turns_c();
        let each = |rows: usize, columns: usize, of: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            (0..rows)
                .flat_map(|row| (0..columns).map(move |column| (row, column)))
                .map(|(row, column)| of(row, column))
                .collect()
        };
        let of_c = |c: &Matrix| each(m, n, &|row, column| if turned { c.at(column, row) } else { c.at(row, column) });
        Numbers {
            sizes: [m, n, k],
            a: each(m, k, &|row, step| if turned { problem.b_at(step, row) } else { problem.a_at(row, step) }),
            b: each(k, n, &|step, column| if turned { problem.a_at(column, step) } else { problem.b_at(step, column) }),
            before: of_c(&problem.c),
            after: of_c(after),
            alpha: problem.form.alpha,
            beta: problem.form.beta,
            c: after.clone(),
        }
    }

    /// The formulas that may be meant, each with the factor that its first element has.
    fn formulas(&self) -> Vec<Formula> {
        let [m, n, k] = self.sizes;
        let none = std::iter::once([None; 3]);
        let of = |matrix: usize, square: bool, parts: Vec<Part>| {
            parts.into_iter().filter(move |_| square).map(move |part| {
                let mut all = [None; 3];
                all[matrix] = Some(part);
                all
            })
        };
        let every = || Part::ALL.iter().map(|(_, part)| *part).collect::<Vec<_>>();
        let parts = none.chain(of(0, m == k, every())).chain(of(1, k == n, every())).chain(of(
            2,
            m == n,
            vec![Part::Lower, Part::Upper],
        ));
        let mut found = Vec::new();
        for parts in parts {
            for added in [false, true] {
                if added && self.beta != 0.0 {
                    continue;
                }
                let plain = Formula { parts, added, ..Formula::default() };
                found.push(plain);
                found.extend((!added && self.beta == 0.0).then_some(Formula { relu: true, ..plain }));
                found.extend(self.times(&plain).map(|times| Formula { times, ..plain }));
            }
        }
        found
    }

    /// The factor that is not 1, as one element shows it.
    fn times(&self, formula: &Formula) -> Option<f64> {
        let [m, n, _] = self.sizes;
        let mut places = (0..m).flat_map(|row| (0..n).map(move |column| (row, column)));
        let (row, column, sum) = places.find_map(|(row, column)| {
            let counts = formula.parts[2].is_none_or(|part| part.has(row, column));
            let sum = if counts { self.sum(formula, row, column) } else { 0.0 };
            (sum != 0.0).then_some((row, column, sum))
        })?;
        let at = row * n + column;
        let times = (self.after[at] - self.added(formula) * self.before[at]) / (self.alpha * sum);
        (times.is_finite() && times != 0.0 && times != 1.0).then_some(times)
    }

    fn added(&self, formula: &Formula) -> f64 {
        if formula.added { 1.0 } else { self.beta }
    }

    fn sum(&self, formula: &Formula, row: usize, column: usize) -> f64 {
        let [_, n, k] = self.sizes;
        let a = |row: usize, step: usize| self.a[row * k + step];
        let b = |step: usize, column: usize| self.b[step * n + column];
        let term = |step: usize| {
            let a = formula.parts[0].map_or_else(|| a(row, step), |part| part.at(row, step, a));
            a * formula.parts[1].map_or_else(|| b(step, column), |part| part.at(step, column, b))
        };
        (0..k).map(term).sum()
    }

    /// Whether every element is as the formula has it.
    fn is(&self, formula: &Formula) -> bool {
        let [m, n, k] = self.sizes;
        let is_square = |part: Option<Part>, rows: usize, columns: usize| part.is_none() || rows == columns;
        let [a, b, c] = formula.parts;
        let squares = is_square(a, m, k) && is_square(b, k, n) && is_square(c, m, n);
        squares
            && (0..m * n).all(|at| {
                let (row, column) = (at / n, at % n);
                let added = if self.added(formula) == 0.0 { 0.0 } else { self.added(formula) * self.before[at] };
                let expected = match formula.parts[2] {
                    Some(part) if !part.has(row, column) => self.before[at],
                    _ => {
                        let whole = self.alpha * formula.times * self.sum(formula, row, column) + added;
                        self.c.element().rounded(if formula.relu { whole.max(0.0) } else { whole })
                    }
                };
                self.after[at] == expected
            })
    }
}
