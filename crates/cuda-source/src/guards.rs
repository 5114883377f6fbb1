//! Which parameters a kernel guards its edges by: what it compares, but for the heads of loops.

use std::ops::Range;

use crate::unit::Unit;

/// Whether a body compares this name with something, outside the heads of loops.
pub fn is_compared(unit: &Unit, body: Range<usize>, name: &str) -> bool {
    let mut at = body.start;
    while at < body.end {
        if matches!(unit.word(at), "for" | "while") && unit.is_sign(at + 1, "(") {
            at = unit.behind_group(at + 1, body.end);
            continue;
        }
        if unit.is_name(at) && unit.word(at) == name && (is_behind_comparison(unit, at) || is_before_one(unit, at)) {
            return true;
        }
        at += 1;
    }
    false
}

fn is_angle(unit: &Unit, at: usize) -> bool {
    unit.is_sign(at, "<") || unit.is_sign(at, ">")
}

/// `row < M`, `row <= M`: neither a shift nor an argument of a template.
fn is_behind_comparison(unit: &Unit, at: usize) -> bool {
    let Some(sign) = at.checked_sub(1) else { return false };
    let Some(before) = sign.checked_sub(1) else { return false };
    let less = if unit.is_sign(sign, "=") && unit.is_glued(sign) { before } else { sign };
    let shifts = less > 0 && is_angle(unit, less - 1) && unit.is_glued(less);
    is_angle(unit, less) && !shifts && !unit.is_sign(at + 1, ">")
}

/// `M > row`, `M >= row`.
fn is_before_one(unit: &Unit, at: usize) -> bool {
    let shifts = is_angle(unit, at + 2) && unit.is_glued(at + 2);
    is_angle(unit, at + 1) && !shifts && !(at > 0 && unit.is_sign(at - 1, "<"))
}
