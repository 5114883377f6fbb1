//! A verdict, its message, the results and all counts are the same, however many threads run the thread blocks.

use crate::harness::Case;
use crate::{correct, faults, warned};

#[test]
fn correct_kernels_give_the_same_with_any_number_of_threads() {
    hold("correct", correct::CASES.iter().map(|(case, _)| case));
    hold("correct", correct::OF_BYTES.iter().map(|(case, _)| case));
}

#[test]
fn warnings_are_the_same_with_any_number_of_threads() {
    hold("warned", warned::CASES.iter().map(|(_, case, _)| case));
}

#[test]
fn wrong_kernels_give_the_same_with_any_number_of_threads() {
    hold("faults", faults::CASES.iter());
}

fn hold<'a>(folder: &str, cases: impl Iterator<Item = &'a Case>) {
    for case in cases {
        let alone = case.run_with(folder, 1);
        for threads in [2, 7] {
            assert_eq!(case.run_with(folder, threads), alone, "{}: {threads} threads", case.name);
        }
    }
}
