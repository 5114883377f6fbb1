//! Products of elements of 8, 4 and 1 bits, lane by lane as the manual lays them out, and their `wmma` from memory to memory.

use crate::run::Kernel;

/// Of an element's pattern, the number.
type Number = fn(u32) -> i32;

fn s4(bits: u32) -> i32 {
    (bits as i32) << 28 >> 28
}

fn plain(bits: u32) -> i32 {
    bits as i32
}

fn pattern(bits: u32, row: usize, column: usize) -> u32 {
    let mixed = (row as u32 * 37 + 11) * (column as u32 * 101 + 7) + row as u32;
    (mixed % 251) & (u32::MAX >> (32 - bits))
}

fn names(letter: char, from: usize, count: usize) -> String {
    let names: Vec<String> = (from..from + count).map(|n| format!("%{letter}{n}")).collect();
    format!("{{{}}}", names.join(", "))
}

/// One `mma`: rows and columns of A, the opcode behind its shape, bits of an element, and its patterns.
struct Product<'a> {
    shape: (usize, usize),
    opcode: &'a str,
    bits: u32,
    a: &'a dyn Fn(usize, usize) -> u32,
    b: &'a dyn Fn(usize, usize) -> u32,
    start: u32,
}

impl Product<'_> {
    /// D by rows, of 32 bits each.
    fn run(&self) -> Vec<u32> {
        let (m, k) = self.shape;
        let per = (32 / self.bits) as usize;
        let (a_count, b_count, c_count) = (m * k / 32 / per, k / 4 / per, m / 4);
        let mut input = Vec::new();
        let word =
            |element: &dyn Fn(usize) -> u32| (0..per).fold(0, |word, n| word | element(n) << (n as u32 * self.bits));
        for lane in 0..32 {
            let (g, t) = (lane / 4, lane % 4);
            for n in 0..a_count {
                let (row, column) = if m == 8 { (g, per * t) } else { (g + 8 * (n % 2), per * t + 4 * per * (n / 2)) };
                input.extend(word(&|e| (self.a)(row, column + e)).to_le_bytes());
            }
            for n in 0..b_count {
                input.extend(word(&|e| (self.b)(per * t + 4 * per * n + e, g)).to_le_bytes());
            }
        }
        input.resize(4096, 0);
        let words = a_count + b_count;
        let loads: String = (0..words).map(|n| format!("ld.global.u32 %r{}, [%d1+{}];\n", 10 + n, 4 * n)).collect();
        let letter = if self.opcode.contains("f32") { 'f' } else { 'r' };
        let sums = names(letter, 40, c_count);
        let starts: String = (0..c_count).map(|n| format!("mov.b32 %{letter}{}, {};\n", 40 + n, self.start)).collect();
        let stores: String =
            (0..c_count).map(|n| format!("st.global.b32 [%d2+{}], %{letter}{};\n", 4 * n, 40 + n)).collect();
        let body = format!(
            "mad.wide.u32 %d1, %t, {}, %in;\nmad.wide.u32 %d2, %t, {}, %out;\n{loads}{starts}\
             mma.sync.aligned.m{m}n8k{k}.row.col{} {sums}, {}, {}, {sums};\n{stores}",
            4 * words,
            4 * c_count,
            self.opcode,
            names('r', 10, a_count),
            names('r', 10 + a_count, b_count)
        );
        let stored = Kernel::new(32, &body).input(input).words(32 * c_count);
        let mut d = vec![0; 8 * m];
        for (at, value) in stored.iter().enumerate() {
            let (lane, n) = (at / c_count, at % c_count);
            d[8 * (lane / 4 + 8 * (n / 2)) + 2 * (lane % 4) + n % 2] = *value;
        }
        d
    }
}

#[test]
fn elements_of_4_bits_have_each_side_its_own_sign() {
    for (m, k) in [(8, 32), (16, 32), (16, 64)] {
        for (kinds, numbers) in
            [("s4.u4", [s4 as Number, plain]), ("u4.s4", [plain, s4]), ("s4.s4", [s4, s4]), ("u4.u4", [plain, plain])]
        {
            for (saturate, start) in [("", 5), ("", i32::MAX), (".satfinite", i32::MAX), (".satfinite", i32::MIN)] {
                let (a, b) = (|i, l| pattern(4, i, l), |l, j| pattern(4, j + 50, l));
                let opcode = format!("{saturate}.s32.{kinds}.s32");
                let d = Product { shape: (m, k), opcode: &opcode, bits: 4, a: &a, b: &b, start: start as u32 }.run();
                for (at, d) in d.iter().enumerate() {
                    let sum: i32 = (0..k).map(|l| numbers[0](a(at / 8, l)) * numbers[1](b(l, at % 8))).sum();
                    let wanted = if saturate.is_empty() { start.wrapping_add(sum) } else { start.saturating_add(sum) };
                    assert_eq!(*d as i32, wanted, "m{m}k{k} {opcode} {at}");
                }
            }
        }
    }
}

#[test]
fn single_bits_are_counted_where_both_are_set_or_they_differ() {
    for (m, k) in [(8, 128), (16, 128), (16, 256)] {
        for (op, joined) in [("and", (|a, b| a & b) as fn(u32, u32) -> u32), ("xor", |a, b| a ^ b)] {
            let (a, b) = (|i, l| pattern(1, i, l + 3), |l, j| pattern(1, j + 50, l));
            let opcode = format!(".s32.b1.b1.s32.{op}.popc");
            let d = Product { shape: (m, k), opcode: &opcode, bits: 1, a: &a, b: &b, start: u32::MAX }.run();
            for (at, d) in d.iter().enumerate() {
                let count: u32 = (0..k).map(|l| joined(a(at / 8, l), b(l, at % 8))).sum();
                assert_eq!(*d, count - 1, "m{m}k{k} {op} {at}");
            }
        }
    }
}

/// Small integers in both 8-bit formats: 0, 1, 2, 3, 4, 6 and their negatives.
fn eight(kind: &str, bits: u32) -> (u32, i32) {
    let number = [0, 1, 2, 3, 4, 6, -1, -3][bits as usize % 8];
    let (fraction, bias) = if kind == "e4m3" { (3, 7) } else { (2, 15) };
    let single = (number as f32).to_bits();
    let size = match single << 1 {
        0 => 0,
        _ => ((single >> 23 & 0xff) + bias - 127) << fraction | (single & 0x7f_ffff) >> (23 - fraction),
    };
    (single >> 31 << 7 | size, number)
}

#[test]
fn floats_of_8_bits_are_multiplied_in_every_pairing() {
    for (m, k) in [(16, 16), (16, 32)] {
        for (x, y) in [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")] {
            let (a, b) = (|i, l| eight(x, pattern(8, i, l)), |l, j| eight(y, pattern(8, j + 50, l)));
            let (a_bits, b_bits) = (|i, l| a(i, l).0, |l, j| b(l, j).0);
            let opcode = format!(".f32.{x}.{y}.f32");
            let start = 2.5f32;
            let product =
                Product { shape: (m, k), opcode: &opcode, bits: 8, a: &a_bits, b: &b_bits, start: start.to_bits() };
            for (at, d) in product.run().iter().enumerate() {
                let sum: i32 = (0..k).map(|l| a(at / 8, l).1 * b(l, at % 8).1).sum();
                assert_eq!(f32::from_bits(*d), start + sum as f32, "k{k} {opcode} {at}");
            }
        }
    }
}

/// `wmma` of elements below a byte: strides count elements, and A lies by rows, B by columns.
#[test]
fn wmma_of_elements_below_a_byte_goes_from_memory_to_memory() {
    for (kind, k, bits, op, number) in [
        ("s4", 32, 4, "", s4 as Number),
        ("u4", 32, 4, "", plain),
        ("b1", 128, 1, "xor.popc.", plain),
        ("b1", 128, 1, "and.popc.", plain),
    ] {
        let mut input = vec![0u8; 4096];
        let (a, b) = (|i: usize, l: usize| pattern(bits, i, l), |l: usize, j: usize| pattern(bits, j + 50, l));
        // Twice as long as they must be, with `given`.
        for given in [true, false] {
            let line = k * if given { 2 } else { 1 };
            input.fill(0);
            let mut put = |start: usize, element: usize, value: u32| {
                let bit = element * bits as usize;
                input[start + bit / 8] |= (value as u8) << (bit % 8);
            };
            for i in 0..8 {
                for l in 0..k {
                    put(0, i * line + l, a(i, l));
                    put(512, i * line + l, b(l, i));
                }
            }
            let stride = if given { format!(", {line}") } else { String::new() };
            let shape = format!("m8n8k{k}");
            let body = format!(
                "wmma.load.a.sync.aligned.row.{shape}.global.{kind} {{%r10}}, [%in]{stride};\n\
                 wmma.load.b.sync.aligned.col.{shape}.global.{kind} {{%r11}}, [%in+512]{stride};\n\
                 wmma.load.c.sync.aligned.row.{shape}.global.s32 {{%r12, %r13}}, [%in+2048];\n\
                 wmma.mma.{op}sync.aligned.row.col.{shape}.s32.{kind}.{kind}.s32 {{%r14, %r15}}, {{%r10}}, {{%r11}}, {{%r12, %r13}};\n\
                 wmma.store.d.sync.aligned.row.{shape}.global.s32 [%out], {{%r14, %r15}};"
            );
            let d = Kernel::new(32, &body).input(input.clone()).words(64);
            for (at, d) in d.iter().enumerate() {
                let sum: i32 = (0..k)
                    .map(|l| {
                        let (x, y) = (number(a(at / 8, l)), number(b(l, at % 8)));
                        if op.starts_with("xor") { x ^ y } else { x * y }
                    })
                    .sum();
                assert_eq!(*d as i32, sum, "{kind} {op} {at}, stride {given}");
            }
        }
    }
}

/// C and D of different types: the sum is one of f32, converted before or after.
#[test]
fn wmma_may_start_and_end_in_different_types() {
    // A is 1 everywhere, B 1/16: each sum of 16 is C + 1.
    let load = "mov.b32 %r10, 0x3c003c00;\nmov.b32 %r20, 0x2c002c00;\n";
    let (a, b) = (["%r10"; 8].join(", "), ["%r20"; 8].join(", "));
    let wide = names('f', 30, 8);
    let starts: String = (0..8).map(|n| format!("mov.f32 %f{}, 0f45000800;\n", 30 + n)).collect();
    let body = format!(
        "{load}{starts}wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32 {{%r40, %r41, %r42, %r43}}, {{{a}}}, {{{b}}}, {wide};\n\
         mad.wide.u32 %d1, %t, 16, %out;\nst.global.v4.b32 [%d1], {{%r40, %r41, %r42, %r43}};"
    );
    // 2048.5 + 1 is 2049.5, nearest 2050; both sums of f16 would tie to 2048.
    assert!(Kernel::new(32, &body).words(128).iter().all(|word| *word == 0x6801_6801));
    let body = format!(
        "{load}mov.b32 %r30, 0x6800b400;\nwmma.mma.sync.aligned.row.col.m16n16k16.f32.f16 {}, {{{a}}}, {{{b}}}, {{%r30, %r30, %r30, %r30}};\n\
         mad.wide.u32 %d1, %t, 32, %out;\nst.global.v4.f32 [%d1], {{%f30, %f31, %f32, %f33}};\nst.global.v4.f32 [%d1+16], {{%f34, %f35, %f36, %f37}};",
        names('f', 30, 8)
    );
    let d = Kernel::new(32, &body).words(256);
    let wanted = [0.75f32, 2049.0];
    assert!(d.iter().enumerate().all(|(n, word)| f32::from_bits(*word) == wanted[n % 2]), "{d:x?}");
}
