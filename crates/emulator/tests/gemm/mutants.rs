//! The same kernel with an error: one fence, wait, arrival, copy or number less or other. Each is convicted, or gives a
//! wrong product; or it is warned of, where the books do not agree.

use emulator::{Report, Schedule, WarningKind};

use crate::{first_wrong, kernel, run};

const SIZE: [usize; 3] = [128, 256, 7 * 64];

/// What stands in a line, what is put there instead, and how often at least.
const ERRORS: &[(&str, &str, usize)] = &[
    ("wgmma.fence.sync.aligned;", "", 1),
    ("wgmma.commit_group.sync.aligned;", "", 1),
    ("wgmma.wait_group.sync.aligned 0;", "", 1),
    ("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;", 1),
    ("wgmma.mma_async", "//", 4),
    ("fence.mbarrier_init.release.cluster;", "", 1),
    ("bar.sync", "//", 1),
    ("mbarrier.init", "//", 2),
    ("mbarrier.arrive.shared", "//", 1),
    ("mbarrier.arrive.expect_tx", "//", 1),
    ("cp.async.bulk", "//", 2),
    ("@!done bra", "//", 2),
    ("49152;", "49136;", 1),
    ("49152;", "49168;", 1),
    (PARITY, PARITY, 2),
    ("mbarrier.try_wait", "setp.eq.u32 done, 0, 0; //", 2),
];

/// The waits, whose parity is flipped.
const PARITY: &str = "mbarrier.try_wait.parity";

/// What is warned of in every order, and no more: the books do not agree whether it is an error.
const WARNED: &[(&str, WarningKind)] = &[("fence.mbarrier_init.release.cluster;", WarningKind::UnfencedInit)];

/// Errors after which the kernel is right in every order that is permitted, and why.
const HARMLESS: &[(&str, &str)] = &[];

/// The kernel with the `n`th such line changed.
fn mutant(what: &str, other: &str, n: usize) -> Option<String> {
    let at = kernel().lines().enumerate().filter(|(_, line)| line.contains(what)).nth(n)?.0;
    let lines = kernel().lines().enumerate().map(|(number, line)| match number == at {
        true if what == PARITY => {
            let parity = line.trim_end_matches(';').rsplit(", ").next().unwrap_or_default();
            let flipped = line.replace(&format!(", {parity};"), ", flipped;");
            format!(".reg .b32 flipped;\nxor.b32 flipped, {parity}, 1;\n{flipped}")
        }
        true => line.replace(what, other),
        false => line.to_string(),
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_kernel_with_any_one_error_is_convicted_or_wrong_or_warned_of() {
    let (mut survivors, mut convicted, mut warned, mut all) = (Vec::new(), 0, 0, 0);
    for (what, other, least) in ERRORS {
        let mut count = 0;
        while let Some(ptx) = mutant(what, other, count) {
            let outcomes = Schedule::ALL.map(|schedule| run(&ptx, SIZE, schedule));
            let told = outcomes.iter().any(Result::is_err);
            let wrong = outcomes.iter().flatten().any(|(c, _)| first_wrong(SIZE, c, 7).is_some());
            if let Some(Err(why)) = outcomes.iter().find(|outcome| outcome.is_err()) {
                println!("{what} → {other}, {count}: {}", why.lines().next().unwrap_or_default());
            } else if wrong {
                println!("{what} → {other}, {count}: a wrong product");
            }
            convicted += usize::from(told);
            let known = HARMLESS.iter().any(|(harmless, _)| harmless == what);
            let kinds =
                |(_, report): &(_, Report)| report.warnings.iter().map(|warning| warning.kind).collect::<Vec<_>>();
            let mut warnings = outcomes.iter().flatten().map(kinds);
            if let Some((_, kind)) = WARNED.iter().find(|(doubtful, _)| doubtful == what) {
                assert!(!told && !wrong && warnings.all(|kinds| kinds == [*kind]), "{what} → {other}, {count}");
                warned += 1;
            } else if !told && !wrong && !known {
                survivors.push(format!("{what} → {other}, {count}"));
            }
            (count, all) = (count + 1, all + 1);
        }
        assert!(count >= *least, "{what} stands there {count} times");
    }
    println!("{all} errors, {convicted} convicted, {warned} warned of");
    assert_eq!(warned, WARNED.len());
    assert!(survivors.is_empty(), "{}", survivors.join("\n"));
}
