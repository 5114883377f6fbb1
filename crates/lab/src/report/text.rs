//! The report's file. Each table says of its numbers whether they were measured or predicted.

use device::Device;
use gemm::dtype::Sum;
use gemm::facts::Extras;
use gemm::form::Form;
use gemm::kernel::Kernel;
use gemm::problem::{Fill, Problem};
use gemm::task::{Operand, Task};
use gemm::{Dim3, Dtype, Error, LaunchShape, Shape, Source, Tile};
use predict::models;

use super::access::Access;
use super::points::is_cpu;
use super::{CHECKED, Command, Found, middle, named};
use crate::predicted;
use crate::provenance;
use crate::row::{Kind, Row, distinct};
use crate::table::markdown;
use crate::table::{maybe, number, percent};

/// The wrong kernel, and what is said of it.
pub struct Wrong {
    fault: String,
}

const WRONG: &str = include_str!("../../../../kernels/missing-barrier.cu");
const WRONG_PTX: &str = include_str!("../../../../kernels/ptx/missing-barrier.ptx");

impl Wrong {
    /// Runs it on the emulator.
    pub fn judged() -> Result<Wrong, Error> {
        let shape = Shape { m: 48, n: 48, k: 48 };
        let kernel = Kernel::given(WRONG_PTX.to_string(), "missing_barrier");
        let sizes = [shape.m, shape.n, shape.k].map(Operand::U32);
        let (grid, block) = (Dim3::xy(shape.n / 16, shape.m / 16), Dim3::xy(16, 16));
        let task = Task {
            kernel: &kernel,
            source: Source { path: "kernels/missing-barrier.cu", text: WRONG },
            launch: LaunchShape { grid, block, tile: Tile { m: 16, n: 16, k: 16 } },
            dynamic_shared: 0,
            operands: [Operand::A, Operand::B, Operand::C].into_iter().chain(sizes).collect(),
            before: None,
            sum: Sum::Rounded,
        };
        let problem = Problem::in_form(shape, Dtype::F32, Form::PLAIN, Fill::Reals, 1)?;
        match Device::Emulator.launch(&task, &problem, Extras::new(false, true)) {
            Err(Error::Fault(fault)) => Ok(Wrong { fault }),
            Ok(_) => Err(Error::usage("the wrong kernel passes", "report this")),
            Err(error) => Err(error),
        }
    }
}

/// The whole file.
pub fn text(command: &Command, found: &Found, place: &str) -> String {
    let size = middle(&command.sizes);
    let dtype = named(command.how.dtype);
    let mut parts = vec![
        format!("# Matrix multiplication in {dtype}\n\n{}", provenance(command, found, place)),
        format!("## Size of the thread block\n\n{}", blocks(&found.blocks, size)),
        format!("## Size of the matrices\n\n{}", sizes(&found.sizes)),
        format!("## Speed-up over one core\n\n{}", speedup(&found.sizes)),
        format!("## How memory is accessed\n\n{}", access(&found.access)),
        format!("## How the work is divided\n\n{}", tiles(&found.tiles, size)),
        format!("## A wrong kernel\n\n{}", wrong(&found.wrong)),
    ];
    // The reader's own kernel is what the report is about.
    parts.splice(1..1, found.own.iter().map(super::own::Own::section));
    parts.join("\n")
}

fn provenance(command: &Command, found: &Found, place: &str) -> String {
    let rows = found.blocks.iter().chain(&found.sizes).chain(&found.tiles);
    let some = |kind| rows.clone().any(|row| row.ms_is == kind);
    let sizes: Vec<String> = command.sizes.iter().map(u32::to_string).collect();
    let dtype = command.how.dtype.name();
    let out = command.out.display();
    let file = command.file.as_ref().map_or_else(String::new, |file| format!(" {}", file.display()));
    let mut text = format!(
        "Made {} by `lab report{file} --dtype {dtype} --sizes {} --levels {} --out {out}` (version {}), {place}. C = A·B, each matrix \
         n × n unless said otherwise, filled with random numbers of seed {}.\n\nWhat the numbers are:\n\n",
        provenance::now(),
        sizes.join(","),
        command.levels.join(","),
        provenance::commit(),
        command.how.seed
    );
    if some(Kind::Measured) {
        text += &format!("- *measured*: {}.\n", provenance::timing());
    }
    if some(Kind::Predicted) {
        let errors = models().iter().find_map(|model| predicted::errors(model, command.how.dtype));
        let fitted = errors.map_or_else(String::new, |errors| format!(", fitted {errors}"));
        text += &format!("- *predicted*: no GPU ran here; the times are those of a model{fitted}.\n");
        text += &format!(
            "- Each kernel ran on the emulator at {CHECKED} × {CHECKED} × {CHECKED}, or at its own size where that is smaller. Its \
             product was compared with one in f64 there, and its accesses were counted.\n"
        );
    }
    if some(Kind::Bound) {
        text += &format!("- {}.\n", predicted::UNKNOWN);
    }
    text + "- *CPU*: the plain loop on one core of this machine, measured; large products on some of their rows, extended to all.\n"
}

/// The word for a table's times.
fn kind(rows: &[Row]) -> &'static str {
    match rows.iter().find(|row| !is_cpu(row)).map(|row| row.ms_is) {
        Some(Kind::Measured) => "measured",
        Some(Kind::Predicted) => "predicted",
        _ => "not known",
    }
}

fn kernels(rows: &[Row]) -> Vec<String> {
    distinct(rows.iter().map(|row| row.kernel.clone()))
}

fn blocks(rows: &[Row], size: u32) -> String {
    let side = |row: &Row| row.tiles.rsplit('=').next().unwrap_or_default().to_string();
    let mut lines = vec![vec!["threads of a block".to_string()]];
    lines[0].extend(kernels(rows).iter().map(|kernel| format!("{kernel}, ms ({})", kind(rows))));
    for block in distinct(rows.iter().map(side)) {
        let of = |kernel: &String| rows.iter().find(|row| row.kernel == *kernel && side(row) == block);
        let mut line = vec![format!("{block} × {block}")];
        line.extend(kernels(rows).iter().map(|kernel| cell(of(kernel), |row| maybe(row.ms))));
        lines.push(line);
    }
    let mut text = format!("At n = {size}.\n\n{}\n![Rates by block size](blocks.svg)\n", markdown(&lines, 1));
    for kernel in kernels(rows) {
        let mine = rows.iter().filter(|row| row.kernel == kernel && row.ms.is_some());
        if let Some(best) = mine.min_by(|a, b| a.ms.unwrap_or(f64::MAX).total_cmp(&b.ms.unwrap_or(f64::MAX))) {
            text += &format!("\nThe fastest block of {kernel} is {0} × {0}.", side(best));
        }
    }
    text + "\n"
}

/// What a row has, or that it failed.
fn cell(row: Option<&Row>, value: impl Fn(&Row) -> String) -> String {
    row.map_or_else(|| "-".to_string(), |row| if row.is_right() { value(row) } else { row.verdict.clone() })
}

/// A line for each size, a column for each kernel.
fn over_sizes(
    rows: &[Row],
    corner: &str,
    head: impl Fn(&str, bool) -> String,
    value: fn(&Row) -> Option<String>,
) -> String {
    let shown: Vec<String> = kernels(rows)
        .into_iter()
        .filter(|kernel| rows.iter().any(|row| row.kernel == *kernel && value(row).is_some()))
        .collect();
    let cpu = |kernel: &str| rows.iter().any(|row| row.kernel == kernel && is_cpu(row));
    let mut lines = vec![vec![corner.to_string()]];
    lines[0].extend(shown.iter().map(|kernel| head(kernel, cpu(kernel))));
    for size in distinct(rows.iter().map(|row| row.m)) {
        let of = |kernel: &String| rows.iter().find(|row| row.kernel == *kernel && row.m == size);
        let mut line = vec![size.to_string()];
        line.extend(shown.iter().map(|kernel| cell(of(kernel), |row| value(row).unwrap_or_else(|| "-".into()))));
        lines.push(line);
    }
    markdown(&lines, 1)
}

fn sizes(rows: &[Row]) -> String {
    let kind = kind(rows);
    let head = |kernel: &str, cpu: bool| format!("{kernel}, ms ({})", if cpu { "measured" } else { kind });
    let times = over_sizes(rows, "n", head, |row| row.ms.map(number));
    let growth = over_sizes(rows, "n", |kernel, _| kernel.to_string(), |row| row.growth.map(|x| format!("{x:.2}x")));
    format!(
        "{times}\n![Rates by size](sizes.svg)\n\nHow many times as long as at the size before; twice the size has eight times the work:\n\n{growth}"
    )
}

fn speedup(rows: &[Row]) -> String {
    let on_gpu: Vec<Row> = rows.iter().filter(|row| !is_cpu(row)).cloned().collect();
    let table =
        over_sizes(&on_gpu, "n", |kernel, _| kernel.to_string(), |row| row.speedup.map(|x| format!("{}x", number(x))));
    let of = match kind(rows) {
        "measured" => "The GPU's times and the CPU's are of this machine.",
        "not known" => return "No time is known on this GPU, so there is none.\n".to_string(),
        _ => {
            "The GPU's times are predicted, and the CPU's were measured on this machine, which has nothing to do with that GPU."
        }
    };
    format!("Time of the loop on one core, divided by the kernel's. {of}\n\n{table}")
}

fn access(rows: &[Access]) -> String {
    let head = [
        "kernel",
        "global loads: requests",
        "sectors a request",
        "at least",
        "shared loads: requests",
        "wavefronts a request",
        "FLOPs a byte",
    ];
    let per = |part: u64, of: u64| if of == 0 { "-".to_string() } else { format!("{:.2}", part as f64 / of as f64) };
    let mut lines = vec![head.map(String::from).to_vec()];
    lines.extend(rows.iter().map(|row| {
        vec![
            format!("{}, {}", row.kernel, row.tiles).trim_end_matches(", ").to_string(),
            row.requests.to_string(),
            per(row.sectors, row.requests),
            per(row.ideal, row.requests),
            row.shared.to_string(),
            per(row.wavefronts, row.shared),
            number(row.intensity),
        ]
    }));
    format!(
        "Counted at {CHECKED} × {CHECKED} × {CHECKED}. A request is one instruction of a warp of 32 threads. Global memory moves in \
         sectors of 32 bytes: lanes that read neighbours share them, and the access is *coalesced*. Shared memory has 32 banks: a request \
         takes a wavefront more for each bank that it needs twice.\n\n{}",
        markdown(&lines, 1)
    )
}

fn tiles(rows: &[Row], size: u32) -> String {
    let kind = kind(rows);
    let mut lines = vec![vec!["kernel".to_string(), "tiles".to_string()]];
    lines[0].extend([format!("ms ({kind})"), format!("GFLOP/s ({kind})"), "of peak".into(), "occupancy".into()]);
    lines[0].push("registers a thread".into());
    let known = |value: Option<u32>| value.map_or_else(|| "-".to_string(), |value| value.to_string());
    for row in rows {
        let mut line = vec![row.kernel.clone(), row.tiles.clone()];
        line.extend([cell(Some(row), |row| maybe(row.ms)), maybe(row.gflops), percent(row.of_peak)]);
        line.extend([percent(row.occupancy), known(row.registers)]);
        lines.push(line);
    }
    format!(
        "At n = {size}: which part of C a block computes, and which a thread (TM × TN).\n\n{}\n![Rates by tile](tiles.svg)\n",
        markdown(&lines, 2)
    )
}

fn wrong(wrong: &Wrong) -> String {
    format!(
        "This kernel lacks its second `__syncthreads()`. A GPU may well give the right product; the emulator names the two accesses.\n\n\
         ```cuda\n{}```\n\n```text\n{}\n```\n",
        WRONG
            .lines()
            .skip_while(|line| line.starts_with("//") || line.is_empty())
            .map(|l| format!("{l}\n"))
            .collect::<String>(),
        wrong.fault.trim_end()
    )
}
