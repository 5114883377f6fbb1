//! Warnings of rows that lanes access side by side before a copy does: each thread needs its own fence.

use emulator::{Launch, Schedule, WarningKind};

use crate::run::Kernel;

/// Lanes of a warp that access 64 bytes from `tile+128` on, side by side: the first of them, how far it is to the next, and the
/// bytes of each.
const ROWS: [(u32, u32, u32); 7] = [(0, 1, 4), (16, 1, 4), (3, 1, 4), (4, 1, 16), (4, 2, 16), (1, 7, 16), (9, 1, 8)];

/// What the threads of warp `warp` do there, if a fence is executed by those of them whose `%p4` is not set; then thread `copier` has it copied,
/// in or out.
fn kernel((warp, copier): (u32, u32), (first, step, bytes): (u32, u32, u32), store: bool, but: Option<u32>) -> Kernel {
    let kind = ["", "v2.", "v4."][bytes.ilog2() as usize - 2];
    let list = ["%r5", "{%r5, %r5}", "{%r5, %r5, %r5, %r5}"][bytes.ilog2() as usize - 2];
    let vector = format!("{kind}u32");
    let count = 64 / bytes;
    let mine = format!(
        "sub.u32 %r3, %t, {};\nrem.u32 %r4, %r3, {step};\ndiv.u32 %r3, %r3, {step};\nsetp.lt.u32 %p1, %r3, {count};\nsetp.eq.and.u32 %p1, %r4, 0, %p1;\n\
         setp.ge.and.u32 %p1, %t, {}, %p1;\nmad.lo.u32 %r4, %r3, {bytes}, %r100;\n",
        32 * warp + first,
        32 * warp + first
    );
    let fence = match but {
        Some(thread) => format!("setp.ne.and.u32 %p4, %t, {thread}, %p1;\n@%p4 fence.proxy.async;\n"),
        None => "@%p1 fence.proxy.async;\n".to_string(),
    };
    let (before, used) = match store {
        true => (String::new(), format!("@%p1 st.shared.{vector} [%r4+128], {list};\n")),
        false => (
            format!("@%p1 st.shared.{vector} [%r4+128], {list};\nfence.proxy.async;\n"),
            format!(
                "@%p1 ld.shared.{vector} {}, [%r4+128];\n",
                list.replace("%r5, %r5, %r5, %r5", "%r5, %r6, %r7, %r8").replace("{%r5, %r5}", "{%r5, %r6}")
            ),
        ),
    };
    let copy = match store {
        true => {
            "@%p3 cp.async.bulk.global.shared::cta.bulk_group [%out], [tile+128], 64;\n@%p3 cp.async.bulk.commit_group;\n@%p3 cp.async.bulk.wait_group 0;"
        }
        false => {
            "@%p3 mbarrier.arrive.expect_tx.shared.b64 %d1, [tile], 64;\n\
                  @%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile+128], [%in], 64, [tile];\n\
                  W: mbarrier.try_wait.parity.shared.b64 %p5, [tile], 0;\n@!%p5 bra W;"
        }
    };
    // The one who copies has a fence where it stored.
    let late = if store { "@%p3 fence.proxy.async;\n" } else { "" };
    let body = format!(
        "mov.u32 %r100, tile;\nmov.u32 %r5, 7;\nsetp.eq.u32 %p3, %t, {copier};\n@%p3 mbarrier.init.shared.b64 [tile], 1;\n@%p3 fence.mbarrier_init.release.cluster;\n\
         {mine}{before}bar.sync 0;\n{used}{fence}bar.sync 0;\n{late}{copy}"
    );
    Kernel { zeros: 4096, ..Kernel::new(64, &body) }
}

#[test]
fn of_lanes_side_by_side_the_first_without_a_fence_is_named() {
    for ((warp, copier), row) in [(0, 40), (1, 40), (0, 5)].into_iter().flat_map(|who| ROWS.map(|row| (who, row))) {
        let lanes: Vec<u32> = (0..64 / row.2).map(|n| 32 * warp + row.0 + n * row.1).collect();
        let last = lanes[lanes.len() - 1];
        for (store, but) in [false, true]
            .into_iter()
            .flat_map(|store| [None, Some(lanes[0]), Some(lanes[1]), Some(last)].map(|but| (store, but)))
        {
            let kernel = kernel((warp, copier), row, store, but);
            for schedule in [Schedule::FirstFirst, Schedule::ShortTurns] {
                let outcome = kernel.clone().launch(Launch::new(1, 64).schedule(schedule)).run();
                let report =
                    outcome.unwrap_or_else(|fault| panic!("{row:?}, {store}: {fault}\n{}", kernel.text)).report;
                let warned: Vec<_> = report
                    .warnings
                    .iter()
                    .map(|warning| (warning.kind, warning.count, warning.other.1.thread.x))
                    .collect();
                let kind = if store { WarningKind::FenceOfTheReader } else { WarningKind::UnfencedReuse };
                // (Who copies out has a fence of its own.)
                let doubtful = but.filter(|thread| !store || *thread != copier);
                let wanted: Vec<_> = doubtful.map(|thread| (kind, 1, thread)).into_iter().collect();
                assert_eq!(warned, wanted, "{warp}, {row:?}, {store}, {schedule}: {:?}", report.warnings);
                for warning in &report.warnings {
                    assert_eq!(warning.site.thread.x, copier, "{}", warning.message);
                    let (deed, thread) = (if store { "store" } else { "load" }, warning.other.1.thread);
                    assert!(warning.message.contains(&format!("{deed} by thread {thread} at ")), "{}", warning.message);
                }
            }
        }
    }
}
