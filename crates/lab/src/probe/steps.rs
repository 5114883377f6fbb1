//! What steps along K have in common that do not come once.

/// Lanes of a warp.
const LANES: usize = 32;
/// Steps that lie together of which a lane may have the sum, as of a vector.
const EACH: [usize; 4] = [1, 2, 4, 8];
/// Steps that a tile may have.
const TILES: [usize; 5] = [4, 8, 16, 32, 64];

/// A question about a kernel in which these steps of K come so many times. All of the first `seen` ones were looked at. `others` are all
/// steps that do not come once, and those that do. Lanes may have parts of a sum, and so may blocks.
pub fn question(
    numbers: &[usize],
    (k, seen): (usize, usize),
    times: f64,
    (shuffles, of_blocks): (bool, bool),
    others: (&[usize], &[usize]),
) -> String {
    let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else { return String::new() };
    let (count, end) = (numbers.len(), last + 1);
    let in_a_row = end - first == count;
    let of_tile = k - first;
    if times > 1.0 && in_a_row && end < k && end.is_multiple_of(of_tile) {
        return format!(
            "they are left from the tile before in the last one, of which K fills {} of {of_tile} steps: is 0 stored where there is no element?",
            k - end
        );
    }
    if times > 1.0 && in_a_row && TILES.contains(&of_tile) {
        return format!(
            "they are left from the tile before, behind the end of K: does the loop over the last tile go {count} too far (`k < rest`)?"
        );
    }
    if times > 1.0 && numbers == [k - 1] {
        return "it comes in the place of steps beyond K: the loop over the last tile ends with K, or 0 is stored there".to_string();
    }
    if let Some(text) = of_warps(times, others).filter(|_| shuffles) {
        return text;
    }
    if times > 1.0 {
        return match shuffles {
            true => "is each lane's part added once? a sum by `__shfl_down_sync` is in lane 0, one that all lanes are to have comes by `__shfl_xor_sync`".to_string(),
            false => "does each thread, and each block along z, sum steps of its own?".to_string(),
        };
    }
    if in_a_row && end == k && of_blocks {
        return "is the number of steps along K rounded up, and each block's share of them, `(steps + shares - 1) / shares`; and does every thread's part reach the sum?"
            .to_string();
    }
    if in_a_row && end == k {
        return "is the number of steps along K rounded up, and does every thread's part reach the sum?".to_string();
    }
    if in_a_row && first == 0 && count == 1 {
        return "do the loop and the index along K begin at 0?".to_string();
    }
    if in_a_row && first == 0 && count >= k - end {
        let left = k - end;
        let last = if left == 1 { "the last step is".to_string() } else { format!("the last {left} steps are") };
        let else_lost = if count == left { "; or are the first ones never summed?" } else { "" };
        return format!(
            "only {last} in it. Is the sum carried on from step to step (`+=`, and not `=`), and set to 0 once, before the loop along K? Where that \
             (`= 0`, `fill_fragment`, or a product onto 0) stands inside the loop, each turn begins anew{else_lost}"
        );
    }
    if in_a_row && first == 0 {
        return "is the sum carried on from step to step (`+=`), and is the first one taken?".to_string();
    }
    match period(numbers, seen) {
        Some((period, left)) if shuffles && period <= LANES => format!(
            "of each {period} steps {left} are missing, as the parts of lanes are that no shuffle brings to the one that stores: \
             `for (offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset)`, and lane 0 stores"
        ),
        Some((period, left)) => format!(
            "of each {period} steps along K, {} are summed and {left} are not: is the loop's step what a turn of it sums, and does the inner loop run to the tile's end?",
            period - left
        ),
        None if shuffles => "does every thread's part reach the sum, through all lanes of a shuffle?".to_string(),
        None if of_blocks => "does the part of every thread and block reach the sum: is the share of each rounded up, and where parts are stored, is each read back, at its \
                 own place?"
            .to_string(),
        None => "does the part of every thread and block reach the sum: where parts are stored, is each read back, at its own place?".to_string(),
    }
}

/// What the second stage of a block's sum does, if steps of its first warp come several times, and those of the others once.
fn of_warps(times: f64, (wrong, right): (&[usize], &[usize])) -> Option<String> {
    // A lane's steps that lie together, and the lanes whose sum others have, too: all, or by `__shfl_down_sync` those behind them.
    let fits = |warps: usize, each: usize, down: bool| {
        let is_of = |step: &usize| {
            let lane = step / each % (warps * LANES);
            lane < LANES && (!down || lane >= warps)
        };
        wrong.iter().all(is_of) && !right.iter().any(is_of)
    };
    let ends = |each: &usize| {
        right.iter().any(|step| wrong.contains(&(step.wrapping_sub(1))) && step.is_multiple_of(each * LANES))
    };
    let of_lanes = |warps: usize| {
        // Each lane that has no warp's part adds the sum of the first warp once more.
        let told = (times - (LANES + 1 - warps) as f64).abs() < 1e-3;
        EACH.into_iter().any(|each| told && fits(warps, each, false) || ends(&each) && fits(warps, each, true))
    };
    let (from, number) = match (2..=LANES / 2).find(|warps| of_lanes(*warps)) {
        Some(warps) => (format!("lanes from {warps} on, for which there is no warp,"), format!("{warps}")),
        None => {
            EACH.into_iter().find(|each| ends(each) && (2..=LANES).any(|warps| fits(warps, *each, false)))?;
            ("lanes beyond the number of warps".to_string(), "warps".to_string())
        }
    };
    Some(format!(
        "these are the first warp's. Where a block's sum is made of its warps' sums, {from} keep what they have of the first stage, and it is added again: they \
         bring 0, `value = lane < {number} ? part[lane] : 0`"
    ))
}

/// The period with which steps are left out, and how many of them in each.
fn period(numbers: &[usize], k: usize) -> Option<(usize, usize)> {
    let is_out = |step: usize| numbers.binary_search(&step).is_ok();
    let period = (2..=3 * k / 4).find(|period| (0..k - period).all(|step| is_out(step) == is_out(step + period)))?;
    Some((period, (0..period).filter(|step| is_out(*step)).count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_fits_the_steps() {
        let of = |steps: &dyn Fn(usize) -> bool, k: usize, times: f64, shuffles: bool| {
            let (wrong, right): (Vec<usize>, Vec<usize>) = (0..k).partition(|step| steps(*step));
            question(&wrong, (k, k), times, (shuffles, !shuffles), (&wrong, &right))
        };
        assert!(of(&|step| step % 128 < 32, 500, 29.0, true).contains("lanes from 4 on, for which there is no warp,"));
        assert!(of(&|step| step % 512 < 128, 2000, 29.0, true).contains("`value = lane < 4 ? part[lane] : 0`"));
        assert!(of(&|step| step % 64 < 32, 500, 3.0, true).contains("lanes beyond the number of warps keep"));
        assert!(
            of(&|step| (4..32).contains(&(step % 128)), 500, 2.0, true).contains("`value = lane < 4 ? part[lane] : 0`")
        );
        assert!(!of(&|step| step % 128 < 32, 500, 29.0, false).contains("lane"));
        assert!(!of(&|step| step % 128 / 32 == 1, 500, 29.0, true).contains("first warp"));
        assert!(of(&|step| step < 80, 96, 0.0, false).contains("only the last 16 steps are in it"));
        assert!(of(&|step| step < 16, 32, 0.0, false).contains("or are the first ones never summed"));
        assert!(!of(&|step| step < 16, 96, 0.0, false).contains("inside the loop"));
        assert!(of(&|step| step >= 96, 100, 0.0, false).contains("rounded up"));
        assert!(of(&|step| step < 96, 100, 0.0, false).contains("`+=`"));
        assert!(of(&|step| step == 0, 100, 0.0, false).contains("begin at 0"));
        assert!(of(&|step| step % 16 == 15, 100, 0.0, false).contains("of each 16 steps along K, 15 are summed"));
        assert!(of(&|step| step % 32 > 15, 100, 0.0, true).contains("of each 32 steps 16 are missing"));
        assert!(of(&|step| step % 64 > 31, 200, 0.0, true).contains("of each 64 steps along K, 32 are summed"));
        assert!(of(&|step| (40..64).contains(&step), 72, 2.0, false).contains("K fills 8 of 32 steps"));
        assert!(of(&|step| step == 24, 40, 2.0, false).contains("go 1 too far"));
        assert!(of(&|step| (30..64).contains(&step), 72, 2.0, false).contains("steps of its own"));
        assert!(of(&|step| step % 32 == 0, 96, 32.0, true).contains("__shfl_xor_sync"));
    }
}
