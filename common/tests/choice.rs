//! What the record says is what runs: the nearest shape, among the levels asked for, if it can run.

use common::choice::{best, by_record, by_tile};
use common::device::Device;
use common::form::Form;
use common::kernel::nvrtc::nowhere;
use common::tuned::{Best, Record, Run, distance, records};
use common::{Dtype, Level, Shape};

const LADDER: [&Level; 2] = [&level1_tiling::LEVEL, &level2_register::LEVEL];
const SMALL: Shape = Shape { m: 128, n: 128, k: 128 };

fn shape(m: u32, n: u32, k: u32) -> Shape {
    Shape { m, n, k }
}

fn entry(size: u32, level: &str, tiles: &str, ms: f64) -> Best {
    let (level, tiles) = (level.to_string(), tiles.to_string());
    Best { dtype: Dtype::F32, m: size, n: size, k: size, level, variant: String::new(), tiles, ms, cublas_ms: None }
}

fn run(date: &str, best: Vec<Best>) -> Run {
    let [command, date, commit, timing, l2_policy] = ["lab tune", date, "", "", ""].map(str::to_string);
    Run { command, date, commit, driver: None, cuda: None, cublas: None, timing, l2_policy, complete: true, best }
}

fn record(architecture: u32, best: Vec<Best>) -> Record {
    Record { gpu: "a GPU".into(), architecture, runs: vec![run("today", best)] }
}

/// The level's number and the tile sizes that these records choose, on a machine without a compiler.
fn chosen(records: &[Record], levels: &[&'static Level], shape: Shape, architecture: u32) -> Option<(u32, Vec<u32>)> {
    let build = by_record(records, levels, architecture, &shape, Dtype::F32, &Form::PLAIN, nowhere)?;
    Some((build.level.number, build.configuration.tiles.sizes()))
}

fn two_sizes() -> Vec<Best> {
    vec![
        entry(128, "level1-tiling", "TILE=16", 0.01),
        entry(128, "level2-register", "BM=32 BN=32 BK=32 TM=8 TN=4", 0.02),
        entry(4096, "level1-tiling", "TILE=32", 9.0),
        entry(4096, "level2-register", "BM=128 BN=128 BK=8 TM=8 TN=8", 4.0),
    ]
}

#[test]
fn the_nearest_shape_decides_and_then_the_time() {
    let records = [record(90, two_sizes())];
    assert_eq!(chosen(&records, &LADDER, SMALL, 90), Some((1, vec![16])));
    assert_eq!(
        chosen(&records, &LADDER, shape(700, 700, 700), 90),
        Some((1, vec![16])),
        "less than half way to 4096, in doublings"
    );
    assert_eq!(chosen(&records, &LADDER, shape(750, 750, 750), 90), Some((2, vec![128, 128, 8, 8, 8])));
    assert_eq!(chosen(&records, &LADDER, shape(1, 1, 1), 90), Some((1, vec![16])));
    assert_eq!(
        chosen(&records, &LADDER[1..], SMALL, 90),
        Some((2, vec![32, 32, 32, 8, 4])),
        "only level 2 is asked for"
    );
    assert_eq!(chosen(&records, &[], SMALL, 90), None);
    assert_eq!(chosen(&[], &LADDER, SMALL, 90), None);
}

#[test]
fn distances_are_in_doublings() {
    assert_eq!(distance(&SMALL, &SMALL), 0.0);
    assert_eq!(distance(&SMALL, &shape(128, 128, 1024)), 3.0);
    assert_eq!(distance(&SMALL, &shape(64, 128, 128)), 1.0);
    assert_eq!(distance(&shape(1, 8, 16), &shape(8, 128, 16)), 5.0);
}

#[test]
fn what_cannot_run_is_passed_over() {
    for (level, tiles) in [
        ("level9-magic", "TILE=8"),
        ("level1-tiling", "TILE=24"),
        ("level1-tiling", "BLOCK=16"),
        ("level1-tiling", "TILE=16 MORE=1"),
        ("level1-tiling", "TILE=many"),
        ("level1-tiling", ""),
    ] {
        let mut entries = two_sizes();
        entries.insert(0, entry(128, level, tiles, 0.001));
        assert_eq!(chosen(&[record(90, entries)], &LADDER, SMALL, 90), Some((1, vec![16])), "{level} {tiles}");
    }
    // 16 rows a block would be more than 65535 blocks along y.
    let tall = shape(2_000_000, 8, 8);
    assert_eq!(chosen(&[record(90, two_sizes())], &LADDER, tall, 90), Some((2, vec![32, 32, 32, 8, 4])));
}

#[test]
fn the_record_of_the_nearest_architecture_counts() {
    let records = [record(75, vec![entry(128, "level1-tiling", "TILE=8", 1.0)]), record(90, two_sizes())];
    assert_eq!(chosen(&records, &LADDER, SMALL, 75), Some((1, vec![8])));
    assert_eq!(chosen(&records, &LADDER, SMALL, 80), Some((1, vec![8])));
    assert_eq!(chosen(&records, &LADDER, SMALL, 120), Some((1, vec![16])));
    assert_eq!(chosen(&records, &LADDER[1..], SMALL, 75), Some((2, vec![32, 32, 32, 8, 4])), "75 has no level 2");
}

#[test]
fn a_later_run_replaces_what_it_measured_again() {
    let mut record = record(90, two_sizes());
    record.add(run("tomorrow", vec![entry(128, "level1-tiling", "TILE=32", 0.03)]));
    assert_eq!(record.runs.iter().map(|run| run.best.len()).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(chosen(&[record.clone()], &LADDER, SMALL, 90), Some((2, vec![32, 32, 32, 8, 4])));
    record.add(run("after that", two_sizes()));
    assert_eq!(record.runs.iter().map(|run| run.date.as_str()).collect::<Vec<_>>(), ["after that"]);
}

#[test]
fn every_record_is_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tuned");
    let mut gpus = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let record: Record = serde_json::from_str(&std::fs::read_to_string(file.unwrap().path()).unwrap()).unwrap();
        assert!(record.best().count() > 0, "{} says nothing", record.gpu);
        gpus.push(record.gpu);
    }
    let known: Vec<&str> = records().iter().map(|record| record.gpu.as_str()).collect();
    assert!(gpus.iter().all(|gpu| known.contains(&gpu.as_str())), "{gpus:?} lie there, and FILES has {known:?}");
    assert_eq!(gpus.len(), known.len());
}

#[test]
fn without_a_record_a_large_problem_gets_a_large_tile_and_a_small_one_many_blocks() {
    let chosen = |size: u32| {
        let build = by_tile(&LADDER, 90, 132, &shape(size, size, size), Dtype::F32, &Form::PLAIN).unwrap();
        (build.level.number, build.configuration.tiles.sizes())
    };
    assert_eq!(chosen(4096), (2, vec![128, 128, 8, 8, 8]));
    assert_eq!(chosen(1024), (2, vec![64, 64, 8, 8, 4]));
    assert_eq!(chosen(64), (1, vec![8]));
}

#[test]
fn the_emulator_is_the_gpu_that_it_models() {
    let of_the_record = by_record(records(), &LADDER, 90, &SMALL, Dtype::F64, &Form::PLAIN, nowhere).unwrap();
    assert_eq!(best(&LADDER, &Device::Emulator, &SMALL, Dtype::F64).unwrap(), of_the_record);
}
