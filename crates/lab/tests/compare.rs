//! Levels side by side, and two kernels: what the tables say, and what is left of them when something goes wrong.

mod lab;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use lab::{command, lab, refused, scratch};
use serde_json::Value;

const SMALL: &str = "--backend emulator --m 100 --n 70 --k 50";

#[test]
fn a_level_for_thin_products_is_left_out_of_others_unless_it_is_asked_for() {
    let words = "compare --backend emulator --no-cpu --no-sanitize";
    let wide = lab(&format!("{words} --m 300 --n 300 --k 17"));
    assert!(!wide.stdout.contains("level18-thin") && wide.stdout.contains("level10-stream-k"), "{wide:?}");
    assert!(
        wide.stderr.contains("level18-thin is for thin products, and left out at 300×300×17; `--levels` takes it in"),
        "{wide:?}"
    );
    for taken in [format!("{words} --m 300 --n 2 --k 17"), format!("{words} --m 300 --n 300 --k 17 --levels 18")] {
        assert!(lab(&taken).stdout.contains("level18-thin"), "{taken}");
    }
}

#[test]
fn all_levels_stand_in_one_table() {
    let output = lab(&format!("compare {SMALL} --no-cpu"));
    assert_eq!(output.code, 0, "{output:?}");
    insta::assert_snapshot!("compare", output.stdout);
}

#[test]
fn a_table_has_the_columns_that_are_asked_for() {
    let words = format!("compare {SMALL} --no-cpu --no-sanitize --levels 1,2 --columns");
    let output = lab(&format!("{words} occupancy,wavefronts/fma"));
    assert_eq!(output.code, 0, "{output:?}");
    let lines: Vec<&str> = output.stdout.lines().skip(2).collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["occupancy", "wavefronts/FMA"], "{output:?}");
    assert!(lines[1].starts_with("level1-tiling  ") && lines[1].ends_with("0.1097"), "{output:?}");
    let said = output.stdout.split_once("\n\n").unwrap().1;
    assert!(said.contains("occupancy: share of warps") && !said.contains("at least:"), "{output:?}");
    let tiles = lab(&format!("{words} tiles,at-least"));
    assert!(tiles.stdout.contains("TILE=32") && tiles.stdout.contains("at least: a bound"), "{tiles:?}");
    for wrong in ["speed", "occupancy,occupancy"] {
        refused(&format!("{words} {wrong}"), "this table has no column");
    }
}

#[test]
fn the_baseline_is_checked_and_labelled() {
    let output = lab(&format!("compare {SMALL} --levels 1 --dtype f64 --json"));
    let json: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let of = |name: &str| rows.iter().map(|row| row[name].as_str().unwrap().to_string()).collect::<Vec<_>>();
    assert_eq!(of("kernel"), ["level1-tiling", "CPU, one core"]);
    assert_eq!(of("verdict"), ["right", "right"]);
    assert_eq!(of("ms_is"), ["predicted", "cpu"]);
    assert!(rows[0]["ms"].as_f64() > rows[0]["bound_ms"].as_f64(), "{json}");
}

/// At this size tiling is the faster one on a card, and its bound is the higher one.
#[test]
fn levels_are_in_the_order_of_their_predicted_times() {
    let output = lab("compare --backend emulator --size 512 --levels 0,1 --dtype f64 --no-cpu --json --no-sanitize");
    let json: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let [naive, tiling] = [&json["rows"][0], &json["rows"][2]];
    let of = |name: &str| [naive, tiling].map(|row| row[name].as_f64().unwrap());
    assert!(of("ms")[0] > of("ms")[1] && of("bound_ms")[0] < of("bound_ms")[1], "{json}");
    assert!(tiling["step"].as_f64() > Some(1.0), "{json}");
}

#[test]
fn on_a_gpu_that_was_not_measured_no_time_is_claimed() {
    let output = lab("compare --backend emulator --size 32 --levels 0,1 --gpu t4 --no-cpu");
    assert!(output.stdout.contains("at least µs") && output.stdout.contains("and no time"), "{output:?}");
    assert!(["predicted", "GFLOP/s  ", "step"].iter().all(|word| !output.stdout.contains(word)), "{output:?}");
    let swept = lab("sweep --backend emulator --sizes 16,32 --levels 0,1 --gpu t4 --no-cpu");
    assert!(swept.stdout.contains("at least ms") && !swept.stdout.contains("growth"), "{swept:?}");
}

#[test]
fn the_baseline_of_a_large_product_is_timed_on_a_part_and_says_so() {
    let large = "compare --backend emulator --m 40 --n 2000 --k 3000 --levels 1 --no-sanitize";
    let output = lab(large);
    assert!(output.stdout.contains("measured on 2 of 40 rows and extended to"), "{output:?}");
    let json: serde_json::Value = serde_json::from_str(&lab(&format!("{large} --json")).stdout).unwrap();
    let [level, cpu] = [0, 1].map(|row| json["rows"][row]["timed_rows"].as_u64());
    assert_eq!((level, cpu), (None, Some(2)));
}

#[test]
fn a_sweep_over_sizes_grows() {
    let output = lab("sweep --backend emulator --sizes 32,64 --no-cpu");
    assert_eq!(output.code, 0, "{output:?}");
    insta::assert_snapshot!("sizes", output.stdout);
}

#[test]
fn blocks_tiles_and_shapes_are_swept() {
    let blocks = lab("sweep --over block --backend emulator --size 64 --no-cpu");
    insta::assert_snapshot!("blocks", blocks.stdout);
    let tiles = lab("sweep --over tile --backend emulator --size 64 --no-cpu --levels 2 --csv");
    assert_eq!(tiles.stdout.lines().count(), 4, "{tiles:?}");
    let shapes =
        lab("sweep --over shape --levels 0,1 --backend emulator --shapes 64x32x16,1x2x3 --no-cpu --json --dtype f64");
    let rows: Vec<serde_json::Value> = shapes.stdout.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row["verdict"] == "right"), "{shapes:?}");
}

#[test]
fn a_failed_point_has_its_row_and_the_sweep_goes_on() {
    let output = lab("sweep --backend emulator --sizes 16,50000,32 --levels 1 --no-cpu --csv");
    assert_eq!(output.code, 1);
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{output:?}");
    assert!(lines[2].contains("failed: A has 2500000000 elements"), "{output:?}");
    assert!(lines[1].contains(",right,") && lines[3].contains(",right,"), "{output:?}");
}

#[test]
fn a_killed_sweep_keeps_its_rows() {
    let file = scratch("killed").join("rows.csv");
    let words = "sweep --backend emulator --sizes 16,32,1024,2048 --levels 1 --no-cpu --csv";
    let mut child = command(words).stdout(File::create(&file).unwrap()).stderr(Stdio::null()).spawn().unwrap();
    let lines = || BufReader::new(File::open(&file).unwrap()).lines().map_while(Result::ok).collect::<Vec<String>>();
    while lines().len() < 3 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let rows = lines();
    assert!(
        rows.len() >= 3 && rows[1].contains(",16,16,16,right,") && rows[2].contains(",32,32,32,right,"),
        "{rows:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_no_panic() {
    for words in ["sweep --sizes 8 --csv", "sweep --sizes 8", "compare --size 8", "gpus", "try kernels/blas.cu"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let backend = if words == "gpus" { "" } else { " --backend emulator" };
        let output = command(&format!("{words}{backend}")).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}: {stderr}");
        assert!(stderr.contains("error: cannot write: No space left"), "{words}: {stderr}");
    }
}

#[test]
fn pictures_are_drawn_and_suit_light_and_dark() {
    let folder = scratch("pictures");
    for (plot, series) in [("speed", 4), ("roofline", 4), ("counters", 4)] {
        let file = folder.join(format!("{plot}.svg"));
        let how = "sweep --backend emulator --sizes 32 --levels 0,1,2,3 --no-cpu";
        let words = format!("{how} --plot {plot} --svg {}", file.display());
        let output = lab(&words);
        assert_eq!(output.code, 0, "{output:?}");
        let svg = fs::read_to_string(&file).unwrap();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{plot}");
        assert!(svg.contains("prefers-color-scheme: dark"), "{plot}");
        let drawn = (0..8)
            .filter(|i| svg.contains(&format!("class=\"dot s{i}\"")) || svg.contains(&format!("class=\"bar s{i}\"")));
        assert_eq!(drawn.count(), series, "{plot}");
    }
    refused(&format!("sweep --svg {}/none/x.svg", folder.display()), "there is no folder");
}

#[test]
fn bad_usage_is_one_clear_line() {
    for (words, answer) in [
        ("", "requires a subcommand"),
        ("fly", "fly"),
        ("compare --levels 99", "no level `99`"),
        ("compare --gpu voodoo", "voodoo"),
        ("compare --size 0", "0 is not in 1..="),
        ("compare --size 50000", "2500000000 elements"),
        ("sweep --over moon", "moon"),
        ("sweep --sizes 8,x", "x"),
        ("sweep --over shape --shapes 8x8", "MxNxK"),
        ("sweep --over shape --shapes 8x0x8", "MxNxK"),
        (
            "sweep --over tile --sizes 128",
            "over tiles does not take --sizes\nhint: it takes --size, or --m, --n and --k\n",
        ),
        ("sweep --over size --shapes 8x8x8", "over sizes does not take --shapes\nhint: it takes --sizes\n"),
        ("sweep --over shape --k 8", "over shapes does not take --k\nhint: it takes --shapes\n"),
        ("sweep --csv --json", "cannot be used with"),
        ("occupancy", "--threads"),
        ("occupancy --threads x", "x"),
        ("occupancy --threads 32 --gpu voodoo", "voodoo"),
        ("occupancy --threads 32 --gpu t4 --shared-per-sm 65537", "an SM of T4 has 65536 bytes"),
    ] {
        refused(words, answer);
    }
    if device::cuda::Gpu::find().is_err() {
        refused("compare --backend cuda", "no CUDA device");
    }
}

#[test]
fn occupancy_by_hand() {
    let output = lab("occupancy --gpu h200 --threads 32 --registers 64 --shared 16384");
    assert_eq!(output.code, 0);
    insta::assert_snapshot!("occupancy", output.stdout);
    for (shared, blocks) in [("8192", "6"), ("16384", "3")] {
        let split = lab(&format!("occupancy --gpu k80 --threads 32 --shared {shared} --shared-per-sm 49152"));
        assert_eq!(split.stdout.lines().nth(2).and_then(|line| line.split_whitespace().nth(1)), Some(blocks));
    }
    let too_many = lab("occupancy --gpu k80 --threads 2048");
    assert_eq!(too_many.code, 1);
    assert!(too_many.stdout.contains("does not fit: warps"), "{too_many:?}");
    let says = "error: no block of 2048 threads with 0 registers each and 0 bytes of shared memory fits on K80";
    assert!(too_many.stderr.starts_with(says), "{too_many:?}");
}

#[test]
fn what_differs_is_said_with_its_lines() {
    let output = lab("diff kernels/ladder-baseline.cu kernels/notes-shared.cu --size 64");
    assert_eq!(output.code, 0, "{output:?}");
    insta::assert_snapshot!("diff", output.stdout);
}

#[test]
fn json_has_the_same_rows() {
    let output = lab("diff kernels/ladder-baseline.cu kernels/notes-shared.cu --size 64 --json");
    let said: Value = serde_json::from_str(&output.stdout).unwrap();
    let rows = said["differs"].as_array().unwrap();
    let sectors = rows.iter().find(|row| row["what"] == "sectors of global loads").unwrap();
    let sum = |lines: &Value| lines.as_array().unwrap().iter().map(|line| line["count"].as_f64().unwrap()).sum::<f64>();
    for side in 0..2 {
        assert_eq!(sectors["values"][side].as_f64(), Some(sum(&sectors["lines"][side])), "{sectors}");
    }
    assert!(said["kernels"].as_array().unwrap().iter().all(|kernel| kernel["right"] == true));
}

#[test]
fn a_kernel_differs_from_itself_by_its_flags_alone() {
    let same = lab("diff kernels/ladder-baseline.cu kernels/ladder-baseline.cu --size 64");
    assert!(same.code == 0 && same.stdout.ends_with(": the same\n"), "{same:?}");
    let mut words = lab::command("diff --gpu a100 kernels/count-wavefronts.cu");
    let output = words.args(["--second", "--args A,B,C,34"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("wavefronts of shared loads"), "{said}");
}

#[test]
fn kernels_that_are_no_product_are_compared_by_their_arguments() {
    let file = "kernels/weighted-sum.cu";
    let same = lab(&format!("diff {file} {file} --arg out:f32[64]"));
    assert!(same.code == 0 && same.stdout.ends_with(": the same\n"), "{same:?}");
    assert!(
        same.stdout.contains("weighted_sum: no fault; grid (2,1), block (32,1)  in:f32[66]=range out:f32[64]"),
        "{same:?}"
    );
    let mut words = lab::command(&format!("diff {file} {file} --arg out:f32[64] --json"));
    let output = words.args(["--second", "--block 16"]).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = said["differs"].as_array().unwrap();
    let loads = rows.iter().find(|row| row["what"] == "sectors of global loads").unwrap();
    assert!(loads["values"][0].as_f64() > loads["values"][1].as_f64() && said["shape"].is_null(), "{said}");
    refused("diff kernels/block-sum-unsynced.cu kernels/block-sum-unsynced.cu --arg n", "has a fault in every order");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    refused("diff kernels/blas.cu nonesuch.cu", "cannot read nonesuch.cu");
    let mut words = lab::command("diff kernels/ladder-baseline.cu kernels/notes-shared.cu");
    let output = words.args(["--second", "--size 32"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("the kernels have different problems"), "{said}");
}
