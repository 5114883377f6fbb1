//! Products of one warpgroup, of small whole numbers: each form, N and layout against sums of integers.

use emulator::{Argument, Device, Launch, Major, MatrixDescriptor, Module, Swizzle};

const IMAGE: usize = 32768;
const SWIZZLES: [Swizzle; 4] = [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128];

struct Product {
    n: usize,
    /// Types of A, of B and of D.
    types: [&'static str; 3],
    in_registers: bool,
    adds: bool,
    signs: [i32; 2],
    majors: [Major; 2],
    descriptors: [MatrixDescriptor; 2],
}

fn bits(kind: &str) -> usize {
    match kind {
        "bf16" => 16,
        "e4m3" | "e5m2" => 8,
        "tf32" => 32,
        _ => kind[1..].parse().unwrap(),
    }
}

/// A small whole number as a pattern of a type.
fn pattern(kind: &str, number: i32) -> u32 {
    let float = (number as f32).to_bits();
    // A float of so many bits of exponent and fraction.
    let narrow = |exponent: u32, fraction: u32| match number {
        0 => 0,
        _ => {
            let (biased, rest) = ((float >> 23 & 0xff) + (1 << (exponent - 1)) - 128, float >> (23 - fraction));
            (float >> 31) << (exponent + fraction) | biased << fraction | rest & ((1 << fraction) - 1)
        }
    };
    match kind {
        "f16" => narrow(5, 10),
        "bf16" => float >> 16,
        "tf32" | "f32" => float,
        "e4m3" => narrow(4, 3),
        "e5m2" => narrow(5, 2),
        "b1" => number as u32 & 1,
        _ => number as u32 & (u32::MAX >> (32 - bits(kind))),
    }
}

/// Row or column `index` of operand `which`, at `k`; of D without it. As small as the type needs it.
fn number(product: &Product, which: usize, index: usize, k: usize) -> i32 {
    let mixed = (index * 5 + k * (3 + which) + index * k / 3) as i32;
    match product.types[which.min(2)] {
        "b1" => mixed % 2,
        "u8" => mixed % 7,
        _ if which == 2 => mixed % 9 - 4,
        _ => mixed % 5 - 2,
    }
}

impl Product {
    fn k(&self) -> usize {
        256 / bits(self.types[0])
    }

    fn registers(&self) -> usize {
        if self.types[2] == "f16" { self.n / 4 } else { self.n / 2 }
    }

    fn ptx(&self) -> String {
        let list = |letter: &str, count: usize| {
            let names: Vec<String> = (0..count).map(|n| format!("%{letter}{n}")).collect();
            format!("{{{}}}", names.join(", "))
        };
        let [a, b, sums] = self.types;
        let end = if a == "b1" { ".and.popc" } else { "" };
        let mut last = if self.adds { "1".to_string() } else { "0".to_string() };
        if sums != "s32" {
            last += &format!(", {}, {}", self.signs[0], self.signs[1]);
        }
        if bits(a) == 16 {
            let way = |major: Major| i32::from(major == Major::Mn);
            let ways = self.majors.map(way);
            last += &if self.in_registers { format!(", {}", ways[1]) } else { format!(", {}, {}", ways[0], ways[1]) };
        }
        let from = if self.in_registers { list("a", 4) } else { self.descriptors[0].encode().to_string() };
        let (count, words) = (self.registers(), self.registers() + 4);
        let loads = (0..words).map(|n| {
            let name = if n < count { format!("d{n}") } else { format!("a{}", n - count) };
            format!("ld.global.b32 %{name}, [%own+{}];\n", 4 * n)
        });
        let stores = (0..count).map(|n| format!("st.global.b32 [%out+{}], %d{n};\n", 4 * n));
        format!(
            ".version 8.4\n.target sm_90a\n.address_size 64\n\
             .visible .entry form(.param .u64 image, .param .u64 registers, .param .u64 to)\n{{\n\
             .shared .align 1024 .b8 s[{IMAGE}];\n.reg .b64 %in, %own, %out, %at;\n.reg .b32 %t, %n, %s, %v, %a<4>, %d<{count}>;\n\
             .reg .pred %more;\nld.param.u64 %in, [image];\nld.param.u64 %own, [registers];\nld.param.u64 %out, [to];\n\
             mov.u32 %t, %tid.x;\nmul.lo.u32 %n, %t, 4;\nAGAIN:\nsetp.ge.u32 %more, %n, {IMAGE};\n@%more bra DONE;\n\
             cvt.u64.u32 %at, %n;\nadd.u64 %at, %in, %at;\nld.global.b32 %v, [%at];\nmov.u32 %s, s;\nadd.u32 %s, %s, %n;\n\
             st.shared.b32 [%s], %v;\nadd.u32 %n, %n, 512;\nbra AGAIN;\nDONE:\nfence.proxy.async;\nbar.sync 0;\n\
             mad.wide.u32 %own, %t, {}, %own;\nmad.wide.u32 %out, %t, {}, %out;\n{}wgmma.fence.sync.aligned;\n\
             wgmma.mma_async.sync.aligned.m64n{}k{}.{sums}.{a}.{b}{end} {}, {from}, {}, {last};\n\
             wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n{}ret;\n}}\n",
            4 * words,
            4 * count,
            loads.collect::<String>(),
            self.n,
            self.k(),
            list("d", count),
            self.descriptors[1].encode(),
            stores.collect::<String>(),
        )
    }

    /// The row and the column of an element of D, in words of a register.
    fn place(&self, thread: usize, n: usize) -> (usize, usize) {
        let (warp, lane) = (thread / 32, thread % 32);
        (16 * warp + lane / 4 + n / 2 % 2 * 8, n / 4 * 8 + lane % 4 * 2 + n % 2)
    }

    fn run(&self) -> Result<(), String> {
        let mut image = vec![0u8; IMAGE];
        for (which, count) in [(0, 64), (1, self.n)] {
            let width = bits(self.types[which]);
            for (index, k) in (0..count).flat_map(|index| (0..self.k()).map(move |k| (index, k))) {
                let at = self.descriptors[which].element(self.majors[which], index as u32, k as u32, width as u32);
                let value = pattern(self.types[which], number(self, which, index, k));
                match width {
                    1 => image[at as usize] |= (value << (k % 8)) as u8,
                    _ => image[at as usize..][..width / 8].copy_from_slice(&value.to_le_bytes()[..width / 8]),
                }
            }
        }
        let per = if self.types[2] == "f16" { 2 } else { 1 };
        let mut registers = Vec::new();
        for thread in 0..128 {
            for n in 0..self.registers() {
                let word = (0..per).fold(0, |word, half| {
                    let (row, column) = self.place(thread, n * per + half);
                    word | pattern(self.types[2], number(self, 2, row, column)) << (16 * half)
                });
                registers.extend(word.to_le_bytes());
            }
            for n in 0..4 {
                let width = bits(self.types[0]);
                let (row, first) =
                    (thread / 32 * 16 + thread % 32 / 4 + n % 2 * 8, (thread % 4 + n / 2 * 4) * 32 / width);
                let word = (0..32 / width)
                    .fold(0, |word, e| word | pattern(self.types[0], number(self, 0, row, first + e)) << (e * width));
                registers.extend(word.to_le_bytes());
            }
        }
        let kernel = Module::parse(&self.ptx()).and_then(|module| module.kernel("form"));
        let kernel = kernel.map_err(|error| error.to_string())?;
        let mut device = Device::new();
        let mut upload = |name: &str, bytes: &[u8]| {
            let buffer = device.alloc(name, bytes.len());
            device.write(buffer, bytes).map(|()| Argument::Buffer(buffer)).map_err(|error| error.to_string())
        };
        let (from, own) = (upload("image", &image)?, upload("registers", &registers)?);
        let mut out = vec![0; 128 * 4 * self.registers()];
        let to = device.alloc("out", out.len());
        let launched = device.launch(&kernel, Launch::new(1, 128), &[from, own, Argument::Buffer(to)]);
        launched.map_err(|error| error.to_string())?;
        device.read(to, &mut out).map_err(|error| error.to_string())?;
        for (n, given) in out.chunks_exact(4 / per).enumerate() {
            let (row, column) = self.place(n / (self.registers() * per), n % (self.registers() * per));
            let given = given.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
            let sign = self.signs[0] * self.signs[1];
            let before = if self.adds { number(self, 2, row, column) } else { 0 };
            let product = |k| sign * number(self, 0, row, k) * number(self, 1, column, k);
            let sum = before + (0..self.k()).map(product).sum::<i32>();
            if given != pattern(self.types[2], sum) {
                return Err(format!("row {row}, column {column} is {given:#x}, not {sum}"));
            }
        }
        Ok(())
    }
}

fn plain(n: usize, types: [&'static str; 3]) -> Product {
    let operand = |start| MatrixDescriptor { start, leading: 128, stride: 256, base: 0, swizzle: Swizzle::None };
    let descriptors = [operand(0), operand(2048)];
    Product { n, types, in_registers: false, adds: true, signs: [1; 2], majors: [Major::K; 2], descriptors }
}

fn check(products: impl Iterator<Item = Product>) {
    let mut wrong = Vec::new();
    for product in products {
        if let Err(why) = product.run() {
            let Product { n, types, in_registers, majors, descriptors, .. } = &product;
            wrong.push(format!("{types:?}, n {n}, A in registers: {in_registers}, {majors:?}, {descriptors:?}: {why}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_type_adds_up_to_whole_numbers() {
    let mut families =
        vec![["f16", "f16", "f16"], ["f16", "f16", "f32"], ["bf16", "bf16", "f32"], ["tf32", "tf32", "f32"]];
    for sums in ["f16", "f32"] {
        families.extend([
            ["e4m3", "e4m3", sums],
            ["e4m3", "e5m2", sums],
            ["e5m2", "e4m3", sums],
            ["e5m2", "e5m2", sums],
        ]);
    }
    families.extend([
        ["s8", "s8", "s32"],
        ["s8", "u8", "s32"],
        ["u8", "s8", "s32"],
        ["u8", "u8", "s32"],
        ["b1", "b1", "s32"],
    ]);
    check(families.into_iter().flat_map(|types| {
        let signs = if types[2] == "s32" { [1, 1] } else { [-1, 1] };
        [
            plain(8, types),
            Product { in_registers: true, ..plain(64, types) },
            Product { adds: false, ..plain(16, types) },
            Product { signs, ..plain(24, types) },
            plain(256, types),
        ]
    }));
}

#[test]
fn every_number_of_columns_is_multiplied() {
    check((8..=256).step_by(8).map(|n| plain(n, ["bf16", "bf16", "f32"])));
    check((8..=256).step_by(8).filter(|n| n % 16 == 0 || *n < 32).map(|n| plain(n, ["s8", "u8", "s32"])));
}

#[test]
fn every_layout_is_found() {
    let mut products = Vec::new();
    for swizzle in SWIZZLES {
        let wide = 16 * swizzle.chunks();
        // Rows of the pattern side by side, the start a step of K within it where there is room.
        let operand = |major: Major, start: u32| {
            let within = if major == Major::K && swizzle.chunks() > 2 { start + 32 } else { start };
            let (leading, stride) = match (major, swizzle) {
                (Major::K, Swizzle::None) => (128, 256),
                (Major::K, _) => (16, 8 * wide),
                (Major::Mn, Swizzle::None) => (128 * 32, 128),
                (Major::Mn, _) => (16 * wide, 8 * wide),
            };
            MatrixDescriptor { start: within, leading, stride, base: 0, swizzle }
        };
        for majors in [[Major::K, Major::K], [Major::Mn, Major::K], [Major::K, Major::Mn], [Major::Mn, Major::Mn]] {
            let descriptors = [operand(majors[0], 0), operand(majors[1], 16384)];
            products.push(Product { majors, descriptors, ..plain(64, ["f16", "f16", "f32"]) });
        }
        let descriptors = [operand(Major::K, 0), operand(Major::K, 16384)];
        products.push(Product { descriptors, ..plain(96, ["e4m3", "e4m3", "f32"]) });
        // The pattern begins behind a multiple of its size.
        let shifted = descriptors.map(|one| MatrixDescriptor { start: one.start + 384, base: 3, ..one });
        products.push(Product { descriptors: shifted, ..plain(72, ["tf32", "tf32", "f32"]) });
    }
    check(products.into_iter());
}
