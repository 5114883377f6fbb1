//! `wmma`, from memory to memory: every warp loads A, B and C, multiplies, and stores D.

use crate::draw::{Dice, Side};
use crate::forms::bits;
use crate::{Case, WARPS};

/// Where the matrices lie.
#[derive(Clone, Copy, PartialEq)]
enum Space {
    Global,
    Generic,
    Shared,
}

/// A matrix in memory.
#[derive(Clone, Copy)]
struct Matrix {
    kind: &'static str,
    by_rows: bool,
    rows: usize,
    columns: usize,
    /// Elements from a line to the next.
    stride: usize,
    /// Bytes before it.
    at: usize,
}

impl Matrix {
    fn lines(&self) -> usize {
        if self.by_rows { self.rows } else { self.columns }
    }

    fn bytes(&self) -> usize {
        (self.lines() * self.stride * bits(self.kind) / 8).next_multiple_of(32)
    }

    fn layout(&self) -> &'static str {
        if self.by_rows { "row" } else { "col" }
    }

    /// The element's pattern.
    fn element(&self, bytes: &[u8], row: usize, column: usize) -> u64 {
        let (line, place) = if self.by_rows { (row, column) } else { (column, row) };
        let width = bits(self.kind);
        let bit = 8 * self.at + (line * self.stride + place) * width;
        let whole =
            bytes[bit / 8..][..width.div_ceil(8)].iter().rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
        whole >> (bit % 8) & (u64::MAX >> (64 - width))
    }
}

pub struct WmmaForm {
    name: String,
    ptx: String,
    k: usize,
    /// A, B, C, and D, which lies by itself.
    matrices: [Matrix; 4],
    since: u32,
}

/// Registers of a fragment.
fn registers(shape: (usize, usize, usize), which: usize, kind: &str) -> usize {
    let (m, n, _) = shape;
    match (which, kind) {
        (0 | 1, "f16") => 8,
        (_, "f16") => 4,
        (0 | 1, "f64" | "s4" | "u4" | "b1") => 1,
        (0 | 1, "tf32") => 4,
        (0 | 1, kind) => [m, n][which] / 8 * if kind == "bf16" { 2 } else { 1 },
        _ => m * n / 32,
    }
}

fn list(letter: &str, from: usize, count: usize) -> String {
    let names: Vec<String> = (from..from + count).map(|n| format!("%{letter}{n}")).collect();
    format!("{{{}}}", names.join(", "))
}

const LAYOUTS: [[bool; 2]; 4] = [[true, true], [true, false], [false, true], [false, false]];

pub fn wmma_forms() -> Vec<WmmaForm> {
    let mut forms = Vec::new();
    let mut turn = 0;
    let mut add = |shape, kinds: [&'static str; 3], (modifier, before): (&str, &str), layouts: [bool; 2], since| {
        turn += 1;
        let space = [Space::Global, Space::Shared, Space::Generic][turn % 3];
        // C and D lie each way in turn.
        let layouts = [layouts[0], layouts[1], turn % 2 == 0, turn / 2 % 2 == 0];
        forms.push(WmmaForm::new(shape, kinds, (modifier, before), layouts, space, since));
    };
    for shape in [(16, 16, 16), (32, 8, 16), (8, 32, 16)] {
        for layouts in LAYOUTS {
            for [d, c] in [["f16", "f16"], ["f16", "f32"], ["f32", "f16"], ["f32", "f32"]] {
                add(shape, ["f16", c, d], ("", ""), layouts, 75);
            }
            add(shape, ["bf16", "f32", "f32"], ("", ""), layouts, 80);
            for kind in ["s8", "u8"] {
                for modifier in ["", ".satfinite"] {
                    add(shape, [kind, "s32", "s32"], (modifier, ""), layouts, 75);
                }
            }
        }
    }
    for layouts in LAYOUTS {
        add((16, 16, 8), ["tf32", "f32", "f32"], ("", ""), layouts, 80);
        for modifier in ["", ".rn", ".rz", ".rm", ".rp"] {
            add((8, 8, 4), ["f64", "f64", "f64"], (modifier, ""), layouts, 80);
        }
    }
    for kind in ["s4", "u4"] {
        for modifier in ["", ".satfinite"] {
            add((8, 8, 32), [kind, "s32", "s32"], (modifier, ""), [true, false], 75);
        }
    }
    for before in ["xor.popc.", "and.popc."] {
        add((8, 8, 128), ["b1", "s32", "s32"], ("", before), [true, false], 80);
    }
    forms
}

impl WmmaForm {
    fn new(
        shape: (usize, usize, usize),
        [kind, c, d]: [&'static str; 3],
        (modifier, before): (&str, &str),
        layouts: [bool; 4],
        space: Space,
        since: u32,
    ) -> WmmaForm {
        let (m, n, k) = shape;
        let mut at = 0;
        let mut matrices = [(kind, m, k), (kind, k, n), (c, m, n), (d, m, n)].map(|(kind, rows, columns)| Matrix {
            kind,
            by_rows: true,
            rows,
            columns,
            stride: 0,
            at: 0,
        });
        for (which, matrix) in matrices.iter_mut().enumerate() {
            matrix.by_rows = layouts[which];
            let line = if matrix.by_rows { matrix.columns } else { matrix.rows };
            // Lines lie apart, but where elements are below a byte, and in D, of which all is compared.
            let apart = which < 3 && bits(kind) >= 8;
            matrix.stride = line + if apart { 128 / bits(matrix.kind) } else { 0 };
            matrix.at = if which == 3 { 0 } else { at };
            at += matrix.bytes();
        }
        let [a_matrix, b_matrix, c_matrix, d_matrix] = matrices;
        let name_of_shape = format!("m{m}n{n}k{k}");
        let kinds = if kind == "f16" { format!("{d}.{c}") } else { format!("{d}.{kind}.{kind}.{c}") };
        // Integers have their modifier last.
        let (middle, end) = if modifier == ".satfinite" { ("", modifier) } else { (modifier, "") };
        let opcode = format!(
            "wmma.mma.{before}sync.aligned.{}.{}.{name_of_shape}{middle}.{kinds}{end}",
            a_matrix.layout(),
            b_matrix.layout()
        );
        let input_bytes = c_matrix.at + c_matrix.bytes();
        let shared_bytes = input_bytes + d_matrix.bytes();
        let letter = |kind: &str| match kind {
            "f32" => "f",
            "f64" => "g",
            _ => "r",
        };
        let mut first = 0;
        let lists = [0, 1, 2, 3].map(|which| {
            let kind = matrices[which].kind;
            let count = registers(shape, which, kind);
            first += count;
            list(if which < 2 && kind != "f64" { "r" } else { letter(kind) }, first - count, count)
        });
        let dot = match space {
            Space::Global => ".global",
            Space::Shared => ".shared",
            Space::Generic => "",
        };
        let (from, to) = match space {
            Space::Shared => ("%own", format!("%own+{input_bytes}")),
            _ => ("%in", "%out".to_string()),
        };
        let cast =
            if space == Space::Generic { "" } else { "cvta.to.global.u64 %in, %in;\ncvta.to.global.u64 %out, %out;\n" };
        let mut body = String::new();
        let copies = |words: usize, load: &str, store: &str| -> String {
            (0..words.div_ceil(32))
                .map(|round| {
                    let at = 128 * round;
                    let guard = if (round + 1) * 32 > words {
                        format!("setp.lt.u32 %p, %lane, {};\n", words - 32 * round)
                    } else {
                        "setp.lt.u32 %p, %lane, 32;\n".to_string()
                    };
                    format!("{guard}@%p {load} %x, [{}+{at}];\n@%p {store} [{}+{at}], %x;\n", "FROM", "TO")
                })
                .collect()
        };
        if space == Space::Shared {
            body += &copies(input_bytes / 4, "ld.global.b32", "st.shared.b32")
                .replace("FROM", "%inl")
                .replace("TO", "%ownl");
            body += "bar.warp.sync -1;\n";
        }
        for (which, matrix) in matrices.iter().enumerate().take(3) {
            body += &format!(
                "wmma.load.{}.sync.aligned.{}.{name_of_shape}{dot}.{} {}, [{from}+{}], {};\n",
                ["a", "b", "c"][which],
                matrix.layout(),
                matrix.kind,
                lists[which],
                matrix.at,
                matrix.stride
            );
        }
        body += &format!("{opcode} {}, {}, {}, {};\n", lists[3], lists[0], lists[1], lists[2]);
        body += &format!(
            "wmma.store.d.sync.aligned.{}.{name_of_shape}{dot}.{d} [{to}], {}, {};\n",
            d_matrix.layout(),
            lists[3],
            d_matrix.stride
        );
        if space == Space::Shared {
            body += "bar.warp.sync -1;\n";
            let own = format!("%ownl+{input_bytes}");
            body += &copies(d_matrix.bytes() / 4, "ld.shared.b32", "st.global.b32")
                .replace("FROM", &own)
                .replace("TO", "%outl");
        }
        let ptx = format!(
            ".version 8.0\n.target sm_{}\n.address_size 64\n\
             .visible .entry form(.param .u64 from, .param .u64 to)\n{{\n.reg .pred %p;\n.reg .b64 %in, %out, %inl, %outl;\n\
             .reg .b32 %t, %x, %y, %lane, %own, %ownl;\n.reg .b32 %r<64>;\n.reg .f32 %f<64>;\n.reg .f64 %g<16>;\n\
             .shared .align 128 .b8 tile[{}];\n\
             ld.param.u64 %in, [from];\nld.param.u64 %out, [to];\n{cast}\
             mov.u32 %t, %tid.x;\nand.b32 %lane, %t, 31;\nshr.u32 %t, %t, 5;\nmov.u32 %own, tile;\nmad.lo.u32 %own, %t, {shared_bytes}, %own;\n\
             mov.u32 %x, %ctaid.x;\nmad.lo.u32 %t, %x, {WARPS}, %t;\n\
             mad.wide.u32 %in, %t, {input_bytes}, %in;\nmad.wide.u32 %out, %t, {}, %out;\n\
             mad.wide.u32 %inl, %lane, 4, %in;\nmad.wide.u32 %outl, %lane, 4, %out;\nmad.lo.u32 %ownl, %lane, 4, %own;\n{body}ret;\n}}\n",
            since.max(80),
            WARPS * shared_bytes,
            d_matrix.bytes()
        );
        let place = ["", "generic ", "shared "]
            [[Space::Global, Space::Generic, Space::Shared].iter().position(|s| *s == space).unwrap_or(0)];
        let name = format!("{opcode} {place}{}/{}", c_matrix.layout(), d_matrix.layout());
        WmmaForm { name, ptx, k, matrices, since }
    }

    fn input_bytes(&self) -> usize {
        self.matrices[2].at + self.matrices[2].bytes()
    }
}

impl Case for WmmaForm {
    fn name(&self) -> &str {
        &self.name
    }

    fn ptx(&self) -> &str {
        &self.ptx
    }

    fn runs_on(&self, architecture: u32) -> bool {
        architecture >= self.since.max(80)
    }

    fn products(&self, wanted: usize) -> usize {
        wanted / 2
    }

    fn in_a_block(&self) -> usize {
        WARPS
    }

    fn k(&self) -> usize {
        self.k
    }

    fn sums(&self) -> usize {
        self.matrices[3].rows * self.matrices[3].columns
    }

    fn sum_bytes(&self) -> usize {
        bits(self.matrices[3].kind) / 8
    }

    fn inputs(&self, dice: &mut Dice, products: usize) -> Vec<u8> {
        let mut bytes = vec![0; products * self.input_bytes()];
        for (product, bytes) in bytes.chunks_exact_mut(self.input_bytes()).enumerate() {
            for (which, matrix) in self.matrices.iter().enumerate().take(3) {
                let side = if which == 2 { Side::Addend } else { Side::Factor };
                let width = bits(matrix.kind);
                for n in 0..matrix.lines() * matrix.stride {
                    let (element, bit) = (dice.element(matrix.kind, product, side), n * width);
                    for (place, byte) in
                        bytes[matrix.at + bit / 8..].iter_mut().zip(&element.to_le_bytes()[..width.div_ceil(8)])
                    {
                        *place |= byte << (bit % 8);
                    }
                }
            }
        }
        bytes
    }

    fn terms(&self, input: &[u8], product: usize, n: usize) -> String {
        let input = &input[product * self.input_bytes()..];
        let [a, b, c, d] = self.matrices;
        let (line, place) = (n / d.stride, n % d.stride);
        let (row, column) = if d.by_rows { (line, place) } else { (place, line) };
        let pairs: Vec<String> = (0..self.k)
            .map(|term| format!("{:x}*{:x}", a.element(input, row, term), b.element(input, term, column)))
            .collect();
        format!("{:x} + {}", c.element(input, row, column), pairs.join(" + "))
    }
}
