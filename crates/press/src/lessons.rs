//! The measured tables of the lessons: each level beside the one before, on the GPU of the record.

use gemm::{Dtype, Error, Shape};
use levels::LEVELS;

use lab::record::Record;
use lab::row::{Row, distinct};
use lab::table::maybe;
use lab::table::{MADE, markdown};

const NAIVE: &str = "level0-naive coalesced";
const UNCOALESCED: &str = "level0-naive uncoalesced";
const TILED: &str = "level1-tiling";
const REGISTER: &str = "level2-register";
const DOUBLE: &str = "level3-double-buffer";
const VECTORIZED: &str = "level4-vectorized";
const SPREAD: &str = "level4-vectorized spread";
const CONFLICTS: &str = "level4-vectorized conflicts";
const WARP: &str = "level5-warp-tiling";
const ASYNC: &str = "level6-async-copy";
const PIPELINE: &str = "level7-register-pipeline";
const BANDS: &str = "level8-rasterization";
const SPLIT: &str = "level9-split-k";
const STREAM: &str = "level10-stream-k";
const TENSOR: &str = "level11-tensor-core";
const WARPGROUP: &str = "level12-warpgroup";
const SPECIALIZED: &str = "level13-warp-specialization";
const CLUSTERS: &str = "level14-clusters";
const CLUSTER_SPLIT: &str = "level15-cluster-split-k";
const TF32: &str = "level16-tf32-warpgroup";
const FP8: &str = "level17-fp8-promotion";
const TURNS: &str = "level19-ping-pong";
const VENDOR: &str = "cuBLAS";
/// The square sizes of the lessons' tables.
const SIZES: [u32; 4] = [128, 512, 1024, 4096];

/// The launches beside which level 4's stand: its tiles, where they are not the default.
const LARGE_TILES: &str = "--size 4096 --define BM=128 --define BN=128 --define BK=8 --define TM=8 --define TN=8";

/// Level 9's, for problems with few tiles.
const SMALL_TILES: &str = "--size 128 --define BM=16 --define BN=32 --define BK=64 --define WM=16 --define WN=32 --define WK=16 --define TM=4 --define TN=4";
const DEEP: &str = "--m 128 --n 128 --k 16384 --define BM=32 --define BN=64 --define BK=32 --define WM=32 --define WN=64 --define SPLIT=16";

/// Every lesson's table, by its file in the repository.
pub fn tables(record: &Record, waits: &Waits) -> Vec<(String, String)> {
    [first_tables(record, waits), later_tables(record, waits)].concat()
}

/// Of lessons 0 to 3.
fn first_tables(record: &Record, waits: &Waits) -> Vec<(String, String)> {
    let squares = |kernel, tiles: &[&str]| -> Vec<Vec<String>> {
        tiles.iter().map(|tiles| rates(record, kernel, tiles)).collect()
    };
    let sides = ["BLOCK=8", "BLOCK=16", "BLOCK=32"];
    let small = "BM=32 BN=32 BK=32 TM=8 TN=4";
    let mappings = [squares(NAIVE, &sides), squares(UNCOALESCED, &sides)].concat();
    let tiling = [squares(NAIVE, &sides), squares(TILED, &["TILE=8", "TILE=16", "TILE=32"])].concat();
    let register = ["BM=64 BN=64 BK=8 TM=8 TN=4", "BM=128 BN=128 BK=8 TM=8 TN=8"];
    let register = [squares(TILED, &["TILE=32"]), squares(REGISTER, &[small]), squares(REGISTER, &register)].concat();
    vec![
        file("lesson0", gflops(record, mappings)),
        file("lesson0-waits", waits.table(&pairs(&["level0-naive"], &["--size 4096"]))),
        file("lesson1", gflops(record, tiling)),
        file("lesson1-waits", waits.table(&pairs(&["level0-naive", TILED], &["--size 4096"]))),
        file("lesson2", gflops(record, register)),
        file("lesson2-waits", waits.table(&pairs(&[TILED, REGISTER], &["--size 128", "--size 4096"]))),
        file("lesson3", step(record)),
        file("lesson3-waits", waits.table(&pairs(&[REGISTER, DOUBLE], &["--size 128", "--size 1024", "--size 4096"]))),
    ]
}

/// Of lessons 4 to 22.
fn later_tables(record: &Record, waits: &Waits) -> Vec<(String, String)> {
    let lines = |kernels: &[(&str, &str)]| -> Vec<Vec<String>> {
        kernels.iter().map(|(kernel, tiles)| rates(record, kernel, tiles)).collect()
    };
    let (large, middle) = ("BM=128 BN=128 BK=8 TM=8 TN=8", "BM=64 BN=64 BK=8 TM=8 TN=4");
    let vectors =
        [(REGISTER, large), (DOUBLE, large), (CONFLICTS, large), (SPREAD, large), (REGISTER, middle), (SPREAD, middle)];
    let warps = [(SPREAD, large), (WARP, "BM=128 BN=128 BK=8 WM=32 WN=64 TM=8 TN=8")];
    let of = |level: &str| configurations(record, Dtype::F32, level);
    let beside = |levels: &[&str]| {
        let kernels: Vec<(String, String)> = levels.iter().flat_map(|level| of(level)).collect();
        let kernels: Vec<(&str, &str)> = kernels.iter().map(|(kernel, tiles)| (&**kernel, &**tiles)).collect();
        gflops(record, lines(&kernels))
    };
    let rounds = ROUNDS.map(square);
    vec![
        file("lesson4", gflops(record, lines(&vectors))),
        file("lesson4-waits", waits.table(&[(REGISTER, LARGE_TILES), (VECTORIZED, "--size 4096")])),
        file("lesson5", gflops(record, lines(&warps))),
        file("lesson5-waits", waits.table(&pairs(&[VECTORIZED, WARP], &["--size 4096"]))),
        file("lesson6", beside(&[WARP, ASYNC, VENDOR])),
        file("lesson6-waits", waits.table(&pairs(&[WARP, ASYNC], &["--size 4096"]))),
        file("lesson7", beside(&[ASYNC, PIPELINE, VENDOR])),
        file("lesson7-waits", waits.table(&pairs(&[ASYNC, PIPELINE], &["--size 4096"]))),
        file("lesson8", at_shapes(record, Dtype::F32, &rounds, &[of(PIPELINE), of(BANDS), of(VENDOR)].concat())),
        file("lesson8-waits", waits.table(&pairs(&[PIPELINE, BANDS], &["--size 4096"]))),
        file("lesson9", at_shapes(record, Dtype::F32, &FEW_TILES, &[of(BANDS), of(SPLIT), of(VENDOR)].concat())),
        file("lesson9-waits", waits.table(&[(BANDS, "--size 128"), (SPLIT, SMALL_TILES), (SPLIT, DEEP)])),
        file("lesson10", at_shapes(record, Dtype::F32, &rounds, &[of(BANDS), of(STREAM), of(VENDOR)].concat())),
        file("lesson10-waits", waits.table(&pairs(&[BANDS, STREAM], &["--size 3000", "--size 4096"]))),
        file("lesson11", on_tensor_cores(record)),
        file("lesson12", on_warpgroups(record, &[TENSOR, WARPGROUP, VENDOR])),
        file("lesson13", on_warpgroups(record, &[WARPGROUP, SPECIALIZED, VENDOR])),
        file("lesson14", in_clusters(record)),
        file("lesson15", few_tiles(record)),
        file("lesson16", in_tf32(record)),
        file("lesson17", in_fp8(record)),
        file("lesson19", in_turns(record)),
    ]
}

/// Level 11 beside cuBLAS, and in f64, which both multiply, beside level 8: a table for each of these types.
fn on_tensor_cores(record: &Record) -> String {
    let table = |dtype| {
        let of = |level: &str| configurations(record, dtype, level);
        at_shapes(record, dtype, &ON_TENSOR_CORES.map(square), &[of(BANDS), of(TENSOR), of(VENDOR)].concat())
    };
    [Dtype::BF16, Dtype::TF32, Dtype::F64].map(table).join("\n")
}

/// Levels of Hopper and what they start from, beside cuBLAS: in bf16 and in f16.
fn on_warpgroups(record: &Record, levels: &[&str]) -> String {
    let table = |dtype| {
        let of = |level: &&str| configurations(record, dtype, level);
        at_shapes(record, dtype, &ON_WARPGROUPS.map(square), &levels.iter().flat_map(of).collect::<Vec<_>>())
    };
    [Dtype::BF16, Dtype::F16].map(table).join("\n")
}

/// Level 14 beside those that it stands on, and cuBLAS.
fn in_clusters(record: &Record) -> String {
    let levels = [TENSOR, WARPGROUP, SPECIALIZED, CLUSTERS, VENDOR];
    let kernels = levels.map(|level| configurations(record, Dtype::BF16, level)).concat();
    at_shapes(record, Dtype::BF16, &IN_CLUSTERS, &kernels)
}

/// Level 15 beside levels 13 and 14, and cuBLAS, in bf16 and in f16.
fn few_tiles(record: &Record) -> String {
    let table = |dtype| {
        let of = |level| configurations(record, dtype, level);
        at_shapes(record, dtype, &FEW_TILES_OF_HOPPER, &[SPECIALIZED, CLUSTERS, CLUSTER_SPLIT, VENDOR].map(of).concat())
    };
    [Dtype::BF16, Dtype::F16].map(table).join("\n")
}

/// Level 16 beside level 11, and cuBLAS, in tf32.
fn in_tf32(record: &Record) -> String {
    let kernels = [TENSOR, TF32, VENDOR].map(|level| configurations(record, Dtype::TF32, level)).concat();
    at_shapes(record, Dtype::TF32, &IN_TF32, &kernels)
}

/// Level 17, and cuBLAS, in e4m3.
fn in_fp8(record: &Record) -> String {
    let kernels = [FP8, VENDOR].map(|level| configurations(record, Dtype::E4M3, level)).concat();
    at_shapes(record, Dtype::E4M3, &[512, 1024, 2048, 4096, 8192, 16384].map(square), &kernels)
}

/// Level 19 beside those that make a tile with both warpgroups, and cuBLAS.
fn in_turns(record: &Record) -> String {
    let kernels = [CLUSTERS, TURNS, VENDOR].map(|level| configurations(record, Dtype::BF16, level)).concat();
    at_shapes(record, Dtype::BF16, &[1024, 2048, 4096, 8192].map(square), &kernels)
}

/// What the record has of a level in these types: kernels and tile sizes, in its order. Of a level that is not measured yet, what it
/// ships.
fn configurations(record: &Record, dtype: Dtype, level: &str) -> Vec<(String, String)> {
    let of_it = record.rows.iter().filter(|row| row.dtype == dtype && row.kernel.starts_with(level));
    let measured = distinct(of_it.map(|row| (row.kernel.clone(), row.tiles.clone())));
    if !measured.is_empty() {
        return measured;
    }
    let shipped = LEVELS.iter().filter(|known| known.name == level).flat_map(|known| known.shipped_builds());
    let plain = shipped.filter(|build| build.configuration.dtype == dtype);
    distinct(plain.map(|build| (build.name(), build.configuration.tiles.to_string())))
}

/// Each of these levels with each of these arguments.
fn pairs<'a>(levels: &[&'a str], arguments: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    arguments.iter().flat_map(|arguments| levels.iter().map(move |level| (*level, *arguments))).collect()
}

fn file(name: &str, text: String) -> (String, String) {
    (format!("book/generated/{name}.md"), format!("{MADE}\n{text}"))
}

/// One configuration's GFLOP/s at every size.
fn rates(record: &Record, kernel: &str, tiles: &str) -> Vec<String> {
    let at = |size: u32| {
        let row = record.find(Dtype::F32, square(size), |row| is(row, kernel, tiles));
        maybe(row.and_then(|row| row.gflops))
    };
    [kernel.to_string(), tiles.to_string()].into_iter().chain(SIZES.map(at)).collect()
}

fn gflops(record: &Record, lines: Vec<Vec<String>>) -> String {
    let head = ["kernel", "tile sizes"].map(String::from).into_iter().chain(SIZES.map(|size| size.to_string()));
    let lines: Vec<Vec<String>> = std::iter::once(head.collect()).chain(lines).collect();
    format!("Measured on {}, f32, GFLOP/s, M = N = K:\n\n{}", record.gpu, markdown(&lines, 2))
}

/// Small problems and deep ones, which have few tiles of C.
const FEW_TILES: [Shape; 5] = [
    Shape { m: 128, n: 128, k: 128 },
    Shape { m: 256, n: 256, k: 256 },
    Shape { m: 512, n: 512, k: 512 },
    Shape { m: 1024, n: 1024, k: 1024 },
    Shape { m: 128, n: 128, k: 16384 },
];

/// Sizes whose tiles fill the last round to different degrees.
const ROUNDS: [u32; 5] = [1024, 2048, 3000, 4096, 8192];

/// Sizes from few tiles to many rounds.
const ON_TENSOR_CORES: [u32; 5] = [256, 512, 1024, 4096, 8192];

/// From launches of a few microseconds to such as are bound by power; in between, 2048, whose large tiles are one round.
const ON_WARPGROUPS: [u32; 5] = [512, 1024, 2048, 4096, 8192];

/// Few tiles, whole rounds and others, and a long K.
const IN_CLUSTERS: [Shape; 7] = [
    Shape { m: 512, n: 512, k: 512 },
    Shape { m: 1024, n: 1024, k: 1024 },
    Shape { m: 2048, n: 2048, k: 2048 },
    Shape { m: 3000, n: 3000, k: 3000 },
    Shape { m: 4096, n: 4096, k: 4096 },
    Shape { m: 8192, n: 8192, k: 8192 },
    Shape { m: 128, n: 128, k: 16384 },
];

/// Few tiles and a long K, of several forms; and squares, where K is no longer than C is wide.
const FEW_TILES_OF_HOPPER: [Shape; 6] = [
    Shape { m: 128, n: 128, k: 16384 },
    Shape { m: 512, n: 4096, k: 11008 },
    Shape { m: 16, n: 4096, k: 4096 },
    Shape { m: 512, n: 512, k: 512 },
    Shape { m: 1024, n: 1024, k: 1024 },
    Shape { m: 2048, n: 2048, k: 2048 },
];

/// Squares, layers of a transformer, few tiles, and rows that no map describes.
const IN_TF32: [Shape; 10] = [
    Shape { m: 512, n: 512, k: 512 },
    Shape { m: 1024, n: 1024, k: 1024 },
    Shape { m: 2048, n: 2048, k: 2048 },
    Shape { m: 4096, n: 4096, k: 4096 },
    Shape { m: 8192, n: 8192, k: 8192 },
    Shape { m: 16384, n: 16384, k: 16384 },
    Shape { m: 512, n: 4096, k: 11008 },
    Shape { m: 4096, n: 1024, k: 4096 },
    Shape { m: 128, n: 128, k: 16384 },
    Shape { m: 2049, n: 4097, k: 1023 },
];

fn square(size: u32) -> Shape {
    Shape { m: size, n: size, k: size }
}

/// GFLOP/s at some shapes.
fn at_shapes(record: &Record, dtype: Dtype, shapes: &[Shape], kernels: &[(String, String)]) -> String {
    let head = ["kernel", "tile sizes"].map(String::from).into_iter();
    let mut lines: Vec<Vec<String>> = vec![head.chain(shapes.iter().map(Shape::to_string)).collect()];
    for (kernel, tiles) in kernels {
        let rate = |shape: &Shape| {
            let row = record.find(dtype, *shape, |row| is(row, kernel, tiles));
            maybe(row.and_then(|row| row.gflops))
        };
        lines.push([kernel.clone(), tiles.clone()].into_iter().chain(shapes.iter().map(rate)).collect());
    }
    format!("Measured on {}, {dtype}, GFLOP/s, M×N×K:\n\n{}", record.gpu, markdown(&lines, 2))
}

/// Level 3's speed as a multiple of level 2's, with the same tiles on the same problem.
fn step(record: &Record) -> String {
    let pairs = ["BM=32 BN=32 BK=32 TM=8 TN=4", "BM=128 BN=128 BK=8 TM=8 TN=8"];
    let columns: Vec<(Dtype, &str)> =
        [Dtype::F32, Dtype::F64].into_iter().flat_map(|dtype| pairs.map(|tiles| (dtype, tiles))).collect();
    let shapes = distinct(record.rows.iter().filter(|row| is(row, DOUBLE, pairs[0])).map(Row::shape));
    let head = ["M×N×K", "blocks, 32×32"].map(String::from).into_iter();
    let mut lines: Vec<Vec<String>> = vec![head.chain(columns.iter().map(|(d, t)| format!("{d}, {t}"))).collect()];
    for shape in shapes {
        let ratio = |(dtype, tiles): &(Dtype, &str)| {
            let rate = |kernel| record.find(*dtype, shape, |row| is(row, kernel, tiles)).and_then(|row| row.gflops);
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

/// Multiply-adds, counted by threads.
const FMA: &str = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";
/// What a launch is asked, and what it is called in a table.
const ASKED: [(&str, &str); 15] = [
    ("gpu__time_duration.sum", "time, µs"),
    ("smsp__inst_executed.sum", "million warp instructions"),
    (FMA, "multiply-adds, % of them"),
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
    ("smsp__average_warps_issue_stalled_dispatch_stall_per_issue_active.ratio", "wait: dispatch"),
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

    /// These launches, of levels with their arguments, side by side; what was not read is left out.
    fn table(&self, launches: &[(&str, &str)]) -> String {
        let read =
            |(level, arguments): &(&str, &str)| self.rows.iter().find(|row| row[0] == *level && row[1] == *arguments);
        let missing: Vec<String> = launches
            .iter()
            .filter(|asked| read(asked).is_none())
            .map(|(level, arguments)| launch(level, arguments))
            .collect();
        let launches: Vec<&Vec<String>> = launches.iter().filter_map(read).collect();
        if launches.is_empty() {
            return "The record of what these kernels wait for is still to be made: `cargo x ncu-waits`, on a machine with a GPU and \
                    Nsight Compute, makes it. What follows was seen there while the kernels were tuned.\n"
                .to_string();
        }
        let mut lines = vec![vec!["f32, default tiles".to_string()]];
        lines[0].extend(launches.iter().map(|row| launch(&row[0], &row[1])));
        let columns = |metric: &str| self.names.iter().position(|name| name == metric);
        let asked: Vec<(&str, &str, usize)> =
            ASKED.iter().filter_map(|(metric, name)| Some((*metric, *name, columns(metric)?))).collect();
        for (metric, name, at) in &asked {
            let mut line = vec![name.to_string()];
            line.extend(launches.iter().map(|row| self.shown(metric, row, *at)));
            lines.push(line);
        }
        let metrics: Vec<String> = asked.iter().map(|(metric, ..)| format!("`{metric}`")).collect();
        let missing =
            if missing.is_empty() { String::new() } else { format!("\nNot read yet: {}.\n", missing.join("; ")) };
        format!(
            "Read by Nsight Compute on {}, of one launch. A wait is the clocks that a warp waits for this reason between two of \
             its instructions, on average:\n\n{}{missing}\n<details>\n<summary>The metrics, in this order</summary>\n\n{}\n\n</details>\n",
            self.origin.split(',').next().unwrap_or_default(),
            markdown(&lines, 1),
            metrics.join(", ")
        )
    }

    /// Nanoseconds as microseconds, instructions in millions, multiply-adds as their share, the rest as it is.
    fn shown(&self, metric: &str, row: &[String], at: usize) -> String {
        let number = |at: usize| row[at].parse::<f64>().ok();
        match metric {
            "gpu__time_duration.sum" => maybe(number(at).map(|ns| ns / 1e3)),
            "smsp__inst_executed.sum" => maybe(number(at).map(|count| count / 1e6)),
            FMA => {
                let all = self.names.iter().position(|name| name == "smsp__inst_executed.sum").and_then(number);
                maybe(number(at).zip(all).map(|(fma, all)| 100.0 * fma / 32.0 / all))
            }
            _ => row[at].clone(),
        }
    }
}

/// `level2-register --size 128` as `level 2, n = 128`; of tiles that are not the default, those are named that tell most.
fn launch(name: &str, arguments: &str) -> String {
    let words = || arguments.split_whitespace();
    let sizes: Vec<&str> = words().filter(|word| word.chars().all(|c| c.is_ascii_digit())).collect();
    let size = if sizes.len() == 1 { format!("n = {}", sizes[0]) } else { sizes.join("×") };
    let named = words().filter(|word| ["BM=", "BN=", "SPLIT="].iter().any(|tile| word.starts_with(tile)));
    let parts: Vec<String> = [level(name), size].into_iter().chain(named.map(String::from)).collect();
    parts.join(", ")
}

/// `level2-register` as `level 2`.
fn level(name: &str) -> String {
    name.split('-').next().unwrap_or(name).replace("level", "level ")
}

fn unlike(what: &str) -> Error {
    Error::usage(format!("the record of waits is not whole: {what}"), "`cargo x ncu-waits` on that GPU makes it")
}
