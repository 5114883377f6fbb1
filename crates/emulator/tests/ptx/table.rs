//! The instruction forms as data: each text of `forms.ptx.zst` beside this file is one form, a kernel `form(in, out)` in
//! which thread `i` reads its inputs and writes its outputs, each in 8 bytes of its own. `cases.txt.zst` says
//! what must come out. The emulator's test and its twin on a GPU both run the very same texts.

use std::collections::BTreeMap;

use archive::Texts;
use emulator::{Argument, Device, Dim3, Launch, Module};

/// Threads of a block, in every launch of a form.
pub const THREADS: u32 = 32;

/// One form.
pub struct Form {
    /// The text's name without its ending.
    pub name: String,
    pub ptx: String,
    /// Types of a thread's inputs, each in a word of 8 bytes.
    pub inputs: Vec<String>,
    /// Words of 8 bytes that a thread writes.
    pub outputs: usize,
    /// Units in the last place that a result may be off, where the manual bounds an error only.
    pub within: u64,
    /// Inputs of a thread and the outputs that the manual asks for. Of warp-wide forms, 32 follow each other.
    pub cases: Vec<(Vec<u64>, Vec<u64>)>,
}

/// The PTX of all forms.
pub fn texts() -> Texts {
    Texts::unpack(include_bytes!("forms.ptx.zst")).expect("it is an archive")
}

/// Inputs and results of all forms, a case a line.
pub fn cases() -> Texts {
    Texts::unpack(include_bytes!("cases.txt.zst")).expect("it is an archive")
}

/// All forms, by name.
pub fn forms() -> Vec<Form> {
    let mut cases = read_cases(cases().get("cases.txt").expect("the archive has them"));
    let mut forms = Vec::new();
    for (name, ptx) in texts().iter() {
        let name = name.trim_end_matches(".ptx").to_string();
        let cases = cases.remove(&name).unwrap_or_else(|| panic!("{name}.ptx has no case"));
        forms.push(Form::new(name, ptx.to_string(), cases));
    }
    assert!(cases.is_empty(), "cases without a form: {:?}", cases.keys());
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
        let (inputs, outputs) = (types("// in:"), types("// out:").len());
        let within = header("// within:").split_whitespace().next().map_or(0, |n| n.parse().expect("a number"));
        Form { name, inputs, outputs, within, cases, ptx }
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

    /// As many bytes of input for `blocks` thread blocks, from edges of the types and from chance.
    pub fn generated_bytes(&self, blocks: u32) -> Vec<u8> {
        let mut dice = Dice(self.name.bytes().fold(1, |seed, byte| (seed * 31 + u64::from(byte)) & 0xffff_ffff));
        let words = (0..blocks * THREADS).flat_map(|_| self.inputs.iter().map(String::as_str));
        words.flat_map(|kind| dice.value(kind).to_le_bytes()).collect()
    }

    /// Bytes of the output buffer for `blocks` thread blocks. It must hold zeros at the start.
    pub fn output_bytes(&self, blocks: u32) -> usize {
        (blocks * THREADS) as usize * self.outputs * 8
    }

    /// What the emulator gives for these inputs.
    pub fn emulate(&self, blocks: u32, input: &[u8]) -> Result<Vec<u8>, String> {
        let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", self.name);
        let kernel = Module::parse(&self.ptx).and_then(|module| module.kernel("form")).map_err(|e| fail(&e))?;
        let mut device = Device::new();
        let mut output = vec![0; self.output_bytes(blocks)];
        let (from, to) = (device.alloc("in", input.len()), device.alloc("out", output.len()));
        device.write(from, input).map_err(|e| fail(&e))?;
        device.write(to, &output).map_err(|e| fail(&e))?;
        let launch = Launch::new(Dim3::xy(blocks, 1), Dim3::xy(THREADS, 1));
        device.launch(&kernel, launch, &[Argument::Buffer(from), Argument::Buffer(to)]).map_err(|e| fail(&e))?;
        device.read(to, &mut output).map_err(|e| fail(&e))?;
        Ok(output)
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

/// A small generator, the same on every machine.
struct Dice(u64);

const EDGES_64: [u64; 16] = [
    0,
    1 << 63,
    0x3ff0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0xfff8_0000_0000_1234,
    1,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0x43e0_0000_0000_0000,
    0x41df_ffff_ffc0_0000,
    u64::MAX,
    0xffff_ffff,
];
const EDGES_32: [u64; 16] = [
    0,
    1 << 31,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7f80_0001,
    0xffc0_1234,
    1,
    0x007f_ffff,
    0x0080_0000,
    0x7f7f_ffff,
    0xffff_ffff,
    0x4f00_0000,
    0x7fff_ffff,
];
const EDGES_16: [u64; 16] = [
    0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xffff, 1, 0x03ff, 0x0400, 0x7bff, 0x7f80, 0x7fc0,
    0x007f,
];

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 32
    }

    /// A value of a type as the headers of the files name it.
    fn value(&mut self, kind: &str) -> u64 {
        match kind.split_once(':') {
            Some((kind, "small")) => self.small(kind),
            Some((_, "tame")) => (0.1 + self.roll() as f32 / u32::MAX as f32 * 6.0).to_bits().into(),
            Some((_, sides)) => self.roll() % sides.parse::<u64>().expect("a number of values"),
            None if kind.ends_with("x2") => self.pick(&EDGES_16, 16) << 16 | self.pick(&EDGES_16, 16),
            None if kind.ends_with("64") => self.pick(&EDGES_64, 64),
            None if kind.ends_with("32") => self.pick(&EDGES_32, 32),
            None if kind.ends_with("16") => self.pick(&EDGES_16, 16),
            None => self.roll() & 0xff,
        }
    }

    fn pick(&mut self, edges: &[u64; 16], bits: u32) -> u64 {
        let random = (self.roll() << 32 | self.roll()) >> (64 - bits);
        if self.roll() < 1 << 31 { edges[(self.roll() % 16) as usize] } else { random }
    }

    /// An integer from -8 to 8 in a floating-point type, so that sums of products are exact.
    fn small(&mut self, kind: &str) -> u64 {
        let number = (self.roll() % 17) as f32 - 8.0;
        match kind {
            "f64" => f64::from(number).to_bits(),
            "f32" => number.to_bits().into(),
            "bf16x2" => u64::from(number.to_bits() >> 16) * 0x1_0001,
            _ if number == 0.0 => 0,
            _ => {
                let bits = number.to_bits();
                let half = bits >> 16 & 0x8000 | ((bits >> 23 & 0xff) - 112) << 10 | bits >> 13 & 0x3ff;
                u64::from(half) * 0x1_0001
            }
        }
    }
}
