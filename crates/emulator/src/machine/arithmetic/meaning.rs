//! What instructions mean, as functions of one lane's values, where an operator does not say it all.

/// Every single-precision result that is no number is this one.
pub(crate) const NAN_F32: u32 = 0x7fff_ffff;

/// An f32 result as the hardware writes it: one bit pattern for all NaNs.
#[inline(always)]
pub(crate) fn f32_bits(value: f32) -> u32 {
    if value.is_nan() { NAN_F32 } else { value.to_bits() }
}

/// Division by zero is not trapped; the hardware's quotient and remainder have all bits set.
pub(crate) fn div_u32(a: u32, b: u32) -> u32 {
    a.checked_div(b).unwrap_or(u32::MAX)
}

pub(crate) fn div_s32(a: u32, b: u32) -> u32 {
    if b == 0 { u32::MAX } else { (a as i32).wrapping_div(b as i32) as u32 }
}

pub(crate) fn rem_u32(a: u32, b: u32) -> u32 {
    a.checked_rem(b).unwrap_or(u32::MAX)
}

pub(crate) fn rem_s32(a: u32, b: u32) -> u32 {
    if b == 0 { u32::MAX } else { (a as i32).wrapping_rem(b as i32) as u32 }
}

pub(crate) fn div_u64(a: u64, b: u64) -> u64 {
    a.checked_div(b).unwrap_or(u64::MAX)
}

pub(crate) fn div_s64(a: u64, b: u64) -> u64 {
    if b == 0 { u64::MAX } else { (a as i64).wrapping_div(b as i64) as u64 }
}

pub(crate) fn rem_u64(a: u64, b: u64) -> u64 {
    a.checked_rem(b).unwrap_or(u64::MAX)
}

pub(crate) fn rem_s64(a: u64, b: u64) -> u64 {
    if b == 0 { u64::MAX } else { (a as i64).wrapping_rem(b as i64) as u64 }
}

/// Shifts by the width or more give zero, or the sign.
#[inline(always)]
pub(crate) fn shl_32(a: u32, by: u32) -> u32 {
    if by > 31 { 0 } else { a << by }
}

#[inline(always)]
pub(crate) fn shr_u32(a: u32, by: u32) -> u32 {
    if by > 31 { 0 } else { a >> by }
}

#[inline(always)]
pub(crate) fn shr_s32(a: u32, by: u32) -> u32 {
    (a as i32 >> by.min(31)) as u32
}

#[inline(always)]
pub(crate) fn shl_64(a: u64, by: u32) -> u64 {
    if by > 63 { 0 } else { a << by }
}

#[inline(always)]
pub(crate) fn shr_u64(a: u64, by: u32) -> u64 {
    if by > 63 { 0 } else { a >> by }
}

#[inline(always)]
pub(crate) fn shr_s64(a: u64, by: u32) -> u64 {
    (a as i64 >> by.min(63)) as u64
}

/// `prmt`, default mode: each nibble of the selector picks a byte of `b:a`, or its sign spread out.
pub(crate) fn prmt(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    let pick = |n: u32| {
        let nibble = selector >> (4 * n) & 0xf;
        let byte = bytes[(nibble & 7) as usize];
        if nibble & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 }
    };
    u32::from_le_bytes([pick(0), pick(1), pick(2), pick(3)])
}

/// `bfe.u32`: `len` bits of `a` from `pos` up.
pub(crate) fn bfe_u32(a: u32, pos: u32, len: u32) -> u32 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    let mask = if len > 31 { u32::MAX } else { (1 << len) - 1 };
    shr_u32(a, pos) & mask
}

/// `bfe.s32`: the same, extended by the field's topmost bit that lies within `a`.
pub(crate) fn bfe_s32(a: u32, pos: u32, len: u32) -> u32 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    if len == 0 {
        return 0;
    }
    let sign = a >> (pos + len - 1).min(31) & 1;
    let mask = if len > 31 { u32::MAX } else { (1 << len) - 1 };
    let extension = if sign == 1 { !mask | shl_32(u32::MAX, 32u32.saturating_sub(pos)) } else { 0 };
    shr_u32(a, pos) & mask | extension
}

/// `min`: the number where one is a NaN; −0 below +0.
#[inline(always)]
pub(crate) fn min_f32(a: f32, b: f32) -> f32 {
    if a.is_nan() || b < a || (a == b && b.is_sign_negative()) { b } else { a }
}

#[inline(always)]
pub(crate) fn max_f32(a: f32, b: f32) -> f32 {
    if a.is_nan() || b > a || (a == b && a.is_sign_negative()) { b } else { a }
}

#[inline(always)]
pub(crate) fn min_f64(a: f64, b: f64) -> f64 {
    if a.is_nan() || b < a || (a == b && b.is_sign_negative()) { b } else { a }
}

#[inline(always)]
pub(crate) fn max_f64(a: f64, b: f64) -> f64 {
    if a.is_nan() || b > a || (a == b && a.is_sign_negative()) { b } else { a }
}

/// Conversions of floats to integers clamp. A NaN gives 0 from f32 to 32 bits, else the topmost bit.
pub(crate) fn f32_to_s64(a: f32) -> u64 {
    if a.is_nan() { 1 << 63 } else { a as i64 as u64 }
}

pub(crate) fn f32_to_u64(a: f32) -> u64 {
    if a.is_nan() { 1 << 63 } else { a as u64 }
}

pub(crate) fn f64_to_s32(a: f64) -> u32 {
    if a.is_nan() { 1 << 31 } else { a as i32 as u32 }
}

pub(crate) fn f64_to_u32(a: f64) -> u32 {
    if a.is_nan() { 1 << 31 } else { a as u32 }
}

pub(crate) fn f64_to_s64(a: f64) -> u64 {
    if a.is_nan() { 1 << 63 } else { a as i64 as u64 }
}

pub(crate) fn f64_to_u64(a: f64) -> u64 {
    if a.is_nan() { 1 << 63 } else { a as u64 }
}
