//! The mutants that a push runs: of each rule one, in one configuration, by a fixed rotation.

use gemm::Level;
use gemm::kernel::Compiler;
use rayon::prelude::*;

use super::outcome::{Order, REFUSED, Reach, SAME_CODE, outcome, right};
use super::{Record, Run, Survivor, pairs, place_on_record, version};
use crate::mutants::{mutants, rules};
use crate::skipped;

/// In how many tile sizes a mutant runs, the smallest first, before another one of its rule takes its place. If none is caught there,
/// they run in all, and in other forms.
const REACH: usize = 2;

/// Of each rule of which the record says that runs catch mutants, one is caught by a run. Those that the compiler refuses, or makes the kernel's own
/// code of, give way to the next ones. Those that survive by the record, which explains them, do not run.
pub fn holds(level: &'static Level, compiler: &dyn Compiler, record: &Record) -> Result<(), String> {
    let mutants = mutants(level.source);
    let right = right(level, Order::SmallFirst);
    if version(&right, compiler)? != record.compiler {
        skipped(&format!("the record of mutants is by NVRTC {}", record.compiler));
        return Ok(());
    }
    let explained = |run: &Run| place_on_record(level, &record.survivors, run).is_some();
    let runs: Vec<Run> = pairs(&mutants, &right).into_iter().filter(|run| !explained(run)).collect();
    let count = rules().count();
    let rules: Vec<(usize, &str)> = rules().enumerate().collect();
    rules.into_par_iter().filter(|(_, rule)| caught_by_a_run(record, rule) > 0).try_for_each(|(number, rule)| {
        let of_rule: Vec<Run> = runs.iter().copied().filter(|(mutant, _)| mutant.rule == rule).collect();
        let turn = (number + level.number().unwrap_or_default() as usize) % count;
        let caught = |reach| first_caught(level, compiler, (record, reach), rotated(&of_rule, turn, count));
        match caught(REACH)? || caught(usize::MAX)? {
            true => Ok(()),
            false => Err(format!("{rule}: no run catches any of {} mutants, and the record has one", of_rule.len())),
        }
    })
}

/// How many mutants of a rule are caught by a run, by the record.
fn caught_by_a_run(record: &Record, rule: &str) -> usize {
    let is_run = |how: &str| ![REFUSED, SAME_CODE, "survived"].contains(&how);
    let how = record.rules.get(rule).into_iter().flatten();
    how.filter(|(how, _)| is_run(how)).map(|(_, count)| count).sum()
}

/// All runs, from another part of them on for each of so many turns.
fn rotated<T>(runs: &[T], turn: usize, turns: usize) -> impl Iterator<Item = &T> {
    runs.iter().cycle().skip(runs.len() * turn / turns).take(runs.len())
}

/// Whether one of these is caught by a run within reach: the first that the compiler takes, and that does something there.
fn first_caught<'a>(
    level: &'static Level,
    compiler: &dyn Compiler,
    (record, reach): (&Record, usize),
    runs: impl Iterator<Item = &'a Run<'a>>,
) -> Result<bool, String> {
    for (mutant, right) in runs {
        let near = &right[..right.len().min(reach)];
        match outcome(level, mutant, (near, Reach::All), compiler)? {
            (Some(how), _) if how == REFUSED || how == SAME_CODE => {}
            (Some(_), _) => return Ok(true),
            (None, _) if near.len() < right.len() => {}
            (None, build) => {
                return Err(format!(
                    "a mutant survives in {}, and the record does not know it: {:#?}; run `{}`",
                    build.configuration,
                    Survivor::new(level, mutant),
                    record.made_by
                ));
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_turn_begins_elsewhere_and_has_all() {
        let runs: Vec<usize> = (0..7).collect();
        let of = |turn| rotated(&runs, turn, 3).copied().collect::<Vec<usize>>();
        assert_eq!([of(0)[0], of(1)[0], of(2)[0]], [0, 2, 4]);
        assert!((0..3).all(|turn| runs.iter().all(|run| of(turn).contains(run))));
        assert_eq!(rotated(&[0; 0], 1, 3).count(), 0);
    }
}
