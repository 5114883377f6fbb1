//! The forms of `wgmma.mma_async`, as kernels in which every warpgroup multiplies once, and the layouts of its operands.

use emulator::{Major, MatrixDescriptor, Swizzle};

use crate::Case;
use crate::draw::{Dice, Side};
use crate::forms::{bits, list};

/// Threads of a warpgroup.
const THREADS: usize = 128;
/// Sums of a form that are compared at least, and products.
const SUMS: usize = 1 << 17;
const PRODUCTS: usize = 20;
/// Bytes of shared memory where layouts are compared.
const IMAGE: usize = 40960;

/// How operands are laid out: as few ways as there are where numbers are compared, or by chance.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    /// No swizzle, one operand behind the other.
    Plain,
    /// Offsets as they are used, the start at a multiple of the pattern.
    Regular(Swizzle),
    /// The start anywhere within.
    Within(Swizzle),
    /// And the pattern's begin, too.
    Base(Swizzle),
    /// All offsets by chance.
    Any(Swizzle),
}

/// One form.
pub struct GroupForm {
    name: String,
    ptx: String,
    n: usize,
    k: usize,
    /// Types of A, B and D.
    types: [&'static str; 3],
    in_registers: bool,
    majors: [Major; 2],
    layout: Layout,
    image: usize,
    signs: [i32; 2],
    adds: bool,
}

/// All forms.
pub fn group_forms() -> Vec<GroupForm> {
    let mut forms = Vec::new();
    let floats = |k: usize, a: &'static str, b: &'static str, sums: &'static str| (k, [a, b, sums], "", "");
    let mut families = vec![
        floats(16, "f16", "f16", "f16"),
        floats(16, "f16", "f16", "f32"),
        floats(16, "bf16", "bf16", "f32"),
        floats(8, "tf32", "tf32", "f32"),
    ];
    for sums in ["f16", "f32"] {
        for (a, b) in [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")] {
            families.push(floats(32, a, b, sums));
        }
    }
    for (a, b) in [("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")] {
        for middle in ["", ".satfinite"] {
            families.push((32, [a, b, "s32"], middle, ""));
        }
    }
    families.push((256, ["b1", "b1", "s32"], "", ".and.popc"));
    for &(k, types, middle, end) in &families {
        let whole = types[2] == "s32";
        for (n, in_registers) in
            [(8, false), (8, true), (if whole { 48 } else { 56 }, false), (128, true), (256, false)]
        {
            forms.push(GroupForm::new((n, k), types, (middle, end), in_registers));
        }
        if !whole {
            for signs in [[-1, 1], [1, -1], [-1, -1]] {
                forms.push(GroupForm { signs, ..GroupForm::new((16, k), types, (middle, end), signs[1] == 1) });
            }
        }
        forms.push(GroupForm { adds: false, ..GroupForm::new((16, k), types, (middle, end), false) });
    }
    // Every N once.
    for n in (16..=248).step_by(8) {
        forms.push(GroupForm::new((n, 16), ["bf16", "bf16", "f32"], ("", ""), false));
    }
    for n in (16..=240).step_by(16) {
        forms.push(GroupForm::new((n, 32), ["s8", "s8", "s32"], ("", ""), false));
    }
    for swizzle in [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128] {
        let ways = [Layout::Regular(swizzle), Layout::Within(swizzle), Layout::Base(swizzle), Layout::Any(swizzle)];
        for layout in ways {
            for majors in [[Major::K, Major::K], [Major::Mn, Major::K], [Major::K, Major::Mn], [Major::Mn, Major::Mn]] {
                for (n, kind) in [(64, "bf16"), (200, "f16")] {
                    let form = GroupForm::new((n, 16), [kind, kind, "f32"], ("", ""), false);
                    forms.push(GroupForm { layout, majors, image: IMAGE, ..form });
                }
            }
            for (k, kind, sums) in [(8, "tf32", "f32"), (32, "e4m3", "f32"), (32, "s8", "s32"), (256, "b1", "s32")] {
                let end = if kind == "b1" { ".and.popc" } else { "" };
                let form = GroupForm::new((96, k), [kind, kind, sums], ("", end), false);
                forms.push(GroupForm { layout, image: IMAGE, ..form });
            }
        }
    }
    forms.into_iter().map(GroupForm::finished).collect()
}

impl GroupForm {
    fn new(
        (n, k): (usize, usize),
        types: [&'static str; 3],
        (middle, end): (&str, &str),
        registers: bool,
    ) -> GroupForm {
        let [a, b, sums] = types;
        GroupForm {
            name: format!("m64n{n}k{k}{middle}.{sums}.{a}.{b}{end}"),
            ptx: String::new(),
            n,
            k,
            types,
            in_registers: registers,
            majors: [Major::K; 2],
            layout: Layout::Plain,
            image: 2048 + 32 * n,
            signs: [1; 2],
            adds: true,
        }
    }

    /// Registers of D.
    fn registers(&self) -> usize {
        self.n / if self.types[2] == "f16" { 4 } else { 2 }
    }

    /// Bytes of what a warpgroup gets: shared memory, D, A if it is in registers, and two descriptors.
    fn record(&self) -> usize {
        self.image + THREADS * 4 * (self.registers() + 4) + 16
    }

    fn finished(mut self) -> GroupForm {
        let opcode = format!("wgmma.mma_async.sync.aligned.{}", self.name);
        let (sums, record) = (self.registers(), self.record());
        let kind = if self.types[2] == "f32" { "f32" } else { "b32" };
        let a = if self.in_registers { list("a", 4) } else { "%desca".into() };
        let whole = self.types[2] == "s32";
        let mut last = (if self.adds { "%yes" } else { "%no" }).to_string();
        if !whole {
            last += &format!(", {}, {}", self.signs[0], self.signs[1]);
        }
        if matches!(self.types[0], "f16" | "bf16") {
            let way = |major: Major| i32::from(major == Major::Mn);
            if !self.in_registers {
                last += &format!(", {}", way(self.majors[0]));
            }
            last += &format!(", {}", way(self.majors[1]));
        }
        let mut loads = String::new();
        for n in 0..sums {
            loads += &format!("ld.global.{kind} %d{n}, [%own+{}];\n", 4 * n);
        }
        for n in 0..4 {
            loads += &format!("ld.global.b32 %a{n}, [%own+{}];\n", 4 * (sums + n));
        }
        let mut stores = String::new();
        for n in 0..sums {
            stores += &format!("st.global.{kind} [%out+{}], %d{n};\n", 4 * n);
        }
        self.ptx = format!(
            ".version 8.4\n.target sm_90a\n.address_size 64\n\
             .visible .entry form(.param .u64 from, .param .u64 to)\n{{\n.shared .align 1024 .b8 image[{image}];\n\
             .reg .b64 %in, %out, %own, %at, %base, %desca, %descb;\n.reg .b32 %t, %x, %n, %s, %a<4>, %v<4>;\n\
             .reg .{kind} %d<{sums}>;\n.reg .pred %more, %yes, %no;\n\
             ld.param.u64 %in, [from];\nld.param.u64 %out, [to];\ncvta.to.global.u64 %in, %in;\ncvta.to.global.u64 %out, %out;\n\
             mov.u32 %t, %tid.x;\nmov.u32 %x, %ctaid.x;\nmad.wide.u32 %in, %x, {record}, %in;\n\
             mad.lo.u32 %x, %x, {THREADS}, %t;\nmad.wide.u32 %out, %x, {out_bytes}, %out;\n\
             mul.lo.u32 %n, %t, 16;\nAGAIN:\nsetp.ge.u32 %more, %n, {image};\n@%more bra DONE;\n\
             cvt.u64.u32 %at, %n;\nadd.u64 %at, %in, %at;\nld.global.v4.b32 {v}, [%at];\n\
             mov.u32 %s, image;\nadd.u32 %s, %s, %n;\nst.shared.v4.b32 [%s], {v};\n\
             add.u32 %n, %n, {step};\nbra AGAIN;\nDONE:\nfence.proxy.async;\nbar.sync 0;\n\
             mad.wide.u32 %own, %t, {own_bytes}, %in;\nadd.u64 %own, %own, {image};\n{loads}\
             ld.global.u64 %desca, [%in+{descriptors}];\nld.global.u64 %descb, [%in+{second}];\n\
             mov.u32 %s, image;\ncvt.u64.u32 %base, %s;\nshr.u64 %base, %base, 4;\n\
             add.u64 %desca, %desca, %base;\nadd.u64 %descb, %descb, %base;\n\
             setp.eq.u32 %yes, %t, %t;\nsetp.ne.u32 %no, %t, %t;\nwgmma.fence.sync.aligned;\n\
             {opcode} {d}, {a}, %descb, {last};\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n\
             {stores}ret;\n}}\n",
            image = self.image,
            out_bytes = 4 * sums,
            own_bytes = 4 * (sums + 4),
            step = 16 * THREADS,
            descriptors = record - 16,
            second = record - 8,
            v = list("v", 4),
            d = list("d", sums),
        );
        if self.in_registers {
            self.name += " A in registers";
        }
        if self.signs != [1; 2] {
            self.name += &format!(" {} {}", self.signs[0], self.signs[1]);
        }
        if !self.adds {
            self.name += " without D";
        }
        let (way, swizzle) = match self.layout {
            Layout::Plain => return self,
            Layout::Regular(swizzle) => ("regular", swizzle),
            Layout::Within(swizzle) => ("within", swizzle),
            Layout::Base(swizzle) => ("base", swizzle),
            Layout::Any(swizzle) => ("any", swizzle),
        };
        self.name += &format!(" {:?}, {:?} {:?} {way}", swizzle, self.majors[0], self.majors[1]);
        self
    }

    /// Where operand 0 or 1 of a product lies, and all of it in the image.
    fn descriptor(&self, dice: &mut Dice, which: usize) -> MatrixDescriptor {
        let plain =
            MatrixDescriptor { start: [0, 2048][which], leading: 128, stride: 256, base: 0, swizzle: Swizzle::None };
        let (swizzle, level) = match self.layout {
            Layout::Plain => return plain,
            Layout::Regular(swizzle) => (swizzle, 0),
            Layout::Within(swizzle) => (swizzle, 1),
            Layout::Base(swizzle) => (swizzle, 2),
            Layout::Any(swizzle) => (swizzle, 3),
        };
        let (wide, major) = (16 * swizzle.chunks(), self.majors[which]);
        loop {
            let mut below = |limit: u32| dice.below(limit.into()) as u32;
            let (leading, stride) = match (swizzle, major, level) {
                (_, _, 3) => (16 * below(200), 16 * below(200)),
                (Swizzle::None, Major::K, _) => {
                    let apart = 128 * (1 + below(2));
                    if below(2) == 0 { (apart, 2 * apart) } else { (128 * 40, apart) }
                }
                (Swizzle::None, Major::Mn, _) => (128 * (1 + below(40)), 128 * (1 + below(3))),
                (_, Major::K, _) => (16 * below(3), 8 * wide),
                (_, Major::Mn, _) => (8 * wide * (2 + below(3)), 8 * wide * (1 + below(2))),
            };
            let start = match level {
                0 => 1024 * below(20),
                1 => 16 * below(IMAGE as u32 / 32),
                _ => 16 * below(IMAGE as u32 / 32),
            };
            let base = if level == 2 || level == 3 && below(4) == 0 { below(8) } else { 0 };
            let found = MatrixDescriptor { start, leading, stride, base, swizzle };
            let count = [64, self.n as u32][which];
            let (lines, chunks) = if major == Major::K { (count, 2) } else { (self.k as u32, count / 8) };
            let fits = |line| (0..chunks).all(|chunk| found.chunk(major, line, chunk) + 16 <= self.image as u32);
            if (0..lines).all(fits) {
                return found;
            }
        }
    }

    fn bits_of(&self, which: usize) -> usize {
        bits(self.types[which])
    }

    /// Bytes of D, A in registers, and descriptors of a product begin there.
    fn parts(&self, product: usize) -> (usize, usize) {
        let start = product * self.record();
        (start + self.image, start + self.record() - 16)
    }
}

/// Writes an element into bytes, of so many bits.
fn put(bytes: &mut [u8], at: usize, shift: usize, width: usize, value: u64) {
    match width {
        1 => bytes[at] |= (value as u8 & 1) << shift,
        _ => bytes[at..at + width / 8].copy_from_slice(&value.to_le_bytes()[..width / 8]),
    }
}

fn get(bytes: &[u8], at: usize, shift: usize, width: usize) -> u64 {
    match width {
        1 => u64::from(bytes[at] >> shift & 1),
        _ => bytes[at..at + width / 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

impl Case for GroupForm {
    fn name(&self) -> &str {
        &self.name
    }

    fn ptx(&self) -> &str {
        &self.ptx
    }

    fn runs_on(&self, architecture: u32) -> bool {
        architecture == 90
    }

    fn products(&self, wanted: usize) -> usize {
        (SUMS / self.sums()).max(PRODUCTS) * wanted.div_ceil(4096)
    }

    fn in_a_block(&self) -> usize {
        1
    }

    fn k(&self) -> usize {
        self.k
    }

    fn sums(&self) -> usize {
        64 * self.n
    }

    fn sum_bytes(&self) -> usize {
        bits(self.types[2]) / 8
    }

    fn inputs(&self, dice: &mut Dice, products: usize) -> Vec<u8> {
        let mut bytes = vec![0; products * self.record()];
        for (product, record) in bytes.chunks_exact_mut(self.record()).enumerate() {
            let descriptors = [self.descriptor(dice, 0), self.descriptor(dice, 1)];
            let (image, rest) = record.split_at_mut(self.image);
            if self.layout == Layout::Plain {
                for (which, count) in [(0, 64), (1, self.n)] {
                    let width = self.bits_of(which);
                    for (index, k) in (0..count).flat_map(|index| (0..self.k).map(move |k| (index, k))) {
                        let at = descriptors[which].element(Major::K, index as u32, k as u32, width as u32) as usize;
                        put(image, at, k % 8, width, dice.element(self.types[which], product, Side::Factor));
                    }
                }
            } else {
                // Of numbers that differ, and whose sums do.
                let width = self.bits_of(0).max(8);
                for at in (0..self.image).step_by(width / 8) {
                    let value = if self.types[0] == "b1" {
                        dice.below(256)
                    } else {
                        dice.element(self.types[0], 1, Side::Factor)
                    };
                    put(image, at, 0, width, value);
                }
            }
            let (own, last) = rest.split_at_mut(THREADS * 4 * (self.registers() + 4));
            for own in own.chunks_exact_mut(4 * (self.registers() + 4)) {
                let (d, a) = own.split_at_mut(4 * self.registers());
                let sides = [(d, 2, Side::Addend), (a, 0, Side::Factor)];
                for (bytes, kind, side) in sides {
                    let width = self.bits_of(kind);
                    for word in bytes.chunks_exact_mut(4) {
                        let mut bits = 0;
                        for n in 0..32 / width {
                            bits |= dice.element(self.types[kind], product, side) << (n * width);
                        }
                        word.copy_from_slice(&(bits as u32).to_le_bytes());
                    }
                }
            }
            for (bytes, descriptor) in last.chunks_exact_mut(8).zip(descriptors) {
                bytes.copy_from_slice(&descriptor.encode().to_le_bytes());
            }
        }
        bytes
    }

    fn terms(&self, input: &[u8], product: usize, n: usize) -> String {
        let (own, descriptors) = self.parts(product);
        let image = &input[product * self.record()..own];
        let thread = n / (self.sums() / THREADS);
        let in_thread = n % (self.sums() / THREADS);
        let (warp, lane) = (thread / 32, thread % 32);
        let row = 16 * warp + lane / 4 + in_thread / 2 % 2 * 8;
        let column = in_thread / 4 * 8 + lane % 4 * 2 + in_thread % 2;
        let of = |which: usize| {
            let at = descriptors + 8 * which;
            MatrixDescriptor::decode(get(input, at, 0, 64)).expect("it was made by `encode`")
        };
        let element = |which: usize, index: usize, k: usize| {
            let width = self.bits_of(which);
            if which == 0 && self.in_registers {
                let per = 32 / width;
                let lane = index % 16 % 8 * 4 + k / per % 4;
                let register = index % 16 / 8 + k / per / 4 * 2;
                let own = own + (index / 16 * 32 + lane) * 4 * (self.registers() + 4);
                let at = own + 4 * (self.registers() + register) + k % per * width / 8;
                return get(input, at, k % 8, width);
            }
            let at = of(which).element(self.majors[which], index as u32, k as u32, width as u32);
            get(image, at as usize, k % 8, width)
        };
        let terms: Vec<String> =
            (0..self.k.min(32)).map(|k| format!("{:x}*{:x}", element(0, row, k), element(1, column, k))).collect();
        let width = self.bits_of(2);
        let start = get(input, own + thread * 4 * (self.registers() + 4) + in_thread * width / 8, 0, width);
        let start = if self.adds { format!("{start:x} + ") } else { String::new() };
        let layout = if self.layout == Layout::Plain { String::new() } else { format!("{:?}, {:?}: ", of(0), of(1)) };
        format!("{layout}row {row}, column {column}: {start}{}", terms.join(" + "))
    }
}
