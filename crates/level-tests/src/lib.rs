//! Bodies of the levels' tests: the same claims hold for every level. For tests alone: nothing that ships depends on it.

mod awkward;
mod claims;
mod deep;
mod forms;
pub mod hardware;
pub mod mutants;
pub mod mutations;
pub mod old_driver;
mod order;
pub mod program;
mod usage;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Once;

use archive::{Archive, Texts};
pub use awkward::{awkward_shapes, every_awkward_shape_is_exact};
use common::cli::Arguments;
use common::execute;
use deep::with_each;
pub use deep::{cases, deep};
pub use device::Device;
use device::{Backend, nvrtc};
pub use forms::{every_form_is_exact, form_of, whole_vectors};
pub use gemm::Shape;
use gemm::check::Check;
use gemm::dtype::Sum;
use gemm::facts::Extras;
use gemm::form::{Form, Specialization};
use gemm::kernel::lower::{declared, lowest, needed};
use gemm::kernel::{Compiler, Judge, Kernel, Origin, shipped};
use gemm::matrix::Matrix;
use gemm::problem::{Fill, Problem};
use gemm::report::Report;
use gemm::{Build, Configuration, Decomposition, Dim3, Dtype, Error, Level, Neighbours, Text, Tiles};
pub use order::order_of_blocks_changes_nothing;
pub use usage::bad_usage_is_one_clear_line;

/// The problem of the snapshots: off every tile in every direction.
const SNAPSHOT: &str = "--m 100 --n 70 --k 50";

/// Says on stderr, past the test harness's capture, that a test has nothing to run on.
///
/// # Panics
/// Where `REQUIRE` has a comma-separated part of the reason: on a machine that should have had what is missing.
pub fn skipped(why: &str) {
    let required = std::env::var("REQUIRE").unwrap_or_default();
    let missing = required.split(',').map(str::trim).find(|part| !part.is_empty() && why.contains(part));
    assert!(missing.is_none(), "skipped, and REQUIRE has `{}`: {why}", missing.unwrap_or_default());
    // In one piece: tests run beside each other.
    let _ = std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes());
}

/// NVRTC, or, once, a line that says that there is none.
fn compiler() -> Option<&'static dyn Compiler> {
    static ONCE: Once = Once::new();
    let compiler = nvrtc::find().ok();
    if compiler.is_none() {
        ONCE.call_once(|| skipped("no NVRTC"));
    }
    compiler
}

/// The GPU, or a line that says that there is none.
pub fn gpu() -> Option<Device> {
    let device = Device::pick(Backend::Cuda, false).ok().map(|(device, _)| device);
    if device.is_none() {
        skipped("no CUDA device");
    }
    device
}

/// A run on the emulator from shipped PTX, as the command line would do it.
pub fn report(level: &'static Level, words: &str) -> Result<Report, Error> {
    let words = words.split_whitespace().map(str::to_string);
    let arguments = Arguments::from_words(level, words).map_err(|e| Error::usage(e.to_string(), "fix the test"))?;
    execute(level, &arguments, &Device::Emulator, nvrtc::nowhere)
}

/// The level's reports: as text, with the kernel's lines, and as JSON.
pub fn reports(level: &'static Level) -> Result<String, Box<dyn std::error::Error>> {
    Ok(format!("{}\n==> --annotate\n{}\n==> --json\n{}\n", texts(level)?, annotated(level)?, json(level)?))
}

/// The text reports of the level's variants.
fn texts(level: &'static Level) -> Result<String, Error> {
    let mut words: Vec<String> = level.variants.iter().map(|v| format!("{SNAPSHOT} --variant {}", v.name)).collect();
    if words.is_empty() {
        words.push(SNAPSHOT.to_string());
    }
    let texts: Result<Vec<String>, Error> = words.iter().map(|w| Ok(report(level, w)?.to_string())).collect();
    Ok(texts?.join("\n"))
}

/// The kernel with its counters in the margin.
fn annotated(level: &'static Level) -> Result<String, Error> {
    Ok(report(level, &format!("{SNAPSHOT} --annotate"))?.annotated.unwrap_or_default())
}

/// The JSON report of the default configuration, without the counters of single lines.
fn json(level: &'static Level) -> Result<String, Box<dyn std::error::Error>> {
    let mut json: serde_json::Value = serde_json::from_str(&report(level, SNAPSHOT)?.json())?;
    let lines = json.pointer_mut("/facts/emulator/lines").and_then(|lines| lines.as_array_mut());
    lines.ok_or("the report has no counters by line")?.clear();
    // They stand in the text.
    let numbers = json.as_object_mut().and_then(|report| report.remove("numbers"));
    let numbers = numbers.as_ref().and_then(|numbers| numbers.as_array()).ok_or("it has no numbers")?;
    let names: BTreeSet<&str> = numbers.iter().filter_map(|number| number["name"].as_str()).collect();
    if names.len() < numbers.len() {
        return Err(format!("two of {} numbers have the same name: {names:?}", numbers.len()).into());
    }
    Ok(serde_json::to_string_pretty(&json)?)
}

/// Numbers of which every product and sum is exact, and that leave out nothing of what a build does: of whole numbers all.
fn exact_fill(build: &Build) -> Fill {
    match build.level.sum(&build.configuration) {
        Sum::Halved { .. } => Fill::Wide,
        _ if build.configuration.dtype.sum.whole().is_some() => Fill::Reals,
        _ => Fill::Integers,
    }
}

/// Multiplies small integers, of which every product and sum is exact: C must be equal to the reference.
pub fn is_exact(device: &Device, build: &Build, shape: Shape) -> Result<(), String> {
    let kernel = Kernel::obtain(build, 90, nvrtc::find).map_err(|e| e.to_string())?;
    kernel_is_exact(device, build, &kernel, shape)
}

fn kernel_is_exact(device: &Device, build: &Build, kernel: &Kernel, shape: Shape) -> Result<(), String> {
    kernel_is_exact_in(device, build, kernel, shape, build.level.plain(build.configuration.dtype))
}

/// The same in any form; and what lies between the rows of C is as it was.
fn kernel_is_exact_in(device: &Device, build: &Build, kernel: &Kernel, shape: Shape, form: Form) -> Result<(), String> {
    let wrap = |what: String| format!("{build}, {shape}, {form}: {what}");
    let seed = u64::from(shape.m) << 40 | u64::from(shape.n) << 20 | u64::from(shape.k);
    let fill = exact_fill(build);
    let problem =
        Problem::in_form(shape, build.configuration.dtype, form, fill, seed).map_err(|e| wrap(e.to_string()))?;
    let extras = Extras::new(false, true);
    let task = build.plan_in(shape, form).map_err(|e| wrap(e.to_string()))?.task(kernel);
    let ran = device.launch(&task, &problem, extras).map_err(|e| wrap(e.to_string()))?;
    if !between_rows(&ran.c).eq(between_rows(&problem.c)) {
        return Err(wrap("something is written between the rows of C".to_string()));
    }
    let check = Check::of(&problem, fill, &ran.c, task.method());
    if check.right { Ok(()) } else { Err(wrap(format!("{check:?}"))) }
}

/// The bytes after the columns of each row.
fn between_rows(matrix: &Matrix) -> impl Iterator<Item = &[u8]> {
    let size = matrix.element().bytes();
    let row = matrix.leading() * size;
    matrix.bytes().chunks(row).map(move |bytes| &bytes[(matrix.columns() * size).min(bytes.len())..])
}

/// Where a grid has only so many blocks, and goes on to other tiles: two clusters alone are exact on the level's own awkward
/// shapes. The emulator runs the smallest tile of the first type, and the defaults of all types with `DEEP=1`.
pub fn few_blocks_are_exact(level: &'static Level, device: &Device) -> Result<(), String> {
    if compiler().is_none() {
        return Ok(());
    }
    let is_short = matches!(device, Device::Emulator) && !deep();
    let builds: Vec<Build> = match is_short {
        true => mutations::smallest(level).into_iter().collect(),
        false => level.dtypes().map(|dtype| level.default_build(dtype)).collect(),
    };
    if builds.is_empty() {
        return Err(format!("no build of {} is shipped", level.name));
    }
    for shipped in builds {
        let build = mutations::crowded(shipped.clone());
        let shapes = (level.needs.awkward)(&build.configuration.tiles, &build.tile());
        if build == shipped || shapes.is_empty() {
            return Err(format!("{build} has as many blocks as there are tiles, or no shape of its own"));
        }
        for shape in shapes {
            is_exact(device, &build, shape)?;
        }
    }
    Ok(())
}

/// The grid has as many blocks as the tiles of C and the declared way to divide them make, for every awkward shape.
pub fn the_grid_is_what_the_level_declares(level: &'static Level) -> Result<(), String> {
    for build in level.shipped_builds() {
        for shape in awkward_shapes(&build) {
            let launch = build.launch(&shape);
            let tiles = launch.tiles(&shape);
            let blocks = match level.needs.decomposition {
                Decomposition::DataParallel => tiles,
                Decomposition::SplitK { parts, .. } => tiles * u64::from(build.configuration.tiles[parts]),
                Decomposition::StreamK(round) => tiles.next_multiple_of(u64::from(build.configuration.tiles[round])),
                Decomposition::Clusters(neighbours) => whole_clusters(&build, &shape, neighbours),
                Decomposition::Persistent(most, neighbours) => {
                    let of = build.cluster().count();
                    let most = u64::from(build.configuration.tiles[most]) / of * of;
                    whole_clusters(&build, &shape, neighbours).min(most)
                }
            };
            if launch.grid.count() != blocks {
                return Err(format!("{build}, {shape}: {} blocks, and not {blocks}", launch.grid.count()));
            }
        }
    }
    Ok(())
}

/// Blocks of whole clusters that cover C, one tile each.
fn whole_clusters(build: &Build, shape: &Shape, neighbours: Neighbours) -> u64 {
    let of = build.cluster().count();
    let tile = build.launch(shape).tile;
    let (below, beside) = match neighbours {
        Neighbours::Below => (of, 1),
        Neighbours::Beside => (1, of),
    };
    let down = u64::from(shape.m).div_ceil(u64::from(tile.m) * below);
    down * u64::from(shape.n).div_ceil(u64::from(tile.n) * beside) * of
}

/// Tile sizes from random numbers: some that are shipped, now and then with one halved or doubled, of which many are right together,
/// or with one that fits nothing.
fn pick_tiles(level: &'static Level, picks: &[u32]) -> Tiles {
    const ODD: [u32; 5] = [1, 3, 12, 40, 64];
    let shipped = level.shipped_builds();
    let base = &shipped[picks.iter().sum::<u32>() as usize % shipped.len()].configuration.tiles;
    let size = |size: u32, pick: u32| match pick {
        0..4 => size / 2,
        4..8 => size * 2,
        8 => ODD[size as usize % ODD.len()],
        _ => size,
    };
    Tiles(base.0.iter().zip(picks).map(|(&(name, base), &pick)| (name, size(base, pick).max(1))).collect())
}

/// The default's tiles of C, halved and quartered, are refused or right.
pub fn small_tiles_are_refused_or_right(level: &'static Level) -> Result<(), String> {
    for (halvings, dtype) in [1, 2].into_iter().flat_map(|halvings| level.dtypes().map(move |dtype| (halvings, dtype)))
    {
        let of_c = |name: &str| name.ends_with(['M', 'N']);
        let smaller = |&(name, size): &(&'static str, u32)| (name, if of_c(name) { size >> halvings } else { size });
        let tiles = Tiles(level.tiles.iter().map(smaller).collect());
        these_are_refused_or_right(level, tiles, dtype, Shape { m: 40, n: 70, k: 30 })?;
    }
    Ok(())
}

/// Either the compiler refuses the tile sizes in one readable line, or the product is right.
pub fn tile_sizes_are_refused_or_right(
    level: &'static Level,
    picks: &[u32],
    dtype: Dtype,
    shape: Shape,
) -> Result<(), String> {
    these_are_refused_or_right(level, pick_tiles(level, picks), dtype, shape)
}

fn these_are_refused_or_right(level: &'static Level, tiles: Tiles, dtype: Dtype, shape: Shape) -> Result<(), String> {
    let Some(compiler) = compiler() else { return Ok(()) };
    let mut build = level.default_build(dtype);
    build.configuration.tiles = tiles;
    let configuration = &build.configuration;
    match Kernel::compile(&build, &[], compiler) {
        Err(Error::Usage { message, .. }) => match message.starts_with(level.path) && message.lines().count() == 1 {
            true => Ok(()),
            false => Err(format!("{configuration}: the compiler's message is unclear: {message}")),
        },
        Err(error) => Err(error.to_string()),
        Ok(kernel) => kernel_is_exact(&Device::Emulator, &build, &kernel, shape),
    }
}

/// Whether an instruction needs more than the PTX declares, or is not known.
fn needs_more_than_declared(ptx: &str) -> bool {
    match (declared(ptx), needed(ptx)) {
        (Some((isa, target)), Some(needed)) => isa < needed.isa || target.sm < needed.sm,
        _ => true,
    }
}

/// The blocks of a cluster, as PTX says them.
fn cluster_in(ptx: &str) -> Dim3 {
    let extents = ptx.lines().find_map(|line| line.trim().strip_prefix(".reqnctapercluster "));
    let mut extents = extents.unwrap_or("").split(',').map(|extent| extent.trim().parse().unwrap_or(1));
    let mut next = || extents.next().unwrap_or(1);
    Dim3 { x: next(), y: next(), z: next() }
}

/// Variant, types and tile sizes of a build, and its form.
fn parts(build: &Build) -> ((&'static str, Dtype, &Tiles), Specialization) {
    let Configuration { variant, dtype, tiles, specialization, .. } = &build.configuration;
    ((variant, *dtype, tiles), *specialization)
}

/// What is shipped is whole, declares what its instructions need, is made from this source and, where the compiler of that version is at
/// hand, what it makes: all tile sizes are compiled with `DEEP=1`, and all forms, in pairs.
pub fn shipped_ptx_is_fresh(level: &'static Level) -> Result<(), String> {
    let builds = level.all_shipped_builds();
    let texts = level.ptx.texts().map_err(|why| why.to_string())?;
    if builds.len() != texts.len() {
        return Err(format!("{} configurations are shipped in {} texts", builds.len(), texts.len()));
    }
    let all: Vec<_> = builds.iter().map(parts).collect();
    let mut compiled: Vec<_> = builds.iter().filter(|build| build.is_default()).map(parts).collect();
    if deep() {
        compiled = with_each(&all, compiled);
    }
    for build in &builds {
        let configuration = &build.configuration;
        let (header, ptx) = shipped(build).map_err(|e| format!("{configuration}: {e:?}"))?;
        if !lowest(ptx).changes.is_empty() || needs_more_than_declared(ptx) {
            return Err(format!("{configuration}: `.version` or `.target` is not what the instructions need"));
        }
        if header.judge != Judge::Ptxas {
            return Err(format!(
                "{configuration}: its needs are not ptxas's word: run `cargo x matrix`, then `cargo x ptx`"
            ));
        }
        let (cluster, said) = (build.cluster(), cluster_in(ptx));
        if cluster != said {
            return Err(format!("{configuration}: clusters of {cluster} are declared, and of {said} compiled"));
        }
        // A changed source is seen above. A push compiles the default of each type; what another compiler would make is deep.
        let Some(compiler) = compiler().filter(|_| compiled.contains(&parts(build))) else { continue };
        // What ptxas says is held against ptxas by `common`'s test `assembled`.
        let kernel = Kernel::compile(build, &[], compiler).map_err(|e| e.to_string())?;
        if kernel.compiler != header.compiler {
            skipped(&format!("NVRTC is {}, and the shipped PTX is by {}", kernel.compiler, header.compiler));
        } else if lowest(&kernel.ptx).ptx != ptx {
            return Err(format!("{configuration}: the shipped PTX is not what the compiler makes: run `cargo x ptx`"));
        }
    }
    Ok(())
}

/// Changed PTX and PTX of another source never run: without a compiler they are refused, with one they are compiled anew.
pub fn unfit_ptx_never_runs(level: &'static Level) -> Result<(), String> {
    let build = level.default_build(level.types[0].dtype);
    let edited = build.clone().with_text(Text::new(level.path, format!("{}\n// edited\n", level.source)));
    let texts = level.ptx.texts().map_err(|why| why.to_string())?;
    let altered = |alter: &dyn Fn(&str) -> String| {
        let files: Vec<(&str, String)> = texts.iter().map(|(name, text)| (name, alter(text))).collect();
        Archive::from(Texts::of(files.iter().map(|(name, text)| (*name, text.as_str()))))
    };
    let same = altered(&|file| file.to_string());
    let unfit = [
        ("damaged", altered(&|file| file.replacen("ret;", "ret ;", 1)), &build),
        ("damaged", altered(&|file| file[..file.len() / 2].to_string()), &build),
        ("damaged", altered(&|_| String::new()), &build),
        ("damaged", Archive::new(b"no archive"), &build),
        ("is not what", same, &edited),
    ];
    for (expected, archive, build) in unfit {
        match Kernel::obtain_from(&archive, build, 90, nvrtc::nowhere) {
            Err(Error::Usage { message, hint }) if message.contains(expected) && hint.contains("pip install") => (),
            other => return Err(format!("expected {expected:?}, not {other:?}")),
        }
        // All that is damaged takes the same way.
        if nvrtc::find().is_ok() && (deep() || expected != "damaged") {
            let kernel = Kernel::obtain_from(&archive, build, 90, nvrtc::find).map_err(|e| e.to_string())?;
            assert_eq!(kernel.origin, Origin::Compiled);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planted_instruction_needs_more_than_is_declared() {
        let kernel = |body: &str| format!(".version 7.0\n.target sm_60\n.entry k()\n{{\n{body}\nret;\n}}\n");
        assert!(!needs_more_than_declared(&kernel("bar.sync 0;")));
        for planted in ["elect.sync %r1|%p1, 1;", "cp.async.wait_all;", "fence.sc.gpu;", "newer.than.the.table;"] {
            assert!(needs_more_than_declared(&kernel(planted)), "{planted}");
        }
    }
}
