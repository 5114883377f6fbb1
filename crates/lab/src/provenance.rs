//! Where a record comes from: the machine's state, the program's commit, the date; and how it is kept.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use device::timing;
use device::turns::Pace;
use gemm::Error;
use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value};

use crate::bench::RIVALS;

/// Clocks, temperature and power, as `nvidia-smi` says them.
pub fn state() -> Option<String> {
    nvidia_smi("clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu,power.draw,power.limit,pstate")
}

/// What `nvidia-smi` says of the first GPU; nothing, where it is not there.
pub fn nvidia_smi(query: &str) -> Option<String> {
    let arguments = [format!("--query-gpu={query}"), "--format=csv,noheader".to_string(), "--id=0".to_string()];
    let output = Command::new("nvidia-smi").args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
    let named: Vec<String> =
        query.split(',').zip(text.split(", ")).map(|(name, value)| format!("{name} {value}")).collect();
    Some(if query.contains(',') { named.join(", ") } else { text })
}

/// The commit that this program was built from, as far as it is known.
pub fn commit() -> String {
    if let Some(commit) = option_env!("LAB_COMMIT") {
        return commit.to_string();
    }
    // Of the tree that the program was built from: it may run in somebody else's.
    let tree = env!("CARGO_MANIFEST_DIR");
    let git = Command::new("git").args(["-C", tree, "describe", "--always", "--dirty", "--abbrev=12"]).output();
    let text =
        git.ok().filter(|output| output.status.success()).and_then(|output| String::from_utf8(output.stdout).ok());
    text.map_or_else(|| "unknown".to_string(), |text| text.trim().to_string())
}

/// This package's version, and the commit.
pub fn version() -> String {
    format!("{} ({})", env!("CARGO_PKG_VERSION"), commit())
}

/// `NVIDIA H200` as `nvidia-h200.json`.
pub fn file_name(gpu: &str) -> String {
    let plain: String = gpu.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    format!("{}.json", words.join("-"))
}

/// The time, in UTC.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// How times were taken.
pub fn timing() -> String {
    format!(
        "single launches between CUDA events, after a warm-up of {} ms; at least {} launches; cuBLAS and the {} fastest \
         kernels of a problem in turns, {} rounds; ms is the median, spread the distance of the 90th from the 10th \
         percentile relative to it; inputs are random reals",
        timing::WARM_UP.as_millis(),
        timing::BATCH,
        RIVALS,
        Pace::THOROUGH.rounds
    )
}

/// Writes a record, as [`replace`] does.
pub fn save(record: &impl Serialize, file: &Path) -> Result<(), Error> {
    replace(file, text(record)?.as_bytes())
}

/// A record as JSON.
pub fn text(record: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_value(record).and_then(|record| rows(&brief(record)));
    let text = text.map_err(|error| error.to_string());
    let text = text.and_then(|text| String::from_utf8(text).map_err(|error| error.to_string()));
    text.map_err(|error| Error::usage(error, "report this"))
}

/// Replaces the file as a whole, or leaves it as it was.
pub fn replace(file: &Path, text: &[u8]) -> Result<(), Error> {
    let new = file.with_extension("json.new");
    fs::write(&new, text).and_then(|()| fs::rename(&new, file)).map_err(|error| {
        let _ = fs::remove_file(&new);
        Error::usage(format!("cannot write {}: {error}", file.display()), "what it held before is still there")
    })
}

/// The text, with each element of an array on a line of its own.
fn rows(record: &Value) -> serde_json::Result<Vec<u8>> {
    struct Lines;
    impl Formatter for Lines {
        fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
            writer.write_all(if first { b"\n" } else { b",\n" })
        }
    }
    let mut text = Vec::new();
    record.serialize(&mut Serializer::with_formatter(&mut text, Lines))?;
    text.push(b'\n');
    Ok(text)
}

/// A record without what is not known, and with seven digits of each number: CUDA gives times as `f32`, which has no more.
fn brief(record: Value) -> Value {
    match record {
        Value::Object(fields) => {
            fields.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name, brief(value))).collect()
        }
        Value::Array(values) => values.into_iter().map(brief).collect(),
        Value::Number(number) if number.is_f64() => {
            number.as_f64().and_then(|number| format!("{number:.6e}").parse::<f64>().ok()).into()
        }
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_record_keeps_what_is_known_and_seven_digits() {
        let record = json!({ "ms": 13.527712345123293, "least": [1.5625e-10, null], "seed": 1234567890, "rank": null });
        let kept = json!({ "ms": 13.52771, "least": [1.5625e-10, null], "seed": 1234567890 });
        assert_eq!(super::brief(record), kept);
    }

    #[test]
    fn a_gpu_names_its_file() {
        assert_eq!(super::file_name("NVIDIA H200"), "nvidia-h200.json");
        assert_eq!(super::file_name("NVIDIA GeForce RTX 4090 (Laptop)"), "nvidia-geforce-rtx-4090-laptop.json");
    }
}
