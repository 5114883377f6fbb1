//! What the elements of a buffer have in common that are not as expected, held against all that is expected.

use crate::probe::NOTHING_STORED;

/// How what is wrong from one element on begins.
pub const BEHIND: &str = "only the elements from";

/// Elements that are looked at.
const MOST: usize = 1 << 20;
/// Matrices are tried that have so many rows at most.
const ROWS: usize = 4096;
/// How far sums in different orders may be apart, in relation to their size.
const NEAR: f64 = 1e-3;
/// How many times as long as they are rows may be with what is between them.
const WIDER: usize = 4;

fn near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= NEAR * a.abs().max(b.abs())
}

/// In words, if one rule says it of all that are wrong.
pub fn alike(got: &[f64], wanted: &[f64], is_wrong: &dyn Fn(usize) -> bool) -> Option<String> {
    if got.len() > MOST {
        return None;
    }
    let wrong: Vec<usize> = (0..got.len()).filter(|at| is_wrong(*at)).collect();
    let what = rule(got, wanted, &wrong);
    match (what, place(&wrong, got.len())) {
        (None, None) => None,
        (Some(what), None) => Some(format!("{what}?")),
        (None, Some(place)) => {
            Some(format!("only {place} are wrong: which block, thread or turn of a loop is it that stores them?"))
        }
        (Some(what), Some(place)) => Some(format!("only {place} are wrong; {what}?")),
    }
}

/// The same where all that are wrong are as before the launch.
pub fn kept(is_wrong: &dyn Fn(usize) -> bool, count: usize) -> Option<String> {
    let wrong: Vec<usize> = (0..count).filter(|at| is_wrong(*at)).collect();
    let which = place(&wrong, count).map_or_else(String::new, |place| format!("only {place} are wrong; "));
    Some(format!("{which}they are as before the launch, and nothing is stored there: {NOTHING_STORED}"))
}

/// What comes instead.
fn rule(got: &[f64], wanted: &[f64], wrong: &[usize]) -> Option<String> {
    let (all, first) = (|holds: &dyn Fn(usize) -> bool| wrong.iter().all(|at| holds(*at)), *wrong.first()?);
    if wrong.len() < 2 {
        return None;
    }
    if all(&|at| got[at].is_nan()) {
        return Some("all of these are NaN: is there a variable without a value, or an infinity".to_string());
    }
    if let Some(text) = cut(got, wanted, wrong) {
        return Some(text);
    }
    if all(&|at| got[at] == 0.0) {
        return Some("all of these are 0: does what is summed come there".to_string());
    }
    if let Some(rows) = transposed(got, wanted) {
        return Some(format!(
            "what comes is what is expected with rows and columns exchanged, {rows} x {} for {} x {rows}: is it stored, or read, transposed",
            got.len() / rows,
            got.len() / rows
        ));
    }
    if let Some((apart, wanted)) = apart(got, wanted, first) {
        return Some(format!(
            "rows (or columns) come {apart} elements apart, and are to lie {wanted} apart: is it the leading dimension of this matrix that is in the index"
        ));
    }
    if let Some(apart) = shift(got, wanted, wrong) {
        return Some(format!(
            "each is what is expected {} elements {}: is an index off by that",
            apart.abs(),
            if apart > 0 { "behind it" } else { "before it" }
        ));
    }
    let times = got[first] / wanted[first];
    if times.is_finite() && all(&|at| near(got[at], times * wanted[at])) {
        return Some(format!(
            "each is {times:.4} times what is expected: is a factor left out or multiplied twice, or a part added several times"
        ));
    }
    let more = got[first] - wanted[first];
    if all(&|at| near(got[at] - wanted[at], more)) {
        return Some(format!("each is off by {more}: is a part added twice, or left out"));
    }
    let error = |at: usize| (got[at] - wanted[at]).abs() / wanted[at].abs().max(1.0);
    let largest = wrong.iter().map(|at| error(*at)).fold(0.0, f64::max);
    (largest < 0.02).then(|| {
        format!("each is within {largest:.0e} of what is expected: is the sum, or a factor, kept in fewer bits, or `--tolerance` too small for sums in this type")
    })
}

/// What is cut, or is not: at 0, at the ends of a range, or behind the point.
fn cut(got: &[f64], wanted: &[f64], wrong: &[usize]) -> Option<String> {
    let all = |holds: &dyn Fn(f64, f64) -> bool| wrong.iter().all(|at| holds(got[*at], wanted[*at]));
    let least = wanted.iter().copied().fold(f64::INFINITY, f64::min);
    let most = wanted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let some = |holds: &dyn Fn(f64, f64) -> bool| {
        got.iter().zip(wanted).filter(|(got, wanted)| holds(**got, **wanted)).count() > 1
    };
    if all(&|got, wanted| wanted == 0.0 && got < 0.0) && some(&|got, wanted| got > 0.0 && near(got, wanted)) {
        return Some("what is negative is to come as 0, and comes as it is: is the `max(x, 0)` of a ReLU missing, or before the last that is added".to_string());
    }
    if all(&|got, wanted| got == 0.0 && wanted < 0.0) && some(&|got, wanted| got > 0.0 && near(got, wanted)) {
        return Some("what is negative comes as 0: is a limit of a range 0 that is to be less (-128 of signed bytes), is a value taken as an unsigned one, or is there a ReLU too many".to_string());
    }
    let at_ends = all(&|_, wanted| wanted == least || wanted == most);
    let several = |end: f64| wanted.iter().filter(|wanted| **wanted == end).count() > 1;
    let ends = wrong.iter().all(|at| several(wanted[*at])) && least < 0.0 && most > 0.0;
    let is_whole = |numbers: &[f64]| numbers.iter().all(|number| number.fract() == 0.0);
    if at_ends && ends && is_whole(wanted) && some(&|got, wanted| got == wanted && least < wanted && wanted < most) {
        return Some(format!(
            "only those are wrong that are to be {least} or {most}, the ends of the range, and others come: a conversion to a narrow type wraps around. Is each value \
             kept within both ends before it, `min(max(x, {least}), {most})`"
        ));
    }
    let to_zero = |got: f64, wanted: f64| (got - wanted).abs() == 1.0 && got.abs() < wanted.abs();
    if is_whole(wanted) && all(&to_zero) {
        return Some("each is 1 too near to 0: is what is behind the point cut off, where it is to be rounded (`__float2int_rn`, `rintf`)".to_string());
    }
    None
}

/// How many rows the matrix has that comes transposed.
fn transposed(got: &[f64], wanted: &[f64]) -> Option<usize> {
    let count = got.len();
    let is_it = |rows: &usize| {
        let columns = count / rows;
        count.is_multiple_of(*rows)
            && columns > 1
            && (0..count).all(|at| near(got[at], wanted[at % rows * columns + at / rows]))
    };
    (2..=ROWS.min(count / 2)).find(is_it)
}

/// How far apart rows are that begin to be wrong at an element, and how far they should be.
fn apart(got: &[f64], wanted: &[f64], first: usize) -> Option<(usize, usize)> {
    let count = got.len();
    let fits = |&(apart, meant): &(usize, usize)| {
        let rows = count / apart.max(meant);
        rows > 1
            && (0..rows * first)
                .all(|at| near(got[at / first * apart + at % first], wanted[at / first * meant + at % first]))
    };
    let others = first + 1..=(WIDER * first).min(count);
    (first > 1).then(|| others.flat_map(|other| [(first, other), (other, first)]).find(fits)).flatten()
}

/// How many elements further on the one lies that comes.
fn shift(got: &[f64], wanted: &[f64], wrong: &[usize]) -> Option<isize> {
    let within = |at: usize, apart: isize| at.checked_add_signed(apart).filter(|at| *at < wanted.len());
    let fits = |apart: &isize| {
        let mut seen = 0;
        let all = wrong.iter().all(|at| match within(*at, *apart) {
            Some(other) => {
                seen += 1;
                near(got[*at], wanted[other])
            }
            None => true,
        });
        all && 2 * seen > wrong.len()
    };
    let distance = |at: usize| at as isize - wrong[wrong.len() / 2] as isize;
    let middle = got[wrong[wrong.len() / 2]];
    let candidates = (0..wanted.len()).filter(|at| near(wanted[*at], middle)).map(distance);
    candidates.filter(|apart| *apart != 0).take(64).find(fits)
}

/// Which are wrong, where it is a range, or a part of every so many.
fn place(wrong: &[usize], count: usize) -> Option<String> {
    let (first, last) = (*wrong.first()?, *wrong.last()?);
    if wrong.len() == count || wrong.len() == 1 {
        return None;
    }
    if last + 1 - first == wrong.len() {
        return Some(match (first, last + 1 == count) {
            (0, _) => format!("the first {} of {count} elements", wrong.len()),
            (_, true) => format!("the elements from {first} on"),
            _ => format!("the elements {first} to {last}"),
        });
    }
    let part = |period: &usize| {
        let mut is_in = vec![false; *period];
        wrong.iter().for_each(|at| is_in[at % period] = true);
        let inside = is_in.iter().filter(|wrong| **wrong).count();
        let (from, end) = (is_in.iter().position(|wrong| *wrong)?, is_in.iter().rposition(|wrong| *wrong)? + 1);
        // Nearly all of them: some may be right by chance.
        let whole = count.div_ceil(*period) * inside;
        // Others would fit by chance.
        let usual = *period <= 64 || count.is_multiple_of(*period);
        (usual && end - from == inside && inside < *period && 10 * wrong.len() >= 9 * whole).then(|| match inside {
            1 => format!("elements {from} of every {period}"),
            _ => format!("elements {from} to {} of every {period}", end - 1),
        })
    };
    (2..=1024.min(count / 2)).find_map(|period| part(&period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wrong_elements_have_in_common_is_told() {
        let wanted: Vec<f64> = (0..96).map(|at| f64::from(at * at % 97) + 0.25).collect();
        let said = |got: &dyn Fn(usize) -> f64| {
            let got: Vec<f64> = (0..96).map(got).collect();
            alike(&got, &wanted, &|at| !near(got[at], wanted[at])).unwrap_or_default()
        };
        let signed: Vec<f64> = (0..96).map(|at| f64::from(at * at % 97) * 5.0 - 200.0).collect();
        let whole = |wanted: &dyn Fn(f64) -> f64, got: &dyn Fn(f64) -> f64| {
            let of = |how: &dyn Fn(f64) -> f64| signed.iter().map(|number| how(*number)).collect::<Vec<f64>>();
            let (got, wanted) = (of(got), of(wanted));
            alike(&got, &wanted, &|at| got[at] != wanted[at]).unwrap_or_default()
        };
        let byte = |number: f64| number.clamp(-128.0, 127.0);
        assert!(whole(&|x| x.max(0.0), &|x| x).contains("ReLU missing"));
        assert!(whole(&byte, &|x| byte(x).max(0.0)).contains("-128 of signed bytes"));
        assert!(whole(&byte, &|x| f64::from(x as i32 as i8)).contains("to be -128 or 127, the ends of the range"));
        assert!(whole(&byte, &|x| if x < 127.0 { byte(x) } else { -8.0 }).contains("`min(max(x, -128), 127)`"));
        assert!(whole(&|x| x, &|x| if x % 3.0 == 0.0 { x - x.signum() } else { x }).contains("`__float2int_rn`"));
        let rules: [(&dyn Fn(usize) -> f64, &str); 10] = [
            (&|at| wanted[at] * 1.5, "each is 1.5000 times what is expected"),
            (
                &|at| if at < 80 { wanted[at / 10 * 12 + at % 10] } else { 0.5 },
                "come 10 elements apart, and are to lie 12",
            ),
            (&|at| wanted[at] + 7.0, "each is off by 7"),
            (&|at| wanted[at % 8 * 12 + at / 8], "rows and columns exchanged, 8 x 12"),
            (&|at| wanted[(at + 1) % 96], "each is what is expected 1 elements behind it"),
            (
                &|at| if at < 64 { wanted[at] } else { 0.0 },
                "only the elements from 64 on are wrong; all of these are 0",
            ),
            (
                &|at| if at % 16 < 12 { wanted[at] } else { f64::NAN },
                "only elements 12 to 15 of every 16 are wrong; all of these are NaN",
            ),
            (
                &|at| if at % 4 == 3 { wanted[at] * 9.0 + at as f64 } else { wanted[at] },
                "only elements 3 of every 4 are wrong: which",
            ),
            (&|at| wanted[at] * (1.0 + 0.002 * (at % 5 + 1) as f64), "kept in fewer bits"),
            (&|at| (at * 31 % 7) as f64 + 1000.0, ""),
        ];
        for (got, words) in rules {
            let text = said(got);
            assert!(text.contains(words) && text.is_empty() == words.is_empty(), "{words}: {text}");
        }
    }
}
