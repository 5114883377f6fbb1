//! `press variants`: the kernels of the exercises, right and wrong, as PTX, for the benches of the book's pages.
//!
//! `book/variants/list.json` names them. Each is a level's kernel and a change of it, in one configuration. `cargo x ptx` runs this
//! command; it writes `book/variants/kernels.ptx`, by NVRTC, a text `ID.ptx` for each, and packs it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use archive::{Texts, Unreadable};
use clap::Args;
use common::ship::{Record, build_file};
use device::nvrtc;
use gemm::change::changed;
use gemm::kernel::INSTALL;
use gemm::{Build, Dtype, Error, Text, asked};
use levels::LEVELS;
use serde::Deserialize;
use serde_json::Value;

use lab::output::note;

/// The folder of the list and of the PTX.
const FOLDER: &str = "book/variants";

/// Write the PTX of the exercises' kernels for the book's pages: book/variants (needs NVRTC)
#[derive(Debug, Clone, Args)]
pub struct Variants {
    /// Only those whose name begins so: 12.
    #[arg(value_name = "NAME", default_value = "")]
    only: String,
}

/// A kernel that a page may run in the place of a level's own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    /// The file's name: the lesson's number, a point, a word.
    id: String,
    /// What a reader chooses it by.
    #[serde(rename = "name")]
    _name: String,
    /// The same in the book's other language.
    #[serde(rename = "zh-CN")]
    _chinese: String,
    /// The lesson, which is its level's number.
    lesson: usize,
    /// The change of the level's kernel, in `book`.
    change: PathBuf,
    dtype: Dtype,
    /// Tile sizes that are not the default ones.
    #[serde(default)]
    tiles: BTreeMap<String, u32>,
    /// M, N and K of a problem on which it does what it is there for.
    #[serde(rename = "size")]
    _size: [u32; 3],
    /// What comes of that: the tests hold it to this.
    #[serde(rename = "ends")]
    _ends: Value,
}

/// Runs the command.
pub fn run(variants: &Variants) -> Result<ExitCode, Error> {
    let folder = Path::new(FOLDER);
    let list: Vec<Variant> = serde_json::from_str(&read(&folder.join("list.json"))?)
        .map_err(|error| Error::usage(format!("{FOLDER}/list.json: {error}"), "its other rows show how"))?;
    let compiler = nvrtc::find().map_err(|why| Error::usage(why, INSTALL))?;
    let archive = folder.join("kernels.ptx.zst");
    let texts = |error: Unreadable| Error::usage(error.to_string(), "without the archive all are compiled anew");
    let before = if archive.exists() { Texts::read(&archive).map_err(texts)? } else { Texts::default() };
    let mut files = Vec::new();
    for variant in &list {
        let name = format!("{}.ptx", variant.id);
        let kept = before.get(&name).unwrap_or_default();
        let is_asked = kept.is_empty() || variant.id.starts_with(&variants.only);
        let text =
            if is_asked { build_file(&variant.build()?, compiler, kept, Record::Own)? } else { kept.to_string() };
        files.push((name, text));
    }
    let texts = Texts::of(files.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    let file = folder.join("kernels.ptx");
    let written = fs::write(&file, texts.joined());
    written.map_err(|error| Error::usage(format!("cannot write {}: {error}", file.display()), ROOT))?;
    let file = file.display();
    note(&format!("{file} written, which `cargo x pack {file}` packs"));
    Ok(ExitCode::SUCCESS)
}

const ROOT: &str = "run this at the root of the repository";

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|error| Error::usage(format!("cannot read {}: {error}", path.display()), ROOT))
}

impl Variant {
    /// The level with the change in its kernel, in this configuration.
    fn build(&self) -> Result<Build, Error> {
        let level = LEVELS.get(self.lesson).ok_or_else(|| {
            Error::usage(format!("{}: there is no level {}", self.id, self.lesson), "`lesson` is a level's number")
        })?;
        let source = changed(level.source, &read(&Path::new("book").join(&self.change))?)?;
        let tiles: Vec<(&str, u32)> = self.tiles.iter().map(|(name, &size)| (name.as_str(), size)).collect();
        Ok(asked::build(level, self.dtype, None, &tiles, &level.plain(self.dtype))?
            .with_text(Text::new(level.path, source)))
    }
}
