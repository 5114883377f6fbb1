//! `press survey`: every shipped configuration on shapes drawn from a seed, on a GPU, into a compact file. It is what predicted times are
//! fitted to, and what the choice is held to.

pub mod judge;
pub mod record;
pub mod shapes;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use device::cuda::Gpu;
use device::survey::Survey as Ground;
use device::turns::{Contender, Pace};
use device::{Backend, Device, vendor};
use gemm::form::{Form, Layout};
use gemm::timing::L2_POLICY;
use gemm::{Build, Dtype, Error, Shape};
use levels::builds;
use summit::choice::Chooser;

use judge::{Judge, ROWS, SAMPLES};
use lab::bench::RIVALS;
use lab::flags;
use lab::output::note;
use lab::provenance::{commit, file_name, now, nvidia_smi, state};
use lab::takers::all;
use record::{Cell, LAYOUT, Line, NK, Survey};
use shapes::{MOST, Range, layers, shapes};

/// Every shipped configuration on shapes drawn from a seed, on a GPU, into a file
#[derive(Debug, Clone, Args)]
pub struct Command {
    /// Whose configurations are timed: the summit's kernels by name, or summit for all of these, and levels by number or name: 9,10
    /// (repeatable) [default: all levels]
    #[arg(long, visible_alias = "level", value_name = "LEVELS", value_delimiter = ',')]
    levels: Vec<String>,
    /// Element type
    #[arg(long, value_name = "DTYPE", default_value = "f32")]
    dtype: Dtype,
    /// How B is stored: kn or nk
    #[arg(long, value_name = "LAYOUT", default_value = "kn", value_parser = ["kn", "nk"])]
    layout: String,
    /// Shapes, log-uniform from 1 to 8192 in each size, half of them aligned and half odd
    #[arg(long, value_name = "N", default_value_t = 300)]
    count: usize,
    /// Seed of the shapes
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The least size, in place of 1
    #[arg(long, value_name = "SIZE", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)))]
    least: u32,
    /// K, M or N of each shape, in turn, is at most this: thin products
    #[arg(long, value_name = "SIZE", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)))]
    thin: Option<u32>,
    /// All sizes are rounded down to multiples of this: rows begin at the same place of a cache's sets
    #[arg(long, value_name = "SIZE", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)))]
    multiple: Option<u32>,
    /// Shapes of layers: 1 to 4096 rows, by weights of up to 65536 x 16384
    #[arg(long, conflicts_with_all = ["least", "thin", "multiple"])]
    layers: bool,
    /// These shapes, MxNxK, in place of drawn ones
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = flags::shape, conflicts_with_all = ["count", "seed", "least", "thin", "multiple", "layers"])]
    shapes: Vec<Shape>,
    /// Begin no shape after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    seconds: u64,
    /// The file; or a folder, where it is named after the GPU and the type
    #[arg(long, value_name = "FILE", default_value = ".")]
    out: PathBuf,
}

/// Milliseconds of launches that are enough, and how many there are at least and at most, where kernels are timed one by one.
const ALONE: Pace = Pace { rounds: 1, turn_ms: 2.0, launches: [7, 30] };
/// A kernel that needs so many times as long as the fastest before it at a shape is timed by a single launch, if that is longer than
/// [`LONG_MS`] milliseconds.
const SLOW: f64 = 8.0;
const LONG_MS: f64 = 0.5;
/// Where the fastest kernel takes fewer milliseconds, there are more turns.
const BRIEF_MS: f64 = 0.01;
/// Time that launches fill before the first measured one: the clock rises.
const WARM_UP: Duration = Duration::from_millis(300);

/// Runs the command. Each line is in the file as soon as its shape is measured.
pub fn run(command: &Command, words: &[String]) -> Result<ExitCode, Error> {
    let began = Instant::now();
    let (device, _) = Device::pick(Backend::Cuda, false)?;
    let Device::Cuda(gpu) = &device else { return Err(Error::usage("no CUDA device", "measure on a GPU")) };
    let layout = if command.layout == NK { Layout::Columns } else { Layout::Rows };
    let form = Form { layout, ..Form::PLAIN };
    let plain = builds(&all(&command.levels)?, command.dtype, true)?;
    // A level has no other form.
    let takers: Vec<Build> = match layout {
        Layout::Rows => plain,
        Layout::Columns => plain.into_iter().filter_map(|build| build.in_form(&form).ok()).collect(),
    };
    let range = Range { least: command.least, thin: command.thin, multiple: command.multiple };
    let drawn = match command.shapes.is_empty() {
        true if command.layers => layers(command.count, command.seed),
        true => shapes(command.count, command.seed, range),
        false => command.shapes.clone(),
    };
    let side = |size: fn(&Shape) -> u32| drawn.iter().map(size).max().unwrap_or(1).max(MOST) as usize;
    let elements = match command.layers || !command.shapes.is_empty() {
        false => side(|s| s.m).max(side(|s| s.k)) * side(|s| s.n).max(side(|s| s.k)),
        true => drawn.iter().map(largest).max().unwrap_or(1),
    };
    let (ground, refused) = Ground::new(gpu, command.dtype, elements, &takers, 1)?;
    let ground = if layout == Layout::Columns { ground.in_form(form) } else { ground };
    refused.iter().for_each(|(build, error)| note(&format!("note: {build} is left out: {error}")));
    note(&format!("{} kernels loaded in {:.0?}", takers.len() - refused.len(), began.elapsed()));
    let file = match command.out.is_dir() {
        true => command.out.join(name_of_file(gpu.name(), command.dtype)),
        false => command.out.clone(),
    };
    let names = takers.iter().map(record::name).collect();
    let head = head(gpu, &ground, command, words);
    Survey { head, dtype: command.dtype, names, lines: Vec::new() }.begin(&file)?;
    let chooser = Chooser::new(gpu.architecture(), gpu.multiprocessors());
    warm_up(gpu, &ground, &takers)?;
    let (mut done, mut wrong) = (0, 0);
    for &shape in &drawn {
        if began.elapsed().as_secs() >= command.seconds {
            break;
        }
        let chosen = chooser.best(&shape, command.dtype, &form);
        let cells = measured(gpu, &ground, &takers, chosen.as_ref(), (shape, command.dtype))?;
        for (place, cell) in cells.iter().enumerate() {
            if let Cell::Failed(why) = cell {
                let name = if place == 0 { "cuBLAS".to_string() } else { takers[place - 1].to_string() };
                note(&format!("{name} {shape}: {why}"));
                wrong += 1;
            }
        }
        Survey::append(&file, &Line { shape, cells })?;
        done += 1;
        if done % 25 == 0 {
            note(&format!("{done} of {} shapes in {:.0?}", drawn.len(), began.elapsed()));
        }
    }
    Survey::note(&file, "after", &state().unwrap_or_else(|| "unknown".into()))?;
    Survey::note(&file, "measured", &format!("{done} of {} shapes", drawn.len()))?;
    note(&format!("{done} of {} shapes in {:.0?}, in {}", drawn.len(), began.elapsed(), file.display()));
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Elements of the largest of its matrices.
fn largest(shape: &Shape) -> usize {
    let [m, n, k] = [shape.m, shape.n, shape.k].map(|size| size as usize);
    (m * k).max(k * n).max(m * n)
}

/// `nvidia-h200-shapes-f32.csv`
fn name_of_file(gpu: &str, dtype: Dtype) -> String {
    file_name(gpu).replace(".json", &format!("-shapes-{dtype}.csv"))
}

fn head(gpu: &Gpu, ground: &Ground, command: &Command, words: &[String]) -> Vec<(String, String)> {
    let unknown = || "unknown".to_string();
    let plain = words.iter().scan(false, |skip, word| {
        // Not where the file lies.
        let skipped = std::mem::replace(skip, word == "--out") || word == "--out" || word.starts_with("--out=");
        Some((!skipped).then(|| word.clone()))
    });
    let command_line = ["press".to_string()].into_iter().chain(plain.flatten()).collect::<Vec<_>>().join(" ");
    let [least, most] = ALONE.launches;
    let Pace { rounds, turn_ms, launches: [few, many] } = Pace::QUICK;
    let timing = format!(
        "single launches between CUDA events, all submitted before the first one starts, after two that do not count; {least} to {most} launches, {} ms; one launch \
         where it is {SLOW} times as slow as the fastest before and longer than {LONG_MS} ms; then cuBLAS, the \
         {RIVALS} fastest and the chosen one in turns, {rounds} rounds ({} below {} us) of {few} to {many} launches, {turn_ms} \
         ms; medians",
        ALONE.turn_ms,
        Pace::BRIEF.rounds,
        1e3 * BRIEF_MS
    );
    let check = format!(
        "C is NaN before; {ROWS} rows of C, the first and the last among them, are compared with the first product whose \
         {SAMPLES} elements of each row are those of a sum in f64"
    );
    [
        ("gpu", gpu.name().to_string()),
        ("architecture", gpu.architecture().to_string()),
        ("sms", gpu.multiprocessors().to_string()),
        ("type", command.dtype.to_string()),
        (LAYOUT, command.layout.clone()),
        ("driver", nvidia_smi("driver_version").unwrap_or_else(unknown)),
        ("cuda", gpu.cuda_version().unwrap_or_else(unknown)),
        ("cuBLAS", ground.vendor_version().unwrap_or_else(unknown)),
        ("math", vendor::MATH.to_string()),
        ("state", state().unwrap_or_else(unknown)),
        ("timing", timing),
        ("caches", L2_POLICY.to_string()),
        ("check", check),
        ("unit", "microseconds; empty where a kernel cannot multiply the shape".to_string()),
        ("commit", commit()),
        ("date", now()),
        ("command", command_line),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .to_vec()
}

fn warm_up(gpu: &Gpu, ground: &Ground, takers: &[Build]) -> Result<(), Error> {
    let shape = Shape { m: 1024, n: 1024, k: 1024 };
    let began = Instant::now();
    while began.elapsed() < WARM_UP {
        for build in takers.iter().rev().take(3) {
            if let Some(contender) = ground.kernel(build, shape)? {
                contender.timed(gpu, 10)?;
            }
        }
    }
    Ok(())
}

/// A cell for cuBLAS and for each build.
fn measured(
    gpu: &Gpu,
    ground: &Ground,
    takers: &[Build],
    chosen: Option<&Build>,
    (shape, dtype): (Shape, Dtype),
) -> Result<Vec<Cell>, Error> {
    let mut contenders = vec![ground.vendor(shape)];
    let mut sums = vec![dtype.vendor_sum()];
    for build in takers {
        contenders.push(ground.kernel(build, shape)?);
        sums.push(build.level.sum(&build.configuration));
    }
    let mut judge = Judge::new(ground, shape, dtype);
    let mut cells = Vec::new();
    let mut fastest = f64::INFINITY;
    for (contender, sum) in contenders.iter().zip(sums) {
        let Some(contender) = contender else {
            cells.push(Cell::Absent);
            continue;
        };
        ground.poison(shape)?;
        // A fault ends the run: after it, this GPU answers nobody.
        let first = match contender.timed(gpu, 1) {
            Ok(times) => times[0],
            Err(Error::Usage { message, .. }) => {
                cells.push(Cell::Failed(message));
                continue;
            }
            Err(fault) => return Err(fault),
        };
        if let Err(why) = judge.check(sum)? {
            cells.push(Cell::Failed(why));
            continue;
        }
        let long = first > SLOW * fastest && first > LONG_MS;
        let time = if long { first } else { alone(ground, contender, shape)? };
        fastest = fastest.min(time);
        cells.push(Cell::Time(1e3 * time));
    }
    let mut order: Vec<usize> = (1..cells.len()).filter(|&i| cells[i].microseconds().is_some()).collect();
    let time = |i: usize| cells[i].microseconds().unwrap_or(f64::INFINITY);
    order.sort_by(|&a, &b| time(a).total_cmp(&time(b)));
    order.truncate(RIVALS);
    let chosen = chosen.and_then(|chosen| takers.iter().position(|build| build == chosen)).map(|i| i + 1);
    order.extend(chosen.filter(|chosen| !order.contains(chosen)));
    order.extend(cells[0].microseconds().map(|_| 0));
    order.retain(|&i| cells[i].microseconds().is_some());
    let rivals: Vec<&Contender> = order.iter().filter_map(|&i| contenders[i].as_ref()).collect();
    let pace = if fastest < BRIEF_MS { Pace::BRIEF } else { Pace::QUICK };
    for (place, timing) in order.into_iter().zip(ground.in_turns(&rivals, shape, pace)?) {
        cells[place] = Cell::Time(1e3 * timing.median_ms);
    }
    Ok(cells)
}

/// The median of launches one after the other, in milliseconds.
fn alone(ground: &Ground, contender: &Contender, shape: Shape) -> Result<f64, Error> {
    Ok(ground.in_turns(&[contender], shape, ALONE)?[0].median_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_after_the_gpu_and_the_type() {
        assert_eq!(name_of_file("NVIDIA H200", Dtype::F32), "nvidia-h200-shapes-f32.csv");
    }
}
