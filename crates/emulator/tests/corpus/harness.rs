//! Runs a kernel of the corpus: `<folder>/<name>.cu`, as it is compiled, by its launch description.

use std::fs;
use std::path::{Path, PathBuf};

use emulator::{
    Argument, Device, Dim3, Launch, LaunchError, Module, Report, Schedule, TensorElement, TensorFill, TensorMap,
    TensorMapDescription, TensorSwizzle,
};

use super::texts;

/// A kernel of the corpus and how it is launched.
pub struct Case {
    /// Its path below the corpus's folder, without extension.
    pub name: &'static str,
    /// Thread blocks.
    pub grid: Dim3,
    /// Threads per block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Thread blocks that the GPU holds at a time, if not the usual number.
    pub resident_blocks: Option<u32>,
    /// The kernel's arguments.
    pub arguments: &'static [Arg],
}

/// A kernel argument; buffers are named by a letter and hold so many elements.
#[derive(Clone, Copy)]
pub enum Arg {
    /// Floats 0, 1, 2, …
    Floats(&'static str, usize),
    /// Doubles 0, 1, 2, …
    Doubles(&'static str, usize),
    /// Integers 0, 1, 2, …
    Ints(&'static str, usize),
    /// Bytes 0, 1, 2, …
    Bytes(&'static str, usize),
    /// Integers that are all 0.
    Zeros(&'static str, usize),
    /// So many bytes that nobody wrote.
    Unwritten(&'static str, usize),
    /// Floats that the host freed.
    Freed(&'static str, usize),
    /// A null pointer.
    Null,
    /// A 32-bit integer.
    Int(i32),
    /// A tensor map by value.
    Map(&'static Map),
    /// One that lies in global memory, twice.
    MapInGlobal(&'static Map),
    /// 128 bytes that are no tensor map.
    NoMap,
}

/// A tensor map of a packed tensor in a buffer.
pub struct Map {
    /// What the buffer holds; where there is one of its name already, that one.
    pub of: Arg,
    pub element: TensorElement,
    pub sizes: &'static [u64],
    pub box_sizes: &'static [u32],
    pub element_strides: &'static [u32],
    pub swizzle: TensorSwizzle,
    pub fill: TensorFill,
}

impl Map {
    pub const fn new(of: Arg, element: TensorElement, sizes: &'static [u64], box_sizes: &'static [u32]) -> Map {
        let (swizzle, fill) = (TensorSwizzle::None, TensorFill::Zeros);
        Map { of, element, sizes, box_sizes, element_strides: &[1; 5], swizzle, fill }
    }

    pub const fn floats(of: Arg, sizes: &'static [u64], box_sizes: &'static [u32]) -> Map {
        Map::new(of, TensorElement::F32, sizes, box_sizes)
    }

    pub const fn swizzled(self, swizzle: TensorSwizzle) -> Map {
        Map { swizzle, ..self }
    }

    pub const fn stepped(self, element_strides: &'static [u32]) -> Map {
        Map { element_strides, ..self }
    }

    fn upload(&self, device: &mut Device) -> TensorMap {
        let buffer = device.named(self.of.name()).unwrap_or_else(|| match self.of.upload(device) {
            Argument::Buffer(buffer) => buffer,
            other => panic!("a map of {other:?}"),
        });
        let address = device.address(buffer).expect("it is this device's");
        TensorMapDescription::packed(self.element, address, self.sizes, self.box_sizes)
            .element_strides(&self.element_strides[..self.sizes.len()])
            .swizzle(self.swizzle)
            .fill(self.fill)
            .encode()
            .expect("a map")
    }
}

/// What became of a run.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// The bytes of the last buffer among the arguments.
    Done(Vec<u8>),
    /// The kind of a fault, as it names a folder, and its text.
    Fault(String, String),
    /// What the host was told when it read the last buffer.
    Unreadable(String),
}

impl Case {
    pub const fn new(name: &'static str, grid: u32, block: [u32; 2], arguments: &'static [Arg]) -> Case {
        let (grid, block) = (Dim3::xy(grid, 1), Dim3::xy(block[0], block[1]));
        Case { name, grid, block, dynamic_shared: 0, resident_blocks: None, arguments }
    }

    /// Launches the kernel, and reads the last buffer if it ends well.
    pub fn run(&self, folder: &str, sanitize: bool) -> Outcome {
        self.launch(folder, Launch::new(self.grid, self.block).sanitize(sanitize), None).0
    }

    /// The same with all checks on, in an order of blocks and warps.
    pub fn run_in(&self, folder: &str, schedule: Schedule) -> Outcome {
        self.launch(folder, Launch::new(self.grid, self.block).schedule(schedule), None).0
    }

    /// The same, with its report.
    pub fn report_in(&self, folder: &str, schedule: Schedule) -> (Outcome, Option<Report>) {
        self.launch(folder, Launch::new(self.grid, self.block).schedule(schedule), None)
    }

    /// All that there is to know of a run with so many threads, counts included.
    pub fn run_with(&self, folder: &str, threads: usize) -> (Outcome, Option<Report>) {
        self.launch(folder, Launch::new(self.grid, self.block), Some(threads))
    }

    fn launch(&self, folder: &str, launch: Launch, threads: Option<usize>) -> (Outcome, Option<Report>) {
        let kernel = Module::parse(texts::ptx(&format!("{folder}/{}.ptx", self.name)))
            .and_then(|module| module.kernel("kernel"));
        let kernel = kernel.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let mut device = Device::new();
        device.set_threads(threads);
        let arguments: Vec<Argument> = self.arguments.iter().map(|argument| argument.upload(&mut device)).collect();
        let mut launch = launch.dynamic_shared(self.dynamic_shared).instruction_limit(1_000_000);
        launch.resident_blocks = self.resident_blocks;
        let report = match device.launch(&kernel, launch, &arguments) {
            Ok(report) => Some(report),
            Err(LaunchError::Fault(fault)) => {
                let kind = snake_case(&format!("{:?}", fault.kind));
                return (Outcome::Fault(kind, fault.render(&source_line)), None);
            }
            Err(other) => panic!("{}: {other}", self.name),
        };
        let last = self.arguments.iter().zip(&arguments).rfind(|(argument, _)| argument.bytes() > 0);
        let Some((described, _)) = last else { panic!("{}: no buffer", self.name) };
        let buffer = device.named(described.name()).expect("it is there");
        let mut bytes = vec![0; described.bytes()];
        match device.read(buffer, &mut bytes) {
            Ok(()) => (Outcome::Done(bytes), report),
            Err(error) => {
                let store = device.unwritten_store(buffer).expect("it is there");
                let store = store.map_or(String::new(), |store| format!("\n{}", store.render(&source_line)));
                (Outcome::Unreadable(format!("{error}{store}")), report)
            }
        }
    }
}

impl Arg {
    fn bytes(self) -> usize {
        match self {
            Arg::Floats(_, n) | Arg::Ints(_, n) | Arg::Zeros(_, n) | Arg::Freed(_, n) => 4 * n,
            Arg::Doubles(_, n) => 8 * n,
            Arg::Bytes(_, n) | Arg::Unwritten(_, n) => n,
            Arg::Map(map) => map.of.bytes(),
            Arg::Null | Arg::Int(_) | Arg::NoMap | Arg::MapInGlobal(_) => 0,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Arg::Floats(name, _) | Arg::Ints(name, _) | Arg::Zeros(name, _) | Arg::Freed(name, _) => name,
            Arg::Doubles(name, _) | Arg::Bytes(name, _) | Arg::Unwritten(name, _) => name,
            Arg::Map(map) => map.of.name(),
            Arg::Null | Arg::Int(_) | Arg::NoMap | Arg::MapInGlobal(_) => "",
        }
    }

    fn upload(self, device: &mut Device) -> Argument {
        let (name, bytes): (&str, Vec<u8>) = match self {
            Arg::Null => return Argument::U64(0),
            Arg::Int(value) => return Argument::U32(value as u32),
            Arg::Map(map) => return map.upload(device).into(),
            Arg::MapInGlobal(map) => ("map", map.upload(device).bytes().repeat(2)),
            Arg::NoMap => return Argument::Bytes(vec![0; 128]),
            Arg::Unwritten(name, n) => return Argument::Buffer(device.alloc(name, n)),
            Arg::Floats(name, n) | Arg::Freed(name, n) => {
                (name, (0..n).flat_map(|i| (i as f32).to_le_bytes()).collect())
            }
            Arg::Doubles(name, n) => (name, (0..n).flat_map(|i| (i as f64).to_le_bytes()).collect()),
            Arg::Ints(name, n) => (name, (0..n).flat_map(|i| (i as i32).to_le_bytes()).collect()),
            Arg::Bytes(name, n) => (name, (0..n).map(|i| i as u8).collect()),
            Arg::Zeros(name, n) => (name, vec![0; 4 * n]),
        };
        let buffer = device.alloc(name, bytes.len());
        device.write(buffer, &bytes).expect("the buffer has the bytes' size");
        if let Arg::Freed(..) = self {
            device.free(buffer).expect("it is there");
        }
        Argument::Buffer(buffer)
    }
}

/// Every kernel of the folder that has a source, by the name that a case gives it.
pub fn sources(folder: &str) -> Vec<String> {
    let root = tests().join(folder);
    let mut names = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the corpus can be listed") {
            let path = entry.expect("the corpus can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cu") {
                let name = path.with_extension("");
                names.push(name.strip_prefix(&root).expect("it lies below").display().to_string());
            }
        }
    }
    names.sort();
    names
}

/// The folder of the corpora.
fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../emulator/tests")
}

pub fn source_line(file: &str, line: u32) -> Option<String> {
    let path: PathBuf = tests().join("../../..").join(file);
    fs::read_to_string(path).ok()?.lines().nth(line as usize - 1).map(str::to_string)
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// Compares what is said of kernels, each with its name, with the snapshot `<path>.snap` below the corpora.
pub fn assert_words(path: &str, mut said: Vec<(&str, String)>) {
    said.sort();
    let text: Vec<String> = said.into_iter().map(|(name, text)| format!("# {name}\n{}\n", text.trim_end())).collect();
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    insta::with_settings!({
        prepend_module_to_snapshot => false,
        omit_expression => true,
        snapshot_path => format!("../{folder}"),
    }, { insta::assert_snapshot!(name, text.join("\n")) });
}
