//! What is predicted to be the fastest is what runs, if it can run; where a shape was measured, what was.

use device::Device;
use device::nvrtc::nowhere;
use gemm::form::{Form, Layout};
use gemm::kernel::{Compiler, Resources};
use gemm::{Dtype, Level, Shape, Source};
use predict::nearby::{Beyond, Surveyed};
use predict::{ByColumns, Model, Numbers, Sharing, TERMS, models};
use summit::choice::{Chooser, Why, best, by_tile};
use summit::kernels::{fma_rows, fma_split_k, fma_stream_k, mma_sync, thin, wgmma_fp8, wgmma_ping_pong};
use summit::tuned::{Best, Record, Run, records};

/// A kernel with a small tile, and one with a large one.
const BOTH: [&Level; 2] = [&fma_split_k::KERNEL, &fma_stream_k::KERNEL];
const SPLIT_K: &str = "summit fma_split_k";
const STREAM_K: &str = "summit fma_stream_k";
const FEW: &str = "BM=16 BN=32 BK=64 WM=16 WN=32 WK=16 TM=4 TN=4 STAGES=3 SPLIT=1";
const MANY: &str = "BM=128 BN=256 BK=8 WM=64 WN=64 TM=8 TN=16 STAGES=4 BLOCKS=132";
/// Tile sizes of the first that are shipped, too.
const OTHER: &str = "BM=64 BN=128 BK=16 WM=64 WN=32 WK=8 TM=8 TN=8 STAGES=3 SPLIT=1";
const SMALL: Shape = Shape { m: 128, n: 128, k: 128 };

fn shape(m: u32, n: u32, k: u32) -> Shape {
    Shape { m, n, k }
}

fn entry(size: u32, kernel: &str, tiles: &str, ms: f64) -> Best {
    let (level, tiles) = (kernel.to_string(), tiles.to_string());
    Best {
        dtype: Dtype::F32,
        m: size,
        n: size,
        k: size,
        batch: None,
        level,
        variant: String::new(),
        tiles,
        ms,
        cublas_ms: None,
    }
}

fn run(date: &str, best: Vec<Best>) -> Run {
    let [command, date, commit, timing, l2_policy] = ["press tune", date, "", "", ""].map(str::to_string);
    Run { command, date, commit, driver: None, cuda: None, cublas: None, timing, l2_policy, complete: true, best }
}

#[test]
fn a_batch_has_records_of_its_own() {
    let batch = |size, ms, batch| Best { batch, ..entry(size, SPLIT_K, OTHER, ms) };
    let chooser = |best| Chooser::of(&[], &[record(90, vec![best])], &BOTH, (90, 132), nowhere);
    // Of one product the batch's record says nothing.
    let why = |chooser: Chooser| chooser.choose(&SMALL, Dtype::F32, &Form::PLAIN).map(|chosen| chosen.why);
    assert_eq!(why(chooser(batch(128, 0.5, None))), Some(Why::Measured { microseconds: 500.0 }));
    assert_eq!(why(chooser(batch(128, 0.5, Some(4)))), Some(Why::Tile));
}

fn record(architecture: u32, best: Vec<Best>) -> Record {
    Record { gpu: "a GPU".into(), architecture, runs: vec![run("today", best)] }
}

/// A configuration that takes so many microseconds for a launch, and so many for a step of the blocks of an SM.
fn numbers(kernel: &str, tiles: &str, [launch, step]: [f64; 2]) -> Numbers {
    let mut microseconds = [0.0; TERMS.len()];
    microseconds[0] = launch;
    // Whatever of A and B is ragged.
    microseconds[2..6].fill(step);
    let (level, variant, tiles) = (kernel.to_string(), String::new(), tiles.to_string());
    let sharing = Sharing { blocks_per_sm: 1, side_by_side: 1.0, idle_sms: 0 };
    Numbers {
        dtype: Dtype::F32,
        level,
        also: None,
        variant,
        tiles,
        sharing,
        error: 0.0,
        most: f64::MAX,
        microseconds,
        beyond: Beyond::default(),
        by_columns: None,
    }
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
        errors_by_columns: Vec::new(),
        surveyed_by_columns: Vec::new(),
        configurations: vec![numbers(SPLIT_K, FEW, [2.0, 1.0]), numbers(STREAM_K, MANY, [10.0, 4.0])],
    }
}

/// The kernel and the tile sizes that these choose, on a machine without a compiler.
fn chosen(
    models: &[Model],
    records: &[Record],
    kernels: &[&'static Level],
    shape: Shape,
) -> Option<(&'static str, String)> {
    let chooser = Chooser::of(models, records, kernels, (90, 132), nowhere);
    let build = chooser.best(&shape, Dtype::F32, &Form::PLAIN)?;
    Some((build.level.name, build.configuration.tiles.to_string()))
}

fn small() -> Option<(&'static str, String)> {
    Some((SPLIT_K, FEW.to_string()))
}

fn large() -> Option<(&'static str, String)> {
    Some((STREAM_K, MANY.to_string()))
}

#[test]
fn the_least_predicted_time_decides_among_the_kernels() {
    let models = [model(90)];
    assert_eq!(chosen(&models, &[], &BOTH, SMALL), small());
    assert_eq!(chosen(&models, &[], &BOTH, shape(4096, 4096, 4096)), large());
    assert_eq!(chosen(&models, &[], &BOTH, shape(1, 1, 1)), small());
    assert_eq!(chosen(&models, &[], &BOTH[1..], SMALL), large(), "the second alone");
    assert_eq!(chosen(&models, &[], &[], SMALL), None);
    // Of two that are predicted alike, the one of which more is known.
    let mut unsure = model(90);
    unsure.configurations[1].microseconds = unsure.configurations[0].microseconds;
    unsure.configurations[0].error = 0.2;
    assert_eq!(chosen(&[unsure], &[], &BOTH, shape(1, 1, 1)), large());
}

#[test]
fn what_launches_took_nearby_decides_where_it_is_near() {
    let mut known = model(90);
    known.surveyed = vec![Surveyed::new(Dtype::F32, vec![shape(96, 160, 128), shape(160, 96, 128)])];
    // The first took a third longer there than what it is made of says: a launch alone, which is a tenth shorter than the second's.
    let third = Beyond::of([Some((40.0, 30.0)); 2].into_iter());
    known.configurations =
        vec![Numbers { beyond: third, ..numbers(SPLIT_K, FEW, [30.0, 0.0]) }, numbers(STREAM_K, MANY, [33.0, 0.0])];
    assert_eq!(chosen(&[known.clone()], &[], &BOTH, SMALL), large());
    assert_eq!(chosen(&[known], &[], &BOTH, shape(1, 1, 1)), small(), "nothing is known there");
}

/// A compiler that is there and is not asked: whatever is chosen could run.
#[derive(Debug)]
struct Idle;

impl Compiler for Idle {
    fn version(&self) -> String {
        "13.0".into()
    }

    fn ptx(&self, source: &Source, _: &[String]) -> Result<String, String> {
        Err(format!("{source:?} is not to be compiled"))
    }

    fn resources(&self, _: &Source, _: &[String], _: u32, _: Option<&str>) -> Option<Resources> {
        None
    }

    fn machine_code(&self, source: &Source, options: &[String], _: u32) -> Result<Vec<u8>, String> {
        self.ptx(source, options).map(String::into_bytes)
    }
}

#[test]
fn of_a_b_that_is_stored_as_n_x_k_its_own_times_decide() {
    let columns = Form { layout: Layout::Columns, ..Form::PLAIN };
    let mut known = model(90);
    let by_columns = |factor, beyond| Some(ByColumns { factor, error: 0.0, beyond });
    known.configurations[0].by_columns = by_columns(8.0, Beyond::default());
    known.configurations[1].by_columns = by_columns(1.0, Beyond::default());
    let record = [record(90, vec![entry(128, SPLIT_K, FEW, 1e-3)])];
    let chosen = |known: &Model, form: &Form| {
        let chooser = Chooser::of(std::slice::from_ref(known), &record, &BOTH, (90, 132), || Ok(&Idle));
        chooser.best(&SMALL, Dtype::F32, form).map(|build| (build.level.name, build.configuration.tiles.to_string()))
    };
    assert_eq!(chosen(&known, &columns), small(), "nobody has surveyed the type so");
    known.surveyed_by_columns = vec![Surveyed::new(Dtype::F32, vec![SMALL])];
    assert_eq!(chosen(&known, &columns), large(), "nor does a record of the plain product count");
    assert_eq!(chosen(&known, &Form::PLAIN), small());
    // Beside a factor, what launches took at this very shape.
    known.configurations[0].by_columns = by_columns(1.0, Beyond::default());
    assert_eq!(chosen(&known, &columns), small());
    known.configurations[0].microseconds = numbers(SPLIT_K, FEW, [10.0, 4.0]).microseconds;
    known.configurations[1].microseconds = known.configurations[0].microseconds;
    let longer = |times| Beyond::of([Some(times)].into_iter());
    known.configurations[0].by_columns = by_columns(1.0, longer((1.4, 1.0)));
    assert_eq!(chosen(&known, &columns), large());
}

#[test]
fn what_is_not_made_for_a_layout_is_not_chosen_there() {
    let columns = Form { layout: Layout::Columns, ..Form::PLAIN };
    let mut known = model(90);
    known.configurations.push(numbers("summit fma_rows", "ROWS=1 COLS=4 WARPS=4 DEEP=4", [1.0, 0.0]));
    let kernels = [BOTH[0], &fma_rows::KERNEL];
    let chosen = |form: &Form| {
        let chooser = Chooser::of(std::slice::from_ref(&known), &[], &kernels, (90, 132), nowhere);
        chooser.best(&SMALL, Dtype::F32, form).map(|build| build.level.name)
    };
    assert_eq!(chosen(&columns), Some("summit fma_rows"));
    assert_eq!(chosen(&Form::PLAIN), Some(SPLIT_K));
}

#[test]
fn what_was_measured_at_the_very_shape_counts_more_than_what_is_predicted_of_its_kernel() {
    let models = [model(90)];
    let slow = record(90, vec![entry(128, SPLIT_K, FEW, 0.5)]);
    assert_eq!(
        chosen(&models, std::slice::from_ref(&slow), &BOTH, SMALL),
        large(),
        "the other is predicted to be faster"
    );
    assert_eq!(chosen(&models, &[slow], &BOTH, shape(127, 128, 128)), small(), "another shape");
    let elsewhere = record(80, vec![entry(128, SPLIT_K, FEW, 0.5)]);
    assert_eq!(chosen(&models, &[elsewhere], &BOTH, SMALL), small(), "another architecture");
    let other = record(90, vec![entry(128, SPLIT_K, OTHER, 0.0001)]);
    assert_eq!(
        chosen(&models, &[other], &BOTH, SMALL),
        Some((SPLIT_K, OTHER.to_string())),
        "tile sizes that nothing predicts"
    );
}

#[test]
fn what_cannot_run_is_passed_over() {
    let unshipped = FEW.replace("STAGES=3", "STAGES=5");
    for (kernel, tiles) in [("summit magic", FEW), (SPLIT_K, &*unshipped), (SPLIT_K, "BM=many")] {
        let mut model = model(90);
        model.configurations.insert(0, numbers(kernel, tiles, [0.0, 0.0]));
        let records = [record(90, vec![entry(128, kernel, tiles, 1e-6)])];
        let chosen = chosen(&[model], &records, &BOTH, SMALL);
        assert!([small(), large()].contains(&chosen), "{kernel} {tiles}: {chosen:?}");
    }
    // Where B is stored N × K, a kernel that takes the plain product alone gives way, however fast it is.
    let mut model = model(90);
    let of_thin = thin::KERNEL.default_build(Dtype::F32).configuration.tiles.to_string();
    model.configurations.insert(0, numbers("summit thin", &of_thin, [0.0, 0.0]));
    let turned = Form { layout: Layout::Columns, ..Form::PLAIN };
    let chosen = |kernels: &[&'static Level], form: &Form| {
        let chooser = Chooser::of(std::slice::from_ref(&model), &[], kernels, (90, 132), nowhere);
        chooser.best(&SMALL, Dtype::F32, form).map(|build| build.level.name)
    };
    let with_it = [&thin::KERNEL, BOTH[0], BOTH[1]];
    assert_eq!(chosen(&with_it, &Form::PLAIN), Some("summit thin"));
    // The small tile is not shipped in this form.
    assert_eq!(chosen(&with_it, &turned), Some(STREAM_K));
    assert_eq!(chosen(&with_it[..1], &turned), None);
}

#[test]
fn beyond_what_was_measured_a_configuration_must_be_the_faster_by_an_eighth_for_each_doubling() {
    let products = 128.0 * 128.0 * 128.0;
    // By 14 : 10: three doublings are 3 / 8, four 4 / 8.
    for (of_the_small, expected) in [(products / 8.0, small()), (products / 16.0, large())] {
        let mut model = model(90);
        model.configurations = vec![numbers(SPLIT_K, FEW, [10.0, 0.0]), numbers(STREAM_K, MANY, [14.0, 0.0])];
        model.configurations[0].most = of_the_small;
        assert_eq!(chosen(&[model], &[], &BOTH, SMALL), expected);
    }
}

#[test]
fn the_model_of_the_nearest_architecture_counts() {
    let mut other = model(75);
    other.configurations.truncate(1);
    assert_eq!(chosen(&[other.clone(), model(90)], &[], &BOTH, shape(4096, 4096, 4096)), large());
    assert_eq!(chosen(&[other], &[], &BOTH, shape(4096, 4096, 4096)), small(), "75 knows one alone");
}

#[test]
fn a_later_run_replaces_what_it_measured_again() {
    let mut record = record(90, vec![entry(128, SPLIT_K, FEW, 0.01), entry(256, SPLIT_K, OTHER, 9.0)]);
    record.add(run("tomorrow", vec![entry(128, SPLIT_K, OTHER, 0.03)]));
    assert_eq!(record.runs.iter().map(|run| run.best.len()).collect::<Vec<_>>(), [1, 1]);
    record.add(run("after that", vec![entry(256, SPLIT_K, OTHER, 0.03)]));
    assert_eq!(record.runs.iter().map(|run| run.date.as_str()).collect::<Vec<_>>(), ["tomorrow", "after that"]);
}

#[test]
fn every_record_is_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tuned");
    let mut gpus = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
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
        let shape = shape(size, size, size);
        let build = by_tile(&[&mma_sync::KERNEL], 90, 132, &shape, Dtype::F64, &Form::PLAIN).unwrap();
        build.configuration.tiles.sizes()[..2].to_vec()
    };
    assert_eq!([4096, 1024, 64].map(chosen), [[128, 128], [64, 64], [16, 32]]);
}

#[test]
fn the_emulator_is_the_gpu_that_it_models() {
    let of_an_h200 = Chooser::new(90, 132).best(&SMALL, Dtype::F64, &Form::PLAIN).unwrap();
    assert_eq!(best(&Device::Emulator, &SMALL, Dtype::F64).unwrap(), of_an_h200);
}

#[test]
fn a_kernel_whose_sums_of_fp8_lose_bits_is_chosen_where_it_is_the_only_one() {
    let shape = shape(2048, 2048, 2048);
    let (keeps, loses) = (&wgmma_fp8::KERNEL, &wgmma_ping_pong::KERNEL);
    let chosen = |kernels: &[&'static Level]| {
        by_tile(kernels, 90, 132, &shape, Dtype::E4M3, &Form::PLAIN).map(|build| build.level.name)
    };
    assert_eq!(chosen(&[loses, keeps]), Some(keeps.name));
    assert_eq!(chosen(&[loses]), Some(loses.name));
    // No record makes it the choice beside one that keeps them.
    let build = loses.default_build(Dtype::E4M3);
    let best = Best {
        dtype: Dtype::E4M3,
        level: loses.name.to_string(),
        tiles: build.configuration.tiles.to_string(),
        ..entry(2048, "", "", 1e-3)
    };
    assert_eq!(best.build(loses), Some(build), "what is on record is the kernel's");
    let chooser = Chooser::of(models(), &[record(90, vec![best])], &[loses, keeps], (90, 132), nowhere);
    assert_eq!(chooser.best(&shape, Dtype::E4M3, &Form::PLAIN).unwrap().level.name, keeps.name);
}
