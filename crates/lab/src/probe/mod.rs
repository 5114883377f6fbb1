//! What a wrong product sums instead of what it should. One factor is a part of the unit matrix, and each element of the other says its
//! place: then every element of C names the one that came there.
//!
//! - [`placed`]: sums that are right, in another place of C
//! - [`pattern`]: what elements that stand for others have in common; [`steps`]: what steps along K do that do not come once
//! - [`precision`]: what is wrong where every product is summed once
//! - [`launches`]: by which other launch a kernel is right; [`mend`]: by which small change of its own

pub mod launches;
pub mod mend;
mod pattern;
mod placed;
mod precision;
mod steps;

use gemm::matrix::Matrix;
use gemm::problem::Problem;
use gemm::sums::Summed;
use gemm::{Error, Shape};

use pattern::{Exchange, Factor, NARROW};

/// Launches that are made of each kind, along K.
const WINDOWS: usize = 4;
/// Lines of a factor that show few steps of the other one.
const FEW: u32 = 8;
/// Multiply-adds of a launch, at most: some hundredths of a second.
pub const MOST: u64 = 1 << 24;
const NOTHING: &str = "no product comes to C";
/// What to look at where nothing is stored.
pub const NOTHING_STORED: &str = "do the grid and the guard reach them, is a tile's row its number divided by the tiles along N and its column the rest, and does the condition before the store come true (of counts from 0, the last one is one less than there are)?";
/// What to look at where all that comes for something else follows no rule.
const NO_RULE: &str =
    "do what fills a tile and what reads it agree, in a swizzle, a row's length and the parts of fragments?";
/// Ranges of steps that are named.
const NAMED: usize = 3;

/// Launches a kernel on a problem, and has C of it.
pub type Launch<'a> = &'a dyn Fn(&Problem) -> Result<Matrix, Error>;

/// A wrong kernel that is small enough to be asked of which elements its products are made.
pub struct Probe<'a> {
    /// The sizes, the types, alpha and beta, and how the matrices lie. What they hold is not looked at.
    pub plain: Problem,
    /// What a launch makes of a problem.
    pub launch: Launch<'a>,
    /// A is stored as K x M, B as N x K.
    pub turned: [bool; 2],
    /// The kernel's PTX.
    pub ptx: &'a str,
    /// What A and B are called.
    pub names: [&'a str; 2],
    /// What the matrix is called that is added, times beta.
    pub added: &'a str,
    /// What was wrong was made of small whole numbers.
    pub whole: bool,
    /// How its tensor cores sum.
    pub sums: &'a [Summed],
}

/// The factor whose elements are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    A,
    B,
}

impl Side {
    /// What of C takes its lines.
    fn line(self) -> &'static str {
        match self {
            Side::A => "row",
            Side::B => "column",
        }
    }
}

/// What came of a step along K in a row of A, or in a column of B.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// The row or column.
    line: usize,
    k: usize,
    /// The first step of the launch that shows it.
    from: usize,
    /// The sum of the places that were summed, counted from 1: lines, and steps along K.
    got: [f64; 2],
}

impl Step {
    /// How often the element itself was summed, if it may have been that and nothing else.
    fn times(&self) -> Option<f64> {
        let times = self.got[0] / (self.line + 1) as f64;
        ((self.got[1] / (self.k + 1) as f64 - times).abs() < 1e-3).then_some(times)
    }

    /// The one element that came, if it may be one.
    fn exchange(&self) -> Option<Exchange> {
        let place = self.got.map(|sum| sum.round() - 1.0);
        let near = self.got.iter().zip(place).all(|(sum, place)| (sum - 1.0 - place).abs() < 0.05 && place >= 0.0);
        near.then(|| Exchange { wanted: [self.line, self.k], got: place.map(|place| place as usize) })
    }
}

/// The steps that were looked at.
struct Seen {
    count: usize,
    wrong: Vec<Step>,
    /// Elements that came once, by line and step.
    right: Vec<[usize; 2]>,
}

impl Probe<'_> {
    /// What is wrong, in words.
    pub fn say(&self) -> Result<Option<String>, Error> {
        for of in [Probe::added, Probe::kept, Probe::placed] {
            if let Some(text) = of(self)? {
                return Ok(Some(text));
            }
        }
        let (mut doubtful, mut plain, descriptors) = (None, None, self.of_descriptors()?);
        let Shape { m, n, .. } = self.plain.shape;
        // Launches show as many steps of a factor as the other one has lines: of a matrix and a vector, few of the matrix.
        for side in if n < FEW && m >= FEW { [Side::B, Side::A] } else { [Side::A, Side::B] } {
            match self.seen(side)? {
                None => return Ok(None),
                Some(seen) if seen.wrong.is_empty() => (),
                Some(_) if descriptors.is_some() => return Ok(descriptors),
                // An index that is wrong in one factor shows in the other, too, and is another one there.
                Some(seen) => match self.said(side, &seen)? {
                    // The other factor may have a rule.
                    (text, true) if text.contains(NO_RULE) => plain = plain.or(Some(text)),
                    (text, true) => return Ok(Some(text)),
                    (text, false) => doubtful = doubtful.or(Some(text)),
                },
            }
        }
        match plain.or(doubtful) {
            None => self.beyond_the_product().map(Some),
            text => Ok(text),
        }
    }

    /// Whether this says that C stays empty: zeros that fill a last tile may have set a sum to 0.
    pub fn is_nothing(text: &str) -> bool {
        text.starts_with(NOTHING)
    }

    /// What comes of these factors, and of a C full of one number.
    fn launched(&self, a: Matrix, b: Matrix, c: f64) -> Result<Matrix, Error> {
        let c = filled(&self.plain.c, |_, _| c)?;
        (self.launch)(&Problem { a, b, c, ..self.plain.clone() })
    }

    /// A with these elements, by the row and the step along K.
    fn a(&self, element: impl Fn(usize, usize) -> f64) -> Result<Matrix, Error> {
        match self.turned[0] {
            true => filled(&self.plain.a, |step, row| element(row, step)),
            false => filled(&self.plain.a, element),
        }
    }

    /// B with these elements, by the step along K and the column.
    fn b(&self, element: impl Fn(usize, usize) -> f64) -> Result<Matrix, Error> {
        match self.turned[1] {
            true => filled(&self.plain.b, |column, step| element(step, column)),
            false => filled(&self.plain.b, element),
        }
    }

    /// What is summed of the elements of one factor; nothing where their type does not hold the places.
    fn seen(&self, side: Side) -> Result<Option<Seen>, Error> {
        let Shape { m, n, k } = self.plain.shape;
        let (m, n, k) = (m as usize, n as usize, k as usize);
        let (lines, wide) = if side == Side::A { (m, n) } else { (n, m) };
        let mut seen = Seen { count: 0, wrong: Vec::new(), right: Vec::new() };
        for window in windows(k, wide) {
            let from = window * wide;
            let unit = |step: usize, line: usize| f64::from(u8::from(step == from + line));
            let mut got = Vec::new();
            for of_line in [true, false] {
                let place = |line: usize, step: usize| (if of_line { line } else { step } + 1) as f64;
                let (a, b) = match side {
                    Side::A => (self.a(place)?, self.b(unit)?),
                    Side::B => (self.a(|row, step| unit(step, row))?, self.b(|step, column| place(column, step))?),
                };
                let coded = if side == Side::A { &a } else { &b };
                if !holds(coded, lines.max(k)) {
                    return Ok(None);
                }
                got.push(self.launched(a, b, 0.0)?);
            }
            for (line, step) in (0..lines).flat_map(|line| (from..k.min(from + wide)).map(move |step| (line, step))) {
                let at = |c: &Matrix| match side {
                    Side::A => c.at(line, step - from),
                    Side::B => c.at(step - from, line),
                };
                let got = [at(&got[0]), at(&got[1])].map(|sum| sum / self.plain.form.alpha);
                let step = Step { line, k: step, from, got };
                seen.count += 1;
                match step.times().is_none_or(|times| (times - 1.0).abs() > 1e-3) {
                    true => seen.wrong.push(step),
                    false => seen.right.push([line, step.k]),
                }
            }
        }
        seen.wrong.sort_by_key(|step| (step.line, step.k));
        Ok(Some(seen))
    }

    /// What is wrong with the first line that is, in words, and whether a launch with this element alone says the same.
    fn said(&self, side: Side, seen: &Seen) -> Result<(String, bool), Error> {
        let first = seen.wrong[0];
        let Some(times) = first.times() else {
            return match self.of_another_tile(side, first)? {
                Some(text) => Ok((text, true)),
                None => self.exchanged(side, seen),
            };
        };
        let is_alike = |step: &&Step| step.times().is_some_and(|other| (other - times).abs() < 1e-3);
        let certain = self.comes(side, first, times)?;
        if seen.wrong.len() == seen.count && times != 0.0 && seen.wrong.iter().all(|step| is_alike(&step)) {
            return Ok((format!("every product comes {times:.3} times: {}", self.alpha_in_words(times)), certain));
        }
        if seen.wrong.len() == seen.count && times == 0.0 && seen.wrong.iter().all(|step| is_alike(&step)) {
            return Ok((
                format!(
                    "{NOTHING}: do the tiles hold what was to be copied (by the bytes that a copy takes, or fills with zeros), and is the sum \
                     stored?"
                ),
                certain,
            ));
        }
        if let Some(text) = self.exchanged_steps(side, seen).or_else(|| self.power_of_alpha(side, first, times)) {
            return Ok((text, certain));
        }
        let numbers = seen.wrong.iter().filter(|step| step.line == first.line).filter(is_alike).map(|step| step.k);
        let numbers: Vec<usize> = numbers.collect();
        let Shape { m, n, k } = self.plain.shape;
        let (k, wide) = (k as usize, (if side == Side::A { n } else { m }) as usize);
        let shown = if windows(k, wide).len() == k.div_ceil(wide) { k } else { (WINDOWS - 1) * wide };
        let mut others: Vec<usize> =
            seen.right.iter().filter(|[line, _]| *line == first.line).map(|[_, step]| *step).collect();
        others.sort_unstable();
        let wrong: Vec<usize> = seen.wrong.iter().filter(|step| step.line == first.line).map(|step| step.k).collect();
        let has = |words: &[&str]| words.iter().any(|word| self.ptx.contains(word));
        let parts = (has(&["shfl.sync"]), has(&["%nctaid", "%ctaid.z", "red.global", "atom.global"]));
        let question = steps::question(&numbers, (k, shown), times, parts, (&wrong, &others));
        let steps = ranges(numbers.into_iter());
        let here = format!("in {} {} of C, the products of {steps} along K", side.line(), first.line);
        let text = match times {
            0.0 => format!("{here} are left out: {question}"),
            _ => format!("{here} count {times:.3} times: {question}"),
        };
        Ok((text, certain))
    }

    /// Steps along K that come twice in the place of as many others.
    fn exchanged_steps(&self, side: Side, seen: &Seen) -> Option<String> {
        let line = seen.wrong[0].line;
        let steps = |times: f64| -> Vec<usize> {
            let here = seen.wrong.iter().filter(|step| step.line == line);
            let alike = here.filter(|step| step.times().is_some_and(|other| (other - times).abs() < 1e-3));
            alike.map(|step| step.k).collect()
        };
        let (gone, twice) = (steps(0.0), steps(2.0));
        (!gone.is_empty() && gone.len() == twice.len()).then(|| {
            format!(
                "in {} {line} of C, the products of {} along K are left out, and those of {} come twice: is the tile read from the buffer that \
                 holds it?",
                side.line(),
                ranges(gone.into_iter()),
                ranges(twice.into_iter())
            )
        })
    }

    /// Products that come with a power of alpha: it is multiplied in a loop.
    fn power_of_alpha(&self, side: Side, first: Step, times: f64) -> Option<String> {
        let alpha = self.plain.form.alpha;
        let power = (1..=64).find(|power| alpha != 1.0 && (times / alpha.powi(*power) - 1.0).abs() < 1e-3)?;
        Some(format!(
            "in {} {} of C, the product of step {} along K comes with alpha to the power of {}: alpha is multiplied once, behind the loop",
            side.line(),
            first.line,
            first.k,
            power + 1
        ))
    }

    /// Where alpha may be too often, or not at all.
    fn alpha_in_words(&self, times: f64) -> &'static str {
        let alpha = self.plain.form.alpha;
        let is = |other: f64| alpha != 1.0 && (times - other).abs() < 1e-3;
        match () {
            () if is(alpha) => "alpha is multiplied twice",
            () if is(1.0 / alpha) => "alpha is not multiplied",
            () if is(self.plain.form.beta / alpha) => "they are multiplied by beta, and not by alpha",
            () if times == -1.0 => "they are subtracted (`-=`), and are to be added",
            () if times > 1.5 && times.fract() == 0.0 && self.ptx.contains("shfl.sync") => {
                "do several lanes, or threads, add one and the same part? in the second stage of a block's sum, lanes without a warp's part bring 0, `lane < warps ? part[lane] : 0`"
            }
            () => "is alpha multiplied once, and each step along K summed once?",
        }
    }

    /// Whether an element of C has the sum of another one besides: the element that comes too, alone, comes to both.
    fn of_another_tile(&self, side: Side, step: Step) -> Result<Option<String>, Error> {
        let Step { line, k, from, got } = step;
        let place = [got[0] - line as f64 - 2.0, got[1] - k as f64 - 2.0].map(|place| (place.round(), place));
        if place.iter().any(|(round, place)| (round - place).abs() > 0.05 || *round < 0.0) {
            return Ok(None);
        }
        let (other, of_other) = (place[0].0 as usize, place[1].0 as usize);
        let Shape { m, n, k: steps } = self.plain.shape;
        let (lines, wide) = if side == Side::A { (m, n) } else { (n, m) };
        let within =
            other < lines as usize && of_other < steps as usize && (from..from + wide as usize).contains(&of_other);
        if !within || other == line && of_other == k {
            return Ok(None);
        }
        let at = |line: usize, across: usize| if side == Side::A { (line, across) } else { (across, line) };
        let (own, others) = (at(line, k - from), at(other, of_other - from));
        let (a, b) = match side {
            Side::A => ((other, of_other), (of_other, others.1)),
            Side::B => ((others.0, of_other), (of_other, other)),
        };
        let c = self.launched(self.a(alone(a))?, self.b(alone(b))?, 0.0)?;
        let comes = |(row, column): (usize, usize)| (c.at(row, column) / self.plain.form.alpha - 1.0).abs() < 1e-3;
        Ok((comes(own) && comes(others)).then(|| {
            format!(
                "C[{}][{}] has the sum of C[{}][{}] besides its own: are the accumulators set to zero before each tile?",
                own.0, own.1, others.0, others.1
            )
        }))
    }

    /// Which element stands for another one, and what all that are exchanged have in common.
    fn exchanged(&self, side: Side, seen: &Seen) -> Result<(String, bool), Error> {
        let Step { line, k, .. } = seen.wrong[0];
        let [a, b] = self.names;
        let name = |line: usize, k: usize| match side {
            Side::A => format!("{a}[{line}][{k}]"),
            Side::B => format!("{b}[{k}][{line}]"),
        };
        let others = match side {
            Side::A => format!("{b}[{k}][…]"),
            Side::B => format!("{a}[…][{k}]"),
        };
        // Nothing comes where the other element would lie beyond the matrix.
        let comes = seen.wrong.iter().filter(|step| step.times() != Some(0.0));
        let all: Option<Vec<Exchange>> = comes.map(Step::exchange).collect();
        let first = seen.wrong[0].exchange();
        let certain = match first {
            Some(Exchange { got: [other, step], .. }) => self.is_one(side, (line, k), (other, step))?,
            None => false,
        };
        let what = match first.filter(|_| certain) {
            Some(Exchange { got: [other, step], .. }) => name(other, step),
            None => "something else".to_string(),
        };
        let few_bits = self.keeps_few_bits();
        let factor = match side {
            Side::A => Factor {
                name: a,
                line: side.line(),
                by_rows: !self.turned[0],
                leading: self.plain.a.leading(),
                verb: "taken",
                few_bits,
            },
            Side::B => Factor {
                name: b,
                line: side.line(),
                by_rows: self.turned[1],
                leading: self.plain.b.leading(),
                verb: "taken",
                few_bits,
            },
        };
        let rule = all
            .filter(|_| certain)
            .and_then(|all| pattern::rule(&all, &seen.right, factor))
            .unwrap_or_else(|| NO_RULE.to_string());
        let stop = if rule.ends_with('?') { "" } else { "." };
        let (more, stop) = (self.of_tensor_cores(), if self.of_tensor_cores().is_empty() { "" } else { stop });
        let text = format!(
            "in {} {line} of C, {others} is multiplied by {what} and not by {}: {rule}{stop}{more}",
            side.line(),
            name(line, k)
        );
        Ok((text, certain))
    }

    /// Whether an element alone, beside a factor full of ones, comes so many times everywhere in its line.
    fn comes(&self, side: Side, Step { line, k, .. }: Step, times: f64) -> Result<bool, Error> {
        let Shape { m, n, .. } = self.plain.shape;
        let (a, b, wide) = match side {
            Side::A => (self.a(alone((line, k)))?, self.b(|_, _| 1.0)?, n),
            Side::B => (self.a(|_, _| 1.0)?, self.b(alone((k, line)))?, m),
        };
        let c = self.launched(a, b, 0.0)?;
        let at = |other: usize| if side == Side::A { c.at(line, other) } else { c.at(other, line) };
        Ok((0..wide as usize).all(|other| (at(other) / self.plain.form.alpha - times).abs() < 1e-3))
    }

    /// Whether one element alone comes where another one should.
    fn is_one(&self, side: Side, (line, k): (usize, usize), (other, step): (usize, usize)) -> Result<bool, Error> {
        let Shape { m, n, .. } = self.plain.shape;
        let wide = (if side == Side::A { n } else { m }) as usize;
        let column = k % wide;
        let (a, b, at) = match side {
            Side::A => ((other, step), (k, column), (line, column)),
            Side::B => ((column, k), (step, other), (column, line)),
        };
        let c = self.launched(self.a(alone(a))?, self.b(alone(b))?, 0.0)?;
        Ok((c.at(at.0, at.1) / self.plain.form.alpha - 1.0).abs() < 1e-3)
    }
}

/// A matrix with a 1 in one place.
fn alone(at: (usize, usize)) -> impl Fn(usize, usize) -> f64 {
    move |row, column| f64::from(u8::from((row, column) == at))
}

/// A matrix of the same kind with other elements, by row and column.
fn filled(like: &Matrix, element: impl Fn(usize, usize) -> f64) -> Result<Matrix, Error> {
    let columns = like.columns().max(1);
    let mut at = 0;
    Matrix::filled(like.element(), [like.rows(), like.columns(), like.leading()], || {
        at += 1;
        element((at - 1) / columns, (at - 1) % columns)
    })
}

/// Whether a matrix's type holds each whole number up to this one.
fn holds(matrix: &Matrix, most: usize) -> bool {
    let number = most as f64;
    let probe = Matrix::filled(matrix.element(), [1, 2, 2], {
        let mut next = number + 1.0;
        move || {
            next -= 1.0;
            next
        }
    });
    probe.is_ok_and(|probe| probe.at(0, 0) == number && probe.at(0, 1) == number - 1.0)
}

/// The first windows along K, the last, and those where an index in few bits would begin again.
fn windows(k: usize, wide: usize) -> Vec<usize> {
    let (wide, all) = (wide.max(1), k.div_ceil(wide.max(1)));
    let ends = |window: usize| {
        NARROW.into_iter().any(|bits| [(1 << bits) - 1, 1 << bits].map(|step| step / wide).contains(&window))
    };
    (0..all).filter(|window| *window + 1 < WINDOWS || window + 1 == all || ends(*window)).collect()
}

/// Whole numbers in words: `steps 4 to 15 and 20`.
fn ranges(numbers: impl Iterator<Item = usize>) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match ranges.last_mut().filter(|last| last.1 + 1 == number) {
            Some(last) => last.1 = number,
            None => ranges.push((number, number)),
        }
    }
    let more = ranges.len() > NAMED;
    let word = |&(from, to): &(usize, usize)| if from == to { format!("{from}") } else { format!("{from} to {to}") };
    let words: Vec<String> = ranges.iter().take(NAMED).map(word).collect();
    let one = ranges.len() == 1 && ranges[0].0 == ranges[0].1;
    let (noun, end) = (if one { "step" } else { "steps" }, if more { " and more" } else { "" });
    format!("{noun} {}{end}", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_named() {
        assert_eq!(ranges([7].into_iter()), "step 7");
        assert_eq!(ranges([4, 5, 6, 9].into_iter()), "steps 4 to 6, 9");
        assert_eq!(ranges((0..20).filter(|n| n % 4 > 1)), "steps 2 to 3, 6 to 7, 10 to 11 and more");
    }

    #[test]
    fn of_a_long_k_some_windows_are_seen() {
        assert_eq!(windows(100, 40), [0, 1, 2]);
        assert_eq!(windows(2048, 32), [0, 1, 2, 7, 8, 15, 16, 31, 32, 63]);
    }
}
