//! Which operands each instruction takes, against ptxas: in every instruction of `tests/ptx`, each operand is replaced by
//! registers of all types, constants, variables and more, one at a time. What ptxas says of each is a record: `1` taken, `0`
//! rejected; `-` taken by ptxas and refused here, `+` the other way round. A quarter of an hour makes it anew:
//!
//! ```sh
//! PTXAS=path/to/ptxas cargo test -p emulator-tests --test operands
//! ```
//!
//! `NEW_OPERANDS=1` beside it asks of what is not on record alone.
//!
//! `RENEW_OPERANDS=1` instead keeps what ptxas said, and notes where the emulator differs.

#[allow(dead_code)]
#[path = "ptx/table.rs"]
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use emulator::Module;

/// What stands in the place of an operand, or of the first one of a list.
#[rustfmt::skip]
const OPERANDS: [&str; 31] = [
    "%Vp", "!%Vp", "%Vb16", "%Vu16", "%Vs16", "%Vf16", "%Vb32", "%Vu32", "%Vs32", "%Vf32", "%Vf16x2", "%Vb64", "%Vu64",
    "%Vs64", "%Vf64", "7", "-1", "0f3F800000", "0d3FF0000000000000", "WARP_SZ", "%tid.x", "%clock64", "%gridid", "Vtile",
    "Vtile+4", "Vmine", "Vglobal", "Vconst", "in", "_", "%nothing",
];

/// What stands in the place of an address.
#[rustfmt::skip]
const ADDRESSES: [&str; 14] = [
    "%Vp", "%Vb16", "%Vb32", "%Vs32+4", "%Vf32", "%Vb64", "%Vu64+-4", "%Vf64", "Vtile", "Vmine+4", "Vglobal", "Vconst", "in", "16",
];

const RECORD: &str = include_str!("data/operands.txt");

/// An instruction, with all that it is declared among.
struct Form {
    /// The instruction, without `;`.
    line: String,
    head: String,
    target: String,
}

impl Form {
    /// A kernel of these instructions, one a line; says on which line the first one stands.
    fn kernel<'a>(&self, instructions: impl Iterator<Item = &'a str>) -> (String, usize) {
        let mut text = self.head.clone();
        let first = text.lines().count() + 1;
        for instruction in instructions {
            writeln!(text, "{instruction};").expect("a String takes it");
        }
        (text + "ret;\n}\n", first)
    }

    /// The instruction with one operand replaced, in all ways; for each operand.
    fn variants(&self) -> Vec<Vec<String>> {
        let (opcode, rest) = self.line.split_once(' ').unwrap_or((&self.line, ""));
        let operands = split(rest);
        let mut all = Vec::new();
        for (n, operand) in operands.iter().enumerate() {
            let with = |new: String| {
                let mut changed = operands.clone();
                changed[n] = new;
                format!("{opcode} {}", changed.join(", "))
            };
            if operand.starts_with('[') {
                all.push(ADDRESSES.iter().map(|new| with(format!("[{new}]"))).collect());
                continue;
            }
            let list = operand.strip_prefix('{').and_then(|list| list.strip_suffix('}'));
            let tail = list.and_then(|list| list.split_once(',')).map_or("", |(_, tail)| tail);
            all.push(
                OPERANDS
                    .iter()
                    .map(|new| match (list, tail) {
                        (None, _) => with(new.to_string()),
                        (_, "") => with(format!("{{{new}}}")),
                        (_, tail) => with(format!("{{{new},{tail}}}")),
                    })
                    .collect(),
            );
        }
        all
    }
}

/// The operands of an instruction.
fn split(text: &str) -> Vec<String> {
    let (mut operands, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                operands.push(String::new());
                continue;
            }
            _ => {}
        }
        operands.last_mut().expect("there is one").push(c);
    }
    operands.iter().map(|operand| operand.trim().to_string()).collect()
}

/// The instructions of all forms, each kind once.
fn forms() -> Vec<Form> {
    let (mut forms, mut seen) = (Vec::new(), BTreeSet::new());
    let texts = table::texts();
    // In the order of their files' names.
    let mut sorted: Vec<(&str, &str)> = texts.iter().collect();
    sorted.sort();
    for (_, text) in sorted {
        let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_string();
        let (version, target) = (line(".version"), line(".target"));
        let declared: Vec<&str> =
            text.lines().map(str::trim).filter(|line| line.starts_with(".reg") || line.contains(".shared ")).collect();
        let declared: Vec<&str> = declared.into_iter().filter(|line| line.starts_with('.')).collect();
        let head = format!(
            "{version}\n{target}\n.address_size 64\n.global .align 16 .b8 Vglobal[64];\n.const .align 16 .b8 Vconst[64];\n\
             .visible .entry form(.param .u64 in, .param .u64 out)\n{{\n.shared .align 16 .b8 Vtile[64];\n.local .align 16 .b8 Vmine[64];\n\
             .reg .pred %Vp; .reg .b16 %Vb16; .reg .u16 %Vu16; .reg .s16 %Vs16; .reg .f16 %Vf16; .reg .b32 %Vb32; .reg .u32 %Vu32;\n\
             .reg .s32 %Vs32; .reg .f32 %Vf32; .reg .f16x2 %Vf16x2; .reg .b64 %Vb64; .reg .u64 %Vu64; .reg .s64 %Vs64; .reg .f64 %Vf64;\n{}\n",
            declared.join("\n")
        );
        for line in text.lines().map(str::trim) {
            let Some(line) = line.strip_suffix(';').filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
            else {
                continue;
            };
            if !line.contains(' ') || ["bra", "ret", "call"].iter().any(|word| line.starts_with(word)) {
                continue;
            }
            // The same opcode with operands of the same kinds is one form.
            let (opcode, rest) = line.split_once(' ').expect("it has one");
            let kinds: Vec<String> =
                split(rest).iter().map(|o| o.chars().filter(|c| "[]{},|!".contains(*c)).collect()).collect();
            if seen.insert(format!("{opcode} {}", kinds.join(", "))) {
                let target = target.trim_start_matches(".target").trim().to_string();
                forms.push(Form { line: line.to_string(), head: head.clone(), target });
            }
        }
    }
    forms
}

/// Which of the instructions ptxas takes.
fn ask(ptxas: &str, form: &Form, instructions: &[String]) -> Vec<bool> {
    let (text, first) = form.kernel(instructions.iter().map(String::as_str));
    let file = std::env::temp_dir().join(format!("operands-{}.ptx", std::process::id()));
    std::fs::write(&file, text).expect("it can be written");
    let arch = format!("-arch={}", form.target);
    let output = Command::new(ptxas).args([&arch, "-O0", "-o", "/dev/null"]).arg(&file).output().expect("ptxas runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    if output.status.success() || instructions.is_empty() {
        return vec![true; instructions.len()];
    }
    let mut taken = vec![true; instructions.len()];
    let wrong: BTreeSet<usize> = said
        .lines()
        .filter(|line| line.contains("error"))
        .filter_map(|line| line.split_once(", line ")?.1.split(';').next()?.parse().ok())
        .filter(|line| (first..first + instructions.len()).contains(line))
        .collect();
    if instructions.len() > 1 && (said.contains("fatal   : Pars") || wrong.is_empty()) {
        // One of them is no sentence at all: each on its own.
        let (one, other) = instructions.split_at(instructions.len() / 2);
        return [ask(ptxas, form, one), ask(ptxas, form, other)].concat();
    }
    if instructions.len() == 1 {
        return vec![false];
    }
    for line in wrong {
        taken[line - first] = false;
    }
    // Some errors show only where there are no others.
    let left: Vec<String> =
        instructions.iter().zip(&taken).filter(|(_, taken)| **taken).map(|(i, _)| i.clone()).collect();
    let mut again = ask(ptxas, form, &left).into_iter();
    taken.into_iter().map(|taken| taken && again.next().expect("one for each")).collect()
}

fn key(form: &Form, n: usize) -> String {
    format!("{}\t{n}", form.line)
}

/// What is known of a replaced operand.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Known {
    ptxas_takes: bool,
    /// The emulator differs, and that is on record: it refuses what has no use, as an address of 16 bits, or takes it.
    differs: bool,
}

impl Known {
    fn sign(self) -> char {
        match (self.ptxas_takes, self.differs) {
            (true, false) => '1',
            (false, false) => '0',
            (true, true) => '-',
            (false, true) => '+',
        }
    }

    fn of(sign: char) -> Known {
        Known { ptxas_takes: matches!(sign, '1' | '-'), differs: matches!(sign, '-' | '+') }
    }
}

/// For each of a form's operands, which of the replaced ones the emulator takes, where it takes all of `expected`.
fn taken(form: &Form, variants: &[String], expected: &[bool]) -> Vec<bool> {
    let takes = |instructions: &[&str]| {
        let (text, _) = form.kernel(instructions.iter().copied());
        Module::parse(&text).and_then(|module| module.kernel("form").map(drop)).is_ok()
    };
    let right: Vec<&str> = variants.iter().zip(expected).filter(|(_, e)| **e).map(|(text, _)| text.as_str()).collect();
    let all = takes(&right);
    variants.iter().zip(expected).map(|(text, expected)| *expected && all || takes(&[text])).collect()
}

#[test]
fn every_operand_is_what_ptxas_takes() {
    let forms = forms();
    let recorded: BTreeMap<&str, Vec<Known>> = RECORD
        .lines()
        .filter_map(|line| line.rsplit_once('\t'))
        .map(|(key, signs)| (key, signs.chars().map(Known::of).collect()))
        .collect();
    let (renew, only_new) = (std::env::var("PTXAS").ok(), std::env::var("NEW_OPERANDS").is_ok());
    let (mut record, mut wrong, mut tried) = (String::new(), Vec::new(), 0);
    for form in &forms {
        let variants = form.variants();
        let all: Vec<String> = variants.iter().flatten().cloned().collect();
        let kept = only_new && recorded.contains_key(key(form, 0).as_str());
        let ptxas = renew.as_ref().filter(|_| !kept);
        let mut asked = ptxas.map(|ptxas| ask(ptxas, form, &all)).unwrap_or_default().into_iter();
        for (n, of_operand) in variants.iter().enumerate() {
            let known = match (recorded.get(key(form, n).as_str()), ptxas.is_some()) {
                (_, true) => of_operand
                    .iter()
                    .map(|_| Known { ptxas_takes: asked.next() == Some(true), differs: false })
                    .collect(),
                (Some(known), _) if known.len() == of_operand.len() => known.clone(),
                _ => panic!("`{}` is not on record: renew it by the command at the top", form.line),
            };
            let expected: Vec<bool> = known.iter().map(|known| known.ptxas_takes != known.differs).collect();
            let taken = taken(form, of_operand, &expected);
            tried += taken.len();
            let now: Vec<Known> = (known.iter().zip(&taken))
                .map(|(known, taken)| Known { differs: known.ptxas_takes != *taken, ..*known })
                .collect();
            writeln!(record, "{}\t{}", key(form, n), now.iter().map(|known| known.sign()).collect::<String>())
                .expect("a String takes it");
            for ((text, taken), expected) in of_operand.iter().zip(&taken).zip(&expected) {
                if taken != expected {
                    wrong.push(format!("{}: `{text}`", if *taken { "taken" } else { "refused" }));
                }
            }
        }
    }
    if renew.is_some() || std::env::var("RENEW_OPERANDS").is_ok() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../emulator/tests/data/operands.txt");
        return std::fs::write(file, record).expect("the record can be written");
    }
    assert!(wrong.is_empty() && tried > 20_000, "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    let wrongly = recorded.values().flatten().filter(|known| known.sign() == '+').count();
    assert!(wrongly <= 30, "{wrongly} are taken though ptxas rejects them");
}
