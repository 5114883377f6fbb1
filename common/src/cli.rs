//! The command line, the same for every level.

use crate::output::{note, print};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use device::Backend;
use emulator::gpu::Gpu;
use gemm::candidate::Options;
use gemm::facts::Extras;
use gemm::form::Form;
use gemm::report::LARGEST_PRINTED;
use gemm::{Build, Dtype, Error, Level, Shape, Text, asked};

/// The size of a problem for which nothing is said.
pub const DEFAULT_SIZE: u32 = 512;

/// Multiplies two matrices with this level's kernel, checks the product, and says what the kernel did.
#[derive(Debug, Clone, Parser)]
#[command(version)]
pub struct Arguments {
    /// Rows of A and C [default: 512]
    #[arg(long, value_name = "N", value_parser = size())]
    pub m: Option<u32>,
    /// Columns of B and C [default: 512]
    #[arg(long, value_name = "N", value_parser = size())]
    pub n: Option<u32>,
    /// Columns of A, rows of B [default: 512]
    #[arg(long, value_name = "N", value_parser = size())]
    pub k: Option<u32>,
    /// M, N and K at once
    #[arg(long, value_name = "N", value_parser = size(), conflicts_with_all = ["m", "n", "k"])]
    pub size: Option<u32>,
    /// Element types: f32, f64, or what else the level multiplies [default: the level's first]
    #[arg(long, value_name = "DTYPE")]
    pub dtype: Option<Dtype>,
    /// Where to run: cuda, emulator, or auto: a CUDA GPU if one answers, else the emulator
    #[arg(long, hide_possible_values = true, default_value = "auto", value_parser = backend())]
    pub backend: Backend,
    /// A named variant of the level
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Another tile size (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub define: Vec<String>,
    /// Your version of the kernel, in place of the level's kernel.cu (needs NVRTC)
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// The GPU that the emulator models
    #[arg(long, value_name = "NAME", default_value = "h200", value_parser = Gpu::named)]
    pub gpu: &'static Gpu,
    /// Seed of the inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Print kernel.cu with its counters in the margin (emulator)
    #[arg(long)]
    pub annotate: bool,
    /// Print A, B and C (M, N and K up to 16)
    #[arg(long)]
    pub print_matrices: bool,
    /// Leave the emulator's race and initialisation checks out, for speed
    #[arg(long)]
    pub no_sanitize: bool,
    /// On a GPU: do not ask the emulator, too, about a kernel that was compiled in this run
    #[arg(long)]
    pub no_verdict: bool,
    /// Warp instructions after which the emulator takes a thread block for stuck
    #[arg(long, value_name = "N", default_value_t = emulator::Launch::INSTRUCTION_LIMIT)]
    pub instruction_limit: u64,
    /// Print the report as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print the kernel's PTX, and run nothing
    #[arg(long, conflicts_with = "json")]
    pub ptx: bool,
    /// Compile every shipped configuration and write them to kernel.ptx, which `cargo x ptx` packs
    #[arg(long, hide = true)]
    pub write_ptx: bool,
}

fn size() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(i32::MAX))
}

/// What reads a backend's name.
pub fn backend() -> impl TypedValueParser<Value = Backend> {
    PossibleValuesParser::new(Backend::NAMES).try_map(|name| name.parse::<Backend>())
}

impl Arguments {
    /// Arguments from words, the program's name left out. `Err` holds what clap has to say, help included.
    pub fn from_words<I: IntoIterator<Item = String>>(level: &Level, words: I) -> Result<Arguments, clap::Error> {
        let program = std::iter::once(level.name.to_string());
        let command = <Arguments as clap::CommandFactory>::command().about(about(level));
        let words: Vec<String> = words.into_iter().collect();
        let apart = set_apart(&words);
        let mut matches = command.try_get_matches_from(program.chain(words)).map_err(|error| match apart {
            Some(what) if error.kind() == ErrorKind::UnknownArgument => clap::Error::raw(ErrorKind::InvalidValue, what),
            _ => error,
        })?;
        <Arguments as clap::FromArgMatches>::from_arg_matches_mut(&mut matches)
    }

    /// The problem's sizes.
    pub fn shape(&self) -> Shape {
        let or_default = |size: Option<u32>| size.or(self.size).unwrap_or(DEFAULT_SIZE);
        Shape { m: or_default(self.m), n: or_default(self.n), k: or_default(self.k) }
    }

    /// The element types asked for, else the level's first.
    fn dtype(&self, level: &Level) -> Dtype {
        self.dtype.unwrap_or(level.types[0].dtype)
    }

    /// The element types, variant, tile sizes and kernel asked for; an error for what the level does not have, or a file that
    /// cannot be read.
    pub fn build(&self, level: &'static Level) -> Result<Build, Error> {
        let tiles: Vec<(&str, u32)> =
            self.define.iter().map(|define| parse_define(define)).collect::<Result<_, _>>()?;
        let dtype = self.dtype(level);
        let build = asked::build(level, dtype, self.variant.as_deref(), &tiles, &level.plain(dtype))?;
        match &self.kernel {
            Some(file) => Ok(build.with_text(read(file)?)),
            None => Ok(build),
        }
    }

    /// All that is asked of a level, resolved once: what is computed, and what is done beside it.
    pub fn asked(&self, level: &'static Level) -> Result<Asked, Error> {
        let build = self.build(level)?;
        let options = Options {
            gpu: self.gpu,
            extras: Extras { instruction_limit: self.instruction_limit, ..Extras::new(true, !self.no_sanitize) },
            annotate: self.annotate,
            matrices: self.print_matrices,
        };
        let shape = self.shape();
        let (largest, limit) = (shape.m.max(shape.n).max(shape.k), LARGEST_PRINTED);
        if self.print_matrices && largest > limit {
            return Err(Error::usage(
                format!("--print-matrices prints sizes up to {limit}, and this problem is {shape}"),
                format!("try `--size {limit} --print-matrices`"),
            ));
        }
        let (form, seed, fixed) = (level.plain(self.dtype(level)), self.seed, !self.define.is_empty());
        Ok(Asked { build, shape, form, seed, fixed, options })
    }
}

/// What is asked of a level.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The level with types, variant, tile sizes and text.
    pub build: Build,
    /// The problem's sizes.
    pub shape: Shape,
    /// And its form.
    pub form: Form,
    /// Seed of A and B.
    pub seed: u64,
    /// Whether the tile sizes are asked for, and give way to no others.
    pub fixed: bool,
    /// What to do beside the product.
    pub options: Options,
}

/// A kernel's text from a file.
fn read(file: &Path) -> Result<Text, Error> {
    let name = file.display().to_string();
    match fs::read_to_string(file) {
        Ok(text) => Ok(Text::new(name, text)),
        Err(error) => {
            Err(Error::usage(format!("cannot read {name}: {error}"), "`--kernel` names a kernel in CUDA C++"))
        }
    }
}

fn about(level: &Level) -> String {
    let variants: Vec<&str> = level.variants.iter().map(|v| v.name).collect();
    let tiles: Vec<String> = level.tiles.iter().map(|(name, size)| format!("{name}={size}")).collect();
    let number = level.number().unwrap_or_default();
    let mut text = format!("Level {number}: {}\n\ntile sizes (--define): {}", level.title, tiles.join(" "));
    if !variants.is_empty() {
        text += &format!("\nvariants (--variant): {}", variants.join(", "));
    }
    text
}

/// What is to be said where a tile size's value is a word of its own: `--define BM 64`.
fn set_apart(words: &[String]) -> Option<String> {
    words.windows(3).find(|three| three[0] == "--define" && !three[1].contains('=')).map(|three| {
        let (name, value) = (&three[1], &three[2]);
        format!("`--define {name} {value}`: write NAME=VALUE, `--define {name}={value}`\n")
    })
}

fn parse_define(define: &str) -> Result<(&str, u32), Error> {
    let refuse = |what: &str| asked::no_tile_size(define, what);
    let (name, value) = define.split_once('=').ok_or_else(|| refuse("there is no `=`"))?;
    Ok((name, value.parse().map_err(|_| refuse(&format!("`{value}` is no tile size")))?))
}

/// What clap has to say: help to stdout, an error as one line with a hint. Gives the exit code.
pub fn explain(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return match print(&error.render().to_string()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                note(&format!("error: {error}"));
                ExitCode::from(2)
            }
        };
    }
    note(&in_two_lines(&error.to_string()));
    ExitCode::from(2)
}

/// An error's first paragraph, and below it a hint: that of the value's own reader, or clap's name for what it resembles.
fn in_two_lines(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    let mut said: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let own = said.iter().position(|line| line.starts_with("hint: ")).map(|first| said.split_off(first).join(" "));
    let similar = lines.filter_map(|line| line.strip_prefix("tip: ")).find(|tip| tip.contains("similar"));
    let hint = own.or_else(|| similar.map(|tip| format!("hint: {tip}; `--help` lists all flags")));
    format!("{}\n{}", said.join(" "), hint.as_deref().unwrap_or("hint: `--help` lists the flags and their values"))
}

#[cfg(test)]
mod tests {
    use super::in_two_lines;

    #[test]
    fn an_error_is_one_line_and_its_hint_another() {
        let usual = "hint: `--help` lists the flags and their values";
        let cases = [
            ("error: no such thing\n\nUsage: x\n", format!("error: no such thing\n{usual}")),
            ("error: too few:\n  <A>\n  <B>\n\nUsage: x\n", format!("error: too few: <A> <B>\n{usual}")),
            ("error: `f65` is no type\nhint: there are f32\nand f64\n\nFor more\n", {
                "error: `f65` is no type\nhint: there are f32 and f64".to_string()
            }),
            ("error: unexpected '--sise'\n\n  tip: a similar argument exists: '--size'\n\nUsage: x\n", {
                "error: unexpected '--sise'\nhint: a similar argument exists: '--size'; `--help` lists all flags"
                    .to_string()
            }),
            (
                "error: unexpected '-3'\n\n  tip: to pass '-3' as a value, use '-- -3'\n",
                format!("error: unexpected '-3'\n{usual}"),
            ),
        ];
        for (text, said) in cases {
            assert_eq!(in_two_lines(text), said);
        }
    }
}
