//! Instructions of one lane, each whole in its row: what may stand in the opcode and what its operands are, as in `program::rows`, and what comes of a
//! lane's operands. A later one is one row here, and one in `isa` where it needs more than the oldest PTX.
//!
//! What comes is given the type that the row calls `T`, or that of the result, and up to four operands, as they stand in their registers.

/// A type of a register's lowest bits.
#[derive(Clone, Copy)]
pub(crate) struct Bits {
    pub count: u8,
    pub signed: bool,
}

pub(crate) struct Lanewise {
    pub row: &'static str,
    pub gives: fn(Bits, [u64; 4]) -> u64,
}

const fn row(row: &'static str, gives: fn(Bits, [u64; 4]) -> u64) -> Lanewise {
    Lanewise { row, gives }
}

pub(crate) const LANEWISE: &[Lanewise] = &[
    row("sad T:INT | =T T T T", |of, [a, b, c, _]| {
        let (a, b, c) = (of.value(a), of.value(b), of.value(c));
        of.cut((a - b).abs() + c)
    }),
    row("fns b32 | =b32 b32 b32 s32", |_, [bits, base, offset, _]| find_nth(bits as u32, base as u32, offset as i32)),
    row("bmsk .clamp b32 | =b32 u32 u32", |_, [start, length, ..]| ones(start.min(32), length.min(32))),
    row("bmsk .wrap b32 | =b32 u32 u32", |_, [start, length, ..]| ones(start & 31, length & 31)),
    row("szext .clamp T:u32/s32 | =T T u32", |of, [value, count, ..]| extended(of, value, count.min(32))),
    row("szext .wrap T:u32/s32 | =T T u32", |of, [value, count, ..]| extended(of, value, count & 31)),
    row("vabsdiff4 u32 u32 u32 | =u32 %u32 %u32 %u32", |_, [a, b, ..]| {
        apart(a, b).enumerate().fold(0, |all, (n, by)| all | by << (8 * n))
    }),
    row("vabsdiff4 u32 u32 u32 add | =u32 %u32 %u32 %u32", |_, [a, b, c, _]| {
        (apart(a, b).sum::<u64>() + c) & 0xffff_ffff
    }),
];

/// The position of the `offset`-th set bit, counted from `base` up or down.
fn find_nth(bits: u32, base: u32, offset: i32) -> u64 {
    let base = base & 31;
    if offset == 0 {
        return if bits >> base & 1 == 1 { base.into() } else { 0xffff_ffff };
    }
    let mut left = offset.unsigned_abs();
    let mut at = base as i32;
    while (0..32).contains(&at) {
        if bits >> at & 1 == 1 {
            left -= 1;
            if left == 0 {
                return at as u64;
            }
        }
        at += offset.signum();
    }
    0xffff_ffff
}

fn ones(start: u64, length: u64) -> u64 {
    (((1 << length) - 1) << start) & 0xffff_ffff
}

/// The lowest bits of a number, extended by their sign if it has one.
fn extended(of: Bits, value: u64, count: u64) -> u64 {
    match count {
        0 => 0,
        count => extend(value, count as u8, of.signed) as u64 & 0xffff_ffff,
    }
}

/// How far apart the bytes of two registers are.
fn apart(a: u64, b: u64) -> impl Iterator<Item = u64> {
    (0..4).map(move |n| (a >> (8 * n) & 0xff).abs_diff(b >> (8 * n) & 0xff))
}

/// The lowest `bits` bits as a number.
pub(crate) fn extend(value: u64, bits: u8, signed: bool) -> i128 {
    let shift = 64 - u32::from(bits);
    if signed { i128::from((value << shift) as i64 >> shift) } else { i128::from(value << shift >> shift) }
}

/// Whether a row is of this mnemonic.
pub(crate) fn is_lanewise(mnemonic: &str) -> bool {
    LANEWISE.iter().any(|lanewise| lanewise.row.split_whitespace().next() == Some(mnemonic))
}

impl Bits {
    /// The integer that a register holds.
    fn value(self, register: u64) -> i128 {
        extend(register, self.count, self.signed)
    }

    fn cut(self, value: i128) -> u64 {
        value as u64 & u64::MAX >> (64 - self.count)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::LANEWISE;
    use crate::program::{General, Op};
    use crate::{Device, Launch, Module};

    /// An instruction of 32 bits or, in registers `%d`, of 64, its operands, and the lower 64 bits of what the manual says comes of it.
    const CASES: &[(&str, &[u64], u64)] = &[
        ("sad.u32", &[7, 10, 100], 103),
        ("sad.s16", &[0xfffe, 3, 1], 6),
        ("sad.s64", &[u64::MAX, 5, u64::MAX], 5),
        ("fns.b32", &[0b1011_0000, 5, 2], 7),
        ("fns.b32", &[0b1011_0000, 5, 0xffff_fffe], 4),
        ("fns.b32", &[0b1011_0000, 6, 0], 0xffff_ffff),
        ("bmsk.clamp.b32", &[28, 40], 0xf000_0000),
        ("bmsk.wrap.b32", &[36, 3], 0x70),
        ("szext.clamp.s32", &[0x8f, 8], 0xffff_ff8f),
        ("szext.clamp.u32", &[0x1ff, 8], 0xff),
        ("szext.wrap.s32", &[0xff, 36], 0xffff_ffff),
        ("vabsdiff4.u32.u32.u32", &[0x0102_0304, 0x0403_0201, 9], 0x0301_0103),
        ("vabsdiff4.u32.u32.u32.add", &[0x0102_0304, 0x0403_0201, 9], 17),
    ];

    #[test]
    fn each_row_gives_what_the_manual_says() {
        let mut seen = BTreeSet::new();
        for &(opcode, operands, wanted) in CASES {
            let (bits, letter) = match (opcode.ends_with("64"), opcode.ends_with("16")) {
                (true, _) => ("u64", 'd'),
                (_, true) => ("u16", 'h'),
                _ => ("u32", 'r'),
            };
            let moves = operands.iter().enumerate().map(|(n, value)| format!("mov.{bits} %{letter}{n}, {value};\n"));
            let sources: Vec<String> = (0..operands.len()).map(|n| format!("%{letter}{n}")).collect();
            let text = format!(
                ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 to)\n{{\n\
                 .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b64 %to;\nld.param.u64 %to, [to];\n{}\
                 {opcode} %{letter}8, {};\nst.global.{bits} [%to], %{letter}8;\nret;\n}}\n",
                moves.collect::<String>(),
                sources.join(", ")
            );
            let kernel = Module::parse(&text).and_then(|module| module.kernel("k"));
            let kernel = kernel.unwrap_or_else(|error| panic!("{error}\n{text}"));
            seen.extend(kernel.program.code.iter().filter_map(|instruction| match instruction.op {
                Op::General { code: General::Row { row, .. }, .. } => Some(row as usize),
                _ => None,
            }));
            let mut device = Device::new();
            let to = device.alloc("to", 8);
            device.write(to, &[0; 8]).unwrap();
            device.launch(&kernel, Launch::new(1, 1), &[to.into()]).unwrap();
            let mut bytes = [0; 8];
            device.read(to, &mut bytes).unwrap();
            assert_eq!(u64::from_le_bytes(bytes), wanted, "{opcode}");
        }
        let rows: Vec<&str> = (0..LANEWISE.len()).filter(|n| !seen.contains(n)).map(|n| LANEWISE[n].row).collect();
        assert!(rows.is_empty(), "no case for {rows:?}");
    }
}
