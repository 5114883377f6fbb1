//! Asynchronous copies: what they read and write until they land, whoever knows of their start, and who is told of them.

use emulator::{Fault, FaultKind, Launch, Schedule};

use crate::run::Kernel;

fn kernel(threads: u32, body: &str) -> Kernel {
    Kernel { zeros: 4096, ..Kernel::new(threads, body) }
}

fn fault(threads: u32, body: &str) -> Box<Fault> {
    kernel(threads, body).fault()
}

/// Thread 3 copies 8 bytes of `out` into `tile`, and is known to have started, or to have waited, before thread 40 comes. The
/// barrier is for some threads only.
fn copy_and_use(between: &str, usage: &str) -> String {
    format!(
        "mov.u32 %r1, 3;\nsetp.eq.u32 %p1, %t, 3;\nsetp.eq.u32 %p2, %t, 40;\nsetp.ge.u32 %p3, %t, 32;\n@%p3 bra OTHER;\n\
         @%p1 cp.async.ca.shared.global [tile+64], [%out+16], 8;\n@%p1 ld.global.u32 %r5, [%in+512];\n@%p1 st.shared.u32 [tile+1024], %r5;\n\
         {between}\nbra END;\nOTHER: bar.sync 1, 64;\n@%p2 {usage}\nEND:"
    )
}

#[test]
fn a_copy_reads_and_writes_when_it_lands_and_not_when_it_starts() {
    let (early, late) = ("bar.arrive 1, 64;\ncp.async.wait_all;", "cp.async.wait_all;\nbar.arrive 1, 64;");
    for (usage, place) in [
        ("st.global.u32 [%out+16], %r1;", "race on out at offset 16: load by thread (3,0)"),
        ("st.global.u32 [%out+20], %r1;", "race on out at offset 20: load by thread (3,0)"),
        ("ld.shared.u32 %r2, [tile+64];", "race on tile (shared memory) at offset 64: store by thread (3,0)"),
        ("ld.shared.u32 %r2, [tile+68];", "race on tile (shared memory) at offset 68: store by thread (3,0)"),
        ("st.shared.u32 [tile+64], %r1;", "race on tile (shared memory) at offset 64: store by thread (3,0)"),
    ] {
        if let Err(fault) = kernel(64, &copy_and_use(late, usage)).run() {
            panic!("{usage}: {fault}");
        }
        let fault = fault(64, &copy_and_use(early, usage));
        assert_eq!(fault.kind, FaultKind::Race, "{usage}: {fault}");
        assert!(fault.message.starts_with(place), "{usage}: {fault}");
    }
    for usage in ["st.global.u32 [%out+24], %r1;", "st.global.u32 [%out+12], %r1;", "st.shared.u32 [tile+72], %r1;"] {
        if let Err(fault) = kernel(64, &copy_and_use(early, usage)).run() {
            panic!("beside it, {usage}: {fault}");
        }
    }
}

#[test]
fn a_copy_races_with_a_store_that_nothing_orders_before_it() {
    let body = "bar.sync 3, 64;\nmov.u32 %r1, 3;\nsetp.eq.u32 %p1, %t, 3;\nsetp.eq.u32 %p2, %t, 40;\n@%p2 st.global.u32 [%out+16], %r1;\n\
         ORDER@%p1 cp.async.ca.shared.global [tile], [%out+16], 8;\ncp.async.wait_all;";
    for (order, race) in [("", true), ("bar.sync 2, 64;\n", false)] {
        for schedule in Schedule::ALL {
            let kernel = kernel(64, &body.replace("ORDER", order)).launch(Launch::new(1, 64).schedule(schedule));
            match kernel.run() {
                Ok(_) => assert!(!race, "{schedule}"),
                Err(fault) => assert!(race && fault.kind == FaultKind::Race, "{schedule}: {fault}"),
            }
        }
    }
}

/// Each thread copies two words, the first for barrier `tile+2048`, and reads what its neighbour copied.
fn for_a_barrier(before: &str, word: u32) -> Kernel {
    let body = format!(
        "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 8, %r100;\nxor.b32 %r102, %t, 1;\nmad.lo.u32 %r102, %r102, 8, %r100;\nmad.wide.u32 %d1, %t, 8, %in;\n\
         setp.eq.u32 %p1, %t, 0;\n@%p1 mbarrier.init.shared.b64 [tile+2048], 64;\nbar.sync 0;\n\
         cp.async.ca.shared.global [%r101], [%d1], 4;\ncp.async.mbarrier.arrive.noinc.shared.b64 [tile+2048];\n\
         cp.async.ca.shared.global [%r101+4], [%d1+4], 4;\n{before}\n\
         W: mbarrier.test_wait.parity.shared.b64 %p2, [tile+2048], 0;\n@!%p2 bra W;\nld.shared.u32 %r1, [%r102+{}];\nadd.u32 %r1, %r1, 1;\n\
         mad.wide.u32 %d2, %t, 4, %out;\nst.global.u32 [%d2], %r1;\ncp.async.wait_all;",
        4 * word
    );
    let input: Vec<u8> = (0..128u32).flat_map(|n| (n * 3).to_le_bytes()).collect();
    Kernel::new(64, &body).input(input)
}

#[test]
fn a_barrier_tells_of_the_copies_before_its_arrival_and_of_no_later_ones() {
    let wanted: Vec<u32> = (0..64).map(|t| (t ^ 1) * 6 + 1).collect();
    for before in ["", "cp.async.wait_all;", "cp.async.commit_group;\ncp.async.wait_group 0;"] {
        for schedule in Schedule::ALL {
            let kernel = for_a_barrier(before, 0).launch(Launch::new(1, 64).schedule(schedule));
            assert_eq!(kernel.words(64), wanted, "{before}, {schedule}");
        }
    }
    let fault = for_a_barrier("", 1).fault();
    assert_eq!(fault.kind, FaultKind::Uninitialised, "{fault}");
    assert!(fault.message.ends_with("to which a copy is still under way"), "{fault}");
    // Its own thread has waited for the later one, too, and told nobody.
    assert_eq!(for_a_barrier("cp.async.wait_all;", 1).fault().kind, FaultKind::Race);
}

#[test]
fn who_did_not_ask_the_barrier_races_with_the_thread_that_copied() {
    let body = "setp.eq.u32 %p1, %t, 5;\nsetp.eq.u32 %p2, %t, 40;\n@%p1 mbarrier.init.shared.b64 [tile+2048], 1;\nbar.sync 0;\n@!%p1 bra OTHER;\n\
         cp.async.ca.shared.global [tile+64], [%in], 4;\ncp.async.mbarrier.arrive.noinc.shared.b64 [tile+2048];\n\
         W: mbarrier.test_wait.parity.shared.b64 %p3, [tile+2048], 0;\n@!%p3 bra W;\nOTHER: @%p2 ld.shared.u32 %r1, [tile+64];";
    let fault = fault(64, body);
    let said = "race on tile (shared memory) at offset 64: copy to there by thread (5,0) at ";
    assert!(fault.kind == FaultKind::Race && fault.message.starts_with(said), "{fault}");
    let other = fault.other.as_ref().map(|(what, site)| (what.as_str(), site.warp, site.lane));
    assert_eq!(other, Some(("the other party, a copy:", 0, 5)), "{fault}");
}

#[test]
fn a_barrier_in_shared_memory_forbids_nothing_elsewhere() {
    // Offsets in a buffer are no places of the block's memory.
    let body = "setp.eq.u32 %p1, %t, 0;\n@!%p1 bra END;\nmov.u32 %r1, 7;\nred.global.add.u32 [%out+2048], 1;\n\
         mbarrier.init.shared.b64 [tile+64], 1;\nst.global.u32 [%out+64], %r1;\nld.global.u32 %r2, [%out+64];\nst.global.u32 [%out], %r2;\nEND:";
    assert_eq!(kernel(32, body).words(1), [7]);
}

#[test]
fn where_a_copy_is_under_way_nothing_is_to_be_read() {
    // Told as such, in words and in bytes, by another thread that knows of its start or not.
    for (byte, place) in [("", 16), ("st.shared.u8 [tile+999], %h1;\n", 16)] {
        for order in ["", "bar.sync 2, 64;\n"] {
            let body = format!(
                "bar.sync 3, 64;\nmov.u16 %h1, 1;\nsetp.eq.u32 %p1, %t, 0;\nsetp.eq.u32 %p2, %t, 40;\n@%p1 {}cp.async.ca.shared.global [tile+{place}], [%in], 16;\n{order}\
                 @%p2 ld.shared.u32 %r1, [tile+{place}];\n@%p2 add.u32 %r1, %r1, 1;\n@%p2 st.global.u32 [%out], %r1;\nbar.sync 4, 64;\ncp.async.wait_all;",
                byte.replace('\n', "\n@%p1 ")
            );
            let fault = fault(64, &body);
            assert_eq!((fault.kind, fault.site.thread.x), (FaultKind::Uninitialised, 40), "{body}: {fault}");
            assert!(fault.message.ends_with("to which a copy is still under way"), "{fault}");
        }
    }
    // And without checks it shows, too.
    let body = "mov.u32 %r9, 4;\nst.shared.v4.u32 [tile], {%r9, %r9, %r9, %r9};\ncp.async.ca.shared.global [tile], [%in], 16;\n\
         ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [tile];\nst.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};\ncp.async.wait_all;";
    assert_eq!(Kernel::new(1, body).launch(Launch::new(1, 1).sanitize(false)).words(4), [u32::MAX; 4]);
}

#[test]
fn a_copy_that_nobody_awaits_ends_with_its_block() {
    let body = "mov.u32 %r1, 3;\nsetp.eq.u32 %p1, %block, 0;\n@%p1 cp.async.ca.shared.global [tile], [%out+16], 8;\n@%p1 bra END;\n\
        st.global.u32 [%out+16], %r1;\nEND:";
    let fault = kernel(1, body).launch(Launch::new(2, 1)).fault();
    let said = "race on out at offset 16: load by block (0,0), thread (0,0) at ";
    assert!(fault.kind == FaultKind::Race && fault.message.starts_with(said), "{fault}");
}

#[test]
fn copies_of_a_part_may_come_from_another_buffer() {
    // The upper lanes copy a part, the last of `in`; the lower ones all of theirs, out of `out`; both buffers were touched.
    let body = "mov.u32 %r100, tile;\nmad.lo.u32 %r100, %t, 16, %r100;\nsetp.lt.u32 %p1, %t, 16;\nmad.wide.u32 %d1, %t, 16, %out;\n\
        sub.u32 %r2, %t, 16;\nmad.wide.u32 %d2, %r2, 16, %in;\nselp.b64 %d1, %d1, %d2, %p1;\nselp.u32 %r3, 16, 4, %p1;\n\
        cp.async.ca.shared.global [%r100], [%d1], 16, %r3;\ncp.async.wait_all;\nld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r100];\n\
        add.u32 %r4, %r4, %r7;\nmad.wide.u32 %d3, %t, 4, %out;\nst.global.u32 [%d3+2048], %r4;";
    let input: Vec<u8> = (0..61u32).flat_map(|n| (n + 100).to_le_bytes()).collect();
    let outcome = kernel(32, body).input(input).run().unwrap_or_else(|fault| panic!("{fault}"));
    let wanted: Vec<u32> = (0..32).map(|t| if t < 16 { 0 } else { 100 + 4 * (t - 16) }).collect();
    assert_eq!(outcome.words(544)[512..], wanted);
}

#[test]
fn a_copy_within_shared_memory_begins_at_a_multiple_of_sixteen() {
    // Words 256 to 319 of the tile have their numbers; eight of them go, or are added, to words 512 and so on, which are 1000.
    let body = |copy: &str, from: u32, to: u32| {
        let set: String = (0..16)
            .map(|n| {
                let at = 1024 + 16 * n;
                let words: String = (0..4).map(|k| format!("mov.u32 %r{}, {};\n", 10 + k, at / 4 + k)).collect();
                format!("{words}st.shared.v4.u32 [%r1+{at}], {{%r10, %r11, %r12, %r13}};\n")
            })
            .collect();
        let begun: String = (0..10).map(|n| format!("st.shared.u32 [%r1+{}], %r3;\n", 2048 + 4 * n)).collect();
        let loaded: String = (0..10)
            .map(|n| format!("ld.shared.u32 %r9, [%r1+{}];\nst.global.u32 [%out+{}], %r9;\n", 2048 + 4 * n, 4 * n))
            .collect();
        format!(
            "mov.u32 %r1, tile;\nmov.u32 %r3, 1;\nmbarrier.init.shared.b64 [%r1], %r3;\nmov.u32 %r3, 1000;\n{set}{begun}fence.mbarrier_init.release.cluster;\n\
             fence.proxy.async;\nmbarrier.arrive.expect_tx.shared.b64 %d1, [%r1], 32;\nadd.u32 %r2, %r1, {};\nadd.u32 %r4, %r1, {};\n\
             {copy} [%r2], [%r4], 32, [%r1];\nW: mbarrier.try_wait.shared.b64 %p1, [%r1], %d1;\n@!%p1 bra W;\n{loaded}",
            2048 + to,
            1024 + from
        )
    };
    let copies = [
        ("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", 0),
        ("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32", 1000),
    ];
    for (copy, before) in copies {
        for from in (0..=160).step_by(16) {
            let words = Kernel::new(1, &body(copy, from, 0)).words(10);
            let wanted: Vec<u32> = (0..10).map(|n| if n < 8 { before + 256 + from / 4 + n } else { 1000 }).collect();
            assert_eq!(words, wanted, "{copy} {from}");
        }
        for (from, to) in [(4, 0), (8, 0), (24, 0), (0, 8), (0, 4), (16, 24), (18, 0), (36, 0)] {
            assert_eq!(Kernel::new(1, &body(copy, from, to)).fault().kind, FaultKind::Misaligned, "{copy} {from} {to}");
        }
    }
}

#[test]
fn a_copy_may_ignore_its_source() {
    // Odd lanes do: they read nothing, not even beyond the buffer.
    let body = "mov.u32 %r100, tile;\nmad.lo.u32 %r100, %t, 16, %r100;\nand.b32 %r1, %t, 1;\nsetp.eq.u32 %p1, %r1, 1;\nmad.wide.u32 %d1, %t, 16, %in;\n\
        @%p1 add.u64 %d1, %d1, 4096;\ncp.async.ca.shared.global [%r100], [%d1], 16, %p1;\ncp.async.wait_all;\n\
        ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r100];\nmad.wide.u32 %d3, %t, 16, %out;\nst.global.v4.u32 [%d3], {%r4, %r5, %r6, %r7};";
    let input: Vec<u8> = (0..1024u32).flat_map(|n| (n * 0x0001_0101 + 0x1234_5601).to_le_bytes()).collect();
    let words = kernel(32, body).input(input).words(128);
    let wanted: Vec<u32> = (0..128).map(|n| if n / 4 % 2 == 1 { 0 } else { n * 0x0001_0101 + 0x1234_5601 }).collect();
    assert_eq!(words, wanted);
}

#[test]
fn a_copy_reads_as_many_bytes_as_it_is_asked_for() {
    // Thread 3 copies so many of 8 bytes, thread 5 none, from where no buffer is; then thread 40 stores a byte.
    for (bytes, early) in (0..=8u32).flat_map(|bytes| [false, true].map(|early| (bytes, early))) {
        let order = match early {
            true => "bar.arrive 1, 64;\ncp.async.wait_all;",
            false => "cp.async.wait_all;\nbar.arrive 1, 64;",
        };
        for at in [0, bytes.saturating_sub(1), bytes] {
            let body = format!(
                "mov.u32 %r1, 3;\nmov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 8, %r100;\nsetp.eq.u32 %p1, %t, 3;\nsetp.eq.u32 %p4, %t, 5;\nor.pred %p4, %p4, %p1;\n\
                 selp.u32 %r20, {bytes}, 0, %p1;\nadd.u64 %d7, %out, 16;\nselp.b64 %d8, %d7, 4096, %p1;\nsetp.eq.u32 %p2, %t, 40;\nsetp.ge.u32 %p3, %t, 32;\n@%p3 bra OTHER;\n\
                 @%p4 cp.async.ca.shared.global [%r101], [%d8], 8, %r20;\n{order}\nbra END;\nOTHER: bar.sync 1, 64;\n@%p2 st.global.u8 [%out+{}], %r1;\nEND:",
                16 + at
            );
            let race = early && at < bytes;
            match kernel(64, &body).run() {
                Ok(_) => assert!(!race, "{bytes} bytes, {at}"),
                Err(fault) => {
                    let said = format!("race on out at offset {}: load by thread (3,0)", 16 + at);
                    assert!(race && fault.message.starts_with(&said), "{bytes} bytes, {at}: {fault}");
                }
            }
        }
    }
}
