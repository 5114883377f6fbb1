//! `lab gpus`: the modelled GPUs. `lab occupancy`: how many blocks of a kernel fit on an SM of one.

use std::process::ExitCode;

use clap::Args;
use emulator::TensorType;
use emulator::gpu::{GPUS, Gpu};
use emulator::occupancy::{Occupancy, Resource, occupancy};
use gemm::Error;

use crate::flags::modelled;
use crate::output::{fitted, note, print};
use crate::table::{maybe, number, table};

/// The GPUs that the emulator models
#[derive(Debug, Clone, Args)]
pub struct Gpus {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// How many blocks of a kernel fit on an SM, and what keeps it from being more
#[derive(Debug, Clone, Args)]
pub struct Fit {
    /// A modelled GPU; without it, all
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Threads per block
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    threads: u32,
    /// Registers per thread
    #[arg(long, value_name = "N", default_value_t = 0)]
    registers: u32,
    /// Bytes of shared memory per block, static and dynamic
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// Bytes of shared memory of an SM, where a driver leaves a part of it to L1 [default: all that the GPU has]
    #[arg(long, value_name = "BYTES")]
    shared_per_sm: Option<u32>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Lists the GPUs.
pub fn list(gpus: &Gpus) -> Result<ExitCode, Error> {
    if gpus.json {
        print(&format!("{}\n", json(GPUS)?))?;
        return Ok(ExitCode::SUCCESS);
    }
    let head = [
        "",
        "sm",
        "SMs",
        "MHz",
        "f32 GFLOP/s",
        "f64 GFLOP/s",
        "f16 tensor",
        "f64 tensor",
        "L2 MiB",
        "DRAM GB/s",
        "warps/SM",
        "shared/SM",
        "shared/block",
    ];
    let mut lines = vec![head.map(String::from).to_vec()];
    lines.extend(GPUS.iter().map(|gpu| {
        vec![
            gpu.name.to_string(),
            gpu.sm().to_string(),
            gpu.sms.to_string(),
            number(gpu.boost_hz / 1e6),
            number(gpu.peak_flops_f32() / 1e9),
            number(gpu.peak_flops_f64() / 1e9),
            maybe(gpu.peak_flops_tensor(TensorType::F16).map(|flops| flops / 1e9)),
            maybe(gpu.peak_flops_tensor(TensorType::F64).map(|flops| flops / 1e9)),
            number(gpu.l2_bytes as f64 / f64::from(1 << 20)),
            number(gpu.dram_bytes_per_s / 1e9),
            gpu.limits.warps_per_sm.to_string(),
            gpu.limits.shared_per_sm.to_string(),
            gpu.limits.shared_per_block.to_string(),
        ]
    }));
    print(&fitted(&lines))?;
    Ok(ExitCode::SUCCESS)
}

/// Computes occupancy. Exit code 0, if the launch fits on every GPU that was asked for; else 1.
pub fn fit(fit: &Fit) -> Result<ExitCode, Error> {
    let mut gpus: Vec<Gpu> = match &fit.gpu {
        Some(name) => vec![*modelled(name)?],
        None => GPUS.to_vec(),
    };
    if let Some(bytes) = fit.shared_per_sm {
        gpus.iter_mut().try_for_each(|gpu| leave(gpu, bytes))?;
    }
    let of = |gpu: &Gpu| (gpu.name, occupancy(gpu, fit.threads, fit.registers, fit.shared));
    let found: Vec<(&str, Occupancy)> = gpus.iter().map(of).collect();
    let text = if fit.json { json(&found)? + "\n" } else { text(&found) };
    print(&text)?;
    let too_large: Vec<&str> = found.iter().filter(|(_, fit)| fit.blocks_per_sm == 0).map(|(name, _)| *name).collect();
    if too_large.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let Fit { threads, registers, shared, .. } = fit;
    note(&format!(
        "error: no block of {threads} threads with {registers} registers each and {shared} bytes of shared memory fits on {}",
        too_large.join(", ")
    ));
    note("hint: the column `limited by` says what there is too much of");
    Ok(ExitCode::FAILURE)
}

/// Leaves an SM only so much shared memory.
fn leave(gpu: &mut Gpu, bytes: u32) -> Result<(), Error> {
    let limits = &mut gpu.limits;
    if bytes > limits.shared_per_sm {
        let what = format!("--shared-per-sm {bytes}: an SM of {} has {} bytes", gpu.name, limits.shared_per_sm);
        return Err(Error::usage(what, "ask for as much or less"));
    }
    limits.shared_per_sm = bytes;
    limits.shared_per_block = limits.shared_per_block.min(bytes);
    Ok(())
}

fn text(found: &[(&str, Occupancy)]) -> String {
    let mut lines = vec![["", "blocks/SM", "warps/SM", "occupancy"].map(String::from).to_vec()];
    for resource in found.iter().take(1).flat_map(|(_, occupancy)| occupancy.limits) {
        lines[0].push(match resource.0 {
            Resource::SharedMemory => "shared".to_string(),
            other => other.to_string(),
        });
    }
    lines[0].push("limited by".to_string());
    for (name, occupancy) in found {
        let limited: Vec<String> = occupancy.limited_by.iter().map(|resource| resource.to_string()).collect();
        let limited = match occupancy.blocks_per_sm {
            0 => format!("does not fit: {}", limited.join(" and ")),
            _ => limited.join(" and "),
        };
        let share = format!("{:.0}%", 100.0 * occupancy.share);
        let mut line =
            vec![name.to_string(), occupancy.blocks_per_sm.to_string(), occupancy.warps_per_sm.to_string(), share];
        let alone = |limit: u32| if limit == u32::MAX { "-".to_string() } else { limit.to_string() };
        line.extend(occupancy.limits.iter().map(|&(_, limit)| alone(limit)));
        line.push(limited);
        lines.push(line);
    }
    let text = table(&lines);
    let by = text.find("  warps  ").unwrap_or(0);
    format!("{:by$}  most blocks by\n{text}", "")
}

fn json<T: serde::Serialize>(data: T) -> Result<String, Error> {
    serde_json::to_string_pretty(&data).map_err(|error| Error::usage(error.to_string(), "leave --json out"))
}
