//! `lab accuracy --schemes`: how far products in f32 are from those in f64, when they are made of products of narrower parts; and those
//! in f64 from the true ones, when they are made of products of bytes.

mod cut;
pub mod data;
mod whole;

use gemm::Error;
use rayon::prelude::*;
use serde::Serialize;

use crate::output::{fitted, print, say};
use cut::{Part, Scheme};
use data::Data;

/// What the literature has, and how level 21 does it: its row is the last.
const SCHEMES: [Scheme; 9] = [
    scheme("tf32", Part::Tf32, &[(0, 0)]),
    scheme("tf32 x 3", Part::Tf32, &[(1, 0), (0, 1), (0, 0)]),
    scheme("bf16 x 3", Part::Bf16, &[(1, 0), (0, 1), (0, 0)]),
    scheme("bf16 x 6", Part::Bf16, &[(2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0)]),
    scheme("bf16 x 9", Part::Bf16, &[(2, 2), (2, 1), (1, 2), (2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0)]),
    scheme("f16 x 3", Part::F16, &[(1, 0), (0, 1), (0, 0)]),
    LOW_SCALED,
    Scheme { every: usize::MAX, ..LOW_SCALED },
    HALVES,
];

const LOW_SCALED: Scheme = Scheme { shift: 11, ..scheme("f16 x 3, low scaled", Part::F16, &[(1, 0), (0, 1), (0, 0)]) };

const HALVES: Scheme = Scheme { name: "f16 x 3, all scaled", scaled: true, ..LOW_SCALED };

const fn scheme(name: &'static str, part: Part, products: &'static [(usize, usize)]) -> Scheme {
    Scheme { name, part, shift: 0, products, scaled: false, every: 128 }
}

/// The errors of one scheme on some data, relative to the sum of the absolute values of an element's products.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Errors {
    /// The scheme.
    scheme: String,
    /// The data.
    data: &'static str,
    /// Products in a sum.
    k: usize,
    /// The largest; infinite where an element is no number.
    worst: f64,
    /// The root of the mean square.
    rms: f64,
}

/// Prints the errors of all schemes on all data: for f64, or else for f32.
///
/// # Errors
/// Where the text cannot be written.
pub fn run(size: usize, lengths: &[u32], seed: u64, (json, wide): (bool, bool)) -> Result<(), Error> {
    let of_length_and_data = |k: usize| match wide {
        true => Data::ALL.into_par_iter().map(|data| whole::errors(size, k, seed, data)).flatten().collect(),
        false => errors(size, k, seed),
    };
    let rows: Vec<Errors> = lengths.iter().flat_map(|&k| of_length_and_data(k as usize)).collect();
    if json {
        let lines = rows.iter().filter_map(|row| serde_json::to_string(row).ok()).map(|line| line + "\n");
        return print(&lines.collect::<String>());
    }
    let tables: Vec<String> = lengths.iter().map(|&k| of_length(&rows, k as usize)).collect();
    let [against, words] = if wide { OF_F64 } else { OF_F32 };
    say(&format!(
        "largest errors of C ({size} x {size}) against {against}, relative to the sum of |a * b| of an element{words}",
        words = words.replace("{}", &tables.join("\n"))
    ))
}

/// What errors in f32 are against, and the words around the tables.
const OF_F32: [&str; 2] = [
    "f64",
    "; tensor cores as of sm_90\n\n{}\n\
     FFMA         a plain sum in f32\n\
     x 3, 6, 9    products of parts that stand for one product; every 128 of K their sums are added in f32\n\
     low scaled   what is left of each number by 2^11; in one sum: along all of K\n\
     all scaled   as level 21 does it: each 128 numbers along K by a power of two, and what is left by 2^11\n",
];

/// The same in f64.
const OF_F64: [&str; 2] = [
    "twice the bits of f64",
    "\n\n{}\n\
     FMA       a plain sum in f64\n\
     slices    each of 7 bits, below the largest number of a row or column; x 28 products of bytes stand for one\n\
     moduli    remainders, as level 23 has them; where a row or column spreads too far, it is a plain sum\n",
];

/// The table of one K: a row for each scheme's data.
fn of_length(rows: &[Errors], k: usize) -> String {
    let rows: Vec<&Errors> = rows.iter().filter(|row| row.k == k).collect();
    let mut names: Vec<&str> = Vec::new();
    rows.iter().for_each(|row| {
        if !names.contains(&row.scheme.as_str()) {
            names.push(&row.scheme)
        }
    });
    let head = [format!("K = {k}")].into_iter().chain(Data::ALL.map(|(name, _)| name.to_string())).collect();
    let line = |name: &&str| {
        let own = rows.iter().filter(|row| row.scheme == *name).map(|row| format!("{:.1e}", row.worst));
        [name.to_string()].into_iter().chain(own).collect()
    };
    fitted(&std::iter::once(head).chain(names.iter().map(line)).collect::<Vec<Vec<String>>>())
}

/// Of all schemes on all data, a plain sum first.
fn errors(size: usize, k: usize, seed: u64) -> Vec<Errors> {
    let all: Vec<(String, Option<Scheme>)> = std::iter::once(("FFMA".to_string(), None))
        .chain(SCHEMES.map(|scheme| {
            let never = if scheme.every > k { ", in one sum" } else { "" };
            (format!("{}{never}", scheme.name), Some(scheme))
        }))
        .collect();
    let data: Vec<_> =
        Data::ALL.map(|(name, data)| (name, Problem::of(data.lines(size, k, seed, |x| x as f32)))).into();
    let pairs = all.iter().flat_map(|scheme| data.iter().map(move |data| (scheme, data)));
    let of = |((scheme, how), (data, problem)): (&(String, Option<Scheme>), &(&'static str, Problem))| {
        let [worst, rms] = problem.errors(&problem.product(how.as_ref()));
        Errors { scheme: scheme.clone(), data, k, worst, rms }
    };
    pairs.collect::<Vec<_>>().into_par_iter().map(of).collect()
}

/// Rows of A and columns of B, and for each element of C the product in f64 and the sum of absolute values.
struct Problem {
    lines: [Vec<Vec<f32>>; 2],
    exact: Vec<[f64; 2]>,
}

impl Problem {
    fn of(lines: [Vec<Vec<f32>>; 2]) -> Problem {
        let exact = |(a, b): (&Vec<f32>, &Vec<f32>)| {
            let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
            products.fold([0.0, 0.0], |[sum, size], product| [sum + product, size + product.abs()])
        };
        let exact = pairs(&lines[0], &lines[1]).map(exact).collect();
        Problem { lines, exact }
    }

    /// C by a scheme, or as a plain sum.
    fn product(&self, scheme: Option<&Scheme>) -> Vec<f32> {
        let [a, b] = &self.lines;
        let plain = |(a, b): (&Vec<f32>, &Vec<f32>)| a.iter().zip(b).fold(0.0f32, |sum, (a, b)| a.mul_add(*b, sum));
        let Some(scheme) = scheme else { return pairs(a, b).map(plain).collect() };
        let [a, b] = [a, b].map(|lines| lines.iter().map(|line| scheme.cut(line)).collect::<Vec<_>>());
        pairs(&a, &b).map(|(a, b)| scheme.sum(a, b)).collect()
    }

    /// The largest error, and the root of the mean square.
    fn errors(&self, c: &[f32]) -> [f64; 2] {
        relative(&c.iter().map(|c| f64::from(*c)).collect::<Vec<_>>(), &self.exact)
    }
}

/// The largest error of these elements, and the root of the mean square, where what they must be and its size are known.
fn relative(c: &[f64], exact: &[[f64; 2]]) -> [f64; 2] {
    let error = |(c, [exact, size]): (&f64, &[f64; 2])| {
        let error = (c - exact).abs() / size;
        if error.is_nan() { f64::INFINITY } else { error }
    };
    let all: Vec<f64> = c.iter().zip(exact).map(error).collect();
    let squares: f64 = all.iter().map(|error| error * error).sum();
    [all.iter().fold(0.0, |worst, error| error.max(worst)), (squares / all.len() as f64).sqrt()]
}

/// A row and a column for each element of C.
fn pairs<'a, T>(a: &'a [T], b: &'a [T]) -> impl Iterator<Item = (&'a T, &'a T)> {
    a.iter().flat_map(move |a| b.iter().map(move |b| (a, b)))
}

#[cfg(test)]
mod tests {
    use device::{Device, nvrtc};
    use gemm::Shape;
    use gemm::facts::Extras;
    use gemm::kernel::Kernel;
    use gemm::matrix::Scalar;
    use level_tests::skipped;

    use super::*;

    /// C of rows and columns by a level's default build; nothing without its PTX.
    pub(super) fn by_level<T: Scalar>(level: &str, [a, b]: &[Vec<Vec<T>>; 2]) -> Option<Vec<f64>> {
        let level = levels::levels(&[level.to_string()]).unwrap()[0];
        let build = level.default_build(level.dtypes().next().unwrap());
        let kernel = Kernel::obtain(&build, 90, nvrtc::find).ok()?;
        let [m, n, k] = [a.len(), b.len(), a[0].len()];
        let shape = Shape { m: m as u32, n: n as u32, k: k as u32 };
        let b: Vec<T> = (0..k).flat_map(|at| b.iter().map(move |line| line[at])).collect();
        let given = gemm::problem::Problem::of(shape, build.configuration.dtype, &a.concat(), &b).unwrap();
        let plan = build.plan(shape).unwrap();
        let ran = Device::Emulator.launch(&plan.task(&kernel), &given, Extras::new(false, false)).unwrap();
        Some(ran.c.values())
    }

    #[test]
    fn the_model_has_the_bits_of_level_21() {
        for data in [Data::Uniform, Data::Spread(4.0), Data::Positive, Data::Subnormal] {
            let problem = Problem::of(data.lines(16, 330, 7, |x| x as f32));
            let Some(got) = by_level("level21-f32-from-halves", &problem.lines) else { return skipped("no PTX") };
            let bits = |c: Vec<f32>| c.into_iter().map(f32::to_bits).collect::<Vec<_>>();
            let got = got.into_iter().map(|x| x as f32).collect();
            assert_eq!(bits(got), bits(problem.product(Some(&HALVES))), "{data:?}");
        }
    }

    #[test]
    fn level_21_is_at_least_as_good_as_f32_and_narrower_parts_are_not() {
        let rows = errors(24, 1024, 1);
        let worst = |scheme: &str, data: &str| {
            rows.iter().find(|row| row.scheme == scheme && row.data == data).map(|row| row.worst).unwrap()
        };
        for (data, _) in Data::ALL {
            assert!(worst("f16 x 3, all scaled", data) <= worst("FFMA", data), "{data}");
        }
        for (scheme, data) in [
            ("tf32", "uniform"),
            ("bf16 x 3", "uniform"),
            ("f16 x 3", "graded lines"),
            ("f16 x 3, low scaled", "subnormal"),
            ("f16 x 3, low scaled, in one sum", "positive"),
        ] {
            assert!(worst(scheme, data) > 4.0 * worst("FFMA", data), "{scheme}, {data}");
        }
    }
}
