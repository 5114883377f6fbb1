//! The instruction forms as data: each `.ptx` file beside this one is one form, a kernel `form(in, out)` in
//! which thread `i` reads its inputs and writes its outputs, each in 8 bytes of its own. `cases.txt` says
//! what must come out. The emulator's test and its twin on a GPU both run the very same files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Threads of a block, in every launch of a form.
pub const THREADS: u32 = 32;

/// One form.
pub struct Form {
    /// The file's name without its ending.
    pub name: String,
    pub ptx: String,
    /// Words of 8 bytes per thread.
    pub inputs: usize,
    pub outputs: usize,
    /// Bits of each output.
    pub output_types: Vec<String>,
    /// Units in the last place that a result may be off, where the manual bounds an error only.
    pub within: u64,
    /// Inputs of a thread and the outputs that the manual asks for. Of warp-wide forms, 32 follow each other.
    pub cases: Vec<(Vec<u64>, Vec<u64>)>,
}

/// All forms, by name.
pub fn forms() -> Vec<Form> {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../emulator/tests/ptx");
    let mut cases =
        read_cases(&std::fs::read_to_string(folder.join("cases.txt")).expect("cases.txt is beside the forms"));
    let mut forms = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the folder of forms") {
        let path = entry.expect("an entry of the folder").path();
        if path.extension().is_some_and(|ending| ending == "ptx") {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let ptx = std::fs::read_to_string(&path).expect("a form");
            let cases = cases.remove(&name).unwrap_or_else(|| panic!("{name}.ptx has no case"));
            forms.push(Form::new(name, ptx, cases));
        }
    }
    assert!(cases.is_empty(), "cases without a file: {:?}", cases.keys());
    forms.sort_by(|a, b| a.name.cmp(&b.name));
    forms
}

type Cases = Vec<(Vec<u64>, Vec<u64>)>;

fn read_cases(text: &str) -> BTreeMap<String, Cases> {
    let words =
        |text: &str| text.split_whitespace().map(|w| u64::from_str_radix(w, 16).expect("hexadecimal")).collect();
    let mut cases: BTreeMap<String, Cases> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once(": ").expect("`form: inputs -> outputs`");
        let (inputs, outputs) = rest.split_once(" -> ").expect("`inputs -> outputs`");
        cases.entry(name.to_string()).or_default().push((words(inputs), words(outputs)));
    }
    cases
}

impl Form {
    fn new(name: String, ptx: String, cases: Cases) -> Form {
        let header = |key: &str| ptx.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("").trim();
        let types = |key: &str| header(key).split_whitespace().map(str::to_string).collect::<Vec<_>>();
        let (inputs, output_types) = (types("// in:").len(), types("// out:"));
        let within = header("// within:").split_whitespace().next().map_or(0, |n| n.parse().expect("a number"));
        Form { name, inputs, outputs: output_types.len(), output_types, within, cases, ptx }
    }

    /// Thread blocks of [`THREADS`] threads that all cases take.
    pub fn blocks(&self) -> u32 {
        (self.cases.len() as u32).div_ceil(THREADS)
    }

    /// The bytes of the input buffer. Threads beyond the last case repeat the first ones.
    pub fn input_bytes(&self) -> Vec<u8> {
        let threads = (self.blocks() * THREADS) as usize;
        let rows = self.cases.iter().cycle().take(threads);
        rows.flat_map(|(inputs, _)| inputs.iter().flat_map(|word| word.to_le_bytes())).collect()
    }

    /// Bytes of the output buffer, which must hold zeros at the start.
    pub fn output_bytes(&self) -> usize {
        (self.blocks() * THREADS) as usize * self.outputs * 8
    }

    /// The first result in `output` that differs from what the manual asks for, in words.
    pub fn first_difference(&self, output: &[u8]) -> Option<String> {
        let words: Vec<u64> =
            output.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes"))).collect();
        for (thread, (inputs, outputs)) in self.cases.iter().enumerate() {
            for (n, &wanted) in outputs.iter().enumerate() {
                let got = words[thread * self.outputs + n];
                if !self.agree(got, wanted) {
                    return Some(format!("{}: {inputs:x?} gives {got:x} as result {n}, not {wanted:x}", self.name));
                }
            }
        }
        None
    }

    /// Whether two results are the same, or near enough where the form allows for an error.
    pub fn agree(&self, a: u64, b: u64) -> bool {
        // Neighbouring floats have neighbouring patterns.
        a == b || a.abs_diff(b) <= self.within
    }
}
