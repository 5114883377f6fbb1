//! Executes the lane-wise instructions that are data (`program::General`): gathers each lane's operands,
//! asks what the instruction means, and puts the results into the active lanes.

use super::{float_meaning, integer_meaning, number_meaning};
use crate::lanewise::{Bits, LANEWISE};
use crate::machine::lanes::{LANES, each};
use crate::machine::state::operands::set_predicate;
use crate::machine::state::warp::Warp;
use crate::program::{
    CONST_WINDOW, File, General, LOCAL_WINDOW, Number, PARAMETER_WINDOW, SHARED_WINDOW, Slot, Window, in_window,
};

#[inline(never)]
pub(crate) fn execute(warp: &mut Warp, code: General, d: Slot, sources: [Slot; 4], mask: u32) {
    let (result, files) = code.signature();
    let mut out = <[u64; LANES]>::default();
    for lane in each(mask) {
        let mut values = <[u64; 4]>::default();
        for ((value, file), slot) in values.iter_mut().zip(files).zip(sources) {
            *value = match file {
                File::R => warp.r[slot as usize].0[lane].into(),
                File::D => warp.d[slot as usize].0[lane],
                File::P => u64::from(warp.p[slot as usize] >> lane & 1),
            };
        }
        out[lane] = evaluate(code, values);
    }
    match result {
        File::R => warp.r[d as usize].set(&out.map(|value| value as u32), mask),
        File::D => warp.d[d as usize].set(&out, mask),
        File::P => {
            let bits = each(mask).fold(0, |bits, lane| bits | ((out[lane] & 1) as u32) << lane);
            set_predicate(warp, d, bits, mask);
        }
    }
}

/// The result of one lane.
pub(crate) fn evaluate(code: General, [a, b, c, d]: [u64; 4]) -> u64 {
    match code {
        General::Float { op, format, mode, packed: false } => float_meaning::compute(op, format, mode, [a, b, c]),
        General::Float { op, format, mode, packed: true } => {
            let bits = format.bits();
            let half = |value: u64, n: u8| value >> (n * bits) & (u64::MAX >> (64 - bits));
            let compute = |n| float_meaning::compute(op, format, mode, [half(a, n), half(b, n), half(c, n)]);
            compute(1) << bits | compute(0)
        }
        General::MixedAdd { from, mode, subtract } => float_meaning::mixed_add(from, mode, subtract, a, b),
        General::MixedFma { from, mode } => float_meaning::mixed_fma(from, mode, [a, b, c]),
        General::Integer { op, bits, signed } => integer_meaning::compute(op, bits, signed, [a, b, c, d]),
        General::Halves { op, signed } => {
            let half = |n: u32| {
                let part = |value: u64| value >> (16 * n) & 0xffff;
                integer_meaning::compute(op, 16, signed, [part(a), part(b), part(b), part(b)]) & 0xffff
            };
            half(1) << 16 | half(0)
        }
        General::Convert { to, from, mode, integral, register_bits } => {
            number_meaning::convert(to, from, mode, integral, register_bits, a)
        }
        General::ConvertPair { to, mode } => number_meaning::convert_pair(to, mode, a, b),
        General::ConvertHalves { to, from, mode } => {
            let half = |n: u8| a >> (n * from.bits()) & (u64::MAX >> (64 - from.bits()));
            number_meaning::convert_halves(to, from, mode, half(1), half(0))
        }
        General::Compare { test, number, flush, half } => {
            let part = |value: u64| value >> (u32::from(half) * 16);
            number_meaning::compare(test, number, flush, part(a), part(b)).into()
        }
        General::Truth { to } => number_meaning::truth(to, a != 0),
        General::SelectBySign { bits, by, flush } => {
            let chosen = if number_meaning::not_negative(by, flush, c) { a } else { b };
            chosen & (u64::MAX >> (64 - bits))
        }
        General::Test { test, format } => number_meaning::test(test, format, a).into(),
        General::Permute(mode) => integer_meaning::permute(mode, a as u32, b as u32, c as u32).into(),
        General::FunnelLeft => (u128::from(b << 32 | a) << c.min(32) >> 32) as u64 & 0xffff_ffff,
        General::FunnelRight => (u128::from(b << 32 | a) >> c.min(32)) as u64 & 0xffff_ffff,
        General::Dot4 { signed_a, signed_b } => integer_meaning::dot4(signed_a, signed_b, [a, b, c]),
        General::Row { row, of } => {
            let signed = matches!(of, Number::Integer { signed: true, .. });
            (LANEWISE[row as usize].gives)(Bits { count: of.bits(), signed }, [a, b, c, d])
        }
        General::Pack { bits, signed } => number_meaning::pack(bits, signed, [a, b, c]),
        General::Dot2 { signed_a, signed_b, high } => integer_meaning::dot2(signed_a, signed_b, high, [a, b, c]),
        General::InSpace(window) => in_space(window, a).into(),
    }
}

fn in_space(window: Window, address: u64) -> bool {
    let inside = |start: u64| in_window(address, start);
    match window {
        Window::Local => inside(LOCAL_WINDOW),
        Window::Const => inside(CONST_WINDOW),
        Window::Parameter => inside(PARAMETER_WINDOW),
        Window::Global => ![SHARED_WINDOW, LOCAL_WINDOW, CONST_WINDOW, PARAMETER_WINDOW].into_iter().any(inside),
    }
}
