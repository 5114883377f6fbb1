//! `press versus`: the summit's choice beside the vendor's best product, in turns and in joules, into a file of comma-separated values.
//!
//! Matrices lie on the GPU, and a few rows of each product are checked there: so it goes up to sizes whose whole product a CPU would
//! take minutes for.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use archive::Texts;
use clap::Args;
use device::cuda::Gpu;
use device::energy::{Energy, Meter};
use device::survey::Survey as Ground;
use device::turns::{Contender, Pace};
use device::{Backend, Device, nvrtc};
use gemm::dtype::Sum;
use gemm::form::{Form, Layout};
use gemm::timing::{L2_POLICY, Timing};
use gemm::{Build, Dtype, Error, Shape};
use lab::flags;
use lab::output::{note, print};
use lab::provenance::{commit, now, nvidia_smi, state};
use lab::takers::all;
use levels::builds;
use predict::Model;
use summit::choice::Chooser;
use summit::kernels::KERNELS;
use summit::tuned::records;
use summit::{Plan, Product, Scheme, Types};

use crate::survey::judge::{Judge, ROWS, SAMPLES};

/// The summit's choice beside the vendor's best product, in turns and in joules, into a CSV file
#[derive(Debug, Clone, Args)]
pub struct Versus {
    /// Element types
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "bf16")]
    dtypes: Vec<Dtype>,
    /// Shapes, a size or MxNxK
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = square_or_shape, default_value = "512,1024,2048,4096")]
    shapes: Vec<Shape>,
    /// How B is stored: kn, nk, or both
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = ["kn", "nk"], default_value = "kn")]
    layouts: Vec<String>,
    /// Who takes part beside the choice, with all shipped tile sizes: levels by number or name, the summit's kernels by name
    #[arg(long, value_name = "LEVELS", value_delimiter = ',')]
    levels: Vec<String>,
    /// The vendor's product: usual or tuned
    #[arg(long, value_name = "WHICH", default_value = "tuned", value_parser = flags::which())]
    vendor: device::vendor::Which,
    /// Let the choice take sums of fewer bits, as cuBLASLt's fastest may: e4m3
    #[arg(long)]
    fast_sums: bool,
    /// Measure joules from this size of a side on, the geometric mean of M, N and K
    #[arg(long, value_name = "SIZE")]
    energy: Option<u32>,
    /// Choose by these times, a file of `press calibrate`, and not by those that are shipped
    #[arg(long, value_name = "FILE")]
    times: Option<PathBuf>,
    /// The file, which is begun anew
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Rounds in which each has its turn; a turn takes so many milliseconds.
const PACE: Pace = Pace { rounds: 9, turn_ms: 3.0, launches: [2, 40] };
/// Those of the shipped tile sizes that take turns with the choice and the vendor.
const RIVALS: usize = 5;
const COLUMNS: &str =
    "type,b,m,n,k,who,tiles,choice,us,spread,tflops,of_vendor,mj,pj_per_flop,mhz,celsius,watts,settled";

/// A size, or MxNxK.
fn square_or_shape(text: &str) -> Result<Shape, String> {
    match text.parse::<u32>() {
        Ok(size) => flags::shape(&format!("{size}x{size}x{size}")),
        Err(_) => flags::shape(text),
    }
}

/// Who is measured at a problem.
struct Taker<'a> {
    name: String,
    tiles: String,
    is_chosen: bool,
    sum: Sum,
    contender: Contender<'a>,
}

/// Runs the command. Each line is out, and in the file, as soon as it is known.
pub fn run(versus: &Versus, words: &[String]) -> Result<ExitCode, Error> {
    let (device, _) = Device::pick(Backend::Cuda, false)?;
    let Device::Cuda(gpu) = &device else { return Err(Error::usage("no CUDA device", "measure on a GPU")) };
    let meter = versus.energy.map(|_| Meter::find(gpu)).transpose().unwrap_or_else(|why| {
        note(&format!("note: energy is left out: {why}"));
        None
    });
    let chooser = chooser(gpu, versus)?;
    let mut text = head(gpu, versus, words) + COLUMNS + "\n";
    print(&text)?;
    let mut is_right = true;
    for &dtype in &versus.dtypes {
        for layout in &versus.layouts {
            let layout = if layout == "nk" { Layout::Columns } else { Layout::Rows };
            let form = Form { layout, ..Form::PLAIN };
            let ground = match ground(gpu, versus, &chooser, (dtype, form)) {
                Ok(ground) => ground,
                Err(error @ Error::Fault(_)) => return Err(error),
                Err(error) => {
                    note(&format!("note: {dtype}: {error}"));
                    continue;
                }
            };
            for &shape in &versus.shapes {
                let lines = match problem((gpu, &ground, &chooser), meter.as_ref(), versus, (shape, dtype), &form) {
                    Ok((lines, right)) => {
                        is_right &= right;
                        lines
                    }
                    Err(error @ Error::Fault(_)) => return Err(error),
                    Err(error) => {
                        note(&format!("note: {dtype} {shape}: {error}"));
                        continue;
                    }
                };
                print(&lines)?;
                text += &lines;
                write(versus, &text)?;
            }
        }
    }
    let after = format!("# after: {}\n", state().unwrap_or_else(|| "unknown".into()));
    print(&after)?;
    write(versus, &(text + &after))?;
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write(versus: &Versus, text: &str) -> Result<(), Error> {
    let Some(file) = &versus.out else { return Ok(()) };
    let unwritten = |error| Error::usage(format!("cannot write {}: {error}", file.display()), "name another file");
    fs::write(file, text).map_err(unwritten)
}

/// Whoever chooses, by the times that are asked for.
fn chooser(gpu: &Gpu, versus: &Versus) -> Result<Chooser, Error> {
    let card = (gpu.architecture(), gpu.multiprocessors());
    let Some(file) = &versus.times else { return Ok(Chooser::new(card.0, card.1)) };
    let refused = |why: String| {
        Error::usage(format!("{} has no times: {why}", file.display()), "`press calibrate` writes such a file")
    };
    let text = fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
    let texts = Texts::parse(text).map_err(|error| refused(error.to_string()))?;
    let read = |(_, text)| serde_json::from_str::<Model>(text).map_err(|error| refused(error.to_string()));
    let models = texts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    Ok(Chooser::of(&models, records(), &KERNELS, card, nvrtc::find))
}

/// Who takes part at a shape, the choice first.
fn takers(
    chooser: &Chooser,
    versus: &Versus,
    (shape, dtype): (Shape, Dtype),
    form: &Form,
) -> Result<Vec<Build>, Error> {
    let types = Types { a: dtype.input, b: dtype.input, sum: dtype.sum, c: dtype.output };
    let is_fast = versus.fast_sums && Scheme::FastSums.dtypes().contains(&dtype);
    let scheme = if is_fast { Scheme::FastSums } else { Scheme::Plain };
    let mut product = Product::new(types, shape).with_scheme(scheme);
    product.form = *form;
    let choice = Plan::of(chooser, &product).map(|plan| plan.build().clone()).map_err(|_| {
        let message = format!("no kernel of the summit computes {form} in {dtype} on sm_{}", chooser.architecture());
        Error::usage(message, "`lab predict --levels summit --shipped` lists what it has in a type")
    })?;
    let others = match versus.levels.is_empty() {
        true => Vec::new(),
        false => builds(&all(&versus.levels)?, dtype, true)?,
    };
    let mut takers = vec![choice];
    for build in others.into_iter().filter_map(|build| build.in_form(form).ok()) {
        if build != takers[0] {
            takers.push(build);
        }
    }
    Ok(takers)
}

/// Matrices with room for every shape, and whoever takes part at one of them.
fn ground<'a>(
    gpu: &'a Gpu,
    versus: &Versus,
    chooser: &Chooser,
    (dtype, form): (Dtype, Form),
) -> Result<Ground<'a>, Error> {
    let mut builds: Vec<Build> = Vec::new();
    let mut elements = 0;
    for &shape in &versus.shapes {
        let [m, n, k] = [shape.m, shape.n, shape.k].map(|size| size as usize);
        elements = elements.max(m * k).max(k * n).max(m * n);
        for build in takers(chooser, versus, (shape, dtype), &form)? {
            if !builds.contains(&build) {
                builds.push(build);
            }
        }
    }
    let (ground, refused) = Ground::new(gpu, dtype, elements, &builds, 1)?;
    refused.iter().for_each(|(build, error)| note(&format!("note: {build} is left out: {error}")));
    Ok(ground.in_form(form).beside(versus.vendor))
}

/// The lines of a problem, and whether all products are right.
fn problem(
    (gpu, ground, chooser): (&Gpu, &Ground, &Chooser),
    meter: Option<&Meter>,
    versus: &Versus,
    (shape, dtype): (Shape, Dtype),
    form: &Form,
) -> Result<(String, bool), Error> {
    let takers = takers(chooser, versus, (shape, dtype), form)?;
    let (mut found, mut is_right) = judged(gpu, ground, &takers, (shape, dtype))?;
    narrow(ground, &mut found, shape)?;
    let times = ground.in_turns(&found.iter().map(|taker| &taker.contender).collect::<Vec<_>>(), shape, PACE)?;
    let vendor = found.iter().position(|taker| taker.tiles.is_empty()).map(|place| times[place].median_ms);
    is_right &= vendor.is_some();
    let mean = f64::from(shape.m) * f64::from(shape.n) * f64::from(shape.k);
    let is_metered = |taker: &Taker| {
        let large = versus.energy.is_some_and(|least| mean >= f64::from(least).powi(3));
        large && (taker.is_chosen || taker.tiles.is_empty())
    };
    let mut text = String::new();
    for (taker, timing) in found.iter().zip(&times) {
        let energy = meter.filter(|_| is_metered(taker)).map(|meter| meter.measure(&taker.contender)).transpose()?;
        text += &line((shape, dtype), form, taker, timing, vendor, energy);
    }
    Ok((text, is_right))
}

/// The vendor, then those of the builds that can, each of them right; and whether no one was wrong.
fn judged<'a>(
    gpu: &Gpu,
    ground: &'a Ground,
    takers: &[Build],
    (shape, dtype): (Shape, Dtype),
) -> Result<(Vec<Taker<'a>>, bool), Error> {
    let mut found = Vec::new();
    if let (Some(contender), Some(name)) = (ground.vendor(shape), ground.vendor_name()) {
        // A comma parts columns.
        let (name, sum) = (name.replace(',', ";"), dtype.vendor_sum());
        found.push(Taker { name, tiles: String::new(), is_chosen: false, sum, contender });
    }
    for (place, build) in takers.iter().enumerate() {
        let Some(contender) = ground.kernel(build, shape)? else { continue };
        let tiles: Vec<String> = build.configuration.tiles.sizes().iter().map(u32::to_string).collect();
        let (name, tiles, sum) = (build.name(), tiles.join("x"), build.level.sum(&build.configuration));
        found.push(Taker { name, tiles, is_chosen: place == 0, sum, contender });
    }
    let (mut judge, mut is_right) = (Judge::new(ground, shape, dtype), true);
    let mut kept = Vec::new();
    for taker in found {
        ground.poison(shape)?;
        let verdict = match taker.contender.timed(gpu, 1) {
            Ok(_) => judge.check(taker.sum)?,
            Err(Error::Usage { message, .. }) => Err(message),
            Err(fault) => return Err(fault),
        };
        match verdict {
            Ok(()) => kept.push(taker),
            Err(why) => {
                note(&format!("note: {dtype} {shape}: {} {} is left out: {why}", taker.name, taker.tiles));
                is_right &= why != "wrong";
            }
        }
    }
    Ok((kept, is_right))
}

/// Of many only the vendor, the choice and the fastest stay.
fn narrow(ground: &Ground, found: &mut Vec<Taker>, shape: Shape) -> Result<(), Error> {
    let mut times = Vec::new();
    for taker in found.iter() {
        let alone = Pace { rounds: 2, ..Pace::QUICK };
        times.push(ground.in_turns(&[&taker.contender], shape, alone)?[0].median_ms);
    }
    let mut sorted = times.clone();
    sorted.sort_by(f64::total_cmp);
    let most = sorted.get(RIVALS).copied().unwrap_or(f64::INFINITY);
    let mut times = times.into_iter();
    found.retain(|taker| {
        let is_fast = times.next().is_some_and(|time| time < most);
        is_fast || taker.is_chosen || taker.tiles.is_empty()
    });
    Ok(())
}

fn line(
    (shape, dtype): (Shape, Dtype),
    form: &Form,
    taker: &Taker,
    timing: &Timing,
    vendor: Option<f64>,
    energy: Option<Energy>,
) -> String {
    let Shape { m, n, k } = shape;
    let (ms, layout) = (timing.median_ms, if form.layout.is_rows() { "kn" } else { "nk" });
    let tflops = 2.0 * f64::from(m) * f64::from(n) * f64::from(k) / ms / 1e9;
    let of_vendor = vendor.map_or_else(String::new, |vendor| format!("{:.3}", vendor / ms));
    let Taker { name, tiles, is_chosen, .. } = taker;
    let mut line = format!("{dtype},{layout},{m},{n},{k},{name},{tiles},{}", if *is_chosen { "yes" } else { "" });
    let _ = write!(line, ",{:.2},{:.3},{tflops:.1},{of_vendor}", 1e3 * ms, timing.spread);
    let _ = match energy {
        Some(energy) => {
            let Energy { joules, watts, mhz, celsius, settled, .. } = energy;
            let pj = energy.picojoules_per_flop(&shape);
            writeln!(line, ",{:.3},{pj:.4},{mhz:.0},{celsius:.0},{watts:.0},{settled}", 1e3 * joules)
        }
        None => writeln!(line, ",,,,,,"),
    };
    line
}

fn head(gpu: &Gpu, versus: &Versus, words: &[String]) -> String {
    let unknown = || "unknown".to_string();
    let Pace { rounds, turn_ms, launches: [least, most] } = PACE;
    let plain = words.iter().scan(false, |skip, word| {
        // Not where the file lies.
        let skipped = std::mem::replace(skip, word == "--out") || word == "--out" || word.starts_with("--out=");
        Some((!skipped).then(|| word.clone()))
    });
    let said = [
        ("gpu", gpu.name().to_string()),
        ("driver", nvidia_smi("driver_version").unwrap_or_else(unknown)),
        ("cuda", gpu.cuda_version().unwrap_or_else(unknown)),
        ("math", versus.vendor.math().to_string()),
        ("state", state().unwrap_or_else(unknown)),
        (
            "timing",
            format!(
                "single launches between CUDA events, all of a turn submitted before the first one starts; in turns, {rounds} \
                 rounds of {least} to {most} launches, {turn_ms} ms; median, and spread from the 10th to the 90th percentile \
                 relative to it; of_vendor: the vendor's time as a share of this one's"
            ),
        ),
        ("caches", L2_POLICY.to_string()),
        (
            "energy",
            "NVML's count over launches of at least 2 s without a pause, after the power has settled; mj: millijoules of a \
             product; means of clock and temperature"
                .to_string(),
        ),
        (
            "check",
            format!("C is NaN before; {ROWS} rows of C are compared with the first product's, {SAMPLES} elements of each with a sum in f64"),
        ),
        ("inputs", "random reals, uniform in [-1, 1], repeated by a pattern of prime sizes".to_string()),
        ("commit", commit()),
        ("date", now()),
        ("command", ["press".to_string()].into_iter().chain(plain.flatten()).collect::<Vec<_>>().join(" ")),
    ];
    said.into_iter().map(|(name, value)| format!("# {name}: {value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_square() {
        assert_eq!(square_or_shape("512"), Ok(Shape { m: 512, n: 512, k: 512 }));
        assert_eq!(square_or_shape("16x4096x512"), Ok(Shape { m: 16, n: 4096, k: 512 }));
        assert!(square_or_shape("0").is_err() && square_or_shape("4x4").is_err());
    }

    #[test]
    fn a_line_has_a_value_for_every_column() {
        let (shape, columns) = (Shape { m: 100, n: 200, k: 500 }, COLUMNS.split(',').count());
        let taker = Taker {
            name: "summit thin".into(),
            tiles: "4x1".into(),
            is_chosen: true,
            sum: Sum::Rounded,
            contender: Contender::idle(),
        };
        let timing = Timing::of(vec![0.01; 3], &shape, None);
        let energy = Energy {
            joules: 0.002,
            watts: 600.0,
            mhz: 1500.0,
            celsius: 50.0,
            seconds: 2.0,
            launches: 9,
            settled: true,
        };
        for energy in [None, Some(energy)] {
            let line = line((shape, Dtype::BF16), &Form::PLAIN, &taker, &timing, Some(0.008), energy);
            assert_eq!(line.trim_end().split(',').count(), columns, "{line}");
            assert!(line.starts_with("bf16,kn,100,200,500,summit thin,4x1,yes,10.00,0.000,2.0,0.800,"), "{line}");
        }
    }
}
