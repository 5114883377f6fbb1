//! The header of a shipped PTX file: what made it, from what, and what it needs.
//!
//! ```text
//! // Made by `cargo x ptx` from level1-tiling/kernel.cu: do not edit.
//! // compiler: 13.0.88
//! // options: --gpu-architecture=compute_75 …
//! // lowered: .version 9.0 -> 7.0, .target sm_75 -> sm_60
//! // source: <sha-256 of options and source>
//! // body: <sha-256 of what follows the header>
//! // needs: by ptxas 13.0.88
//! // sm_90: 38 registers, 0 bytes spilled, 2048 bytes shared
//! // ptxas 12.0.140: sm_75 38, sm_90 40
//! // ---
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Generation, Kernel, Resources};
use crate::headers::{hash, source_hash};
use crate::source::Source;

const END: &str = "// ---\n";

const BY_PTXAS: &str = "by ptxas";

/// What a header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The compiler's version, for instance `13.0.88`.
    pub compiler: String,
    /// Hash of options and source.
    pub source: String,
    /// Hash of the PTX.
    pub body: String,
    /// The compiler's options.
    pub options: Vec<String>,
    /// Needs by architecture.
    pub resources: BTreeMap<u32, Resources>,
    /// Who says what it needs.
    pub judge: Judge,
    /// What other versions of ptxas make of the PTX, the oldest first.
    pub generations: Vec<Generation>,
}

/// Who says what a kernel needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// The compiler's own version of ptxas, of the very PTX that follows: as a driver of that version does.
    Ptxas,
    /// The compiler, from the source: it makes other PTX for each architecture, and the needs may be others.
    Compiler,
}

/// Why there is no shipped PTX that may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// The configuration is not among those shipped.
    Absent,
    /// The file is not what was written.
    Damaged,
    /// The source has changed since.
    Stale,
}

impl Header {
    /// The header and the PTX of a shipped file, if both are whole and made from this source.
    pub fn verify<'a>(file: &'a str, source: &str, options: &[String]) -> Result<(Header, &'a str), Unfit> {
        let (header, ptx) = file.split_once(END).ok_or(Unfit::Damaged)?;
        let header = Header::parse(header).ok_or(Unfit::Damaged)?;
        if header.body != hash(&[ptx]) {
            return Err(Unfit::Damaged);
        }
        if header.source != source_hash(source, options) {
            return Err(Unfit::Stale);
        }
        Ok((header, ptx))
    }

    /// The header of a file, if it has one: nothing is compared.
    pub fn of(file: &str) -> Option<Header> {
        Header::parse(file.split_once(END)?.0)
    }

    /// The header of a file, and what follows it: nothing is compared.
    pub fn split(file: &str) -> Option<(Header, &str)> {
        let (header, ptx) = file.split_once(END)?;
        Some((Header::parse(header)?, ptx))
    }

    /// The options that a file was made with, if it says so.
    pub fn options_of(file: &str) -> Option<String> {
        let (header, _) = file.split_once(END)?;
        field(header, "options").map(str::to_string)
    }

    fn parse(text: &str) -> Option<Header> {
        let field =
            |name: &str| text.lines().find_map(|l| l.strip_prefix("// ")?.strip_prefix(name)?.strip_prefix(": "));
        let resources = text.lines().filter_map(parse_resources).collect();
        let generations = text.lines().filter_map(|l| Generation::parse(l.strip_prefix("// ptxas ")?)).collect();
        let [compiler, source, body] = [field("compiler")?, field("source")?, field("body")?].map(str::to_string);
        let options = field("options")?.split(' ').map(str::to_string).collect();
        let judge = if field("needs")?.starts_with(BY_PTXAS) { Judge::Ptxas } else { Judge::Compiler };
        Some(Header { compiler, source, body, options, resources, judge, generations })
    }
}

/// A whole file: header, and PTX with what was lowered in it.
pub fn shipped_file(source: &Source, options: &[String], kernel: &Kernel, judge: Judge, lowered: &[String]) -> String {
    let mut text = format!("// Made by `cargo x ptx` from {}: do not edit.\n", source.path);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "// compiler: {}", kernel.compiler);
    let _ = writeln!(text, "// options: {}", options.join(" "));
    if !lowered.is_empty() {
        let _ = writeln!(text, "// lowered: {}", lowered.join(", "));
    }
    let _ = writeln!(text, "// source: {}", source_hash(source.text, options));
    let _ = writeln!(text, "// body: {}", hash(&[&kernel.ptx]));
    let _ = match judge {
        Judge::Ptxas => writeln!(text, "// needs: {BY_PTXAS} {}", kernel.compiler),
        Judge::Compiler => writeln!(text, "// needs: by NVRTC {}, from the source", kernel.compiler),
    };
    for (sm, r) in &kernel.resources {
        let Resources { registers, spilled_bytes, shared_bytes } = r;
        let _ = writeln!(
            text,
            "// sm_{sm}: {registers} registers, {spilled_bytes} bytes spilled, {shared_bytes} bytes shared"
        );
    }
    for generation in &kernel.generations {
        let _ = writeln!(text, "// ptxas {}", generation.line());
    }
    text + END + &kernel.ptx
}

fn field<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header.lines().find_map(|line| line.strip_prefix("// ")?.strip_prefix(name)?.strip_prefix(": "))
}

fn parse_resources(line: &str) -> Option<(u32, Resources)> {
    let (sm, rest) = line.strip_prefix("// sm_")?.split_once(": ")?;
    let mut numbers = rest.split(", ").map(|part| part.split(' ').next()?.parse().ok());
    let resources =
        Resources { registers: numbers.next()??, spilled_bytes: numbers.next()??, shared_bytes: numbers.next()?? };
    Some((sm.parse().ok()?, resources))
}
