//! Regenerates the shipped PTX: what `cargo x ptx` asks of each level.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::nvrtc::Compiler;
use super::ptxas::generations;
use super::{Header, INSTALL, Kernel, header, lower, nvrtc, options};
use crate::level::Level;
use crate::{Error, Source};

/// The architectures whose needs a shipped file records.
const ARCHITECTURES: [u32; 6] = [75, 80, 86, 89, 90, 120];

/// Compiles every shipped configuration and writes it to the level's `ptx` folder, which lies under
/// the working directory. Returns the number of files.
pub fn write_ptx(level: &Level) -> anyhow::Result<usize> {
    let compiler = nvrtc::find().map_err(|why| Error::usage(why, INSTALL))?;
    let folder = Path::new(level.name).join("ptx");
    let configurations = level.shipped_configurations();
    for configuration in &configurations {
        let kernel = Kernel::compile(level, configuration, &ARCHITECTURES, compiler)?;
        let file = folder.join(configuration.file_name());
        let options = options(level, configuration);
        let text = text(&level.source(), &options, kernel, &fs::read_to_string(&file).unwrap_or_default())?;
        fs::write(&file, text)
            .with_context(|| format!("cannot write {} (is this the repository's root?)", file.display()))?;
    }
    Ok(configurations.len())
}

/// What a shipped file of any source holds: its PTX, after a header that says what it was made from. `before` is what the
/// file held.
pub fn ptx_file(source: &Source, options: &[String], compiler: &Compiler, before: &str) -> Result<String, Error> {
    let hint = "only what compiles can be shipped".to_string();
    let kernel = Kernel::from_source(source, "", options, &ARCHITECTURES, compiler, hint)?;
    text(source, options, kernel, before)
}

/// The file of a kernel as the compiler made it: lowered, with what every ptxas at hand makes of it. Without one, the record
/// of the file before stands, if its PTX is the same.
fn text(source: &Source, options: &[String], kernel: Kernel, before: &str) -> Result<String, Error> {
    let lowered = lower::lowest(&kernel.ptx);
    let kernel = Kernel { ptx: lowered.ptx, ..kernel };
    let name = source.path.replace(['/', '\\'], "-");
    let fix = |why| Error::usage(why, "`cargo x ptx` sets PTXAS itself");
    let mut generations = generations(&kernel.ptx, kernel.optimization, &name).map_err(fix)?;
    if generations.is_empty()
        && let Ok((header, ptx)) = Header::verify(before, source.text, options)
        && ptx == kernel.ptx
    {
        generations = header.generations;
    }
    Ok(header::file(source, options, &Kernel { generations, ..kernel }, &lowered.changes))
}
