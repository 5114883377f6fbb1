//! Regenerates the shipped PTX: what `cargo x ptx` asks of each level.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use archive::Texts;
use device::nvrtc;
use device::ptxas::Ptxas;
use gemm::kernel::{Compiler, Generation, Header, INSTALL, Judge, Kernel, lower, options, shipped_file};
use gemm::{Build, Error, Level, Source};

/// The architectures whose needs a shipped file records, by the compiler's own version of ptxas.
const ARCHITECTURES: [u32; 6] = [75, 80, 86, 89, 90, 120];

/// Those by other versions.
const OTHERS: [u32; 4] = [75, 80, 89, 90];

/// Whose word a shipped file has on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// That of every ptxas at hand: a driver may load the file, and has a ptxas of its own.
    All,
    /// That of the compiler's own version: only the emulator runs it.
    Own,
}

/// Compiles every shipped configuration and writes them in one text to `kernel.ptx` beside the kernel, below the working directory:
/// `cargo x ptx` packs it. Returns the number of configurations.
pub fn write_ptx(level: &'static Level) -> anyhow::Result<usize> {
    let compiler = nvrtc::find().map_err(|why| Error::usage(why, INSTALL))?;
    let before = level.ptx.texts().map_err(|why| Error::usage(format!("{}: {why}", level.name), ANEW))?;
    let mut files = Vec::new();
    for build in level.all_shipped_builds() {
        let name = build.configuration.file_name();
        let text = build_file(&build, compiler, before.get(&name).unwrap_or_default(), Record::All)?;
        files.push((name, text));
    }
    let texts = Texts::of(files.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    let path = Path::new(level.path).with_extension("ptx");
    fs::write(&path, texts.joined())
        .with_context(|| format!("cannot write {} (is this the repository's root?)", path.display()))?;
    Ok(files.len())
}

/// What to do about an archive that cannot be read.
const ANEW: &str = "empty its kernel.ptx.zst, and `cargo x ptx` makes it anew";

/// What a shipped file of a build holds. `before` is what the file held.
pub fn build_file(build: &Build, compiler: &dyn Compiler, before: &str, record: Record) -> Result<String, Error> {
    let kernel = Kernel::compile(build, &[], compiler)?;
    text(&build.source(), &options(build), kernel, compiler, before, record)
}

/// What a shipped file of any source holds: its PTX, after a header that says what it was made from. `before` is what the
/// file held.
pub fn ptx_file(source: &Source, options: &[String], compiler: &dyn Compiler, before: &str) -> Result<String, Error> {
    let hint = "only what compiles can be shipped".to_string();
    let kernel = Kernel::from_source(source, "", options, &[], compiler, hint)?;
    text(source, options, kernel, compiler, before, Record::All)
}

/// The file of a kernel as the compiler made it: lowered, with what every ptxas at hand makes of that.
///
/// What the file before has on record of the same PTX stands: no ptxas is asked twice. Where neither it nor the compiler's own
/// version of ptxas says what the PTX needs, the compiler says what the source does.
fn text(
    source: &Source,
    options: &[String],
    kernel: Kernel,
    compiler: &dyn Compiler,
    before: &str,
    record: Record,
) -> Result<String, Error> {
    let lowered = lower::lowest(&kernel.ptx);
    let kernel = Kernel { ptx: lowered.ptx, ..kernel };
    // Of another source, too: a comment changes no code.
    let before = Header::split(before).filter(|(_, ptx)| is_same_code(ptx, &kernel.ptx));
    let (mut resources, mut generations) = match before.map(|(header, _)| header) {
        Some(header) if header.judge == Judge::Ptxas => (header.resources, header.generations),
        Some(header) => (BTreeMap::new(), header.generations),
        None => (BTreeMap::new(), Vec::new()),
    };
    let name = source.path.replace(['/', '\\'], "-");
    let entry = Some(&*kernel.entry).filter(|entry| !entry.is_empty());
    let fix = |why| Error::usage(why, "`cargo x ptx` sets PTXAS itself");
    for ptxas in Ptxas::all().map_err(fix)? {
        let own = ptxas.version == kernel.compiler;
        if own && resources.is_empty() {
            resources = ptxas.needs(&kernel.ptx, entry, &ARCHITECTURES, kernel.optimization, &name).map_err(fix)?;
        } else if record == Record::All && !own && generations.iter().all(|known| known.version != ptxas.version) {
            let resources = ptxas.needs(&kernel.ptx, entry, &OTHERS, kernel.optimization, &name).map_err(fix)?;
            generations.push(Generation { version: ptxas.version, resources });
        }
    }
    generations.retain(|generation| !generation.resources.is_empty());
    generations.sort_by_key(Generation::numbers);
    let mut judge = Judge::Ptxas;
    if resources.is_empty() {
        judge = Judge::Compiler;
        let needs = |&sm: &u32| Some((sm, compiler.resources(source, options, sm, entry)?));
        resources = ARCHITECTURES.iter().filter_map(needs).collect();
    }
    Ok(shipped_file(source, options, &Kernel { resources, generations, ..kernel }, judge, &lowered.changes))
}

/// Whether two PTX texts differ at most in where they say that their source lies.
fn is_same_code(one: &str, other: &str) -> bool {
    let is_code = |line: &&str| ![".file", ".loc"].iter().any(|word| line.trim_start().starts_with(word));
    one.lines().filter(is_code).eq(other.lines().filter(is_code))
}
