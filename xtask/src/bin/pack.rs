//! `cargo x pack FILE…`: packs texts by name into `FILE.zst`, and removes the file. An archive that has these very texts stays as it is.

use std::process::ExitCode;
use std::{env, fs};

use anyhow::{Context, Result};
use archive::Texts;

fn main() -> ExitCode {
    let done: Result<()> = env::args().skip(1).try_for_each(|file| pack(&file));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn pack(file: &str) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    let texts = Texts::parse(text).with_context(|| format!("{file} cannot be packed"))?;
    let archive = format!("{file}.zst");
    let before = fs::read(&archive).ok().and_then(|bytes| Texts::unpack(&bytes).ok());
    if before.as_ref() != Some(&texts) {
        let bytes = texts.pack().with_context(|| format!("cannot compress {file}"))?;
        fs::write(&archive, &bytes).with_context(|| format!("cannot write {archive}"))?;
        eprintln!("{archive}: {} texts in {} bytes", texts.len(), bytes.len());
    }
    fs::remove_file(file).with_context(|| format!("cannot remove {file}"))
}
