//! The forms of `mma.sync`, as kernels in which every warp multiplies once.

use crate::draw::{Dice, Side};
use crate::{Case, WARPS};

/// One form.
pub struct Form {
    /// As in the opcode, behind `mma.sync.aligned`.
    name: String,
    ptx: String,
    /// The oldest GPU that has it.
    since: u32,
    m: usize,
    k: usize,
    /// Types of A, B, and of C and D.
    types: [&'static str; 3],
}

/// Bits of a type.
pub fn bits(kind: &str) -> usize {
    match kind {
        "bf16" => 16,
        "e4m3" | "e5m2" => 8,
        "tf32" => 32,
        _ => kind[1..].parse().unwrap_or(32),
    }
}

/// All forms.
pub fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add =
        |m, k, types, middle: &str, end: &str, since| forms.push(Form::new((m, k), types, (middle, end), since));
    for k in [8, 16] {
        for sums in ["f16", "f32"] {
            add(16, k, ["f16", "f16", sums], "", "", if k == 8 { 75 } else { 80 });
        }
        add(16, k, ["bf16", "bf16", "f32"], "", "", 80);
    }
    for k in [4, 8] {
        add(16, k, ["tf32", "tf32", "f32"], "", "", 80);
    }
    for k in [16, 32] {
        for sums in ["f16", "f32"] {
            for (a, b) in [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")] {
                add(16, k, [a, b, sums], "", "", 89);
            }
        }
    }
    add(8, 4, ["f64"; 3], "", "", 80);
    for k in [4, 8, 16] {
        add(16, k, ["f64"; 3], "", "", 90);
    }
    for (m, k) in [(8, 16), (16, 16), (16, 32)] {
        for (a, b) in [("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")] {
            for middle in ["", ".satfinite"] {
                add(m, k, [a, b, "s32"], middle, "", if m == 8 { 75 } else { 80 });
            }
        }
    }
    for (m, k) in [(8, 32), (16, 32), (16, 64)] {
        for (a, b) in [("s4", "s4"), ("s4", "u4"), ("u4", "s4"), ("u4", "u4")] {
            for middle in ["", ".satfinite"] {
                add(m, k, [a, b, "s32"], middle, "", if m == 8 { 75 } else { 80 });
            }
        }
    }
    for (m, k) in [(8, 128), (16, 128), (16, 256)] {
        for end in [".xor.popc", ".and.popc"] {
            add(m, k, ["b1", "b1", "s32"], "", end, 80);
        }
    }
    for middle in [".rn", ".rz", ".rm", ".rp"] {
        add(8, 4, ["f64"; 3], middle, "", 80);
        for k in [4, 8, 16] {
            add(16, k, ["f64"; 3], middle, "", 90);
        }
    }
    forms
}

pub fn list(letter: &str, count: usize) -> String {
    let names: Vec<String> = (0..count).map(|n| format!("%{letter}{n}")).collect();
    format!("{{{}}}", names.join(", "))
}

impl Form {
    fn new((m, k): (usize, usize), types: [&'static str; 3], (middle, end): (&str, &str), since: u32) -> Form {
        let [a, b, c] = types;
        let name = format!("m{m}n8k{k}.row.col{middle}.{c}.{a}.{b}.{c}{end}");
        let mut form = Form { name, ptx: String::new(), since, m, k, types };
        let [count_a, count_b, count_c] = form.registers();
        let (bytes, wide) = (form.word_bytes(), form.word_bytes() == 8);
        let load = if wide { "ld.global.f64" } else { "ld.global.b32" };
        let sums = match c {
            "f32" => "f32",
            "f64" => "f64",
            _ => "b32",
        };
        let input = if wide { "f64" } else { "b32" };
        let mut body = String::new();
        let mut at = 0;
        for (letter, count) in [("a", count_a), ("b", count_b), ("c", count_c)] {
            for n in 0..count {
                let load = if letter == "c" { format!("ld.global.{sums}") } else { load.to_string() };
                body += &format!("{load} %{letter}{n}, [%in+{at}];\n");
                at += bytes;
            }
        }
        body += &format!(
            "mma.sync.aligned.{} {}, {}, {}, {};\n",
            form.name,
            list("d", count_c),
            list("a", count_a),
            list("b", count_b),
            list("c", count_c)
        );
        for n in 0..count_c {
            body += &format!("st.global.{sums} [%out+{}], %d{n};\n", n * bytes);
        }
        form.ptx = format!(
            ".version 8.7\n.target sm_{since}\n.address_size 64\n\
             .visible .entry form(.param .u64 from, .param .u64 to)\n{{\n.reg .b64 %in, %out;\n.reg .b32 %t, %x, %y;\n\
             .reg .{input} %a<8>, %b<8>;\n.reg .{sums} %c<8>, %d<8>;\n\
             ld.param.u64 %in, [from];\nld.param.u64 %out, [to];\ncvta.to.global.u64 %in, %in;\ncvta.to.global.u64 %out, %out;\n\
             mov.u32 %t, %tid.x;\nmov.u32 %x, %ctaid.x;\nmov.u32 %y, %ntid.x;\nmad.lo.u32 %t, %x, %y, %t;\n\
             mad.wide.u32 %in, %t, {at}, %in;\nmad.wide.u32 %out, %t, {}, %out;\n{body}ret;\n}}\n",
            count_c * bytes
        );
        form
    }

    /// Elements of A in a register; B has as many.
    fn per_register(&self) -> usize {
        8 * self.word_bytes() / bits(self.types[0])
    }

    /// Bytes of a register.
    fn word_bytes(&self) -> usize {
        if self.types[2] == "f64" { 8 } else { 4 }
    }

    /// Registers of a lane: A, B, and C as D.
    fn registers(&self) -> [usize; 3] {
        let per = self.per_register();
        let c = self.m * 8 / 32 / if self.types[2] == "f16" { 2 } else { 1 };
        [self.m * self.k / 32 / per, 8 * self.k / 32 / per, c]
    }
}

impl Case for Form {
    fn name(&self) -> &str {
        &self.name
    }

    fn ptx(&self) -> &str {
        &self.ptx
    }

    fn runs_on(&self, architecture: u32) -> bool {
        self.since <= architecture
    }

    fn products(&self, wanted: usize) -> usize {
        wanted
    }

    fn in_a_block(&self) -> usize {
        WARPS
    }

    fn k(&self) -> usize {
        self.k
    }

    fn sums(&self) -> usize {
        self.m * 8
    }

    fn sum_bytes(&self) -> usize {
        bits(self.types[2]) / 8
    }

    fn inputs(&self, dice: &mut Dice, products: usize) -> Vec<u8> {
        let [a, b, c] = self.registers();
        let mut bytes = Vec::with_capacity(products * 32 * (a + b + c) * self.word_bytes());
        for product in 0..products {
            for _ in 0..32 {
                for (count, kind, side) in [(a, 0, Side::Factor), (b, 1, Side::Factor), (c, 2, Side::Addend)] {
                    let width = bits(self.types[kind]);
                    for _ in 0..count {
                        let mut word = 0;
                        for n in 0..8 * self.word_bytes() / width {
                            word |= dice.element(self.types[kind], product, side) << (n * width);
                        }
                        bytes.extend(&word.to_le_bytes()[..self.word_bytes()]);
                    }
                }
            }
        }
        bytes
    }

    fn terms(&self, input: &[u8], product: usize, n: usize) -> String {
        let [a, b, c] = self.registers();
        let (words, bytes) = (a + b + c, self.word_bytes());
        let word = |lane: usize, n: usize| {
            let at = ((product * 32 + lane) * words + n) * bytes;
            input[at..at + bytes].iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte))
        };
        let part = |word: u64, kind: usize, n: usize| {
            let width = bits(self.types[kind]);
            word >> (n * width) & (u64::MAX >> (64 - width))
        };
        let in_lane = self.sums() / 32;
        let (lane, n) = (n / in_lane, n % in_lane);
        let (row, column) = (lane / 4 + 8 * (n / 2), 2 * (lane % 4) + n % 2);
        let per = self.per_register();
        let pairs: Vec<String> = (0..self.k)
            .map(|term| {
                let (step, t, part_of) = (term / (4 * per), term / per % 4, term % per);
                let register = if self.m == 16 { 2 * step + row / 8 } else { step };
                let x = part(word(4 * (row % 8) + t, register), 0, part_of);
                let y = part(word(4 * column + t, a + step), 1, part_of);
                format!("{x:x}*{y:x}")
            })
            .collect();
        let per_sum = 8 * bytes / bits(self.types[2]);
        let start = part(word(lane, a + b + n / per_sum), 2, n % per_sum);
        format!("{start:x} + {}", pairs.join(" + "))
    }
}
