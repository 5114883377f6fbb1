//! Integer arithmetic in every width, computed in 128 bits and cut back.

use super::number_meaning::into_range;
use crate::lanewise::extend;
use crate::program::{IntegerOp, Permute};

pub(crate) fn compute(op: IntegerOp, bits: u8, signed: bool, operands: [u64; 4]) -> u64 {
    use IntegerOp::*;
    let [a, b, c, _] = operands.map(|value| extend(value, bits, signed));
    let mask = u64::MAX >> (64 - bits);
    let cut = |value: i128| value as u64 & mask;
    let saturated = |value: i128| cut(into_range(value, bits, signed));
    match op {
        Add => cut(a + b),
        Sub => cut(a - b),
        AddSaturate => saturated(a + b),
        SubSaturate => saturated(a - b),
        MulLo => cut(a.wrapping_mul(b)),
        MulHi => cut(high(a, b, bits, signed)),
        // Twice as wide as the operands: the result's register holds all of it.
        MulWide => a.wrapping_mul(b) as u64 & wide_mask(bits),
        MadWide => (a.wrapping_mul(b) as u64).wrapping_add(operands[2]) & wide_mask(bits),
        MadLo => cut(a.wrapping_mul(b).wrapping_add(c)),
        MadHi => cut(high(a, b, bits, signed) + c),
        MadHiSaturate => saturated(high(a, b, bits, signed) + c),
        Mul24Lo | Mul24Hi | Mad24Lo | Mad24Hi | Mad24HiSaturate => multiply_24(op, signed, operands),
        Div | Rem if b == 0 => mask,
        Div => cut(a / b),
        Rem => cut(a % b),
        Min => cut(a.min(b)),
        Max => cut(a.max(b)),
        MinRelu => cut(a.min(b).max(0)),
        MaxRelu => cut(a.max(b).max(0)),
        Abs => cut(a.abs()),
        Neg => cut(-a),
        Not => cut(!a),
        CNot => u64::from(a == 0),
        And => cut(a & b),
        Or => cut(a | b),
        Xor => cut(a ^ b),
        AddCarry | CarryOfAdd | SubBorrow | BorrowOfSub | MadLoCarry | CarryOfMadLo | MadHiCarry | CarryOfMadHi => {
            with_carry(op, bits, signed, operands)
        }
        _ => bitwise(op, bits, signed, operands),
    }
}

fn wide_mask(bits: u8) -> u64 {
    if bits == 16 { 0xffff_ffff } else { u64::MAX }
}

fn high(a: i128, b: i128, bits: u8, signed: bool) -> i128 {
    match signed {
        true => (a * b) >> bits,
        false => ((a as u128 * b as u128) >> bits) as i128,
    }
}

fn multiply_24(op: IntegerOp, signed: bool, [a, b, c, _]: [u64; 4]) -> u64 {
    let product = extend(a, 24, signed) * extend(b, 24, signed);
    let addend = extend(c, 32, signed);
    let value = match op {
        IntegerOp::Mul24Lo => product,
        IntegerOp::Mul24Hi => product >> 16,
        IntegerOp::Mad24Lo => product + addend,
        IntegerOp::Mad24Hi => (product >> 16) + addend,
        _ => into_range((product >> 16) + addend, 32, signed),
    };
    value as u64 & 0xffff_ffff
}

/// Sums with a carry in, and the carries out. Subtraction borrows.
fn with_carry(op: IntegerOp, bits: u8, signed: bool, operands: [u64; 4]) -> u64 {
    use IntegerOp::*;
    let mask = u64::MAX >> (64 - bits);
    let [a, b, c, _] = operands.map(|value| u128::from(value & mask));
    let product = u128::from(a as u64) * u128::from(b as u64);
    let upper = high(extend(operands[0], bits, signed), extend(operands[1], bits, signed), bits, signed);
    let upper = u128::from(upper as u64 & mask);
    let lower = product & u128::from(mask);
    let two = u128::from(operands[2] & 1);
    let three = u128::from(operands[3] & 1);
    let carry = |sum: u128| (sum >> bits) as u64 & 1;
    match op {
        AddCarry => (a + b + two) as u64 & mask,
        CarryOfAdd => carry(a + b + two),
        SubBorrow => (a.wrapping_sub(b).wrapping_sub(two)) as u64 & mask,
        BorrowOfSub => u64::from(a < b + two),
        MadLoCarry => (lower + c + three) as u64 & mask,
        CarryOfMadLo => carry(lower + c + three),
        MadHiCarry => (upper + c + three) as u64 & mask,
        _ => carry(upper + c + three),
    }
}

fn bitwise(op: IntegerOp, bits: u8, signed: bool, [a, b, c, d]: [u64; 4]) -> u64 {
    use IntegerOp::*;
    let width = u64::from(bits);
    let mask = u64::MAX >> (64 - bits);
    let (value, number) = (a & mask, extend(a, bits, signed));
    match op {
        Shl => (u128::from(value) << b.min(64)) as u64 & mask,
        Shr => (number >> b.min(64)) as u64 & mask,
        Popc => value.count_ones().into(),
        Clz => (value << (64 - width)).leading_zeros().min(bits.into()).into(),
        Brev => value.reverse_bits() >> (64 - width),
        Bfind | BfindShift => {
            let sought = if number < 0 { !value & mask } else { value };
            match sought {
                0 => 0xffff_ffff,
                _ if op == BfindShift => u64::from(sought.leading_zeros()) - (64 - width),
                _ => 63 - u64::from(sought.leading_zeros()),
            }
        }
        Bfe => {
            let (position, length) = (field_bits(b, bits), field_bits(c, bits));
            extract_field(value, position, length, width, signed) & mask
        }
        Bfi => {
            let (position, length) = (field_bits(c, bits), field_bits(d, bits));
            let field = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
            let place = (u128::from(field) << position.min(64)) as u64 & mask;
            b & mask & !place | (u128::from(value) << position.min(64)) as u64 & place
        }
        _ => value,
    }
}

/// A position or length of a field. Words of 32 bits look at its lowest byte, those of 64 at all of it.
fn field_bits(value: u64, bits: u8) -> u64 {
    if bits == 64 { value & 0xffff_ffff } else { value & 0xff }
}

/// `bfe`: `length` bits from `position` up; a signed field is extended by its topmost bit within the word.
fn extract_field(value: u64, position: u64, length: u64, width: u64, signed: bool) -> u64 {
    if length == 0 {
        return 0;
    }
    let sign = signed && value >> (position + length - 1).min(width - 1) & 1 == 1;
    let fill = if sign { u128::MAX << width } else { 0 };
    let field = (fill | u128::from(value)) >> position.min(64);
    let above = if length >= 64 { 0 } else { u64::MAX << length };
    field as u64 & !above | if sign { above } else { 0 }
}

/// `prmt` with a mode: which bytes of `b:a`, by the lowest two bits of the selector.
pub(crate) fn permute(mode: Permute, a: u32, b: u32, selector: u32) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    let s = selector & 3;
    let pick = |n: u32| match mode {
        Permute::Forward4 => s + n,
        Permute::Backward4 => s.wrapping_sub(n) & 7,
        Permute::Replicate8 => s,
        Permute::EdgeLeft => n.max(s),
        Permute::EdgeRight => n.min(s),
        Permute::Replicate16 => (s & 1) * 2 + (n & 1),
    };
    u32::from_le_bytes([pick(0), pick(1), pick(2), pick(3)].map(|n| bytes[n as usize & 7]))
}

/// `dp4a`: the sum of four products of bytes, and `c`.
pub(crate) fn dot4(signed_a: bool, signed_b: bool, [a, b, c]: [u64; 3]) -> u64 {
    let term = |n: u32| extend(a >> (8 * n), 8, signed_a) * extend(b >> (8 * n), 8, signed_b);
    ((0..4).map(term).sum::<i128>() + i128::from(c)) as u64 & 0xffff_ffff
}

/// `dp2a`: two 16-bit numbers of `a` times two bytes of `b`, and `c`.
pub(crate) fn dot2(signed_a: bool, signed_b: bool, high: bool, [a, b, c]: [u64; 3]) -> u64 {
    let b = if high { b >> 16 } else { b };
    let term = |n: u32| extend(a >> (16 * n), 16, signed_a) * extend(b >> (8 * n), 8, signed_b);
    ((0..2).map(term).sum::<i128>() + i128::from(c)) as u64 & 0xffff_ffff
}
