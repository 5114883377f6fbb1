//! Reads the hardware's counters with Nsight Compute while the levels run on a GPU, and records them
//! for the tests that hold the emulator against them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};

use crate::{ptx, shell};

/// What is read: counters that the emulator promises, the unit utilisations, and the time.
const METRICS: [&str; 21] = [
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum",
    "smsp__sass_inst_executed_op_global_ld.sum",
    "smsp__sass_inst_executed_op_global_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__sass_inst_executed_op_shared_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "smsp__sass_data_bytes_mem_shared_op_ld.sum",
    "smsp__sass_data_bytes_mem_shared_op_st.sum",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed",
    "sm__inst_executed.avg.pct_of_peak_sustained_elapsed",
    "gpu__time_duration.sum",
];

/// What is read to see where the time goes: work, time, what limits the blocks on an SM, how many warps are there, how often one
/// can issue, and what the others wait for, in clocks per issued instruction.
const WAITS: [&str; 21] = [
    "gpu__time_duration.sum",
    "smsp__inst_executed.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "launch__registers_per_thread",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "sm__warps_active.avg.per_cycle_active",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_dispatch_stall_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio",
];

/// Runs of a level: its crate's name, and the arguments.
type Case = (String, String);

/// In each level's folder, what is read beside its defaults.
const OWN: &str = "ncu.txt";

/// The levels' default tiles at sizes.
fn at(levels: &[String], sizes: &[u32]) -> Vec<Case> {
    let of = |size: &u32| levels.iter().map(|level| (level.clone(), format!("--size {size}"))).collect::<Vec<_>>();
    sizes.iter().flat_map(of).collect()
}

/// Sizes that leave most of the GPU empty, fill it once, and fill it many times over; and what each level asks for beside that.
fn waits(levels: &[String]) -> Result<Vec<Case>> {
    let mut cases = at(levels, &[128, 1024, 4096]);
    for level in levels {
        cases.extend(own(level, "waits")?.into_iter().map(|arguments| (level.clone(), arguments)));
    }
    Ok(cases)
}

/// The configurations that each level asks for on and off their tile, and its defaults at sizes that fill the GPU; in the types
/// that it names, or else in f32 and f64.
fn cases(levels: &[String]) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for level in levels {
        let configurations = own(level, "counters")?;
        let types = own(level, "types")?.join(" ");
        for dtype in if types.is_empty() { "f32 f64" } else { &types }.split_whitespace() {
            for configuration in &configurations {
                for size in ["--m 256 --n 256 --k 256", "--m 127 --n 65 --k 33"] {
                    cases.push((level.clone(), format!("{size} --dtype {dtype} {configuration}")));
                }
            }
            for size in ["--m 1024 --n 1024 --k 1024", "--m 1000 --n 1000 --k 1000"] {
                cases.push((level.clone(), format!("{size} --dtype {dtype}")));
            }
        }
    }
    Ok(cases)
}

/// The arguments that a level's own file names for `kind`.
fn own(level: &str, kind: &str) -> Result<Vec<String>> {
    let path = shell::root().join(ptx::folder(level)).join(OWN);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {level}/{OWN}"))?;
    let of_kind = |line: &str| line.strip_prefix(kind).map(|rest| rest.trim().to_string());
    Ok(text.lines().filter_map(of_kind).collect())
}

/// Records what the tests hold the emulator against.
pub fn counters(binaries: &Path, out: &Path, levels: &[String]) -> Result<ExitCode> {
    record(binaries, out, "cargo x ncu", &only(levels, cases)?, &METRICS)
}

/// Records what the book says about time: where it goes; or, at sizes that are given, what its model is judged by.
pub fn where_time_goes(binaries: &Path, out: &Path, levels: &[String], sizes: &[u32]) -> Result<ExitCode> {
    if sizes.is_empty() {
        return record(binaries, out, "cargo x ncu-waits", &only(levels, waits)?, &WAITS);
    }
    let list: Vec<String> = sizes.iter().map(u32::to_string).collect();
    let command = format!("cargo x ncu-waits --sizes {}", list.join(","));
    record(binaries, out, &command, &only(levels, |levels| Ok(at(levels, sizes)))?, &WAITS)
}

/// The cases of some levels; of all, if none is named.
fn only(named: &[String], cases: impl Fn(&[String]) -> Result<Vec<Case>>) -> Result<Vec<Case>> {
    let levels = ptx::levels()?;
    if let Some(unknown) = named.iter().find(|level| !levels.contains(level)) {
        bail!("there is no level `{unknown}`; the levels are {}", levels.join(", "));
    }
    cases(if named.is_empty() { &levels } else { named })
}

/// The rows of the `old` record that one of `cases` keeps: those of other levels, if they hold the same metrics.
fn kept<'a>(old: &'a str, header: &str, cases: &[Case]) -> Result<Vec<&'a str>> {
    let mut lines = old.lines().filter(|line| !line.starts_with('#'));
    let is_measured = |line: &str| cases.iter().any(|(level, _)| line.split(',').next() == Some(level.as_str()));
    if lines.next() != Some(header) && lines.clone().any(|line| !is_measured(line)) {
        bail!("the record holds other metrics: record all levels anew");
    }
    Ok(lines.filter(|line| !is_measured(line)).collect())
}

/// Runs every case under `ncu` with the binaries in `binaries` and writes the metrics to `out`.
fn record(binaries: &Path, out: &Path, command: &str, cases: &[Case], metrics: &[&str]) -> Result<ExitCode> {
    let mut text =
        format!("# Made by `{command}`: counters of one launch each, read by Nsight Compute. Do not edit.\n");
    writeln!(text, "# {}", gpu()?)?;
    writeln!(text, "# {}", first_line(Command::new("ncu").arg("--version"), "Version")?)?;
    let header = format!("level,arguments,{}", metrics.join(","));
    writeln!(text, "{header}")?;
    for row in kept(&std::fs::read_to_string(out).unwrap_or_default(), &header, cases)? {
        writeln!(text, "{row}")?;
    }
    for (number, (level, arguments)) in cases.iter().enumerate() {
        eprintln!("{}/{}: {level} {arguments}", number + 1, cases.len());
        let values = measure(&binaries.join(level), arguments, metrics)?;
        writeln!(text, "{level},{arguments},{}", values.join(","))?;
        std::fs::write(out, &text).with_context(|| format!("cannot write {}", out.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn gpu() -> Result<String> {
    first_line(
        Command::new("nvidia-smi").args(["--query-gpu=name,driver_version,clocks.max.sm", "--format=csv,noheader"]),
        "",
    )
}

fn first_line(command: &mut Command, with: &str) -> Result<String> {
    let program = PathBuf::from(command.get_program());
    let output = command.output().with_context(|| format!("cannot run {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.contains(with));
    line.map(str::to_string).with_context(|| format!("{} says nothing", program.display()))
}

/// The kernels that are read: the levels'. What copies a matrix before them is none.
const KERNELS: &str = "regex:^gemm";

/// The metrics of the first launch of a level's kernel in one run.
fn measure(binary: &Path, arguments: &str, metrics: &[&str]) -> Result<Vec<String>> {
    let output = Command::new("ncu")
        .args(["--clock-control", "none", "--launch-count", "1", "--csv", "--page", "raw", "--print-units", "base"])
        .args(["--kernel-name", KERNELS, "--metrics", &metrics.join(",")])
        .arg(binary)
        .args(arguments.split_whitespace())
        .args(["--backend", "cuda", "--json"])
        .output()
        .context("cannot run ncu")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "ncu failed on {} {arguments}:\n{text}", binary.display());
    let rows: Vec<Vec<String>> = text.lines().filter(|line| line.starts_with('"')).map(fields).collect();
    let [names, _units, values, ..] = rows.as_slice() else { bail!("ncu gave no row for {arguments}:\n{text}") };
    let mut found = Vec::new();
    for metric in metrics {
        let at = names.iter().position(|name| name == *metric);
        let value = at.and_then(|at| values.get(at)).with_context(|| format!("ncu does not report {metric}"))?;
        found.push(value.replace(',', ""));
    }
    Ok(found)
}

/// The fields of a line of quoted, comma-separated values.
fn fields(line: &str) -> Vec<String> {
    line.trim().trim_matches('"').split("\",\"").map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_ncu_falls_into_its_fields() {
        assert_eq!(fields(r#""gemm","1,234","","0.5""#), ["gemm", "1,234", "", "0.5"]);
    }

    #[test]
    fn rows_of_other_levels_are_kept() {
        let old = "# made by a run\nlevel,arguments,x\na,--m 1,1\nb,--m 2,2\n";
        let again = [("b".to_string(), "--m 2".to_string())];
        assert_eq!(kept(old, "level,arguments,x", &again).unwrap(), ["a,--m 1,1"]);
        assert!(kept(old, "level,arguments,y", &again).is_err());
        assert!(kept("", "level,arguments,x", &again).unwrap().is_empty());
        assert!(only(&["c".to_string()], cases).is_err());
    }

    #[test]
    fn every_level_is_measured_on_and_off_its_tile() {
        let levels = ptx::levels().unwrap();
        let (cases, waits) = (cases(&levels).unwrap(), waits(&levels).unwrap());
        for level in &levels {
            assert!(waits.iter().any(|case| case == &(level.clone(), "--size 4096".to_string())), "{level}");
            for size in ["--m 256", "--m 127", "--m 1024", "--m 1000"] {
                assert!(
                    cases.iter().any(|(name, arguments)| name == level && arguments.starts_with(size)),
                    "{level} {size}"
                );
            }
        }
    }
}
