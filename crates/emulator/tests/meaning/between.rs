//! Thread blocks of a cluster that wait for each other: whatever one does for another, both get on.

use emulator::{FaultKind, Launch, Schedule};

use crate::run::Kernel;

fn kernel(body: &str, launch: Launch) -> Kernel {
    let input: Vec<u8> = (0..1024u32).flat_map(|n| (n + 500).to_le_bytes()).collect();
    Kernel { zeros: 4096, ..Kernel::new(1, body).input(input) }.launch(launch)
}

const SYNC: &str = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";

/// `%r60` and `%r61` are the barriers `tile+64` and `tile+72` of the other block, `%r62` is its `tile+128`.
fn peers(count: u32) -> String {
    format!(
        "mov.u32 %r70, 0;\nst.volatile.shared.u32 [tile+128], %r70;\nst.shared.u32 [tile+132], %r70;\nst.shared.u32 [tile+136], %r70;\nst.shared.u32 [tile+140], %r70;\n\
         mov.u32 %r70, 12;\nst.shared.v4.u32 [tile+256], {{%r70, %r70, %r70, %r70}};\n\
         mbarrier.init.shared.b64 [tile+64], {count};\nmbarrier.init.shared.b64 [tile+72], 1;\nmbarrier.init.shared.b64 [tile+80], 9;\nmbarrier.init.shared.b64 [tile+88], 1;\nfence.mbarrier_init.release.cluster;\nfence.proxy.async;\n\
         xor.b32 %r71, %block, 1;\nmapa.shared::cluster.u32 %r60, tile, %r71;\nadd.u32 %r61, %r60, 72;\nadd.u32 %r62, %r60, 128;\nadd.u32 %r60, %r60, 64;\n"
    )
}

fn wait(label: &str, place: &str) -> String {
    format!(
        "{label}: mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 %p2, [{place}], 0;\n@!%p2 bra {label};\n"
    )
}

#[test]
fn what_a_block_does_for_its_peer_is_no_turn_in_vain() {
    // Block 0 asks for a while, and then does something for block 1, which waits for it and answers.
    let told = "mbarrier::complete_tx::bytes";
    let expects = "mbarrier.arrive.expect_tx.shared.b64 %d1, [tile+64], 16;\n";
    let expects_word = "mbarrier.arrive.expect_tx.shared.b64 %d1, [tile+64], 4;\n";
    let full = wait("W", "tile+64");
    let flag = "W: ld.volatile.shared.u32 %r1, [tile+128];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra W;\n".to_string();
    let word = "W: ld.volatile.global.u32 %r1, [%out+64];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra W;\n".to_string();
    let mut deeds = vec![
        ("", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r60];".to_string(), &full),
        (expects, "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r60], 16;".to_string(), &full),
        (expects, format!("st.async.shared::cluster.{told}.v4.u32 [%r62], {{%r70, %r70, %r70, %r70}}, [%r60];"), &full),
        (expects_word, format!("red.async.relaxed.cluster.shared::cluster.{told}.add.u32 [%r62], %r70, [%r60];"), &full),
        (expects, format!("cp.async.bulk.shared::cluster.shared::cta.{told} [%r62], [tile+256], 16, [%r60];"), &full),
        (expects, format!("cp.async.bulk.shared::cluster.global.{told} [%r62], [%in], 16, [%r60];"), &full),
        (expects, format!("mov.u16 %h1, 2;\ncp.async.bulk.shared::cluster.global.{told}.multicast::cluster [tile+128], [%in], 16, [tile+64], %h1;"), &full),
        (expects, format!("mov.u16 %h1, 3;\ncp.async.bulk.shared::cluster.global.{told}.multicast::cluster [tile+128], [%out+1024], 16, [tile+64], %h1;\n{}", wait("X", "tile+64")), &full),
        ("", "st.volatile.shared::cluster.u32 [%r62], %r70;".to_string(), &flag),
        ("", "red.relaxed.cluster.shared::cluster.add.u32 [%r62], %r70;".to_string(), &flag),
        ("", "st.volatile.global.u32 [%out+64], %r70;".to_string(), &word),
        ("", "red.global.add.u32 [%out+64], %r70;".to_string(), &word),
        ("", "atom.global.exch.b32 %r1, [%out+64], %r70;".to_string(), &word),
        ("", "cp.async.bulk.global.shared::cta.bulk_group [%out+64], [tile+256], 16;\ncp.async.bulk.commit_group;".to_string(), &word),
        ("", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out+64], [tile+256], 16;\ncp.async.bulk.commit_group;".to_string(), &word),
    ];
    // Something of its own, and then something for the other.
    let own = [
        ("", "mbarrier.arrive.shared.b64 %d2, [tile+80];"),
        ("", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [tile+80], 16;"),
        ("", "mbarrier.init.shared.b64 [tile+96], 3;"),
        ("", "mbarrier.inval.shared.b64 [tile+80];"),
        ("", "cp.async.mbarrier.arrive.noinc.shared.b64 [tile+80];"),
        ("", "cp.async.mbarrier.arrive.shared.b64 [tile+80];"),
        (
            "cp.async.mbarrier.arrive.noinc.shared.b64 [tile+88];\n",
            "mbarrier.test_wait.parity.shared.b64 %p4, [tile+88], 0;",
        ),
        ("", "st.shared.u32 [tile+512], %r70;"),
        ("", "st.global.u32 [%out+512], %r70;"),
        ("", "cp.async.ca.shared.global [tile+512], [%in], 4;\ncp.async.wait_all;"),
        ("", "cp.async.bulk.global.shared::cta.bulk_group [%out+512], [tile+256], 16;\ncp.async.bulk.commit_group;"),
    ];
    for (before, own) in own {
        for (deed, waits) in [
            ("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r60];", &full),
            ("st.volatile.shared::cluster.u32 [%r62], %r70;", &flag),
            ("red.global.add.u32 [%out+64], %r70;", &word),
        ] {
            deeds.push((before, format!("{own}\n{deed}"), waits));
        }
    }
    for (before, deed, waits) in deeds {
        // So many looks end a turn, or do not, or a close look.
        for looks in [1, 16, 17, 18, 34, 4112, 4113, 4114] {
            let body = format!(
                "{}{before}{SYNC}mov.u32 %r3, 0;\nsetp.eq.u32 %p3, %block, 1;\n@%p3 bra SECOND;\n\
                 L: mbarrier.test_wait.parity.shared.b64 %p2, [tile+72], 0;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, {looks};\n@%p2 bra L;\n{deed}\n{}bra END;\n\
                 SECOND: {waits}mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r61];\nEND: {SYNC}mov.u32 %r5, 7;\nmad.wide.u32 %d5, %block, 4, %out;\nst.global.u32 [%d5], %r5;",
                peers(1),
                wait("V", "tile+72")
            );
            for schedule in if looks < 4000 { &Schedule::ALL[..] } else { &[Schedule::FirstFirst] } {
                let launch = Launch::new(2, 1).cluster(2, 1, 1).schedule(*schedule);
                // (What a bulk store writes is not to be polled.)
                let polled = deed.contains("bulk_group") && !deed.contains("+512") || deed.contains("volatile.shared");
                let launch = launch.sanitize(!polled);
                assert_eq!(kernel(&body, launch).words(2), [7, 7], "{schedule}, {looks} looks: {deed}");
            }
        }
    }
}

#[test]
fn a_thread_that_has_waited_may_send_whatever_its_neighbours_know() {
    // Thread 5 waits for the cluster before the others do, and sends at once.
    let told = "mbarrier::complete_tx::bytes";
    let sends = [
        format!("st.async.shared::cluster.{told}.u32 [%r62], %r70, [%r60];"),
        format!("red.async.relaxed.cluster.shared::cluster.{told}.add.u32 [%r62], %r70, [%r60];"),
        "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r60], 4;".to_string(),
    ];
    for thread in [0, 5, 31] {
        for send in &sends {
            let one = format!("setp.eq.u32 %p1, %t, {thread};\n");
            let peers: String = peers(1)
                .lines()
                .map(|line| {
                    match line.starts_with("mbarrier.init") || line.starts_with("fence") || line.starts_with("st.") {
                        true => format!("@%p4 {line}\n"),
                        false => format!("{line}\n"),
                    }
                })
                .collect();
            let body = |waits: &str| {
                format!(
                    "setp.eq.u32 %p4, %t, 9;\n{peers}@%p4 mbarrier.arrive.expect_tx.shared.b64 %d1, [tile+64], 4;\nbar.sync 0;\nbarrier.cluster.arrive;\n{one}@!%p1 bra REST;\n{waits}{send}\nbra JOIN;\n\
                     REST: barrier.cluster.wait;\nJOIN: {}{SYNC}mov.u32 %r5, 7;\n@%p1 mad.wide.u32 %d5, %block, 4, %out;\n@%p1 st.global.u32 [%d5], %r5;",
                    wait("W", "tile+64")
                )
            };
            for schedule in Schedule::ALL {
                let launch = Launch::new(2, 32).cluster(2, 1, 1).schedule(schedule);
                assert_eq!(kernel(&body("barrier.cluster.wait;\n"), launch).words(2), [7, 7], "{schedule}: {send}");
                // Who has not waited does not know whether the other has started.
                let late = body("").replace("JOIN:", "JOIN: @%p1 barrier.cluster.wait;\n");
                let fault = kernel(&late, launch).fault();
                assert!(fault.kind == FaultKind::Race || fault.kind == FaultKind::Barrier, "{schedule}: {fault}");
                assert_eq!(fault.site.thread.x, thread, "{schedule}: {fault}");
            }
        }
    }
}

#[test]
fn blocks_that_ask_each_other_for_ever_are_found() {
    // Each asks for a word of the other, by what might change it and does not.
    let asks = [
        "atom.shared::cluster.or.b32 %r1, [%r62], 0;",
        "atom.shared::cluster.cas.b32 %r1, [%r62], 5, 6;",
        "ld.volatile.shared::cluster.u32 %r1, [%r62];",
    ];
    for (ask, size) in asks.iter().flat_map(|ask| [2, 4].map(|size| (ask, size))) {
        let body = format!("{}{SYNC}W: {ask}\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra W;\n{SYNC}", peers(1));
        for schedule in Schedule::ALL {
            let launch = Launch::new(size, 1).cluster(size, 1, 1).schedule(schedule).instruction_limit(3_000_000);
            let fault = kernel(&body, launch).fault();
            assert!(fault.kind == FaultKind::NoProgress, "{schedule}, {ask}: {fault}");
            assert!(!fault.message.contains("executed more than"), "{schedule}, {ask}: {fault}");
        }
    }
}

#[test]
fn a_block_may_not_leave_while_any_lane_reads_its_memory() {
    // Lanes of block 0 read there one after the other, at times of their own; the first of them is named.
    for (first, second) in [(0, 5), (5, 0), (0, 31), (31, 1)] {
        let read = |lane: u32| {
            format!("setp.eq.u32 %p1, %t, {lane};\n@%p1 ld.shared::cluster.u32 %r1, [%r62];\nbar.warp.sync -1;\n")
        };
        let body = format!(
            "setp.eq.u32 %p4, %t, 9;\nmov.u32 %r70, 0;\n@%p4 st.shared.u32 [tile+128], %r70;\nxor.b32 %r71, %block, 1;\nmapa.shared::cluster.u32 %r62, tile, %r71;\nadd.u32 %r62, %r62, 128;\n\
             {SYNC}setp.eq.u32 %p3, %block, 1;\n@%p3 bra END;\n{}{}END:",
            read(first),
            read(second)
        );
        for schedule in Schedule::ALL {
            let launch = Launch::new(2, 32).cluster(2, 1, 1).schedule(schedule);
            let fault = kernel(&body, launch).fault();
            assert_eq!(fault.kind, FaultKind::Race, "{schedule}: {fault}");
            assert!(schedule != Schedule::FirstFirst || fault.site.thread.x == first, "{fault}");
            let right = body.replace("END:", &format!("END: {SYNC}"));
            assert!(kernel(&right, launch).run().is_ok(), "{schedule}");
        }
    }
}

#[test]
fn what_is_sent_arrives_whole() {
    // Of 4 to 32 bytes, each of them another one.
    let told = "mbarrier::complete_tx::bytes";
    for (kind, list, bytes) in [
        ("b32", "%r20", 4),
        ("s32", "%r21", 4),
        ("b64", "%d20", 8),
        ("u64", "%d21", 8),
        ("v2.u32", "{%r20, %r21}", 8),
        ("v4.b32", "{%r20, %r21, %r22, %r23}", 16),
        ("v2.s64", "{%d20, %d21}", 16),
    ] {
        let words = (0..4u32).map(|n| 0x0101_0101 * (4 * n + 1) + 0x0302_0100).collect::<Vec<_>>();
        let first = if list == "%r21" || list == "%d21" { bytes as usize / 4 } else { 0 };
        let set: String = (0..4).map(|n| format!("mov.u32 %r2{n}, {};\n", words[n])).collect();
        let body = format!(
            "{}{set}mov.b64 %d20, {{%r20, %r21}};\nmov.b64 %d21, {{%r22, %r23}};\nmbarrier.arrive.expect_tx.shared.b64 _, [tile+72], {bytes};\n{SYNC}\
             st.async.shared::cluster.{told}.{kind} [%r62+0], {list}, [%r61];\n{}ld.shared.v4.u32 {{%r1, %r2, %r3, %r4}}, [tile+128];\nmad.wide.u32 %d1, %block, 16, %out;\n\
             st.global.v4.u32 [%d1], {{%r1, %r2, %r3, %r4}};\n{SYNC}",
            peers(1),
            wait("W", "tile+72")
        );
        let kernel = kernel(&body, Launch::new(2, 1).cluster(2, 1, 1));
        let mut wanted = [0; 4];
        wanted[..bytes as usize / 4].copy_from_slice(&words[first..first + bytes as usize / 4]);
        assert_eq!(kernel.words(8), [wanted, wanted].concat(), "{kind} {list}");
    }
}
