//! The module runs in Node as the levels run here: the same elements of C, bit by bit, and the same counters.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::device::Device;
use common::kernel::nvrtc;
use common::road::{Candidate, Exam, Options, run_and_keep};
use rung::facts::Extras;
use rung::kernel::Kernel;
use rung::problem::{Fill, Problem};
use rung::{Shape, asked};
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the repository").to_path_buf()
}

/// The module, made now; or why there is none.
fn module() -> Result<PathBuf, String> {
    if Command::new("node").arg("--version").output().is_err() {
        return Err("no WebAssembly here: Node is not installed".to_string());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let made = Command::new(cargo).args(["x", "wasm"]).current_dir(root()).output().expect("cargo starts");
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    match said.lines().find(|line| line.contains("there is no standard library for wasm32")) {
        Some(why) => Err(format!("no WebAssembly here: {}", why.trim_start_matches("error: "))),
        None if made.status.success() => Ok(root().join("target/live/live.wasm")),
        None => panic!("`cargo x wasm` fails:\n{said}"),
    }
}

/// What Node answers to requests, one a line.
fn answers(module: &Path, requests: &[String]) -> Vec<Value> {
    let mut node = Command::new("node");
    let piped = node.arg("live/run.mjs").arg(module).current_dir(root()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = piped.spawn().expect("node starts");
    let mut input = running.stdin.take().expect("it is piped");
    input.write_all((requests.join("\n") + "\n").as_bytes()).expect("node reads");
    drop(input);
    let output = running.wait_with_output().expect("node ends");
    assert!(output.status.success(), "node ends with {:?}", output.status);
    let text = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    let answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), requests.len(), "{text}");
    answers
}

/// The report and the elements of C, as bits, of a run here: on the way that `cargo run -p` goes, on all cores.
fn here(request: &Value) -> (Value, Vec<String>) {
    let text = |name: &str| request[name].as_str();
    let size = |name: &str| u32::try_from(request[name].as_u64().unwrap()).unwrap();
    let level = ladder::levels(&[text("level").unwrap().to_string()]).unwrap()[0];
    let tiles = request["tiles"].as_object().cloned().unwrap_or_default();
    let tiles: Vec<(&str, u32)> =
        tiles.iter().map(|(name, size)| (name.as_str(), size.as_u64().unwrap() as u32)).collect();
    let dtype = text("dtype").unwrap_or("f32").parse().unwrap();
    let build = asked::build(level, dtype, text("variant"), &tiles).unwrap();
    let plan = build.plan(Shape { m: size("m"), n: size("n"), k: size("k") }).unwrap();
    let seed = request["seed"].as_u64().unwrap_or(1);
    let problem = Problem::new(plan.shape, dtype, Fill::Reals, seed).unwrap();
    let kernel = Kernel::obtain(&build, 90, nvrtc::nowhere).unwrap();
    let extras = Extras::new(true, request["sanitize"].as_bool().unwrap_or(true));
    let options = Options { gpu: asked::gpu("h200").unwrap(), extras, annotate: false, matrices: false };
    let exam = Exam { problem: &problem, seed, reference: None };
    let (report, c) = run_and_keep(&Candidate::of(&plan, &kernel), &Device::Emulator, exam, &options).unwrap();
    let size = c.element().bytes();
    let bits = c.bytes().chunks(size).map(|bytes| bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect());
    (serde_json::from_str(&report.json()).unwrap(), bits.collect())
}

/// Where two values differ first, and how.
fn difference(one: &Value, other: &Value) -> Option<String> {
    let at =
        |place: String, (one, other): (&Value, &Value)| difference(one, other).map(|rest| format!("/{place}{rest}"));
    match (one, other) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().zip(b.values()).find_map(|((name, a), b)| at(name.clone(), (a, b)))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(index, pair)| at(index.to_string(), pair))
        }
        _ if one == other => None,
        _ => Some(format!(": {one} in Node, {other} here")),
    }
}

#[test]
fn node_computes_and_counts_as_this_machine_does() {
    let module = match module() {
        Ok(module) => module,
        Err(why) => return harness::skipped(&why),
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
            let mut request = request.clone();
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
        Err(why) => return harness::skipped(&why),
    };
    let requests = [
        json!({"level": "99", "m": 1, "n": 1, "k": 1}).to_string(),
        json!({"level": "0", "m": 60_000, "n": 1, "k": 60_000}).to_string(),
        json!({"level": "2", "m": 8, "n": 8, "k": 8, "instruction_limit": 5}).to_string(),
        String::new(),
        json!({"level": "0", "m": 3, "n": 2, "k": 1}).to_string(),
    ];
    let answers = answers(&module, &requests);
    assert_eq!(answers[0]["error"]["message"], "there is no level `99`");
    assert_eq!(answers[1]["error"]["kind"], "usage", "{}", answers[1]);
    assert_eq!(answers[2]["error"]["kind"], "fault", "{}", answers[2]);
    let levels = answers[3].as_array().expect("a list of levels");
    assert_eq!(levels.len(), ladder::LEVELS.len());
    assert_eq!(json!(answers[3]), serde_json::from_str::<Value>(&live::levels()).unwrap());
    assert_eq!(answers[4]["report"]["check"]["right"], true);
}
