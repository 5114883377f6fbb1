//! Bad usage of a level's binary: one clear line, what to do, exit code 2, no panic.

use std::process::{Command, Output};

use super::skipped;
use device::cuda::Gpu;
use gemm::{Dtype, Element, Level, Shape};

/// What a user may get wrong, and a part of the line that must answer.
fn cases(level: &'static Level) -> Vec<(String, &'static str)> {
    let (tile, _) = level.tiles[0];
    let build = level.default_build(level.types[0].dtype);
    let m = 65_536 * build.tile().m;
    let tall = format!("--n 1 --k 1 --m {m}");
    // A grid along x alone has room for all blocks of a C that has room in memory.
    let tall_is_refused = build.launch(&Shape { m, n: 1, k: 1 }).grid.y > 65_535;
    // With a wide tile, C itself is too large before the grid is too tall.
    let tall_is_too_large = u64::from(m) * u64::from(build.tile().n) > i32::MAX as u64;
    let other = Dtype::ALL.into_iter().map(|(_, dtype)| dtype).rfind(|dtype| level.dtypes().all(|own| own != *dtype));
    let other = other.map_or("none", Dtype::name);
    let sum = level.types[0].dtype.sum;
    let long = "--m 1 --n 1 --k 4194305";
    let cases = [
        ("--size 0", "0 is not in 1..="),
        ("--m -5", "unexpected argument"),
        ("--k 4294967296", "4294967296"),
        ("--size 50000", "A has 250"),
        (long, if sum.whole().is_some() { "an s32 has room for" } else { "no useful error bound" }),
        (&tall, if tall_is_too_large { "C has 2147483648 elements" } else { "65536 blocks along y" }),
        ("--size 8 --m 8", "cannot be used with"),
        ("--dtype f31", "no element type"),
        (&format!("--dtype {other}"), "does not multiply "),
        ("--variant nonesuch", "no variant `nonesuch`"),
        ("--gpu voodoo", "voodoo"),
        ("--backend tpu", "tpu"),
        ("--nonsense", "--nonsense"),
        ("--define NOPE=8", "no tile size `NOPE`"),
        (&format!("--define {tile}"), "there is no `=`"),
        (&format!("--define {tile}="), "is no tile size"),
        (&format!("--define {tile} 8"), "write NAME=VALUE"),
        (&format!("--define {tile}=many"), "`many` is no tile size"),
        (&format!("--define {tile}=0"), "0 is out of range"),
        (&format!("--define {tile}=-3"), "`-3` is no tile size"),
        (&format!("--define {tile}=1025"), "1025 is out of range"),
        ("--print-matrices --size 17", "prints sizes up to 16"),
        ("--backend cuda --annotate", "`--annotate` needs counters"),
        ("--seed x", "x"),
    ];
    // Sums in f64 have a useful bound for every K that has room in memory.
    let holds =
        |(words, _): &(&str, &str)| (tall_is_refused || *words != tall) && (sum != Element::F64 || *words != long);
    cases.into_iter().filter(holds).map(|(words, answer)| (words.to_string(), answer)).collect()
}

/// Runs every case, and the ones that depend on what the machine has.
pub fn bad_usage_is_one_clear_line(level: &'static Level, program: &str) -> Result<(), String> {
    for (words, answer) in cases(level) {
        is_refused(&run(program, &words, false)?, answer).map_err(|e| format!("`{words}`: {e}"))?;
    }
    match Gpu::find() {
        Ok(_) => skipped("a CUDA GPU answers: nothing refuses `--backend cuda`"),
        Err(_) => is_refused(&run(program, "--backend cuda", false)?, "no CUDA device")?,
    }
    let (tile, _) = level.tiles[0];
    let unfit = format!("--backend emulator --size 4 --define {tile}=1024");
    let output = run(program, &unfit, false)?;
    match String::from_utf8_lossy(&output.stderr).contains("pip install") {
        true => skipped("no NVRTC: nothing evaluates a static_assert"),
        false => is_refused(&output, level.path)?,
    }
    let output = run(program, &unfit, true)?;
    match String::from_utf8_lossy(&output.stderr).contains(level.path) {
        true => skipped("NVRTC is on the loader's path: it cannot be hidden"),
        false => is_refused(&output, "pip install nvidia-cuda-nvrtc")?,
    }
    Ok(())
}

fn run(program: &str, words: &str, without_environment: bool) -> Result<Output, String> {
    let mut command = Command::new(program);
    if without_environment {
        command.env_clear();
    }
    command.args(words.split_whitespace()).output().map_err(|e| e.to_string())
}

fn is_refused(output: &Output, answer: &str) -> Result<(), String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.starts_with("note: ")).collect();
    let is_clear =
        matches!(lines.as_slice(), [error, hint] if error.starts_with("error: ") && hint.starts_with("hint: "));
    if output.status.code() == Some(2) && is_clear && stderr.contains(answer) && output.stdout.is_empty() {
        Ok(())
    } else {
        Err(format!("expected one line with {answer:?} and exit code 2, not {:?} and {stderr}", output.status.code()))
    }
}
