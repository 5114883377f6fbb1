//! What the head of an examined kernel says: its launch, its arguments, and what is to become of it.

use std::fs;
use std::path::{Path, PathBuf};

use super::texts;

/// A kernel of the exam.
pub struct Exam {
    /// Its file, without folder and extension.
    pub name: String,
    /// The PTX.
    pub ptx: String,
    /// Whether it must pass; otherwise it must be convicted.
    pub right: bool,
    /// The kinds of faults that convict it, as `FaultKind` or `Refused` is written.
    pub kinds: Vec<String>,
    /// Blocks, in three dimensions.
    pub grid: [u32; 3],
    /// Threads per block, in three dimensions.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// How often it is launched on the same buffers.
    pub launches: u32,
    /// The arguments, in order, with their names.
    pub arguments: Vec<(String, Arg)>,
}

/// An argument.
pub enum Arg {
    /// A buffer of so many bytes, with these bytes in it; with none, nobody has written to it.
    Buffer(usize, Option<Vec<u8>>),
    /// The buffer of the argument of that name once more.
    Same(String),
    /// A 32-bit integer.
    Int(i32),
}

/// All kernels of a folder, `right` or `wrong`, by name.
pub fn exams(name: &str) -> Vec<Exam> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../emulator/tests/exam").join(name);
    let entries = fs::read_dir(&folder).expect("the exam's folder is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "cu"));
    files.sort();
    files.iter().map(|file| read(file, name)).collect()
}

fn read(file: &Path, folder: &str) -> Exam {
    let text = |file: &Path| fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let name = file.file_stem().expect("it has a name").to_str().expect("names are plain").to_string();
    let mut exam = Exam {
        ptx: texts::ptx(&format!("exam/{folder}/{name}.ptx")).to_string(),
        right: false,
        kinds: Vec::new(),
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared: 0,
        launches: 1,
        arguments: Vec::new(),
        name,
    };
    for line in text(file).lines() {
        if let Some(words) = line.strip_prefix("// exam: ") {
            launch(&mut exam, words);
        } else if let Some(words) = line.strip_prefix("// arg ") {
            exam.arguments.extend(words.split_whitespace().map(argument));
        }
    }
    assert!(exam.right || !exam.kinds.is_empty(), "{} has no line `// exam: `", exam.name);
    exam
}

fn launch(exam: &mut Exam, words: &str) {
    let mut words = words.split_whitespace();
    let outcome = words.next().expect("the outcome comes first");
    exam.right = outcome == "right";
    exam.kinds = outcome.split('|').map(String::from).collect();
    for word in words {
        let (key, value) = word.split_once('=').expect("key=value");
        let numbers: Vec<u32> = value.split(',').map(|number| number.parse().expect("a number")).collect();
        let sizes = |i: usize| numbers.get(i).copied().unwrap_or(1);
        match key {
            "grid" => exam.grid = [sizes(0), sizes(1), sizes(2)],
            "block" => exam.block = [sizes(0), sizes(1), sizes(2)],
            "smem" => exam.dynamic_shared = numbers[0],
            "launches" => exam.launches = numbers[0],
            "sm" => {}
            _ => panic!("{}: {key} is unknown", exam.name),
        }
    }
}

/// `name=type[count]:fill`, `name=i32:value` or `name=other`.
fn argument(word: &str) -> (String, Arg) {
    let (name, what) = word.split_once('=').expect("name=what");
    let arg = match what.split_once(':') {
        None => Arg::Same(what.to_string()),
        Some(("i32", value)) => Arg::Int(value.parse().expect("an integer")),
        Some((array, fill)) => {
            let (kind, count) = array.strip_suffix(']').and_then(|array| array.split_once('[')).expect("type[count]");
            let count = count.parse().expect("a number of elements");
            Arg::Buffer(count * size(kind), filled(kind, count, fill))
        }
    };
    (name.to_string(), arg)
}

fn size(kind: &str) -> usize {
    match kind {
        "u8" => 1,
        "u16" => 2,
        "u32" | "f32" => 4,
        "u64" | "f64" => 8,
        _ => panic!("{kind} is unknown"),
    }
}

fn filled(kind: &str, count: usize, fill: &str) -> Option<Vec<u8>> {
    let mut state = 1u32;
    let mut bytes = Vec::new();
    for i in 0..count {
        let value = match fill {
            "none" => return None,
            "zero" => 0,
            "ones" => 1,
            "ramp" => i as u64,
            "half" => half(i),
            "rand" => {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                u64::from((state >> 16) % 100)
            }
            _ => panic!("the fill {fill} is unknown"),
        };
        let scale = if fill == "rand" { 0.25 } else { 1.0 };
        match kind {
            "f32" => bytes.extend((value as f32 * scale).to_le_bytes()),
            "f64" => bytes.extend((value as f64 * f64::from(scale)).to_le_bytes()),
            _ => bytes.extend(&value.to_le_bytes()[..size(kind)]),
        }
    }
    Some(bytes)
}

/// The bits of a half: quarters from -3/4 to 3/4, in turn.
fn half(i: usize) -> u64 {
    let quarters = (i * 5 % 7) as i64 - 3;
    let magnitude = [0, 0x3400, 0x3800, 0x3a00][quarters.unsigned_abs() as usize];
    magnitude | if quarters < 0 { 0x8000 } else { 0 }
}
