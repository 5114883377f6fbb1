//! What a push leaves out for its time, and what asks for it.

/// Whether all runs that a push leaves out: with `DEEP=1` each build runs all shapes but the long ones, each shape in each order of blocks,
/// all mutants are compared with their records, and so on. What else is a product of many cases runs by pairs. Without it, tests run a
/// part that has every kind of case, and say so themselves.
pub fn deep() -> bool {
    std::env::var_os("DEEP").is_some_and(|value| !value.is_empty() && value != "0")
}

/// How many random cases a test takes.
pub fn cases() -> u32 {
    if deep() { 16 } else { 10 }
}

/// A part of a list of pairs, and as few more as bring in each one and each other of the list: first those that bring both.
pub(crate) fn with_each<S: Copy + PartialEq, T: Copy + PartialEq>(
    all: &[(S, T)],
    mut part: Vec<(S, T)>,
) -> Vec<(S, T)> {
    for both in [true, false] {
        for &(one, other) in all {
            let has_one = part.iter().any(|pair| pair.0 == one);
            let has_other = part.iter().any(|pair| pair.1 == other);
            let brings = if both { !(has_one || has_other) } else { !(has_one && has_other) };
            if brings {
                part.push((one, other));
            }
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_one_and_each_other_are_there_and_no_more_than_it_takes() {
        for (ones, others) in [(1, 3), (2, 3), (3, 3), (5, 3)] {
            let all: Vec<(usize, usize)> =
                (0..ones).flat_map(|one| (0..others).map(move |other| (one, other))).collect();
            for given in [vec![], vec![all[0]], vec![all[1], all[2]], all.clone()] {
                let part = with_each(&all, given.clone());
                assert!(given.iter().all(|pair| part.contains(pair)));
                assert!((0..ones).all(|one| part.iter().any(|pair| pair.0 == one)), "{part:?}");
                assert!((0..others).all(|other| part.iter().any(|pair| pair.1 == other)), "{part:?}");
                assert!(part.len() <= given.len() + ones.max(others), "{part:?}");
            }
        }
    }
}
