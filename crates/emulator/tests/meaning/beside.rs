//! What goes on beside the threads: bulk copies that any lane asks for, as many as one likes, and who may touch their bytes when.

use emulator::{Fault, FaultKind, Launch, Schedule, WarningKind};

use crate::run::Kernel;

const LOAD: &str = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";

/// Word `n` of `in` is 3 `n`.
fn input() -> Vec<u8> {
    (0..1024u32).flat_map(|n| (3 * n).to_le_bytes()).collect()
}

fn kernel(threads: u32, body: &str) -> Kernel {
    Kernel { zeros: 4096, ..Kernel::new(threads, body).input(input()) }
}

/// The thread that is named second, as it did something before.
fn other(fault: &Fault) -> u32 {
    fault.other.as_ref().unwrap_or_else(|| panic!("two parties: {fault}")).1.thread.x
}

/// A barrier at the start of `tile`, made by thread 0, which all of them know.
fn begun(more: &str) -> String {
    format!(
        "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nmov.u32 %r1, 1;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 mbarrier.init.shared.b64 [%r100], %r1;\n\
         @%p1 fence.mbarrier_init.release.cluster;\n{more}\nbar.sync 0;\n"
    )
}

/// Thread `asker` has so many bytes copied to this place of `tile`.
fn asks(asker: u32, to: u32, bytes: u32) -> String {
    format!(
        "setp.eq.u32 %p2, %t, {asker};\n@%p2 mbarrier.arrive.expect_tx.shared.b64 %d1, [%r100], {bytes};\nadd.u32 %r102, %r100, {to};\n\
         @%p2 {LOAD} [%r102], [%in], {bytes}, [%r100];\n"
    )
}

const WAIT: &str = "W: mbarrier.try_wait.parity.shared.b64 %p5, [%r100], 0;\n@!%p5 bra W;\n";

/// 124 barriers, at whose place in `tile` lies a word more each; every one has a copy of 16 bytes, for which thread n % 64 asks. When
/// all are under way, thread 40 awaits one of them, and reads what one brings.
fn many(awaited: u32, read: u32) -> Kernel {
    let body = format!(
        "mov.u32 %r100, tile;\nsetp.ne.u32 %p1, %t, 0;\nmov.u32 %r1, 0;\nmov.u32 %r2, 1;\n@%p1 bra READY;\n\
         I: mad.lo.u32 %r3, %r1, 8, %r100;\nmbarrier.init.shared.b64 [%r3], %r2;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 124;\n@%p2 bra I;\n\
         fence.mbarrier_init.release.cluster;\nREADY: bar.sync 0;\nmov.u32 %r1, %t;\n\
         L: mad.lo.u32 %r3, %r1, 8, %r100;\nmad.lo.u32 %r4, %r1, 16, %r100;\nadd.u32 %r4, %r4, 2048;\nmad.wide.u32 %d2, %r1, 16, %in;\n\
         mbarrier.arrive.expect_tx.shared.b64 %d1, [%r3], 16;\n{LOAD} [%r4], [%d2], 16, [%r3];\nadd.u32 %r1, %r1, 64;\nsetp.lt.u32 %p2, %r1, 124;\n@%p2 bra L;\n\
         bar.sync 0;\nsetp.ne.u32 %p3, %t, 40;\n@%p3 bra END;\nW: mbarrier.try_wait.parity.shared.b64 %p2, [tile+{}], 0;\n@!%p2 bra W;\n\
         ld.shared.u32 %r5, [tile+{}];\nst.global.u32 [%out], %r5;\nmov.u32 %r1, 0;\n\
         A: mad.lo.u32 %r3, %r1, 8, %r100;\nB: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;\n@!%p2 bra B;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 124;\n@%p2 bra A;\nEND:",
        8 * awaited,
        2048 + 16 * read
    );
    kernel(64, &body)
}

#[test]
fn however_many_barriers_have_copies_each_tells_of_its_own() {
    for n in [0, 31, 63, 64, 95, 96, 97, 120, 123] {
        assert_eq!(many(n, n).words(1), [12 * n], "copy {n}");
    }
    for (awaited, read) in [(0, 1), (96, 95), (64, 96), (97, 96), (96, 97), (123, 122), (100, 33), (33, 100), (32, 123)]
    {
        let fault = many(awaited, read).fault();
        let said = format!(
            "race on tile (shared memory) at offset {}: copy to there by thread ({},0) at ",
            2048 + 16 * read,
            read % 64
        );
        assert!(fault.kind == FaultKind::Race && fault.message.starts_with(&said), "{awaited}, {read}: {fault}");
        assert_eq!((fault.site.thread.x, other(&fault)), (40, read % 64), "{fault}");
    }
}

#[test]
fn whichever_lane_asks_for_a_copy_lies_behind_what_it_knows() {
    // Warp 1 uses a row; thread `asker` of warp 0 has it overwritten.
    let body = |asker: u32, usage: &str, order: &str| {
        format!(
            "{}setp.ge.u32 %p3, %t, 32;\n@%p3 {usage}\n{order}\n{}{WAIT}@%p3 ld.shared.u32 %r3, [%r101+128];\nmad.wide.u32 %d3, %t, 4, %out;\n\
             @%p3 st.global.u32 [%d3], %r3;",
            begun("st.shared.u32 [%r101+256], %t;"),
            asks(asker, 256, 128)
        )
    };
    let wanted: Vec<u32> = (0..32).map(|n| 3 * n).collect();
    for asker in [0, 1, 5, 31] {
        for (usage, name) in [("st.shared.u32 [%r101+128], %r1;", "store"), ("ld.shared.u32 %r2, [%r101+128];", "load")]
        {
            for schedule in Schedule::ALL {
                let of = |order| kernel(64, &body(asker, usage, order)).launch(Launch::new(1, 64).schedule(schedule));
                assert_eq!(of("bar.sync 0;").words(64)[32..], wanted, "{asker}, {usage}");
                assert_eq!(of("").fault().kind, FaultKind::Race, "{asker}, {usage}, {schedule}");
            }
            let last_first = Launch::new(1, 64).schedule(Schedule::LastFirst);
            let fault = kernel(64, &body(asker, usage, "")).launch(last_first).fault();
            let said = format!("race on tile (shared memory) at offset 256: {name} by thread (32,0) at ");
            assert!(fault.message.starts_with(&said), "{asker}, {usage}: {fault}");
            assert!(fault.message.ends_with("nothing orders the two"), "{fault}");
            assert_eq!((fault.site.thread.x, other(&fault)), (asker, 32), "{fault}");
        }
    }
}

#[test]
fn one_lane_that_did_not_wait_may_not_use_what_its_neighbours_may() {
    for (lane, vector, bytes) in [0, 1, 5, 16, 31].into_iter().flat_map(|lane| [(lane, "u32", 4), (lane, "v4.u32", 16)])
    {
        let list = if bytes == 4 { "%r3" } else { "{%r3, %r4, %r5, %r6}" };
        let body = format!(
            "{}{}mad.lo.u32 %r103, %t, {bytes}, %r100;\nsetp.eq.u32 %p3, %t, {lane};\n\
             W: mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 %p5, [%r100], 0;\n@!%p5 bra W;\n@!%p3 mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p6, [%r100], 0;\nREAD: ld.shared.{vector} {list}, [%r103+1024];\n\
             mad.wide.u32 %d3, %t, 4, %out;\nst.global.u32 [%d3], %r3;\nX: mbarrier.try_wait.parity.shared.b64 %p5, [%r100], 0;\n@!%p5 bra X;",
            begun(""),
            asks(40, 1024, 32 * bytes)
        );
        let all_wait = body.replace(&format!("%p3, %t, {lane};"), "%p3, %t, 99;");
        let wanted: Vec<u32> = (0..32).map(|n| 3 * n * bytes / 4).collect();
        let threads = |body: &str| body.replace("READ:", "READ: setp.ge.u32 %p4, %t, 32;\n@%p4 bra X;\n");
        assert_eq!(kernel(64, &threads(&all_wait)).words(32), wanted, "{vector}");
        let fault = kernel(64, &threads(&body)).fault();
        assert_eq!((fault.kind, fault.site.thread.x, other(&fault)), (FaultKind::Race, lane, 40), "{vector}: {fault}");
        let said = format!("race on tile (shared memory) at offset {}: copy to there by ", 1024 + lane * bytes);
        assert!(fault.message.starts_with(&said), "{fault}");
        // Nor may it store there.
        let store = threads(&body).replacen(&format!("ld.shared.{vector} {list}, [%r103+1024];"), &format!("mov.u32 %r3, 1;\nmov.u32 %r4, 1;\nmov.u32 %r5, 1;\nmov.u32 %r6, 1;\nst.shared.{vector} [%r103+1024], {list};"), 1);
        let fault = kernel(64, &store).fault();
        assert_eq!((fault.kind, fault.site.thread.x, other(&fault)), (FaultKind::Race, lane, 40), "{vector}: {fault}");
        assert!(fault.site.opcode.starts_with("st.shared"), "{fault}");
    }
}

#[test]
fn every_thread_that_stored_has_a_fence_before_a_copy_reads() {
    // Warp 1 stores a row, and one lane of it executes no fence; a thread of warp 0 has it copied out.
    for (lane, asker) in [(0, 0), (1, 31), (7, 3), (31, 0), (16, 16)] {
        let body = |lane: u32| {
            format!(
                "{}setp.lt.u32 %p3, %t, 32;\n@%p3 bra ASK;\nst.shared.u32 [%r101+128], %t;\nsetp.eq.u32 %p4, %t, {lane};\n@!%p4 fence.proxy.async;\n\
                 ASK: bar.sync 0;\nsetp.ne.u32 %p2, %t, {asker};\n@%p2 bra END;\nadd.u32 %r102, %r100, 256;\n\
                 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r102], 128;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nEND:",
                begun("")
            )
        };
        for schedule in Schedule::ALL {
            let of = |lane| kernel(64, &body(lane)).launch(Launch::new(1, 64).schedule(schedule));
            assert_eq!(of(99).words(32), (32..64).collect::<Vec<u32>>());
            let fault = of(32 + lane).fault();
            let said = format!(
                "race on tile (shared memory) at offset {}: store by thread ({},0) at ",
                256 + 4 * lane,
                32 + lane
            );
            assert!(fault.kind == FaultKind::Race && fault.message.starts_with(&said), "{fault}");
            assert!(fault.message.ends_with("no proxy fence between"), "{fault}");
            assert_eq!((fault.site.thread.x, other(&fault)), (asker, 32 + lane), "{fault}");
        }
    }
}

#[test]
fn a_barrier_is_known_to_those_who_heard_of_it() {
    // Thread 3 makes it; of another warp those use it who were told, or all.
    let body = |first: u32| {
        format!(
            "mov.u32 %r1, 64;\nmov.u32 %r2, 1;\nsetp.eq.u32 %p1, %t, 3;\n@%p1 mbarrier.init.shared.b64 [tile], %r1;\n@%p1 st.release.cta.shared.u32 [tile+64], %r2;\n\
             setp.ge.u32 %p2, %t, 32;\nsetp.ge.u32 %p3, %t, {first};\nand.pred %p3, %p3, %p2;\n@%p3 ld.acquire.cta.shared.u32 %r3, [tile+64];\n@%p2 mbarrier.arrive.shared.b64 %d1, [tile];"
        )
    };
    assert!(kernel(64, &body(32)).run().is_ok());
    for first in [33, 50, 63] {
        // Lanes below have not heard of it.
        let fault = kernel(64, &body(first)).fault();
        assert_eq!((fault.kind, fault.site.thread.x, other(&fault)), (FaultKind::Barrier, 32, 3), "{fault}");
        assert!(fault.message.contains("and used by thread (32,0) at "), "{fault}");
    }
    // One lane alone has not.
    for lane in [1, 5, 31] {
        let one = body(32).replace("setp.ge.u32 %p3, %t, 32;", &format!("setp.ne.u32 %p3, %t, {};", 32 + lane));
        let fault = kernel(64, &one).fault();
        assert_eq!((fault.kind, fault.site.thread.x), (FaultKind::Barrier, 32 + lane), "{fault}");
    }
}

#[test]
fn who_makes_a_barrier_without_a_fence_before_a_copy_tells_it_is_warned() {
    for maker in [0, 3, 31] {
        for (fence, by, right) in [
            ("fence.proxy.async;", maker, true),
            ("fence.mbarrier_init.release.cluster;", maker, true),
            ("fence.proxy.async;", (maker + 1) % 32, false),
            ("fence.mbarrier_init.release.cluster;", (maker + 1) % 32, false),
            ("fence.mbarrier_init.release.cluster;", maker + 32, false),
            ("fence.proxy.async;", maker + 32, false),
            ("", 0, false),
        ] {
            let fence = if fence.is_empty() { String::new() } else { format!("@%p3 {fence}\n") };
            let body = format!(
                "mov.u32 %r100, tile;\nmov.u32 %r1, 1;\nsetp.eq.u32 %p1, %t, {maker};\nsetp.eq.u32 %p3, %t, {by};\n@%p1 mbarrier.init.shared.b64 [%r100], %r1;\n{fence}bar.sync 0;\n\
                 {}{WAIT}ld.shared.u32 %r3, [%r100+64];\nst.global.u32 [%out], %r3;",
                asks(40, 64, 16)
            );
            let outcome = kernel(64, &body).run().unwrap_or_else(|fault| panic!("{maker}: {fence}{fault}"));
            assert_eq!(outcome.words(1), [0], "{maker}: {fence}");
            let warned: Vec<WarningKind> = outcome.report.warnings.iter().map(|warning| warning.kind).collect();
            assert_eq!(warned, if right { vec![] } else { vec![WarningKind::UnfencedInit] }, "{maker}: {fence}");
            for warning in &outcome.report.warnings {
                let said = format!("initialised by thread ({maker},0) at ");
                assert!(warning.message.contains(&said), "{}", warning.message);
                assert_eq!(warning.site.thread.x, 40, "{}", warning.message);
            }
        }
    }
}

#[test]
fn blocks_that_take_short_turns_copy_out_each_its_own() {
    // Wherever a turn ends: between a store and its fence, between that and the copy, or behind it. Every block has its own pace.
    for rounds in 0..3 {
        let body = format!(
            "mov.u32 %r100, tile;\nmov.u32 %r1, 0;\nmul.wide.u32 %d1, %block, 16;\nadd.u64 %d1, %d1, %out;\nmad.lo.u32 %r5, %block, 3, {rounds};\nld.acquire.gpu.global.u32 %r6, [%out+1024];\nL: add.u32 %r2, %r1, %block;\n\
             st.shared.v4.u32 [%r100], {{%r2, %r2, %r2, %r2}};\nfence.proxy.async;\nmov.u32 %r4, 0;\nM: add.u32 %r4, %r4, 1;\nsetp.le.u32 %p2, %r4, %r5;\n@%p2 bra M;\ncp.async.bulk.global.shared::cta.bulk_group [%d1], [%r100], 16;\n\
             cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n\
             add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 300;\n@%p1 bra L;"
        );
        for schedule in Schedule::ALL {
            let words = kernel(1, &body).launch(Launch::new(3, 1).schedule(schedule)).words(12);
            let wanted: Vec<u32> = (0..12).map(|n| 299 + n / 4).collect();
            assert_eq!(words, wanted, "{schedule}");
        }
    }
}

#[test]
fn a_copy_takes_its_own_bytes_and_leaves_those_beside_them() {
    // Thread 40 uses a word before or behind what is copied, or the first or last one of it.
    for (to, bytes) in [(256, 16), (272, 16), (256, 48), (304, 64), (320, 64), (256, 128), (272, 240)] {
        for (usage, place) in ["st.shared.u32 [PLACE], %r1;", "ld.shared.u32 %r2, [PLACE];"]
            .into_iter()
            .flat_map(|usage| [to - 4, to, to + bytes - 4, to + bytes].map(|place| (usage, place)))
        {
            let rows =
                "shl.b32 %r104, %t, 4;\nadd.u32 %r104, %r104, %r100;\nst.shared.v4.u32 [%r104+128], {%t, %t, %t, %t};";
            let body = format!(
                "{}{}setp.eq.u32 %p3, %t, 40;\n@%p3 {}\n{WAIT}",
                begun(rows),
                asks(5, to, bytes),
                usage.replace("PLACE", &format!("tile+{place}"))
            );
            let inside = (to..to + bytes).contains(&place);
            for schedule in Schedule::ALL {
                match kernel(64, &body).launch(Launch::new(1, 64).schedule(schedule)).run() {
                    Ok(_) => assert!(!inside, "{to}, {bytes}, {place}, {usage}"),
                    Err(fault) => {
                        assert!(inside && fault.kind == FaultKind::Race, "{to}, {bytes}, {place}, {usage}: {fault}");
                        assert!(fault.message.contains(&format!(" at offset {place}: ")), "{place}: {fault}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_row_of_two_lines_is_looked_at_in_both() {
    // Some lanes of warp 1 use a row over which thread 5 has bytes copied: the first of them is named.
    for first in [0, 1, 15, 16, 17, 31] {
        for (usage, name) in [("st.shared.u32 [%r101+128], %r1;", "store"), ("ld.shared.u32 %r2, [%r101+128];", "load")]
        {
            let body = format!(
                "{}setp.ge.u32 %p3, %t, {};\n@%p3 {usage}\n{}{WAIT}",
                begun("st.shared.u32 [%r101+256], %t;"),
                32 + first,
                asks(5, 256, 128)
            );
            let fault = kernel(64, &body).launch(Launch::new(1, 64).schedule(Schedule::LastFirst)).fault();
            let said = format!(
                "race on tile (shared memory) at offset {}: {name} by thread ({},0) at ",
                256 + 4 * first,
                32 + first
            );
            assert!(fault.kind == FaultKind::Race && fault.message.starts_with(&said), "{usage}: {fault}");
        }
    }
}

#[test]
fn a_wait_that_is_relaxed_tells_nothing_before_a_fence() {
    for (order, fence, race) in [
        ("acquire.cta.", "", false),
        ("relaxed.cta.", "", true),
        ("relaxed.cta.", "fence.acq_rel.cta;", false),
        ("relaxed.cta.", "fence.release.cta;", true),
    ] {
        let body = format!(
            "{}setp.eq.u32 %p2, %t, 5;\nsetp.eq.u32 %p3, %t, 40;\n@%p2 st.shared.u32 [tile+64], %r1;\n@%p2 mbarrier.arrive.shared.b64 %d1, [tile];\n@!%p3 bra END;\n\
             W: mbarrier.test_wait.parity.{order}shared::cta.b64 %p5, [tile], 0;\n@!%p5 bra W;\n{fence}\nld.shared.u32 %r3, [tile+64];\nst.global.u32 [%out], %r3;\nEND:",
            begun("")
        );
        for schedule in Schedule::ALL {
            match kernel(64, &body).launch(Launch::new(1, 64).schedule(schedule)).run() {
                Ok(outcome) => assert!(!race && outcome.words(1) == [1], "{order}{fence}"),
                Err(fault) => assert!(race && fault.kind == FaultKind::Race, "{order}{fence}: {fault}"),
            }
        }
    }
}

#[test]
fn what_all_lanes_see_together_tells_none_what_his_neighbour_knew() {
    // One lane of warp 1 has acquired a message of thread 5; then all wait for a barrier, or execute a fence for copies.
    for (together, lane) in [(WAIT, 0), (WAIT, 7), ("fence.proxy.async;\n", 0), ("fence.proxy.async;\n", 31)] {
        for (reader, race) in [(lane, false), ((lane + 1) % 32, true), ((lane + 20) % 32, true)] {
            let body = format!(
                "{}setp.eq.u32 %p2, %t, 5;\n@%p1 mbarrier.arrive.shared.b64 %d1, [%r100];\n@%p2 st.shared.u32 [tile+64], %r1;\n@%p2 st.release.cta.shared.u32 [tile+128], %r1;\n\
                 setp.lt.u32 %p3, %t, 32;\n@%p3 bra END;\nsetp.eq.u32 %p4, %t, {};\n@%p4 ld.acquire.cta.shared.u32 %r3, [tile+128];\n{together}\
                 setp.eq.u32 %p4, %t, {};\n@%p4 ld.shared.u32 %r3, [tile+64];\nEND:",
                begun(""),
                32 + lane,
                32 + reader
            );
            match kernel(64, &body).run() {
                Ok(_) => assert!(!race, "{together}, {lane}, {reader}"),
                Err(fault) => {
                    assert!(race && fault.kind == FaultKind::Race, "{together}, {lane}, {reader}: {fault}");
                    assert_eq!((fault.site.thread.x, other(&fault)), (32 + reader, 5), "{fault}");
                }
            }
        }
    }
}

#[test]
fn whichever_lanes_have_ended_what_they_did_is_known_behind_a_barrier() {
    for ended in [0u32, 5, 31] {
        let body = format!(
            "red.shared.add.u32 [tile+2048], 1;\nsetp.eq.u32 %p1, %t, {ended};\n@%p1 st.shared.u32 [tile+64], %t;\n@%p1 ret;\nbar.sync 0;\nld.shared.u32 %r1, [tile+64];\n\
             mad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r1;"
        );
        let body = format!(
            "mov.u32 %r9, 0;\nsetp.eq.u32 %p2, %t, 32;\n@%p2 st.shared.u32 [tile+2048], %r9;\nbar.sync 0;\n{body}"
        );
        let words = kernel(64, &body).words(64);
        assert!(words.iter().enumerate().all(|(t, word)| *word == if t == ended as usize { 0 } else { ended }));
        // And of the warp's own, where the lanes that are left name it.
        for first in [0, 16] {
            let body = format!(
                "setp.lt.u32 %p1, %t, 16;\nselp.u32 %r1, 0, 16, %p1;\nmov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nst.shared.u32 [%r101], %t;\n\
                 setp.eq.u32 %p2, %r1, {first};\n@%p2 ret;\nmov.u32 %r5, -1;\nbar.warp.sync %r5;\nxor.b32 %r2, %t, 16;\nmad.lo.u32 %r102, %r2, 4, %r100;\n\
                 ld.shared.u32 %r3, [%r102];\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r3;"
            );
            let words = kernel(32, &body).words(32);
            let wanted: Vec<u32> = (0..32).map(|t| if t / 16 * 16 == first { 0 } else { t ^ 16 }).collect();
            assert_eq!(words, wanted, "{first}");
        }
    }
}

#[test]
fn of_two_rows_each_is_held_against_whoever_was_there() {
    // A thread of warp 0 uses one word; then warp 1 stores two rows with one instruction.
    for lane in 0..32 {
        for usage in ["st.shared.u32 [PLACE], %t;", "ld.shared.u32 %r2, [PLACE];"] {
            let body = format!(
                "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nmov.u32 %r1, 77;\nst.shared.u32 [%r101+128], %t;\natom.shared.exch.b32 %r3, [tile+1024], 1;\nbar.sync 0;\n\
                 setp.eq.u32 %p1, %t, 9;\n@%p1 {}\nsetp.ge.u32 %p2, %t, 32;\n@%p2 st.shared.u32 [%r101+128], %r1;",
                usage.replace("PLACE", &format!("tile+{}", 256 + 4 * lane))
            );
            let fault = kernel(64, &body).fault();
            assert_eq!((fault.kind, fault.site.thread.x, other(&fault)), (FaultKind::Race, 32 + lane, 9), "{fault}");
        }
    }
}
