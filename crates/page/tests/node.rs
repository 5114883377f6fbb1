//! The module runs in Node as the levels run here: the same elements of C, bit by bit, and the same counters.

mod in_node;

use common::road::run_and_keep;
use device::{Device, nvrtc};
use gemm::candidate::{Exam, Options};
use gemm::facts::Extras;
use gemm::kernel::Kernel;
use gemm::problem::{Fill, Problem};
use gemm::{Build, Dtype, Level, Shape, asked};
use serde_json::{Value, json};

use in_node::{answers, difference, module};

/// The same request with the shipped PTX, which the module does not have in it.
fn with_ptx(request: &Value) -> Value {
    let mut request = request.clone();
    let build = build(&request);
    let texts = build.level.ptx.texts().expect("it is shipped");
    request["ptx"] = texts.get(&build.configuration.file_name()).expect("it is shipped").into();
    request
}

/// The build that a request names.
fn build(request: &Value) -> Build {
    let text = |name: &str| request[name].as_str();
    let level = levels::levels(&[text("level").unwrap().to_string()]).unwrap()[0];
    let tiles = request["tiles"].as_object().cloned().unwrap_or_default();
    let tiles: Vec<(&str, u32)> =
        tiles.iter().map(|(name, size)| (name.as_str(), size.as_u64().unwrap() as u32)).collect();
    let dtype = text("dtype").unwrap_or("f32").parse().unwrap();
    asked::build(level, dtype, text("variant"), &tiles, &level.plain(dtype)).unwrap()
}

/// The report and the elements of C, as bits, of a run here: on the way that `cargo run -p` goes, on all cores.
fn here(request: &Value) -> (Value, Vec<String>) {
    let size = |name: &str| u32::try_from(request[name].as_u64().unwrap()).unwrap();
    let build = build(request);
    let dtype = build.configuration.dtype;
    let plan = build.plan(Shape { m: size("m"), n: size("n"), k: size("k") }).unwrap();
    let seed = request["seed"].as_u64().unwrap_or(1);
    let problem = Problem::new(plan.shape, dtype, Fill::Reals, seed).unwrap();
    let kernel = Kernel::obtain(&build, 90, nvrtc::nowhere).unwrap();
    let extras = Extras::new(true, request["sanitize"].as_bool().unwrap_or(true));
    let options = Options { gpu: asked::gpu("h200").unwrap(), extras, annotate: false, matrices: false };
    let exam = Exam { problem: &problem, seed, reference: None };
    let (report, c) = run_and_keep(&plan.candidate(&kernel), &Device::Emulator, exam, &options).unwrap();
    let size = c.element().bytes();
    let bits = c.bytes().chunks(size).map(|bytes| bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect());
    (serde_json::from_str(&report.json()).unwrap(), bits.collect())
}

#[test]
fn node_computes_and_counts_as_this_machine_does() {
    let module = match module() {
        Ok(module) => module,
        Err(why) => return level_tests::skipped(&why),
    };
    let requests = [
        json!({"level": "2", "m": 100, "n": 70, "k": 50}),
        json!({"level": "2", "m": 100, "n": 70, "k": 50, "dtype": "f64", "seed": 7}),
        json!({"level": "level2-register", "m": 1, "n": 1, "k": 1, "sanitize": false}),
        json!({"level": "2", "m": 33, "n": 129, "k": 17, "tiles": {"BM": 64, "BN": 64, "BK": 8}}),
        json!({"level": "2", "m": 128, "n": 128, "k": 128}),
        json!({"level": "0", "m": 20, "n": 30, "k": 40, "variant": "uncoalesced"}),
        json!({"level": "5", "m": 65, "n": 31, "k": 33, "dtype": "f64"}),
        // Copies under way, and blocks that share tiles and wait for each other.
        json!({"level": "6", "m": 130, "n": 40, "k": 70}),
        json!({"level": "7", "m": 40, "n": 50, "k": 200}),
        json!({"level": "8", "m": 200, "n": 100, "k": 60, "dtype": "f64"}),
    ];
    let texts: Vec<String> = requests
        .iter()
        .map(|request| {
            let mut request = with_ptx(request);
            request["bits"] = true.into();
            request.to_string()
        })
        .collect();
    for (request, answer) in requests.iter().zip(answers(&module, &texts)) {
        let (report, bits) = here(request);
        assert!(answer["error"].is_null(), "{request}: {}", answer["error"]);
        assert_eq!(difference(&answer["bits"], &json!(bits)), None, "{request}: C");
        assert_eq!(report["check"]["right"], true, "{request}");
        assert!(report["facts"]["emulator"]["total"].is_object(), "{request}: nothing is counted");
        assert_eq!(difference(&answer["report"], &report), None, "{request}: the report");
    }
}

#[test]
fn node_answers_what_it_cannot_run_and_goes_on() {
    let module = match module() {
        Ok(module) => module,
        Err(why) => return level_tests::skipped(&why),
    };
    let requests = [
        json!({"level": "99", "m": 1, "n": 1, "k": 1}).to_string(),
        json!({"level": "0", "m": 60_000, "n": 1, "k": 60_000}).to_string(),
        with_ptx(&json!({"level": "2", "m": 8, "n": 8, "k": 8, "instruction_limit": 5})).to_string(),
        String::new(),
        with_ptx(&json!({"level": "0", "m": 3, "n": 2, "k": 1})).to_string(),
    ];
    let answers = answers(&module, &requests);
    assert_eq!(answers[0]["error"]["message"], "there is no level `99`");
    assert_eq!(answers[1]["error"]["kind"], "usage", "{}", answers[1]);
    assert_eq!(answers[2]["error"]["kind"], "fault", "{}", answers[2]);
    let levels = answers[3].as_array().expect("a list of levels");
    assert_eq!(levels.len(), levels::LEVELS.len());
    assert_eq!(json!(answers[3]), serde_json::from_str::<Value>(&page::levels()).unwrap());
    assert_eq!(answers[4]["report"]["check"]["right"], true);
}

/// A size off the tile in every direction, and yet more than one tile of most configurations.
fn small(build: &Build) -> Value {
    let configuration = &build.configuration;
    let tile = build.plan(Shape { m: 1, n: 1, k: 1 }).unwrap().launch.tile;
    let tiles: serde_json::Map<String, Value> =
        configuration.tiles.0.iter().map(|&(name, size)| (name.to_string(), size.into())).collect();
    let (m, n, k) = (tile.m / 2 + 3, tile.n / 2 + 5, tile.k + 1);
    let mut request =
        json!({"level": build.level.name, "m": m, "n": n, "k": k, "dtype": configuration.dtype.to_string()});
    request["tiles"] = tiles.into();
    if !configuration.variant.is_empty() {
        request["variant"] = configuration.variant.into();
    }
    request
}

/// Every shipped build with `DEEP=1`; else of each level the default of one of its types, of another type from level to level.
fn builds() -> Vec<Build> {
    let of = |level: &'static Level| {
        let types: Vec<Dtype> = level.dtypes().collect();
        level.default_build(types[level.number().unwrap() as usize % types.len()])
    };
    if level_tests::deep() {
        levels::LEVELS.iter().flat_map(|level| level.shipped_builds()).collect()
    } else {
        levels::LEVELS.iter().map(|level| of(level)).collect()
    }
}

#[test]
fn shipped_configurations_are_the_same_in_node_and_so_are_a_warps_steps() {
    let module = match module() {
        Ok(module) => module,
        Err(why) => return level_tests::skipped(&why),
    };
    let builds = builds();
    let of = |level: &Level| builds.iter().any(|build| build.level.name == level.name && build.is_default());
    assert!(levels::LEVELS.iter().all(|level| of(level)), "a level has no build here");
    let mut requests: Vec<Value> = Vec::new();
    for build in builds {
        let mut request = with_ptx(&small(&build));
        request["bits"] = true.into();
        let mut step = request.clone();
        step["step"] = json!({"warp": 0});
        requests.push(request);
        if build.is_default() {
            requests.push(step);
        }
    }
    let texts: Vec<String> = requests.iter().map(Value::to_string).collect();
    let mut traced = 0;
    for (request, answer) in requests.iter().zip(answers(&module, &texts)) {
        let native: Value = serde_json::from_str(&page::multiply(&request.to_string())).unwrap();
        let who = format!("{} {} {}", request["level"], request["dtype"], request["tiles"]);
        assert!(native["error"].is_null(), "{who}: {}", native["error"]);
        assert_eq!(difference(&answer, &native), None, "{who}");
        assert!(request["step"].is_object() || native["report"]["check"]["right"] == true, "{who}");
        traced += native["found"].as_u64().unwrap_or(0);
    }
    assert!(traced > 0, "no step is compared");
}
