//! What is predicted to be the fastest is what runs, of the levels asked for, if it can run; where a shape was measured, what was.

use device::Device;
use device::nvrtc::nowhere;
use gemm::form::{Form, Layout};
use gemm::{Dtype, Level, Shape};
use summit::choice::{Chooser, best, by_tile};
use summit::nearby::{Beyond, Surveyed};
use summit::predict::{Model, Numbers, Sharing, TERMS, models};
use summit::tuned::{Best, Record, Run, records};

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

/// A configuration that takes so many microseconds for a launch, and so many for a step of the blocks of an SM.
fn numbers(level: &str, tiles: &str, [launch, step]: [f64; 2]) -> Numbers {
    let mut microseconds = [0.0; TERMS.len()];
    microseconds[0] = launch;
    // Whatever of A and B is ragged.
    microseconds[2..6].fill(step);
    let (level, variant, tiles) = (level.to_string(), String::new(), tiles.to_string());
    let sharing = Sharing { blocks_per_sm: 1, side_by_side: 1.0, idle_sms: 0 };
    Numbers { dtype: Dtype::F32, level, variant, tiles, sharing, error: 0.0, microseconds, beyond: Beyond::default() }
}

/// A small tile that begins at once, and a large one that does more in a step.
fn model(architecture: u32) -> Model {
    Model {
        gpu: "a GPU".into(),
        architecture,
        sms: 132,
        command: String::new(),
        records: Vec::new(),
        errors: Vec::new(),
        surveyed: Vec::new(),
        configurations: vec![
            numbers("level1-tiling", "TILE=16", [2.0, 1.0]),
            numbers("level2-register", "BM=128 BN=128 BK=8 TM=8 TN=8", [10.0, 4.0]),
        ],
    }
}

/// The level's number and the tile sizes that these choose, on a machine without a compiler.
fn chosen(models: &[Model], records: &[Record], levels: &[&'static Level], shape: Shape) -> Option<(u32, Vec<u32>)> {
    let chooser = Chooser::of(models, records, levels, (90, 132), nowhere);
    let build = chooser.best(&shape, Dtype::F32, &Form::PLAIN)?;
    Some((build.level.number, build.configuration.tiles.sizes()))
}

const LARGE: (u32, [u32; 5]) = (2, [128, 128, 8, 8, 8]);

fn large() -> Option<(u32, Vec<u32>)> {
    Some((LARGE.0, LARGE.1.to_vec()))
}

#[test]
fn the_least_predicted_time_decides_among_the_levels_asked_for() {
    let models = [model(90)];
    assert_eq!(chosen(&models, &[], &LADDER, SMALL), Some((1, vec![16])));
    assert_eq!(chosen(&models, &[], &LADDER, shape(4096, 4096, 4096)), large());
    assert_eq!(chosen(&models, &[], &LADDER, shape(1, 1, 1)), Some((1, vec![16])));
    assert_eq!(chosen(&models, &[], &LADDER[1..], SMALL), large(), "only level 2 is asked for");
    assert_eq!(chosen(&models, &[], &[], SMALL), None);
    // Of two that are predicted alike, the one of which more is known.
    let mut unsure = model(90);
    unsure.configurations[1].microseconds = unsure.configurations[0].microseconds;
    unsure.configurations[0].error = 0.2;
    assert_eq!(chosen(&[unsure], &[], &LADDER, shape(1, 1, 1)), large());
}

#[test]
fn what_launches_took_nearby_decides_where_it_is_near() {
    let mut known = model(90);
    known.surveyed = vec![Surveyed::new(Dtype::F32, vec![shape(96, 160, 128), shape(160, 96, 128)])];
    // Level 1 took a third longer there than what it is made of says: a launch alone, which is a tenth shorter than level 2's.
    let third = Beyond::of([Some((40.0, 30.0)); 2].into_iter());
    known.configurations = vec![
        Numbers { beyond: third, ..numbers("level1-tiling", "TILE=16", [30.0, 0.0]) },
        numbers("level2-register", "BM=128 BN=128 BK=8 TM=8 TN=8", [33.0, 0.0]),
    ];
    assert_eq!(chosen(&[known.clone()], &[], &LADDER, SMALL), large());
    assert_eq!(chosen(&[known], &[], &LADDER, shape(1, 1, 1)), Some((1, vec![16])), "nothing is known there");
}

#[test]
fn what_was_measured_at_the_very_shape_counts_more_than_what_is_predicted_of_its_level() {
    let models = [model(90)];
    let slow = record(90, vec![entry(128, "level1-tiling", "TILE=16", 0.5)]);
    assert_eq!(
        chosen(&models, std::slice::from_ref(&slow), &LADDER, SMALL),
        large(),
        "level 2 is predicted to be faster"
    );
    assert_eq!(chosen(&models, &[slow], &LADDER, shape(127, 128, 128)), Some((1, vec![16])), "another shape");
    let elsewhere = record(80, vec![entry(128, "level1-tiling", "TILE=16", 0.5)]);
    assert_eq!(chosen(&models, &[elsewhere], &LADDER, SMALL), Some((1, vec![16])), "another architecture");
    let other = record(90, vec![entry(128, "level1-tiling", "TILE=8", 0.0001)]);
    assert_eq!(chosen(&models, &[other], &LADDER, SMALL), Some((1, vec![8])), "tile sizes that nothing predicts");
}

#[test]
fn what_cannot_run_is_passed_over() {
    for (level, tiles) in [("level9-magic", "TILE=8"), ("level1-tiling", "TILE=24"), ("level1-tiling", "TILE=many")] {
        let mut model = model(90);
        model.configurations.insert(0, numbers(level, tiles, [0.0, 0.0]));
        let records = [record(90, vec![entry(128, level, tiles, 1e-6)])];
        assert_ne!(chosen(&[model], &records, &LADDER, SMALL).unwrap().1, [24], "{level} {tiles}");
    }
    // 16 rows a block would be more than 65535 blocks along y.
    assert_eq!(chosen(&[model(90)], &[], &LADDER, shape(2_000_000, 8, 8)), large());
    // Levels 1 and 2 take the plain product alone.
    let chooser = Chooser::of(&[model(90)], &[], &LADDER, (90, 132), nowhere);
    let turned = Form { layout: Layout::Columns, ..Form::PLAIN };
    assert_eq!(chooser.best(&SMALL, Dtype::F32, &turned), None);
}

#[test]
fn the_model_of_the_nearest_architecture_counts() {
    let mut other = model(75);
    other.configurations.truncate(1);
    assert_eq!(chosen(&[other.clone(), model(90)], &[], &LADDER, shape(4096, 4096, 4096)), large());
    assert_eq!(chosen(&[other], &[], &LADDER, shape(4096, 4096, 4096)), Some((1, vec![16])), "75 has no level 2");
}

#[test]
fn a_later_run_replaces_what_it_measured_again() {
    let mut record =
        record(90, vec![entry(128, "level1-tiling", "TILE=16", 0.01), entry(256, "level1-tiling", "TILE=8", 9.0)]);
    record.add(run("tomorrow", vec![entry(128, "level1-tiling", "TILE=32", 0.03)]));
    assert_eq!(record.runs.iter().map(|run| run.best.len()).collect::<Vec<_>>(), [1, 1]);
    record.add(run("after that", vec![entry(256, "level1-tiling", "TILE=32", 0.03)]));
    assert_eq!(record.runs.iter().map(|run| run.date.as_str()).collect::<Vec<_>>(), ["tomorrow", "after that"]);
}

#[test]
fn every_record_is_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tuned");
    let mut gpus = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        if path.file_name().unwrap().to_string_lossy().ends_with("-times.json") {
            let model: Model = serde_json::from_str(&text).unwrap();
            assert!(models().contains(&model) && !model.configurations.is_empty(), "{path:?}");
            continue;
        }
        let record: Record = serde_json::from_str(&text).unwrap();
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
    let of_an_h200 = Chooser::new(&LADDER, 90, 132).best(&SMALL, Dtype::F64, &Form::PLAIN).unwrap();
    assert_eq!(best(&LADDER, &Device::Emulator, &SMALL, Dtype::F64).unwrap(), of_an_h200);
}
