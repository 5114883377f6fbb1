//! Mutated PTX: texts that a small generator breaks, token by token, line by line and byte by byte, and what the
//! emulator makes of them.

use std::path::{Path, PathBuf};

use archive::Texts;
use emulator::{Argument, Device, Dim3, Launch, LaunchError, Module, Refusal};

/// A small generator, so that every run breaks the same things.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.roll(list.len())]
    }
}

/// What stands in the place of a token now and then.
#[rustfmt::skip]
const ODDITIES: &[&str] = &[
    "0", "-1", "1", "2", "3", "7", "15", "16", "17", "31", "32", "33", "64", "99", "127", "255", "256", "65535",
    "4294967295", "4294967296", "99999999999999999999", "0x7fffffffffffffff", "-9223372036854775808",
    "0f3f800000", "0d3ff0000000000000", "0f3f8", "1.5", "1e10", "%r0", "%r1", "%rd1", "%f1", "%fd1", "%p1", "%rs1",
    "%nothing", "%tid.x", "%tid.w", "%clock", "%laneid", "WARP_SZ", "[", "]", "{", "}", "(", ")", ",", ";", ":", "@",
    "!", "|", "+", "_", ".b128", ".pred", ".align", ".reg", ".shared", ".local", ".param", ".global", ".const",
    ".b8", ".b16", ".b32", ".b64", ".u16", ".u32", ".s32", ".u64", ".f16", ".f32", ".f64", ".v2", ".v4", ".entry",
    "add.s32", "mov.u32", "ld.global.f32", "st.global.u32", "bar.sync", "ret", "bra", "setp.lt.s32",
];

/// Parts of opcodes.
#[rustfmt::skip]
const PARTS: &[&str] = &[
    "u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "u64", "s64", "b64", "f16", "bf16", "f16x2", "bf16x2",
    "f32", "f64", "pred", "b128", "v2", "v4", "v8", "rn", "rz", "rm", "rp", "rni", "rzi", "ftz", "sat", "approx",
    "full", "lo", "hi", "wide", "lt", "le", "eq", "ne", "gt", "ge", "lo", "equ", "num", "and", "or", "xor", "global",
    "shared", "local", "param", "const", "volatile", "relaxed", "acquire", "release", "acq_rel", "weak", "cta", "gpu",
    "sys", "cluster", "nc", "ca", "cg", "cs", "sync", "aligned", "warp", "uni", "x1", "x2", "x4", "m8n8", "trans",
    "to", "cc", "clamp", "wrap", "add", "min", "max", "exch", "cas", "all", "any", "ballot", "up", "down", "bfly",
    "idx", "relu", "NaN", "satfinite", "row", "col", "m16n8k8", "m16n8k16",
];

/// Breaks `text` in one to three places.
pub fn mutant(text: &str, dice: &mut Dice) -> String {
    let mut text = text.to_string();
    for _ in 0..dice.pick(&[1, 1, 1, 1, 2, 3]) {
        text = match dice.roll(20) {
            0..=1 => change_line(&text, dice),
            2..=3 => change_byte(&text, dice),
            4..=9 => change_part(&text, dice),
            _ => change_token(&text, dice),
        };
        if text.is_empty() {
            break;
        }
    }
    text
}

/// Lines away from which no mutation is of interest: comments, and what the tests read in them.
fn plain(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

fn change_line(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let places: Vec<usize> = (0..lines.len()).filter(|&n| plain(lines[n])).collect();
    if places.is_empty() {
        return String::new();
    }
    let (a, b) = (dice.pick(&places), dice.pick(&places));
    match dice.roll(4) {
        0 => drop(lines.remove(a)),
        1 => lines.swap(a, b),
        2 => lines.insert(a, lines[b]),
        _ => lines.insert(a, lines[a]),
    }
    lines.join("\n") + "\n"
}

fn change_byte(text: &str, dice: &mut Dice) -> String {
    let at = dice.roll(text.len());
    if !text.is_char_boundary(at) || !text.is_char_boundary(at + 1) {
        return text.to_string();
    }
    let new = (b' ' + dice.roll(95) as u8) as char;
    match dice.roll(8) {
        0 => text[..at].to_string(),
        1 | 2 => format!("{}{}", &text[..at], &text[at + 1..]),
        3 | 4 => format!("{}{new}{}", &text[..at], &text[at..]),
        _ => format!("{}{new}{}", &text[..at], &text[at + 1..]),
    }
}

/// Where the words and signs of `text` stand, comments left out.
fn tokens(text: &str) -> Vec<(usize, usize)> {
    let mut tokens = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or("");
        let word = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'%' | b'.');
        let bytes = code.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let from = at;
            at += 1;
            if word(bytes[from]) {
                while at < bytes.len() && word(bytes[at]) {
                    at += 1;
                }
            }
            if !bytes[from].is_ascii_whitespace() {
                tokens.push((start + from, start + at));
            }
        }
        start += line.len();
    }
    tokens
}

fn change_token(text: &str, dice: &mut Dice) -> String {
    let tokens = tokens(text);
    if tokens.is_empty() {
        return String::new();
    }
    let ((from, to), (other_from, other_to)) = (dice.pick(&tokens), dice.pick(&tokens));
    let other = &text[other_from..other_to];
    match dice.roll(6) {
        0 => format!("{}{}", &text[..from], &text[to..]),
        1 => format!("{} {other} {}", &text[..from], &text[from..]),
        2 | 3 => format!("{}{other}{}", &text[..from], &text[to..]),
        _ => format!("{}{}{}", &text[..from], dice.pick(ODDITIES), &text[to..]),
    }
}

/// Changes one part of an opcode or of a directive: `.lt` for `.s32`.
fn change_part(text: &str, dice: &mut Dice) -> String {
    let tokens: Vec<_> = tokens(text).into_iter().filter(|&(a, b)| text[a..b].contains('.')).collect();
    if tokens.is_empty() {
        return String::new();
    }
    let (from, to) = dice.pick(&tokens);
    let mut parts: Vec<&str> = text[from..to].split('.').collect();
    let at = dice.roll(parts.len());
    match dice.roll(5) {
        0 => drop(parts.remove(at)),
        1 => parts.insert(at, dice.pick(PARTS)),
        2 => parts.swap(at, at.saturating_sub(1)),
        _ => parts[at] = dice.pick(PARTS),
    }
    format!("{}{}{}", &text[..from], parts.join("."), &text[to..])
}

/// What the emulator made of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is no PTX to it, or no kernel that it runs: why.
    Refused(String),
    /// All its kernels were decoded, and launched.
    Ran,
}

/// Decodes all kernels of `text`, and launches each for a short time.
pub fn judge(text: &str) -> Verdict {
    let module = match Module::parse(text) {
        Ok(module) => module,
        Err(error) => return Verdict::Refused(error.to_string()),
    };
    let names: Vec<String> = module.kernels().map(str::to_string).collect();
    let mut kernels = Vec::new();
    for name in &names {
        match module.kernel(name) {
            Ok(kernel) => kernels.push(kernel),
            Err(error) => return Verdict::Refused(error.to_string()),
        }
    }
    for (name, kernel) in names.iter().zip(kernels) {
        let mut device = Device::new();
        let parameters = module.parameters(name).unwrap_or_default();
        let mut arguments = Vec::new();
        for parameter in &parameters {
            arguments.push(match parameter.bytes {
                8 => {
                    let buffer = device.alloc("buffer", 4096);
                    if device.write(buffer, &[1; 4096]).is_err() {
                        return Verdict::Refused("a buffer cannot be written".into());
                    }
                    Argument::Buffer(buffer)
                }
                _ => Argument::U32(37),
            });
        }
        let mut launch = Launch::new(Dim3::xy(2, 1), Dim3::xy(48, 1));
        launch.instruction_limit = 2000;
        // Whether it runs to its end or is convicted does not matter here.
        if let Err(LaunchError::Refused(why)) = device.launch(&kernel, launch, &arguments)
            && !matches!(why, Refusal::ArgumentSize { .. })
        {
            return Verdict::Refused(why.to_string());
        }
    }
    Verdict::Ran
}

/// The texts that are broken: forms of instructions, the corpus and shipped kernels.
pub fn originals() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut texts: Vec<(PathBuf, String)> = Vec::new();
    let mut add = |folder: &str, archive: PathBuf| {
        let all = Texts::read(&archive).expect("the archive can be read");
        texts.extend(all.iter().map(|(name, text)| (Path::new(folder).join(name), text.to_string())));
    };
    add("crates/emulator/tests", root.join("crates/emulator/tests/corpus/kernels.ptx.zst"));
    add("crates/emulator/tests/ptx", root.join("crates/emulator/tests/ptx/forms.ptx.zst"));
    for folder in ["", "further"].into_iter().flat_map(|above| std::fs::read_dir(root.join(above))).flatten().flatten()
    {
        let name = folder.file_name().to_string_lossy().into_owned();
        if name.starts_with("level") {
            add(&name, folder.path().join("kernel.ptx.zst"));
        }
    }
    for file in std::fs::read_dir(root.join("kernels/ptx")).expect("the kernels to try").flatten() {
        let text = std::fs::read_to_string(file.path()).expect("it can be read");
        texts.push((Path::new("kernels").join(file.file_name()), text));
    }
    texts.sort();
    texts.into_iter().map(|(path, text)| (path.to_string_lossy().into_owned(), text)).collect()
}

/// Some of them, for a test that is quick.
pub fn chosen(originals: Vec<(String, String)>) -> Vec<(String, String)> {
    originals.into_iter().step_by(26).collect()
}

/// Mutant `n` of all of them: the name of its original, and its text.
pub fn numbered(originals: &[(String, String)], n: u64) -> (&str, String) {
    let mut dice = Dice::new(n);
    let (name, text) = &originals[dice.roll(originals.len())];
    (name, mutant(text, &mut dice))
}

/// A short name for a text.
pub fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
