//! Kernels that run to the end and are right, and that some would call wrong: each gets its warning, and no other; the
//! warnings are one snapshot. Those that look like them and get none are among the correct ones.

use emulator::{Schedule, Warning, WarningKind};

use crate::correct::{Expected, group_product};
use crate::harness::Arg::{self, Floats, Int, Unwritten};
use crate::harness::{Case, Map, Outcome, assert_words, source_line, sources};

const A: Arg = Floats("A", 64);
const C32: Arg = Unwritten("C", 4 * 32);
const C64: Arg = Unwritten("C", 4 * 64);
const WARP_PAIR: [u32; 2] = [64, 1];
const MATRIX: Map = Map::floats(Floats("A", 256), &[16, 16], &[8, 8]);

pub const CASES: &[(WarningKind, Case, Expected)] = &[
    (
        WarningKind::UnfencedReuse,
        Case::new("bulk_ring_not_fenced", 9, WARP_PAIR, &[Floats("A", 160), C32, Int(5)]),
        |i| (5 * (31 - i) + 32 * 10) as f32,
    ),
    (
        WarningKind::UnfencedReuse,
        Case::new("cluster_stages_not_fenced", 2, WARP_PAIR, &[Floats("A", 320), C64, Int(5)]),
        |i| (1440 + 10 * (i % 32) + i / 32) as f32,
    ),
    (WarningKind::FenceOfTheReader, Case::new("bulk_store_fenced_by_the_reader", 1, WARP_PAIR, &[A, C64]), |i| {
        2.0 * (63 - i) as f32
    }),
    (
        WarningKind::FenceOfTheReader,
        Case::new("group_fenced_behind_the_barrier", 1, [128, 1], &[A, Unwritten("C", 4 * 64 * 16)]),
        |i| group_product(i, |row, k| row % 8 + k % 4, |column, k| column % 4 + k % 8),
    ),
    (WarningKind::StoreLeft, Case::new("bulk_store_left_under_way", 1, WARP_PAIR, &[A, C64]), |i| {
        2.0 * (63 - i) as f32
    }),
    (WarningKind::UnfencedInit, Case::new("bulk_mbarrier_not_fenced", 9, WARP_PAIR, &[A, C64]), |i| 63.0 - i as f32),
    (WarningKind::UnfencedInit, Case::new("bulk_mbarrier_fenced_by_another", 1, WARP_PAIR, &[A, C64]), |i| {
        63.0 - i as f32
    }),
    (
        WarningKind::UnfencedInit,
        Case::new("tensor_mbarrier_not_fenced", 1, WARP_PAIR, &[Arg::Map(&MATRIX), C64]),
        |i| (16 * (2 + i % 8) + 4 + i / 8) as f32,
    ),
];

/// The warnings of a case that must end well.
fn warnings((kind, case, expected): &(WarningKind, Case, Expected), schedule: Schedule) -> Vec<Warning> {
    let (outcome, report) = case.report_in("warned", schedule);
    let Outcome::Done(bytes) = outcome else { panic!("{} in the order {schedule:?}: {outcome:?}", case.name) };
    for (i, bytes) in bytes.as_chunks().0.iter().enumerate() {
        assert_eq!(f32::from_le_bytes(*bytes), expected(i), "{}, element {i}", case.name);
    }
    let warnings = report.map(|report| report.warnings).unwrap_or_default();
    assert!(!warnings.is_empty(), "{} has no warning in the order {schedule:?}", case.name);
    for warning in &warnings {
        assert_eq!(warning.kind, *kind, "{} in the order {schedule:?}: {warning}", case.name);
    }
    warnings
}

#[test]
fn every_warning_is_in_these_words() {
    let text = |case| {
        let rendered = warnings(case, Schedule::default()).into_iter().map(|warning| warning.render(&source_line));
        rendered.collect::<Vec<_>>().join("\n")
    };
    assert_words("warned/words", CASES.iter().map(|case| (case.1.name, text(case))).collect());
}

/// The threads that are named may be others.
#[test]
fn every_order_warns_of_the_same_lines_as_often() {
    let lines = |warning: &Warning| {
        let line = |site: &emulator::Site| site.source.as_ref().map(|(_, line)| *line);
        (warning.kind, line(&warning.site), line(&warning.other.1), warning.count)
    };
    for case in CASES {
        let of = |schedule| warnings(case, schedule).iter().map(lines).collect::<Vec<_>>();
        for schedule in Schedule::ALL {
            assert_eq!(of(schedule), of(Schedule::default()), "{} in the order {schedule:?}", case.1.name);
        }
    }
}

#[test]
fn without_checks_there_are_none() {
    for (_, case, _) in CASES {
        assert!(matches!(case.run("warned", false), Outcome::Done(_)), "{}", case.name);
    }
}

#[test]
fn every_kernel_that_is_warned_of_is_run() {
    let mut names: Vec<&str> = CASES.iter().map(|(_, case, _)| case.name).collect();
    names.sort_unstable();
    assert_eq!(names, sources("warned"));
}
