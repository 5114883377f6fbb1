//! What a page's bench must show: the same requests, answered by the same crate on this machine.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use archive::Texts;
use serde_json::{Value, json};

/// A process of its own: this crate depends on no other one of the workspace but the archives. `cargo x book` builds it.
const PROGRAM: &str = "debug/examples/answer";

/// Ends when it is dropped.
pub struct Native {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    root: PathBuf,
    /// What each lesson's bench may choose from.
    pub levels: Vec<Value>,
    /// The exercises' kernels.
    pub variants: Vec<Value>,
}

impl Native {
    pub fn start(root: &Path) -> Result<Self> {
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let mut program = Command::new(target.join(PROGRAM));
        let piped = program.current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = piped.spawn().with_context(|| format!("cannot start {PROGRAM}"))?;
        let input = process.stdin.take().context("it is piped")?;
        let output = BufReader::new(process.stdout.take().context("it is piped")?);
        let mut native =
            Self { process, input, output, root: root.to_path_buf(), levels: Vec::new(), variants: Vec::new() };
        native.variants = serde_json::from_str(&read(&root.join("book/variants/list.json"))?)?;
        let levels = native.ask("")?;
        native.levels = levels.as_array().cloned().context("the levels are no list")?;
        Ok(native)
    }

    /// The repository.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The answer to a request for the level with this number, as it is shipped, or with `ptx` and `source` of its own.
    pub fn answer(&mut self, level: usize, what: &Value) -> Result<Value> {
        let rung = self.levels.get(level).with_context(|| format!("there is no level {level}"))?;
        let shipped = default(rung).with_context(|| format!("level {level} has no default"))?;
        let (name, file) = (text(rung, "name"), text(shipped, "file"));
        let mut request =
            json!({"level": name, "dtype": shipped["dtype"], "tiles": shipped["tiles"], "annotate": true});
        if !text(shipped, "variant").is_empty() {
            request["variant"] = shipped["variant"].clone();
        }
        request["ptx"] = packed(&self.root.join(text(rung, "path")).with_file_name("kernel.ptx.zst"), file)?.into();
        for (name, value) in what.as_object().into_iter().flatten() {
            request[name] = value.clone();
        }
        self.ask(&request.to_string())
    }

    /// The answer to one of the exercises' kernels, at the size that it is for.
    pub fn broken(&mut self, level: usize, variant: &Value) -> Result<Value> {
        let (book, size) = (self.root.join("book"), &variant["size"]);
        let mut what = json!({"m": size[0], "n": size[1], "k": size[2], "dtype": variant["dtype"]});
        if variant["tiles"].is_object() {
            what["tiles"] = variant["tiles"].clone();
        }
        what["change"] = read(&book.join(text(variant, "change")))?.into();
        let file = format!("{}.ptx", text(variant, "id"));
        what["ptx"] = packed(&book.join("variants/kernels.ptx.zst"), &file)?.into();
        self.answer(level, &what)
    }

    fn ask(&mut self, request: &str) -> Result<Value> {
        writeln!(self.input, "{request}").context("the program that answers has ended")?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        ensure!(!answer.is_empty(), "{PROGRAM} gives no answer");
        serde_json::from_str(&answer).context("an answer is no JSON")
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        // It has ended if it could not be started.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A text of an archive.
fn packed(archive: &Path, name: &str) -> Result<String> {
    let text = Texts::read(archive)?.get(name).map(str::to_string);
    text.with_context(|| format!("{} has no {name}", archive.display()))
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// The configuration that runs where nothing is said.
pub fn default(level: &Value) -> Option<&Value> {
    let is_it = |shipped: &&Value| shipped["default"] == true && shipped["dtype"] == level["dtypes"][0];
    level["shipped"].as_array()?.iter().find(is_it)
}

/// A text of an object; nothing where there is none.
pub fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}
