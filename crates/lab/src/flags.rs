//! Flags that several commands share.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use device::vendor::Which;
use device::{Backend, Device};
use emulator::gpu::Gpu;
use gemm::candidate::Options;
use gemm::facts::Extras;
use gemm::{Dtype, Error, Shape};

/// The sizes of a problem.
#[derive(Debug, Clone, Args)]
pub struct Sizes {
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
}

fn size() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(i32::MAX))
}

impl Sizes {
    /// The shape, with `default` where nothing is said.
    pub fn shape(&self, default: u32) -> Shape {
        let or_default = |size: Option<u32>| size.or(self.size).unwrap_or(default);
        Shape { m: or_default(self.m), n: or_default(self.n), k: or_default(self.k) }
    }
}

/// The sizes and shapes of a record.
#[derive(Debug, Clone, Args)]
pub struct Shapes {
    /// Square sizes [default: 128,256,512,1024,2048,3000,4096,8192, if no shapes are given]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size())]
    pub sizes: Vec<u32>,
    /// Rectangular shapes, MxNxK [default, if no sizes are given: flat, deep, tall, wide and odd ones]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = shape)]
    pub shapes: Vec<Shape>,
}

/// The square sizes of every record.
const SQUARES: [u32; 8] = [128, 256, 512, 1024, 2048, 3000, 4096, 8192];
/// Its rectangular shapes: flat, deep, tall, wide, and odd in every size.
const RECTANGLES: [[u32; 3]; 5] =
    [[4096, 4096, 128], [128, 128, 16384], [8192, 128, 1024], [128, 8192, 1024], [1111, 777, 333]];

impl Shapes {
    /// The squares, then the rectangles: those that were asked for, or those of every record.
    pub fn shapes(&self) -> Vec<Shape> {
        let square = |&size: &u32| Shape { m: size, n: size, k: size };
        if self.sizes.is_empty() && self.shapes.is_empty() {
            let rectangles = RECTANGLES.map(|[m, n, k]| Shape { m, n, k });
            return SQUARES.iter().map(square).chain(rectangles).collect();
        }
        self.sizes.iter().map(square).chain(self.shapes.iter().copied()).collect()
    }
}

/// A shape as it is written on the command line: `MxNxK`.
pub fn shape(text: &str) -> Result<Shape, String> {
    let sizes: Vec<u32> = text.split('x').filter_map(|size| size.parse().ok()).collect();
    match sizes.as_slice() {
        &[m, n, k] if m.min(n).min(k) > 0 && text.split('x').count() == 3 => Ok(Shape { m, n, k }),
        _ => Err("a shape is written MxNxK, for instance 1024x512x64".to_string()),
    }
}

/// The kernel's text with counters beside it.
#[derive(Debug, Clone, Args)]
pub struct Annotate {
    /// Print the kernel with its counters in the margin, or write it to FILE (emulator)
    #[arg(id = "annotate", long = "annotate", value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    to: Option<PathBuf>,
}

impl Annotate {
    /// Whether it is asked for.
    pub fn is_asked(&self) -> bool {
        self.to.is_some()
    }

    /// The text, if it is to be printed; else it is written to its file.
    pub fn kept(&self, text: Option<String>) -> Result<Option<String>, Error> {
        let (Some(file), Some(written)) = (self.to.as_ref().filter(|file| file.as_os_str() != "-"), &text) else {
            return Ok(text);
        };
        fs::write(file, written).map_err(|error| {
            Error::usage(format!("cannot write {}: {error}", file.display()), "`--annotate` alone prints it")
        })?;
        Ok(None)
    }
}

/// The vendor's library beside kernels.
#[derive(Debug, Clone, Copy, Args)]
pub struct Rival {
    /// The vendor's product: usual, cuBLAS as it chooses by itself, or tuned, cuBLASLt with the fastest of the 16 algorithms that its
    /// heuristics name
    #[arg(long, value_name = "WHICH", hide_possible_values = true, default_value = "usual", value_parser = which())]
    pub vendor: Which,
}

/// What reads the name of a product of the vendor's.
pub fn which() -> impl TypedValueParser<Value = Which> {
    PossibleValuesParser::new(Which::NAMES).try_map(|name| name.parse::<Which>())
}

/// Where and how kernels run.
#[derive(Debug, Clone, Args)]
pub struct How {
    /// Element types: f32, f64, or what else the levels multiply
    #[arg(long, value_name = "DTYPE", default_value = "f32")]
    pub dtype: Dtype,
    /// Where to run: cuda, emulator, or auto: a CUDA GPU if one answers, else the emulator
    #[arg(long, hide_possible_values = true, default_value = "auto", value_parser = common::cli::backend())]
    pub backend: Backend,
    /// The GPU that the emulator models
    #[arg(long, value_name = "NAME", default_value = "h200")]
    pub gpu: String,
    /// Seed of the inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Leave the emulator's race and initialisation checks out, for speed
    #[arg(long)]
    pub no_sanitize: bool,
    /// Warp instructions after which the emulator takes a thread block for stuck
    #[arg(long, value_name = "N", default_value_t = emulator::Launch::INSTRUCTION_LIMIT)]
    pub instruction_limit: u64,
}

impl How {
    /// The device, after a note on stderr where there was a choice.
    pub fn device(&self, by_line: bool) -> Result<Device, Error> {
        let (device, note) = Device::pick(self.backend, by_line)?;
        if let Some(note) = note {
            crate::output::note(&format!("note: {note}"));
        }
        Ok(device)
    }

    /// The device, where that was said before.
    pub fn quiet(&self) -> Result<Device, Error> {
        Ok(Device::pick(self.backend, false)?.0)
    }

    /// What to do beside the product.
    pub fn options(&self) -> Result<Options, Error> {
        let extras = Extras { instruction_limit: self.instruction_limit, ..Extras::new(true, !self.no_sanitize) };
        Ok(Options { gpu: modelled(&self.gpu)?, extras, annotate: false, matrices: false })
    }
}

/// A modelled GPU by its name.
pub fn modelled(name: &str) -> Result<&'static Gpu, Error> {
    Gpu::named(name).map_err(|unknown| {
        let text = unknown.to_string();
        let (message, hint) = text.split_once("\nhint: ").unwrap_or((&text, "`lab gpus` lists them"));
        Error::usage(message, hint)
    })
}
