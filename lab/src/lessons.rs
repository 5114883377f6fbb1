//! The measured tables of the lessons: each level beside the one before, on the GPU of the record.

use common::{Dtype, Error, Shape};

use crate::figures::{MADE, find, markdown};
use crate::measure::Record;
use crate::row::Row;
use crate::table::maybe;

const NAIVE: &str = "level0-naive coalesced";
const UNCOALESCED: &str = "level0-naive uncoalesced";
const TILED: &str = "level1-tiling";
const REGISTER: &str = "level2-register";
const DOUBLE: &str = "level3-double-buffer";
/// The square sizes of the lessons' tables.
const SIZES: [u32; 4] = [128, 512, 1024, 4096];

/// Every lesson's table, by its file in the repository.
pub fn tables(record: &Record, waits: &Waits) -> Result<Vec<(String, String)>, Error> {
    let squares = |kernel, tiles: &[&str]| -> Vec<Vec<String>> {
        tiles.iter().map(|tiles| rates(record, kernel, tiles)).collect()
    };
    let sides = ["BLOCK=8", "BLOCK=16", "BLOCK=32"];
    let small = "BM=32 BN=32 BK=32 TM=8 TN=4";
    let mappings = [squares(NAIVE, &sides), squares(UNCOALESCED, &sides)].concat();
    let tiling = [squares(NAIVE, &sides), squares(TILED, &["TILE=8", "TILE=16", "TILE=32"])].concat();
    let register = ["BM=64 BN=64 BK=8 TM=8 TN=4", "BM=128 BN=128 BK=8 TM=8 TN=8"];
    let register = [squares(TILED, &["TILE=32"]), squares(REGISTER, &[small]), squares(REGISTER, &register)].concat();
    Ok(vec![
        file("lesson0", gflops(record, mappings)),
        file("lesson0-waits", waits.table(&["level0-naive"], &["--size 4096"])?),
        file("lesson1", gflops(record, tiling)),
        file("lesson1-waits", waits.table(&["level0-naive", TILED], &["--size 4096"])?),
        file("lesson2", gflops(record, register)),
        file("lesson2-waits", waits.table(&[TILED, REGISTER], &["--size 128", "--size 4096"])?),
        file("lesson3", step(record)),
        file("lesson3-waits", waits.table(&[REGISTER, DOUBLE], &["--size 128", "--size 1024", "--size 4096"])?),
    ])
}

fn file(name: &str, text: String) -> (String, String) {
    (format!("book/generated/{name}.md"), format!("{MADE}\n{text}"))
}

/// One configuration's GFLOP/s at every size.
fn rates(record: &Record, kernel: &str, tiles: &str) -> Vec<String> {
    let at = |size: u32| {
        let row = find(record, Dtype::F32, Shape { m: size, n: size, k: size }, |row| is(row, kernel, tiles));
        maybe(row.and_then(|row| row.gflops))
    };
    [kernel.to_string(), tiles.to_string()].into_iter().chain(SIZES.map(at)).collect()
}

fn gflops(record: &Record, lines: Vec<Vec<String>>) -> String {
    let head = ["kernel", "tile sizes"].map(String::from).into_iter().chain(SIZES.map(|size| size.to_string()));
    let lines: Vec<Vec<String>> = std::iter::once(head.collect()).chain(lines).collect();
    format!("Measured on {}, f32, GFLOP/s, M = N = K:\n\n{}", record.gpu, markdown(&lines, 2))
}

/// Level 3's speed as a multiple of level 2's, with the same tiles on the same problem.
fn step(record: &Record) -> String {
    let pairs = ["BM=32 BN=32 BK=32 TM=8 TN=4", "BM=128 BN=128 BK=8 TM=8 TN=8"];
    let columns: Vec<(Dtype, &str)> =
        [Dtype::F32, Dtype::F64].into_iter().flat_map(|dtype| pairs.map(|tiles| (dtype, tiles))).collect();
    let mut shapes: Vec<Shape> = Vec::new();
    for row in record.rows.iter().filter(|row| is(row, DOUBLE, pairs[0])) {
        if !shapes.contains(&row.shape()) {
            shapes.push(row.shape());
        }
    }
    let head = ["M×N×K", "blocks, 32×32"].map(String::from).into_iter();
    let mut lines: Vec<Vec<String>> = vec![head.chain(columns.iter().map(|(d, t)| format!("{d}, {t}"))).collect()];
    for shape in shapes {
        let ratio = |(dtype, tiles): &(Dtype, &str)| {
            let rate = |kernel| find(record, *dtype, shape, |row| is(row, kernel, tiles)).and_then(|row| row.gflops);
            rate(DOUBLE).zip(rate(REGISTER)).map_or("-".to_string(), |(now, before)| format!("{:.2}", now / before))
        };
        let blocks = shape.m.div_ceil(32) * shape.n.div_ceil(32);
        let mut line = vec![shape.to_string(), blocks.to_string()];
        line.extend(columns.iter().map(ratio));
        lines.push(line);
    }
    format!(
        "Level 3's GFLOP/s divided by level 2's, same tiles, measured on {}; more than 1 means that double buffering pays:\n\n{}",
        record.gpu,
        markdown(&lines, 1)
    )
}

fn is(row: &Row, kernel: &str, tiles: &str) -> bool {
    row.kernel == kernel && row.tiles == tiles
}

/// What a launch is asked, and what it is called in a table.
const ASKED: [(&str, &str); 13] = [
    ("gpu__time_duration.sum", "time, µs"),
    ("smsp__inst_executed.sum", "million warp instructions"),
    ("sm__warps_active.avg.per_cycle_active", "warps on an SM"),
    ("smsp__issue_active.avg.pct_of_peak_sustained_active", "issue slots used, %"),
    ("l1tex__throughput.avg.pct_of_peak_sustained_elapsed", "L1 busy, %"),
    ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed", "shared memory busy, %"),
    ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "DRAM busy, %"),
    ("smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "wait: global memory"),
    ("smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio", "wait: shared memory"),
    ("smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio", "wait: queue to shared memory"),
    ("smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio", "wait: queue to global memory"),
    ("smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", "wait: fixed, after an instruction"),
    ("smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "wait: barrier"),
];

/// Where the time goes: what Nsight Compute read on the GPU.
pub struct Waits {
    origin: String,
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Waits {
    /// Reads the record: comments, a line of names, a line per launch.
    pub fn from(text: &str) -> Result<Waits, Error> {
        let origin = text.lines().nth(1).unwrap_or_default().trim_start_matches("# ").to_string();
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).has_headers(false).from_reader(text.as_bytes());
        let lines: Result<Vec<Vec<String>>, csv::Error> =
            reader.records().map(|line| Ok(line?.iter().map(String::from).collect())).collect();
        let mut rows = lines.map_err(|error| unlike(&error.to_string()))?;
        if rows.is_empty() {
            return Err(unlike("it is empty"));
        }
        let names = rows.remove(0);
        Ok(Waits { origin, names, rows })
    }

    /// The launches of these levels with these arguments, side by side.
    fn table(&self, levels: &[&str], arguments: &[&str]) -> Result<String, Error> {
        let launches: Vec<&Vec<String>> = arguments
            .iter()
            .flat_map(|arguments| levels.iter().map(move |level| (level, arguments)))
            .map(|(level, arguments)| {
                let row = self.rows.iter().find(|row| row[0] == **level && row[1] == **arguments);
                row.ok_or_else(|| unlike(&format!("{level} {arguments} is missing")))
            })
            .collect::<Result<_, Error>>()?;
        let mut head = vec!["f32, default tiles".to_string()];
        head.extend(
            launches.iter().map(|row| format!("{}, n = {}", level(&row[0]), row[1].trim_start_matches("--size "))),
        );
        let mut lines = vec![head];
        for (metric, name) in ASKED {
            let at = self.names.iter().position(|name| name == metric);
            let at = at.ok_or_else(|| unlike(&format!("{metric} is missing")))?;
            let mut line = vec![name.to_string()];
            line.extend(launches.iter().map(|row| shown(metric, &row[at])));
            lines.push(line);
        }
        let metrics: Vec<String> = ASKED.iter().map(|(metric, _)| format!("`{metric}`")).collect();
        Ok(format!(
            "Read by Nsight Compute on {}, of one launch. A wait is the clocks that a warp waits for this reason between two of \
             its instructions, on average:\n\n{}\n<details>\n<summary>The metrics, in this order</summary>\n\n{}\n\n</details>\n",
            self.origin.split(',').next().unwrap_or_default(),
            markdown(&lines, 1),
            metrics.join(", ")
        ))
    }
}

/// `level2-register` as `level 2`.
fn level(name: &str) -> String {
    name.split('-').next().unwrap_or(name).replace("level", "level ")
}

/// Nanoseconds as microseconds, instructions in millions, the rest as it is.
fn shown(metric: &str, value: &str) -> String {
    let scaled = |by: f64| value.parse().ok().map(|value: f64| value / by);
    match metric {
        "gpu__time_duration.sum" => maybe(scaled(1e3)),
        "smsp__inst_executed.sum" => maybe(scaled(1e6)),
        _ => value.to_string(),
    }
}

fn unlike(what: &str) -> Error {
    Error::usage(format!("the record of waits is not whole: {what}"), "`cargo x ncu-waits` on that GPU makes it")
}
