//! Regenerates the shipped PTX: what `cargo x ptx` asks of each level.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::nvrtc::Compiler;
use super::{INSTALL, Kernel, header, nvrtc, options};
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
        fs::write(&file, header::file(&level.source(), &options(level, configuration), &kernel))
            .with_context(|| format!("cannot write {} (is this the repository's root?)", file.display()))?;
    }
    Ok(configurations.len())
}

/// What a shipped file of any source holds: its PTX, after a header that says what it was made from.
pub fn ptx_file(source: &Source, options: &[String], compiler: &Compiler) -> Result<String, Error> {
    let hint = "only what compiles can be shipped".to_string();
    let kernel = Kernel::from_source(source, "", options, &ARCHITECTURES, compiler, hint)?;
    Ok(header::file(source, options, &kernel))
}
