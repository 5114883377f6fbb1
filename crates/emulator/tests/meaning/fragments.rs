//! `wmma` and `mma`: products of small matrices, exact in every type, in every shape and layout, against the sum of products.
//! What a lane holds of a `wmma` fragment is its own affair, so those go from memory to memory.

use emulator::{Class, FaultKind};

use crate::run::Kernel;

/// A type of elements: its name, its bytes, and how an integer is written.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Type(&'static str, u32);

const F16: Type = Type("f16", 2);
const BF16: Type = Type("bf16", 2);
const TF32: Type = Type("tf32", 4);
const F32: Type = Type("f32", 4);
const F64: Type = Type("f64", 8);
const S8: Type = Type("s8", 1);
const U8: Type = Type("u8", 1);
const S32: Type = Type("s32", 4);

impl Type {
    fn bits(self, value: i32) -> u64 {
        let single = (value as f32).to_bits();
        match self.0 {
            "f16" if value == 0 => 0,
            "f16" => u64::from(single >> 16 & 0x8000 | ((single >> 23 & 0xff) - 112) << 10 | single >> 13 & 0x3ff),
            "bf16" => (single >> 16).into(),
            "tf32" | "f32" => single.into(),
            "f64" => f64::from(value).to_bits(),
            _ => (value as u32).into(),
        }
    }

    fn put(self, to: &mut [u8], place: usize, value: i32) {
        let bytes = self.1 as usize;
        to[place * bytes..][..bytes].copy_from_slice(&self.bits(value).to_le_bytes()[..bytes]);
    }
}

/// Where element (`row`, `column`) lies.
fn place(layout: &str, stride: usize, row: usize, column: usize) -> usize {
    if layout == "row" { row * stride + column } else { column * stride + row }
}

fn a_at(i: usize, k: usize, signed: bool) -> i32 {
    (i as i32 * 5 + k as i32 * 3) % 11 - if signed { 5 } else { 0 }
}

fn b_at(k: usize, j: usize, signed: bool) -> i32 {
    (k as i32 * 7 + j as i32 * 2) % 9 - if signed { 4 } else { 0 }
}

fn c_at(i: usize, j: usize) -> i32 {
    (i * 13 + j) as i32 % 64 - 20
}

#[derive(Clone, Copy, Debug)]
struct Product {
    m: usize,
    n: usize,
    k: usize,
    inputs: Type,
    sums: Type,
    /// Layouts of A, B, C and D.
    layouts: [&'static str; 4],
    /// Elements between two lines beyond what they need; without, the stride is not given at all.
    padding: Option<usize>,
    space: &'static str,
}

/// Offsets of A, B, C and D.
const AT: [usize; 4] = [0, 2048, 4096, 8192];
const BYTES: usize = 12288;

fn list(letter: char, from: usize, count: usize) -> String {
    let names: Vec<String> = (from..from + count).map(|n| format!("%{letter}{n}")).collect();
    format!("{{{}}}", names.join(", "))
}

impl Product {
    /// The registers of A, B and C.
    fn registers(&self) -> [String; 3] {
        let (a, b) = match (self.inputs.0, self.m) {
            ("f16", _) => (8, 8),
            ("f64", _) => (1, 1),
            ("tf32", _) => (4, 4),
            ("bf16", 16) => (4, 4),
            ("bf16", 32) => (8, 2),
            ("bf16", _) => (2, 8),
            (_, 16) => (2, 2),
            (_, 32) => (4, 1),
            _ => (1, 4),
        };
        let letter = if self.inputs == F64 { 'e' } else { 'r' };
        let c = match self.sums.0 {
            "f16" => list('r', 30, 4),
            "f32" => list('f', 30, 8),
            "f64" => list('e', 30, 2),
            _ => list('r', 30, 8),
        };
        [list(letter, 10, a), list(letter, 20, b), c]
    }

    fn strides(&self) -> [usize; 4] {
        let by_row = |layout: &str, rows: usize, columns: usize| if layout == "row" { columns } else { rows };
        let Product { m, n, k, layouts, .. } = *self;
        let padding = self.padding.unwrap_or(0);
        [(0, m, k), (1, k, n), (2, m, n), (3, m, n)]
            .map(|(at, rows, columns)| by_row(layouts[at], rows, columns) + padding)
    }

    fn kernel(&self, satfinite: &str) -> Kernel {
        let Product { m, n, k, inputs, sums, layouts, .. } = *self;
        let shape = format!("m{m}n{n}k{k}");
        let strides = self.strides();
        let stride = |which: usize| match self.padding {
            Some(_) if which.is_multiple_of(2) => format!(", {}", strides[which]),
            Some(_) => format!(", %r9{which}"),
            None => String::new(),
        };
        let set: String = (0..4).map(|n| format!("mov.u32 %r9{n}, {};\n", strides[n])).collect();
        let (space, base) = match self.space {
            "global" => (".global", "%d1"),
            "shared" => (".shared", "tile"),
            "registers" => (".shared", "%r100"),
            "generic shared" => ("", "%d2"),
            _ => ("", "%d1"),
        };
        let [a, b, c] = self.registers();
        let (kinds, rounding) = match (inputs.0, sums.0) {
            ("f16", sums) => (format!("{sums}.{sums}"), ""),
            ("f64", _) => ("f64.f64.f64.f64".to_string(), ".rn"),
            (inputs, sums) => (format!("{sums}.{inputs}.{inputs}.{sums}"), ""),
        };
        let tile = BYTES / 4;
        // The matrices are copied to `tile` and to `out`, so that they can be read from either.
        let body = format!(
            ".shared .align 128 .b8 big[{BYTES}];\n{set}mov.u32 %r100, big;\nmov.u64 %d1, %out;\nmov.u64 %d2, big;\ncvta.shared.u64 %d2, %d2;\n\
             mov.u32 %r1, %t;\nFILL: mul.lo.u32 %r2, %r1, 4;\ncvt.u64.u32 %d3, %r2;\nadd.u64 %d4, %in, %d3;\nadd.u64 %d5, %out, %d3;\n\
             ld.global.u32 %r3, [%d4];\nst.global.u32 [%d5], %r3;\nadd.u32 %r2, %r2, %r100;\nst.shared.u32 [%r2], %r3;\n\
             add.u32 %r1, %r1, 32;\nsetp.lt.u32 %p1, %r1, {tile};\n@%p1 bra FILL;\nbar.sync 0;\n\
             .loc 1 1 0\nwmma.load.a.sync.aligned.{}.{shape}{space}.{} {a}, [{base}+{}]{};\n\
             .loc 1 2 0\nwmma.load.b.sync.aligned.{}.{shape}{space}.{} {b}, [{base}+{}]{};\n\
             .loc 1 3 0\nwmma.load.c.sync.aligned.{}.{shape}{space}.{} {c}, [{base}+{}]{};\n\
             .loc 1 4 0\nwmma.mma.sync.aligned.{}.{}.{shape}{rounding}.{kinds}{satfinite} {c}, {a}, {b}, {c};\n\
             .loc 1 5 0\nwmma.store.d.sync.aligned.{}.{shape}{space}.{} [{base}+{}], {c}{};\n.loc 1 6 0\nbar.sync 0;\n\
             mov.u32 %r1, %t;\nCOPY: mad.lo.u32 %r2, %r1, 4, {};\nadd.u32 %r3, %r2, %r100;\nld.shared.u32 %r4, [%r3];\ncvt.u64.u32 %d3, %r2;\n\
             add.u64 %d5, %out, %d3;\n{}st.global.u32 [%d5], %r4;\nadd.u32 %r1, %r1, 32;\nsetp.lt.u32 %p1, %r1, 1024;\n@%p1 bra COPY;\n",
            layouts[0], inputs.0, AT[0], stride(0),
            layouts[1], inputs.0, AT[1], stride(1),
            layouts[2], sums.0, AT[2], stride(2),
            layouts[0], layouts[1],
            layouts[3], sums.0, AT[3], stride(3),
            AT[3],
            if matches!(self.space, "shared" | "registers" | "generic shared") { "" } else { "@%p15 " },
        )
        .replace("[tile", "[big");
        let body = format!("setp.ne.u32 %p15, 0, 0;\n{body}");
        Kernel::new(32, &body).output(BYTES)
    }

    fn matrices(&self, c: impl Fn(usize, usize) -> i32) -> Vec<u8> {
        let Product { m, n, k, inputs, sums, layouts, .. } = *self;
        let (signed, strides) = (inputs != U8, self.strides());
        let mut bytes = vec![0; BYTES];
        for i in 0..m {
            for l in 0..k {
                inputs.put(&mut bytes[AT[0]..], place(layouts[0], strides[0], i, l), a_at(i, l, signed));
            }
            for j in 0..n {
                sums.put(&mut bytes[AT[2]..], place(layouts[2], strides[2], i, j), c(i, j));
            }
        }
        for l in 0..k {
            for j in 0..n {
                inputs.put(&mut bytes[AT[1]..], place(layouts[1], strides[1], l, j), b_at(l, j, signed));
            }
        }
        bytes
    }

    fn check(&self) {
        let Product { m, n, k, inputs, sums, layouts, .. } = *self;
        let (signed, strides) = (inputs != U8, self.strides());
        let kernel = self.kernel("").input(self.matrices(c_at));
        let outcome = kernel.run().unwrap_or_else(|fault| panic!("{self:?}: {fault}"));
        let mut wanted = vec![0; 4096];
        let mut set = vec![false; 4096];
        for i in 0..m {
            for j in 0..n {
                let sum: i32 = (0..k).map(|l| a_at(i, l, signed) * b_at(l, j, signed)).sum();
                let at = place(layouts[3], strides[3], i, j);
                sums.put(&mut wanted, at, sum + c_at(i, j));
                set[at * sums.1 as usize..][..sums.1 as usize].fill(true);
            }
        }
        // What the product does not store stays the zero that it was.
        for at in 0..4096 {
            let wanted = if set[at] { wanted[at] } else { 0 };
            assert_eq!(outcome.bytes[AT[3] + at], Some(wanted), "{self:?}: D at byte {at}");
        }
        let line =
            |number: u32| &outcome.report.lines.iter().find(|line| line.line == number).expect("it ran").counters;
        assert_eq!((line(4).class(Class::Tensor).warp, line(4).class(Class::Tensor).thread), (1, 32), "{self:?}");
        let work = 2 * (m * n * k) as u64;
        let (single, double) = match sums.0 {
            "f64" => (0, work),
            "s32" => (0, 0),
            _ => (work, 0),
        };
        assert_eq!((line(4).flops_f32, line(4).flops_f64), (single, double), "{self:?}");
        let shared = matches!(self.space, "shared" | "registers");
        for (number, class) in
            [(1, [Class::GlobalLoad, Class::SharedLoad]), (5, [Class::GlobalStore, Class::SharedStore])]
        {
            assert_eq!(line(number).class(class[usize::from(shared)]).warp, 1, "{self:?}, line {number}");
            assert_eq!(line(number).class(class[usize::from(!shared)]).warp, 0, "{self:?}, line {number}");
        }
    }
}

const LAYOUTS: [[&str; 4]; 4] = [
    ["row", "row", "row", "col"],
    ["row", "col", "col", "row"],
    ["col", "row", "row", "row"],
    ["col", "col", "col", "col"],
];
const SPACES: [&str; 5] = ["global", "shared", "generic", "generic shared", "registers"];

#[test]
fn wmma_of_every_type_shape_and_layout_is_the_sum_of_products() {
    let sixteen = [(16, 16, 16), (32, 8, 16), (8, 32, 16)];
    let mut forms: Vec<(Type, Type, (usize, usize, usize))> = Vec::new();
    for (inputs, sums) in [(F16, F16), (F16, F32), (BF16, F32), (S8, S32), (U8, S32)] {
        forms.extend(sixteen.map(|shape| (inputs, sums, shape)));
    }
    forms.extend([(TF32, F32, (16, 16, 8)), (F64, F64, (8, 8, 4))]);
    let mut turn = 0;
    for (inputs, sums, (m, n, k)) in forms {
        for layouts in LAYOUTS {
            for padding in [Some(16), None] {
                let space = SPACES[turn % SPACES.len()];
                turn += 1;
                Product { m, n, k, inputs, sums, layouts, padding, space }.check();
            }
        }
    }
}

#[test]
fn a_saturated_sum_stops_at_the_ends_of_its_type() {
    let product =
        Product { m: 16, n: 16, k: 16, inputs: S8, sums: S32, layouts: LAYOUTS[1], padding: None, space: "global" };
    let sum = |i: usize, j: usize| (0..16).map(|l| a_at(i, l, true) * b_at(l, j, true)).sum::<i32>();
    for c in [i32::MAX, i32::MIN] {
        for (satfinite, add) in [("", i32::wrapping_add as fn(i32, i32) -> i32), (".satfinite", i32::saturating_add)] {
            let kernel = product.kernel("").input(product.matrices(|_, _| c));
            let text = kernel.text.replace(
                "wmma.mma.sync.aligned.row.col.m16n16k16.",
                &format!("wmma.mma.sync.aligned.row.col.m16n16k16{satfinite}."),
            );
            let outcome = Kernel { text, ..kernel }.run().expect("it is right");
            for i in 0..16 {
                for j in 0..16 {
                    let at = AT[3] + 4 * place("row", 16, i, j);
                    let got = std::array::from_fn(|n| outcome.bytes[at + n].expect("it is written"));
                    assert_eq!(i32::from_le_bytes(got), add(sum(i, j), c), "{satfinite} ({i}, {j}) with {c}");
                }
            }
        }
    }
}

/// `mma` of bytes, of which the two sides may differ in sign, and saturate: lane by lane as the manual lays them out.
#[test]
fn mma_of_bytes_takes_each_side_by_its_own_sign() {
    for (shape, m, k) in [("m8n8k16", 8usize, 16usize), ("m16n8k16", 16, 16), ("m16n8k32", 16, 32)] {
        for (a_type, b_type) in [("s8", "u8"), ("u8", "s8"), ("s8", "s8"), ("u8", "u8")] {
            for (satfinite, start) in [("", 100), (".satfinite", i32::MAX), (".satfinite", i32::MIN), ("", i32::MAX)] {
                let a = |i: usize, l: usize| ((i * 37 + l * 101 + 90) % 256) as u8;
                let b = |l: usize, j: usize| ((j * 59 + l * 83 + 200) % 256) as u8;
                let number = |kind: &str, byte: u8| if kind == "s8" { i32::from(byte as i8) } else { i32::from(byte) };
                let (a_count, b_count, c_count) = (m * k / 128, k / 16, m / 4);
                let mut input = Vec::new();
                for lane in 0..32usize {
                    let (g, t) = (lane / 4, lane % 4);
                    for n in 0..a_count {
                        let (row, column) = if m == 8 { (g, 4 * t) } else { (g + 8 * (n % 2), 4 * t + 16 * (n / 2)) };
                        input.extend((0..4).map(|e| a(row, column + e)));
                    }
                    for n in 0..b_count {
                        input.extend((0..4).map(|e| b(4 * t + 16 * n + e, g)));
                    }
                }
                input.resize(4096, 0);
                let words = a_count + b_count;
                let loads: String =
                    (0..words).map(|n| format!("ld.global.u32 %r{}, [%d1+{}];\n", 10 + n, 4 * n)).collect();
                let sums = list('r', 40, c_count);
                let starts: String = (0..c_count).map(|n| format!("mov.u32 %r{}, {start};\n", 40 + n)).collect();
                let stores: String =
                    (0..c_count).map(|n| format!("st.global.u32 [%d2+{}], %r{};\n", 4 * n, 40 + n)).collect();
                let body = format!(
                    "mad.wide.u32 %d1, %t, {}, %in;\nmad.wide.u32 %d2, %t, {}, %out;\n{loads}{starts}\
                     mma.sync.aligned.{shape}.row.col{satfinite}.s32.{a_type}.{b_type}.s32 {sums}, {}, {}, {sums};\n{stores}",
                    4 * words,
                    4 * c_count,
                    list('r', 10, a_count),
                    list('r', 10 + a_count, b_count)
                );
                let got = Kernel::new(32, &body).input(input).words(32 * c_count);
                for (at, got) in got.iter().enumerate() {
                    let (lane, n) = (at / c_count, at % c_count);
                    let (row, column) = (lane / 4 + 8 * (n / 2), 2 * (lane % 4) + n % 2);
                    let sum: i32 = (0..k).map(|l| number(a_type, a(row, l)) * number(b_type, b(l, column))).sum();
                    let wanted = if satfinite.is_empty() { start.wrapping_add(sum) } else { start.saturating_add(sum) };
                    assert_eq!(*got as i32, wanted, "{shape} {a_type} {b_type} {satfinite} ({row}, {column})");
                }
            }
        }
    }
}

#[test]
fn a_matrix_that_does_not_fit_is_convicted_by_its_first_lane_outside() {
    let body =
        "wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [tile+3136], 16;";
    let fault = Kernel::new(32, body).fault();
    assert_eq!(fault.kind, FaultKind::OutOfBounds, "{fault}");
    // 1024 bytes from 3136: rows 15 and up lie outside, of which lanes 28 to 31 hold the second half.
    assert_eq!((fault.site.lane, fault.message.contains("at offset 4096")), (28, true), "{fault}");
}
