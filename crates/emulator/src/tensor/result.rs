//! An exact sum in the format of the result: the one place where a result is rounded.

/// NaN as tensor cores give it.
pub(super) const NAN_F32: u32 = 0x7fff_ffff;
pub(super) const NAN_F16: u32 = 0x7fff;
pub(super) const INFINITY_F32: u32 = 0x7f80_0000;
pub(super) const INFINITY_F16: u32 = 0x7c00;

/// `sum × 2^quantum` as f32 with so many bits behind the point of its significand, cut towards zero: 23, or fewer. Subnormal
/// results are kept, too large ones become infinite, and what is cut to nothing is +0, as a sum of nothing is.
#[inline(always)]
pub(super) fn cut_to_f32(sum: i64, quantum: i32, fraction: u32) -> u32 {
    if sum == 0 {
        return 0;
    }
    let magnitude = sum.unsigned_abs();
    let top = quantum + 63 - magnitude.leading_zeros() as i32;
    let sign = if sum < 0 { 1 << 31 } else { 0 };
    if top > 127 {
        return sign | INFINITY_F32;
    }
    let floor = top.max(-126);
    let down = floor - fraction as i32 - quantum;
    let kept = if down < 0 { magnitude << (-down).min(63) } else { magnitude >> down.min(63) };
    signed(sign, (((floor + 126) as u32) << 23) + ((kept as u32) << (23 - fraction)))
}

/// `sum × 2^quantum` as f16, to nearest, ties to even; what rounds to nothing is +0.
#[inline(always)]
pub(super) fn nearest_f16(sum: i64, quantum: i32) -> u32 {
    if sum == 0 {
        return 0;
    }
    let magnitude = sum.unsigned_abs();
    let top = quantum + 63 - magnitude.leading_zeros() as i32;
    let sign = if sum < 0 { 1 << 15 } else { 0 };
    if top > 15 {
        return sign | INFINITY_F16;
    }
    let floor = top.max(-14);
    let down = floor - 10 - quantum;
    let kept = match down {
        ..=0 => magnitude << (-down).min(63),
        1..=62 => {
            let (kept, rest, half) = (magnitude >> down, magnitude & ((1 << down) - 1), 1 << (down - 1));
            kept + u64::from(rest > half || rest == half && kept & 1 == 1)
        }
        _ => 0,
    };
    // One more than all ones carries into the exponent by itself, up to infinity.
    signed(sign, (((floor + 14) as u32) << 10) + kept as u32)
}

/// Tensor cores know no negative zero: an H200 gives +0 for what is left of a negative sum that is too small.
#[inline(always)]
fn signed(sign: u32, size: u32) -> u32 {
    if size == 0 { 0 } else { sign | size }
}
