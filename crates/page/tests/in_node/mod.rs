//! What the tests of the module share: Node in the place of a page.
#![allow(dead_code, reason = "each program of tests uses a part of it")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate lies in the repository").to_path_buf()
}

/// The module, made now; or why there is none.
pub fn module() -> Result<PathBuf, String> {
    if Command::new("node").arg("--version").output().is_err() {
        return Err("no WebAssembly here: Node is not installed".to_string());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let made = Command::new(cargo).args(["x", "wasm"]).current_dir(root()).output().expect("cargo starts");
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    match said.lines().find(|line| line.contains("there is no standard library for wasm32")) {
        Some(why) => Err(format!("no WebAssembly here: {}", why.trim_start_matches("error: "))),
        None if made.status.success() => Ok(root().join("target/page/page.wasm")),
        None => panic!("`cargo x wasm` fails:\n{said}"),
    }
}

/// What Node answers to requests, one a line.
pub fn answers(module: &Path, requests: &[String]) -> Vec<Value> {
    let mut node = Command::new("node");
    let piped =
        node.arg("crates/page/run.mjs").arg(module).current_dir(root()).stdin(Stdio::piped()).stdout(Stdio::piped());
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

/// Where two values differ first, and how.
pub fn difference(one: &Value, other: &Value) -> Option<String> {
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
