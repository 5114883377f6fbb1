//! `lab doctor`: what of CUDA is on this machine, where, and what each missing part would add.

use std::process::ExitCode;

use clap::Args;
use device::inventory::{self, Library};
use device::nvrtc;
use device::vendor::Vendor;
use gemm::Error;
use serde::Serialize;

use crate::output::print;
use crate::provenance::version;

/// What this program finds of CUDA: driver, GPUs, NVRTC, headers, cuBLAS, NCCL; and what a missing one would add
///
/// All but measuring works without any of them. The exit code is 0, whatever is found.
#[derive(Debug, Clone, Args)]
pub struct Doctor {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// A part of CUDA.
#[derive(Debug, Serialize)]
struct Part {
    name: &'static str,
    /// What was found, or why nothing was.
    #[serde(flatten)]
    found: Found,
    /// What it is for.
    adds: &'static str,
    /// How to get it.
    install: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Found {
    Found(String),
    Missing(String),
}

/// Looks, and says.
pub fn run(doctor: &Doctor) -> Result<ExitCode, Error> {
    let parts = parts();
    let text = match doctor.json {
        true => {
            let object = serde_json::json!({ "lab": version(), "parts": parts });
            let text = serde_json::to_string_pretty(&object);
            text.map_err(|error| Error::usage(error.to_string(), "leave --json out"))? + "\n"
        }
        false => format!("lab {}\n\n{}", version(), text(&parts)),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn text(parts: &[Part]) -> String {
    let width = parts.iter().map(|part| part.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Part { name, found, adds, install } in parts {
        text += &match found {
            Found::Found(what) => format!("{name:width$}  {what}\n"),
            Found::Missing(why) => {
                let blank = " ".repeat(width + 2);
                format!("{name:width$}  missing: {why}\n{blank}would {adds}\n{blank}{install}\n")
            }
        };
    }
    let missing = parts.iter().filter(|part| matches!(part.found, Found::Missing(_))).count();
    match missing {
        0 => text,
        _ => text + "\nWithout any of these, levels, `try` and `sanitize` run on the emulator.\n",
    }
}

fn parts() -> Vec<Part> {
    let gpus = inventory::gpus();
    let found = |found: Result<String, String>| found.map_or_else(Found::Missing, Found::Found);
    let part = |name, of, adds, install| Part { name, found: found(of), adds, install };
    let nvrtc = nvrtc::place().map(|(version, file)| format!("{version}, {}", file.display()));
    vec![
        part(
            "GPU",
            gpus.as_ref().map_err(String::clone).map(|gpus| {
                let of = |gpu: &device::cuda::Gpu| {
                    format!("{}, sm_{}, {} SMs", gpu.name(), gpu.architecture(), gpu.multiprocessors())
                };
                let cuda = gpus.iter().find_map(|gpu| gpu.cuda_version()).unwrap_or_else(|| "an unknown".to_string());
                format!("{} (the driver has CUDA {cuda})", gpus.iter().map(of).collect::<Vec<_>>().join("; "))
            }),
            "run kernels at their own speed, and measure them",
            "NVIDIA's driver makes a GPU answer",
        ),
        part(
            "NVRTC",
            nvrtc,
            "compile a kernel that you changed or wrote",
            "`pip install nvidia-cuda-nvrtc` installs it",
        ),
        part(
            "CUDA's headers",
            headers(),
            "take kernels that include mma.h, cooperative_groups.h and others",
            "`pip install nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl` installs them",
        ),
        part(
            "cuBLAS",
            library(&inventory::CUBLAS).and_then(|file| match gpus.as_ref().map(|gpus| gpus.first()) {
                Ok(Some(gpu)) => Vendor::find(gpu).map(|vendor| format!("{}, {file}", vendor.version())),
                _ => Ok(format!("{file} (without a GPU it is not asked)")),
            }),
            "stand beside the levels in `lab compare`, on a GPU",
            "`pip install nvidia-cublas` installs it",
        ),
        part(
            "NCCL",
            library(&inventory::NCCL),
            "gather matrices over several GPUs",
            "`pip install nvidia-nccl-cu13` installs it",
        ),
    ]
}

/// The folders of headers, as far as they have CUDA's.
fn headers() -> Result<String, String> {
    let folders = nvrtc::header_folders();
    let has = |file: &str| folders.iter().find(|folder| folder.join(file).is_file());
    let missing: Vec<&str> =
        ["cuda_fp16.h", "mma.h", "cuda/atomic"].into_iter().filter(|file| has(file).is_none()).collect();
    match (has("cuda_fp16.h").or(has("mma.h")), missing.as_slice()) {
        (Some(folder), []) => Ok(folder.display().to_string()),
        (Some(folder), missing) => Err(format!("{} lacks {}", folder.display(), missing.join(" and "))),
        (None, _) => Err("neither beside NVRTC nor in a toolkit".to_string()),
    }
}

/// A library's file.
fn library(library: &Library) -> Result<String, String> {
    let missing = || "not in CUDA's, Python's or the system's folders".to_string();
    library.files().next().map(|file| file.display().to_string()).ok_or_else(missing)
}
