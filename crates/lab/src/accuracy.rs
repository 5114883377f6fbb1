//! `lab accuracy`: how far products are from the product in f64, by type and by how their sums are made; sums in f64 are held against
//! twice the bits.
//!
//! Inputs are rounded to their type first, so an error is that of the sum and of C's rounding. The emulator's sums have the card's bits,
//! those of tensor cores among them: only cuBLAS's row needs a GPU.

use std::process::ExitCode;

use clap::Args;
use common::progress::step;
use common::road::run_and_keep;
use device::vendor::Vendor;
use device::{Device, nvrtc};
use gemm::candidate::{Exam, Options};
use gemm::check::{Part, Reference};
use gemm::form::{Form, Layout};
use gemm::kernel::Kernel;
use gemm::matrix::Matrix;
use gemm::problem::{Fill, Problem};
use gemm::{Build, Dtype, Element, Error, Shape};
use rayon::prelude::*;
use serde::Serialize;

use crate::bench::place;
use crate::exact::exact;
use crate::flags::How;
use crate::output::{note, print, say};
use crate::schemes;
use crate::schemes::data::Data;
use crate::table::table;
use crate::takers::all;
use levels::{LEVELS, builds, dtypes};

/// How far products are from the true one, by type and by how their sums are made
#[derive(Debug, Clone, Args)]
pub struct Accuracy {
    /// Who takes part: levels by number or name, the summit's kernels by name, or summit for all of these: 8,mma_sync
    /// [default: all levels]
    #[arg(long, value_name = "LEVELS", value_delimiter = ',')]
    levels: Vec<String>,
    /// Element types [default: all that the levels multiply and whose C has the type of its sums]
    #[arg(long, value_name = "DTYPES", value_delimiter = ',')]
    dtypes: Vec<Dtype>,
    /// Products that are summed for an element of C: columns of A
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "256,4096",
          value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    k: Vec<u32>,
    /// Rows and columns of C; of a large one, some rows are compared
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=16384))]
    size: u32,
    /// What A and B are drawn from: normal, spread-1, positive and others, as --schemes has them [default: reals from -1 to 1]
    #[arg(long, value_name = "NAME", value_parser = Data::named, conflicts_with = "schemes")]
    data: Option<Data>,
    #[command(flatten)]
    how: How,
    /// Products in f32 that are made of products of narrower parts, by scheme and by data: a model, no kernel; with --dtypes f64, products
    /// in f64 that are made of products of bytes
    #[arg(long, conflicts_with = "levels")]
    schemes: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// What is known of the errors of one product: all relative to the sum of the absolute values of an element's products.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Errors {
    /// Element types.
    dtype: Dtype,
    /// Products in a sum.
    k: u32,
    /// Rows of C that were compared.
    rows: usize,
    /// Whose product has these bits: levels, or the vendor's library.
    of: Vec<String>,
    /// The largest.
    worst: f64,
    /// The root of the mean square.
    rms: f64,
    /// The mean, counted away from zero: below 0 where sums come out too small, as they do if terms are cut off.
    bias: f64,
    /// C itself, to find those that are equal.
    #[serde(skip)]
    c: Vec<u8>,
}

/// Products that are multiplied on the host, to know what C must be.
const PRODUCTS: u64 = 1 << 32;

/// Rows of C that are compared, evenly from first to last: as many as their products allow.
fn compared(shape: &Shape) -> Vec<usize> {
    let most = PRODUCTS / (u64::from(shape.n) * u64::from(shape.k));
    let rows = u64::from(shape.m).min(most.max(1));
    (0..rows).map(|at| (at * u64::from(shape.m) / rows) as usize).collect()
}

/// Runs the command.
pub fn run(accuracy: &Accuracy) -> Result<ExitCode, Error> {
    if accuracy.schemes {
        let most = PRODUCTS / u64::from(accuracy.size).pow(2);
        if let Some(k) = accuracy.k.iter().find(|&&k| u64::from(k) > most) {
            let size = accuracy.size;
            let error = format!("K = {k} is too large: with {size} x {size} elements of C it is at most {most}");
            return Err(Error::usage(error, "every element is compared; a smaller --size allows more"));
        }
        let wide = match accuracy.dtypes[..] {
            [] | [Dtype::F32] => false,
            [Dtype::F64] => true,
            _ => {
                let of = accuracy.dtypes.iter().map(Dtype::to_string).collect::<Vec<_>>().join(",");
                let hint = "there are schemes for f32 and for f64: `--dtypes f64`";
                return Err(Error::usage(format!("--dtypes {of} has no schemes"), hint));
            }
        };
        schemes::run(accuracy.size as usize, &accuracy.k, accuracy.how.seed, (accuracy.json, wide))?;
        return Ok(ExitCode::SUCCESS);
    }
    let (device, options) = (accuracy.how.device(false)?, accuracy.how.options()?);
    let asked = all(&accuracy.levels)?;
    let usual = || dtypes(&asked).filter(|dtype| dtype.output == dtype.sum).collect();
    let types: Vec<Dtype> = if accuracy.dtypes.is_empty() { usual() } else { accuracy.dtypes.clone() };
    let mut rows = Vec::new();
    for dtype in types {
        let takers = builds(&asked, dtype, false)?;
        for &k in &accuracy.k {
            let shape = Shape { m: accuracy.size, n: accuracy.size, k };
            let problem = problem(shape, dtype, accuracy.data, accuracy.how.seed)?;
            rows.extend(errors(&device, &options, &takers, &problem, accuracy.how.seed)?);
        }
    }
    if accuracy.json {
        print(
            &rows.iter().filter_map(|row| serde_json::to_string(row).ok()).map(|line| line + "\n").collect::<String>(),
        )?;
    } else {
        say(&text(&rows, accuracy, &place(&device, &options)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A problem with such data; C is square.
fn problem(shape: Shape, dtype: Dtype, data: Option<Data>, seed: u64) -> Result<Problem, Error> {
    let form = Form::usual(dtype);
    let mut problem = Problem::in_form(shape, dtype, form, Fill::Reals, seed)?;
    if let Some(data) = data {
        let [size, k] = [shape.n, shape.k].map(|size| size as usize);
        let [rows, columns] = data.lines(size, k, seed, |x| x);
        let mut a = rows.into_iter().flatten();
        // B as it is stored.
        let mut b: Box<dyn Iterator<Item = f64>> = match form.layout {
            Layout::Rows => Box::new((0..k).flat_map(|p| columns.iter().map(move |column| column[p]))),
            Layout::Columns => Box::new(columns.iter().flatten().copied()),
        };
        let (rows, columns) = form.layout.stored((k, size));
        problem.a = Matrix::filled(dtype.input, [size, k, k], || a.next().unwrap_or_default())?;
        problem.b = Matrix::filled(dtype.input, [rows, columns, columns], || b.next().unwrap_or_default())?;
    }
    Ok(problem)
}

/// What the product must be. What f64 would round counts where C is f64, so there sums have twice the bits.
fn must_be(problem: &Problem) -> Part {
    let mut part = Part::rows(problem, &compared(&problem.shape));
    if problem.dtype.sum == Element::F64 {
        let [n, k] = [problem.shape.n, problem.shape.k].map(|size| size as usize);
        part.product.par_iter_mut().enumerate().for_each(|(at, product)| {
            let row = part.rows[at / n];
            [*product, _] = exact((0..k).map(|p| (problem.a_at(row, p), problem.b_at(p, at % n))));
        });
    }
    part
}

/// The errors of each of these builds on one problem, and on a GPU those of the vendor; what has the same bits, in one row.
fn errors(
    device: &Device,
    options: &Options,
    takers: &[Build],
    problem: &Problem,
    seed: u64,
) -> Result<Vec<Errors>, Error> {
    let &Problem { shape, dtype, form, .. } = problem;
    let part = step("computing what the product must be", || must_be(problem));
    let whole = part.rows.len() == shape.m as usize;
    let reference = whole.then(|| Reference::Whole(part.clone()));
    let exam = Exam { problem, seed, reference: reference.as_ref() };
    let options = Options { extras: gemm::facts::Extras { time: false, ..options.extras }, ..*options };
    let mut rows: Vec<Errors> = Vec::new();
    let mut put = |name: String, c: &Matrix| match rows.iter_mut().find(|row| row.c == c.bytes()) {
        Some(row) => row.of.push(name),
        None => rows.push(Errors::of(name, dtype, shape.k, c, &part)),
    };
    for build in takers {
        let build = build.clone().in_form(&form)?;
        let plan = build.plan_in(shape, form)?;
        let ran = Kernel::obtain(&build, options.gpu.sm(), nvrtc::find)
            .and_then(|kernel| run_and_keep(&plan.candidate(&kernel), device, exam, &options));
        match ran {
            Ok((report, c)) => {
                report.found.iter().for_each(|found| note(&format!("{}, K = {}: {found}", build.name(), shape.k)));
                put(build.name(), &c);
            }
            Err(why) => note(&format!("{} is left out: {why}", build.name())),
        }
    }
    if let Device::Cuda(gpu) = device {
        match Vendor::find(gpu).map_err(|why| Error::usage(why, "")).and_then(|v| v.multiply(problem, false)) {
            Ok((c, _)) => put("cuBLAS".to_string(), &c),
            Err(why) => note(&format!("cuBLAS is left out: {why}")),
        }
    }
    Ok(rows)
}

impl Errors {
    fn of(name: String, dtype: Dtype, k: u32, c: &Matrix, part: &Part) -> Errors {
        let relative = |((value, must), magnitude): ((f64, &f64), &f64)| {
            let error = (value - must) / magnitude.max(f64::MIN_POSITIVE);
            if *must < 0.0 { -error } else { error }
        };
        let values = c.values();
        let compared = part.rows.iter().flat_map(|row| &values[row * c.columns()..(row + 1) * c.columns()]).copied();
        let away: Vec<f64> = compared.zip(&part.product).zip(&part.magnitude).map(relative).collect();
        let mean = |of: &dyn Fn(f64) -> f64| away.iter().map(|&error| of(error)).sum::<f64>() / away.len() as f64;
        Errors {
            dtype,
            k,
            rows: part.rows.len(),
            of: vec![name],
            worst: away.iter().fold(0.0, |worst, error| error.abs().max(worst)),
            rms: mean(&|error| error * error).sqrt(),
            bias: mean(&|error| error),
            c: c.bytes().to_vec(),
        }
    }
}

fn text(rows: &[Errors], accuracy: &Accuracy, place: &str) -> String {
    let head = ["dtype", "K", "worst", "rms", "bias"].map(String::from).to_vec();
    let line = |row: &Errors| {
        let number = |value: f64| format!("{value:.1e}");
        vec![row.dtype.to_string(), row.k.to_string(), number(row.worst), number(row.rms), number(row.bias)]
    };
    let numbers = table(&std::iter::once(head).chain(rows.iter().map(line)).collect::<Vec<_>>());
    let of = std::iter::once("whose product".to_string()).chain(rows.iter().map(|row| names(&row.of)));
    let lines: String = numbers.lines().zip(of).map(|(line, of)| format!("{line}   {of}\n")).collect();
    let size = accuracy.size;
    let of = match rows.iter().map(|row| row.rows).min() {
        Some(some) if some < size as usize => format!("of {some} rows or more of C ({size} x {size})"),
        _ => format!("of C ({size} x {size})"),
    };
    let is_wide = |row: &Errors| row.dtype.sum == Element::F64;
    let against = match (rows.iter().all(is_wide), rows.iter().any(is_wide)) {
        (true, _) => "twice the bits of f64",
        (_, true) => "f64, and of f64 against twice its bits",
        _ => "f64",
    };
    format!(
        "errors {of} against {against}, {place}; relative to the sum of |a * b| of an element\n\n{lines}\n\
         bias      the mean, counted away from zero: below 0 where sums come out too small\n"
    )
}

/// Whose product it is, in a few words: `levels 0, 1, 8; level 17 fast; cuBLAS`. A level whose variants all have it goes by its number.
fn names(of: &[String]) -> String {
    let (mut numbers, mut others): (Vec<u32>, Vec<String>) = Default::default();
    for name in of {
        let level = LEVELS.iter().find(|level| name.split(' ').next() == Some(level.name));
        match level {
            Some(level) if level.variants.iter().all(|v| of.contains(&format!("{} {}", level.name, v.name))) => {
                numbers.extend(level.number())
            }
            Some(level) => others.push(name.replacen(level.name, &level.short(), 1)),
            None => others.push(name.clone()),
        }
    }
    numbers.dedup();
    let list = numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let levels = match numbers.len() {
        0 => None,
        1 => Some(format!("level {list}")),
        _ => Some(format!("levels {list}")),
    };
    levels.into_iter().chain(others).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(levels: &str, dtype: Dtype, k: u32) -> Vec<Errors> {
        let asked: Vec<String> = levels.split(',').map(str::to_string).collect();
        let takers = builds(&all(&asked).unwrap(), dtype, false).unwrap();
        let extras = gemm::facts::Extras::new(false, true);
        let gpu = crate::flags::modelled("h200").unwrap();
        let options = Options { gpu, extras, annotate: false, matrices: false };
        let problem = problem(Shape { m: 32, n: 32, k }, dtype, None, 1).unwrap();
        errors(&Device::Emulator, &options, &takers, &problem, 1).unwrap()
    }

    #[test]
    fn what_is_cut_off_makes_sums_too_small_and_what_is_rounded_does_not() {
        let (cut, rounded) = (rows("mma_sync,16", Dtype::TF32, 1024), rows("1,8", Dtype::F32, 1024));
        assert_eq!((cut.len(), rounded.len()), (1, 1), "the same bits, whatever the level");
        let share = |row: &Errors| row.bias / row.rms;
        assert!(
            share(&cut[0]) < -0.5 && share(&rounded[0]).abs() < 0.1,
            "{:?} {:?}",
            share(&cut[0]),
            share(&rounded[0])
        );
        assert!(cut[0].worst >= cut[0].rms && cut[0].rms > rounded[0].rms);
    }

    #[test]
    fn products_of_f64_are_held_against_more_than_f64() {
        let k = 600;
        let rows = rows("8,23", Dtype::F64, k);
        let [plain, remainders] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((names(&plain.of), names(&remainders.of)), ("level 8".into(), "level 23".into()));
        // A reference of f64 would show of both no less than its own error, which is that of a plain sum.
        assert!(remainders.worst < plain.worst && remainders.rms < plain.rms && plain.worst < 1e-15, "{rows:?}");
    }

    #[test]
    fn data_are_a_problems_in_every_form_that_its_type_has() {
        for dtype in [Dtype::F64, Dtype::BF16, Dtype::E4M3] {
            let shape = Shape { m: 4, n: 4, k: 6 };
            let positive = problem(shape, dtype, Some(Data::Positive), 3).unwrap();
            let [rows, columns] = Data::Positive.lines(4, 6, 3, |x| x);
            for (line, p) in (0..4).flat_map(|line| (0..6).map(move |p| (line, p))) {
                let near = |value: f64, from: f64| (value - from).abs() <= 0.07 * from + 0.002;
                assert!(near(positive.a_at(line, p), rows[line][p]) && near(positive.b_at(p, line), columns[line][p]));
            }
        }
        assert!(Data::named("spread-1").is_ok() && Data::named("even").is_err());
    }

    #[test]
    fn a_level_goes_by_its_number_if_all_its_variants_agree() {
        let of = |names_of: &[&str]| names(&names_of.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        let all = ["level0-naive coalesced", "level0-naive uncoalesced", "level1-tiling", "cuBLAS"];
        assert_eq!(of(&all), "levels 0, 1; cuBLAS");
        assert_eq!(of(&all[1..2]), "level 0 uncoalesced");
        assert_eq!(of(&all[2..3]), "level 1");
    }
}
