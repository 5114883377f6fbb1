//! Bulk copies, by whichever thread: what they bring, what they read until when, and whom messages name.

use emulator::{Fault, FaultKind, Launch, Schedule};

use crate::run::{Kernel, Outcome};

fn kernel(threads: u32, body: &str) -> Kernel {
    let input: Vec<u8> = (0..4096u32).map(|n| (n * 7 + n / 256) as u8).collect();
    Kernel { zeros: 4096, ..Kernel::new(threads, body) }.input(input)
}

fn input(at: usize) -> u8 {
    (at * 7 + at / 256) as u8
}

/// Executed by one thread of many.
fn by(thread: u32, text: &str) -> String {
    let guarded: String = text.lines().map(|line| format!("@%p9 {line}\n")).collect();
    format!("setp.eq.u32 %p9, %t, {thread};\n{guarded}")
}

/// Whose copies are tried.
const THREADS: [u32; 5] = [0, 5, 32, 37, 63];
/// A barrier at `tile+72`, which thread 1 begins, and what thread 3 waits there for.
const FULL: &str = "setp.eq.u32 %p8, %t, 1;\n@%p8 mbarrier.init.shared.b64 [tile+72], 1;\n@%p8 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n";
const WAIT: &str = "W: mbarrier.test_wait.parity.shared.b64 %p2, [tile+72], 0;\n@!%p2 bra W;\n";
const DONE: &str = "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";

fn expect(bytes: u32) -> String {
    format!("mbarrier.arrive.expect_tx.shared.b64 %d1, [tile+72], {bytes};\n")
}

fn load(to: u32, from: &str, bytes: u32) -> String {
    format!(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile+{to}], [{from}], {bytes}, [tile+72];"
    )
}

fn store(to: u32, from: u32, bytes: u32) -> String {
    format!("cp.async.bulk.global.shared::cta.bulk_group [%out+{to}], [tile+{from}], {bytes};")
}

/// Adds words in global memory.
fn add(to: u32, from: u32, bytes: u32) -> String {
    format!("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out+{to}], [tile+{from}], {bytes};")
}

/// From the block's shared memory to the same; adds words, or not.
fn exchange(to: u32, from: u32, bytes: u32, adds: bool) -> String {
    let (name, kind) = if adds { ("cp.reduce", ".add.u32") } else { ("cp", "") };
    format!(
        "{name}.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{kind} [tile+{to}], [tile+{from}], {bytes}, [tile+72];"
    )
}

/// One thread stores words from `first` on, and lets copies see them.
fn fill(at: u32, words: u32, first: u32) -> String {
    let store = |n: u32| format!("mov.u32 %r1, {};\nst.shared.u32 [tile+{}], %r1;\n", first + n, at + 4 * n);
    (0..words).map(store).collect::<String>() + "fence.proxy.async;\n"
}

fn run(kernel: &Kernel) -> Outcome {
    kernel.run().unwrap_or_else(|fault| panic!("{fault}\n{}", kernel.text))
}

fn in_every_order(threads: u32, body: &str) -> Vec<Result<Outcome, Box<Fault>>> {
    let of = |schedule| kernel(threads, body).launch(Launch::new(1, threads).schedule(schedule)).run();
    Schedule::ALL.into_iter().map(of).collect()
}

#[test]
fn whoever_asks_for_copies_has_them_made() {
    for thread in THREADS {
        // In, and seen by another thread; back out, and reused behind its own wait.
        let body = format!(
            "{FULL}{}{WAIT}{}bar.sync 0;\n{}",
            by(thread, &(expect(48) + &load(128, "%in+16", 48))),
            by(3, "ld.shared.u32 %r2, [tile+132];\nst.global.u32 [%out], %r2;"),
            by(thread, &format!("{}\n{}\n{DONE}\n{}", store(80, 128, 32), store(512, 144, 16), fill(128, 12, 0))),
        );
        for outcome in in_every_order(64, &body) {
            let outcome = outcome.unwrap_or_else(|fault| panic!("{thread}: {fault}"));
            let bytes: Vec<u8> = outcome.bytes.iter().map(|byte| byte.expect("it is written")).collect();
            assert_eq!(bytes[..4], [20, 21, 22, 23].map(input));
            assert_eq!(bytes[80..112], (16..48).map(input).collect::<Vec<u8>>());
            assert_eq!(bytes[512..528], (32..48).map(input).collect::<Vec<u8>>());
            assert!(bytes[64..80].iter().chain(&bytes[112..512]).chain(&bytes[528..]).all(|byte| *byte == 0));
            // Sectors 0 and 1 of `in`; of `out` 0, 2, 3 and 16.
            assert_eq!(outcome.report.footprint_bytes, 6 * 32);
            let bulk = &outcome.report.total.bulk;
            assert_eq!((bulk.loads, bulk.stores, bulk.bytes_read, bulk.bytes_written), (1, 2, 64, 96), "by sectors");
            assert_eq!(bulk.l2_bytes_read, 64, "of what is read alone");
        }
    }
}

#[test]
fn what_a_copy_combines_lies_where_it_says() {
    for thread in THREADS {
        let body = format!(
            "{FULL}{}{WAIT}{}bar.sync 0;\n{}",
            by(
                thread,
                &(fill(128, 8, 100)
                    + &fill(256, 8, 1000)
                    + &expect(48)
                    + &exchange(256, 128, 32, true)
                    + "\n"
                    + &exchange(400, 144, 16, false))
            ),
            by(
                3,
                "ld.shared.v2.u32 {%r2, %r3}, [tile+264];\nst.global.v2.u32 [%out], {%r2, %r3};\nld.shared.u32 %r2, [tile+412];\nst.global.u32 [%out+8], %r2;"
            ),
            by(thread, &format!("fence.proxy.async;\n{}\n{}\n{DONE}", add(64, 128, 32), add(80, 256, 16))),
        );
        for outcome in in_every_order(64, &body) {
            let words = outcome.unwrap_or_else(|fault| panic!("{thread}: {fault}")).words(32);
            assert_eq!(words[..3], [1104, 1106, 107], "{thread}");
            let first = [100, 101, 102, 103, 104 + 1100, 105 + 1102, 106 + 1104, 107 + 1106];
            assert_eq!(words[16..24], first, "{thread}");
            assert_eq!((words[15], words[24]), (0, 0));
        }
    }
}

#[test]
fn a_copy_that_is_wrong_is_that_of_its_thread() {
    for thread in THREADS {
        for (copy, kind, said) in [
            (load(136, "%in", 16), FaultKind::Misaligned, "which is no multiple of 16"),
            (load(128, "%in+8", 16), FaultKind::Misaligned, "bulk copy of 16 bytes"),
            (load(4096, "%in", 16), FaultKind::OutOfBounds, "past the end of tile"),
            (load(4080, "%in", 32), FaultKind::OutOfBounds, "past the end of tile"),
            (load(128, "%in+4080", 32), FaultKind::OutOfBounds, "past the end of in"),
            (store(8, 128, 16), FaultKind::Misaligned, "bulk copy of 16 bytes"),
            (store(16, 136, 16), FaultKind::Misaligned, "which is no multiple of 16"),
            (store(4080, 128, 32), FaultKind::OutOfBounds, "past the end of out"),
            (store(0, 4080, 32), FaultKind::OutOfBounds, "past the end of tile"),
            (add(0, 4096, 16), FaultKind::OutOfBounds, "past the end of tile"),
            (exchange(136, 256, 16, false), FaultKind::Misaligned, "which is no multiple of 16"),
            (exchange(128, 264, 16, false), FaultKind::Misaligned, "which is no multiple of 16"),
            (exchange(128, 4080, 32, true), FaultKind::OutOfBounds, "past the end of tile"),
            (exchange(4080, 128, 32, true), FaultKind::OutOfBounds, "past the end of tile"),
        ] {
            let fault = kernel(64, &format!("{FULL}{}", by(thread, &(expect(16) + &copy)))).fault();
            assert_eq!((fault.kind, fault.site.thread.x), (kind, thread), "{copy}: {fault}");
            assert!(fault.message.contains(said), "{copy}: {fault}");
        }
        // A number of bytes in a register.
        for (bytes, right) in [(0, false), (8, false), (24, false), (16, true), (32, true)] {
            let copy = load(128, "%in", 16).replace(", 16,", ", %r1,");
            let body =
                format!("{FULL}{}{WAIT}", by(thread, &format!("mov.u32 %r1, {bytes};\n{}{copy}", expect(bytes))));
            match kernel(64, &body).run() {
                Ok(_) => assert!(right, "{bytes}"),
                Err(fault) => {
                    assert!(!right && fault.kind == FaultKind::Misaligned, "{fault}");
                    assert_eq!(fault.site.thread.x, thread, "{fault}");
                    let said = format!("of {bytes} bytes, which is no multiple of 16");
                    assert!(fault.message.contains(&said), "{fault}");
                }
            }
        }
        // More comes than is expected, or in two parts.
        let more = format!("{FULL}{}{WAIT}", by(thread, &(expect(16) + &load(128, "%in", 32))));
        let fault = kernel(64, &more).fault();
        let said = "the mbarrier tile (shared memory) at offset 72 expects 16 bytes in phase 0, and 32 come";
        assert_eq!((fault.kind, fault.site.thread.x), (FaultKind::Barrier, thread), "{fault}");
        assert!(fault.message.contains(said), "{fault}");
        let other = fault.other.as_ref().map(|(what, site)| (what.as_str(), site.thread.x, site.opcode.as_str()));
        let expected = ("bytes are expected here:", thread, "mbarrier.arrive.expect_tx.shared.b64");
        assert_eq!(other, Some(expected), "{fault}");
        let parts = expect(16) + &load(128, "%in", 16) + "\n" + &load(160, "%in", 16);
        let fault = kernel(64, &format!("{FULL}{}{WAIT}", by(thread, &parts))).fault();
        assert_eq!((fault.kind, fault.site.thread.x), (FaultKind::Barrier, thread), "{fault}");
        assert!(fault.message.contains("ends with 16 bytes expected, and this copy of 16 bytes is still"), "{fault}");
    }
}

#[test]
fn a_copy_meets_no_barrier_in_shared_memory() {
    let text = |copy: &str| format!("{FULL}{}", by(37, &(expect(16) + copy)));
    for at in [48, 64, 80] {
        let filled = fill(48, 4, 1) + &fill(80, 4, 1) + &fill(256, 4, 1);
        let into = [load(at, "%in", 16), exchange(at, 256, 16, false), exchange(at, 256, 16, true)];
        let out = [store(0, at, 16), add(0, at, 16), exchange(256, at, 16, false)];
        for copy in into.iter().chain(&out) {
            let told = if copy.contains("[tile+72]") { WAIT } else { "" };
            let finish = if told.is_empty() { format!("\n{DONE}") } else { String::new() };
            let expects = if told.is_empty() { String::new() } else { expect(16) };
            let body = format!("{FULL}{}{told}", by(37, &format!("{filled}{expects}{copy}{finish}")));
            match kernel(64, &body).run() {
                Ok(_) => assert_ne!(at, 64, "{copy}"),
                Err(fault) => {
                    assert!(at == 64 && fault.kind == FaultKind::Barrier, "{copy}: {fault}");
                    let said = "bulk copy of the mbarrier tile (shared memory) at offset 72, whose bytes mean nothing";
                    assert!(fault.message.starts_with(said) && fault.site.thread.x == 37, "{fault}");
                }
            }
        }
    }
    // Its barrier is one that the thread knows of, and that copies may see.
    for (between, right) in [("bar.sync 0;\n", true), ("", false)] {
        let begins = FULL.replace("bar.sync 0;\n", between);
        for thread in [37, 2] {
            let told = by(thread, &(load(128, "%in", 16) + "\n" + &expect(16)));
            let body = format!("{begins}{told}{}", if right { WAIT } else { "" });
            for outcome in in_every_order(64, &body) {
                assert_eq!(outcome.is_ok(), right, "{thread}");
                let Err(fault) = outcome else { continue };
                assert_eq!((fault.kind, fault.site.thread.x), (FaultKind::Barrier, thread), "{fault}");
                assert!(fault.site.opcode.starts_with("cp.async.bulk"), "{fault}");
            }
        }
    }
    assert!(kernel(64, &text(&load(128, "%in", 16))).run().is_err(), "nobody waits for it");
}

#[test]
fn bytes_that_nobody_wrote_are_so_where_they_are_brought() {
    // Of 32 bytes, all but one are written; each of them in turn, out of shared memory and into it.
    for missing in 0..32 {
        let bytes = |base: &str| -> String {
            let written = (0..32).filter(|n| *n != missing);
            written.map(|n| format!("st.shared.u8 [{base}+{n}], %r1;\n")).collect()
        };
        for zeros in [0, 4096] {
            for (exchanged, from) in [(false, 256), (true, 512)] {
                let brought = if exchanged { expect(32) + &exchange(512, 256, 32, false) } else { String::new() };
                let wait = if exchanged { WAIT } else { "" };
                let body = format!(
                    "{FULL}{}{wait}bar.sync 0;\n{}",
                    by(37, &format!("mov.u32 %r1, 9;\n{}fence.proxy.async;\n{brought}", bytes("tile+256"))),
                    by(37, &format!("{}\n{DONE}", store(64, from, 32)))
                );
                let bytes = run(&Kernel { zeros, ..kernel(64, &body) }).bytes;
                let wanted: Vec<Option<u8>> = (0..32).map(|n| (n != missing).then_some(9)).collect();
                assert_eq!(bytes[64..96], wanted, "{missing}, {zeros}, {exchanged}");
                let beside = if zeros == 0 { None } else { Some(0) };
                assert_eq!((bytes[63], bytes[96]), (beside, beside), "{missing}, {zeros}");
            }
        }
    }
}

#[test]
fn bytes_of_a_buffer_that_nobody_wrote_are_so_in_shared_memory() {
    // The first 20 bytes of `out` are written; the copy begins with those, or behind them.
    for (from, byte) in (0..64).map(|n| (n / 32 * 32, n % 32)) {
        let body = format!(
            "{FULL}{}{WAIT}{}",
            by(37, &(expect(32) + &load(128, &format!("%out+{from}"), 32))),
            by(
                3,
                &format!(
                    "ld.shared.u8 %r2, [tile+{}];\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%out+64], %r2;",
                    128 + byte
                )
            )
        );
        match (Kernel { zeros: 20, ..kernel(64, &body) }).run() {
            Ok(outcome) => assert!(from + byte < 20 && outcome.bytes[64] == Some(1), "{from}, {byte}"),
            Err(fault) => {
                assert!(from + byte >= 20 && fault.kind == FaultKind::Uninitialised, "{from}, {byte}: {fault}")
            }
        }
    }
}

#[test]
fn a_copy_reads_its_source_until_it_has_landed() {
    // Thread 5 of `out`, while thread 40 writes there, ordered behind the start alone or behind the end.
    let body = |late: bool, usage: &str| {
        let (start, end) = if late { ("", "bar.arrive 1, 64;\n") } else { ("bar.arrive 1, 64;\n", "") };
        format!(
            "{FULL}setp.ge.u32 %p3, %t, 32;\n@%p3 bra OTHER;\n{}{start}{WAIT}{end}bra END;\nOTHER: bar.sync 1, 64;\n{}END:",
            by(5, &(expect(32) + &load(128, "%out+16", 32))),
            by(40, &format!("mov.u32 %r1, 3;\n{usage}"))
        )
    };
    for at in [12, 16, 28, 44, 48] {
        let usage = format!("st.global.u32 [%out+{at}], %r1;");
        for outcome in in_every_order(64, &body(true, &usage)) {
            outcome.unwrap_or_else(|fault| panic!("at {at}: {fault}"));
        }
        let outcomes = in_every_order(64, &body(false, &usage));
        // (Where the copy lands before the store, nothing tells the two apart from such as are in order.)
        assert_eq!(outcomes.iter().any(Result::is_err), at != 12 && at != 48, "at {at}");
        for fault in outcomes.into_iter().filter_map(Result::err) {
            let of_copy = fault.message.contains("copy by thread (5,0) at ")
                || fault.message.contains("bulk copy from there by thread (5,0) at ");
            assert!(fault.kind == FaultKind::Race && of_copy, "at {at}: {fault}");
            assert!(fault.message.starts_with("race on out at offset "), "at {at}: {fault}");
        }
    }
}

#[test]
fn the_source_of_a_store_is_free_behind_its_group() {
    // Two groups; who waits for all but the last has the first one's back.
    for thread in THREADS {
        let body = |pending: u32, read: &str, at: u32| {
            let group = |to: u32, from: u32| format!("{}\ncp.async.bulk.commit_group;\n", store(to, from, 16));
            let text = fill(128, 12, 5) + &group(64, 128) + &group(96, 144);
            by(thread, &format!("{text}cp.async.bulk.wait_group{read} {pending};\nst.shared.u32 [tile+{at}], %r1;"))
        };
        for read in ["", ".read"] {
            for (pending, at, right) in [
                (0, 128, true),
                (0, 144, true),
                (1, 140, true),
                (1, 144, false),
                (1, 156, false),
                (1, 160, true),
                (2, 128, false),
                (2, 144, false),
            ] {
                for outcome in in_every_order(64, &body(pending, read, at)) {
                    match outcome {
                        Ok(_) => assert!(right, "{thread}, {pending}, {at}"),
                        Err(fault) => {
                            assert!(!right && fault.kind == FaultKind::Race, "{thread}, {pending}, {at}: {fault}");
                            let place = at / 16 * 16;
                            let said = format!("bulk copy from there by thread ({thread},0) at ");
                            assert!(fault.message.contains(&said) && at >= place, "{fault}");
                            assert_eq!(fault.site.thread.x, thread, "{fault}");
                        }
                    }
                }
            }
        }
    }
    // Two threads have groups of their own: one's wait is none for the other's.
    let start =
        |thread: u32, at: u32| by(thread, &(fill(at, 4, 5) + &store(at, at, 16) + "\ncp.async.bulk.commit_group;"));
    for (first, second) in [(37, 27), (27, 37), (5, 37), (37, 38)] {
        let body = |waits: u32| {
            start(first, 128)
                + &start(second, 256)
                + &by(waits, "cp.async.bulk.wait_group 0;")
                + "bar.sync 0;\n"
                + &by(40, "mov.u32 %r1, 1;\nst.shared.u32 [tile+256], %r1;")
        };
        assert!(kernel(64, &body(second)).run().is_ok(), "{first}, {second}");
        let fault = kernel(64, &body(first)).fault();
        let said = format!("bulk copy from there by thread ({second},0) at ");
        assert!(fault.kind == FaultKind::Race && fault.message.contains(&said), "{fault}");
    }
}

#[test]
fn stores_of_two_blocks_to_one_place_are_a_race() {
    // By stamps, and by the order model, which an atomic elsewhere asks for.
    let put = |value: u32, copy: String| by(37, &format!("{}{copy}\n{DONE}", fill(128, 4, value)));
    let plain = |at: u32| by(37, &format!("mov.u32 %r1, 77;\nst.global.u32 [%out+{at}], %r1;"));
    let red = |at: u32| by(37, &format!("red.global.add.u32 [%out+{at}], 1;"));
    for (first, second, right) in [
        (put(1, store(64, 128, 16)), put(9, store(64, 128, 16)), false),
        (put(1, store(64, 128, 32).replace(", 32;", ", 16;")), put(9, store(80, 128, 16)), true),
        (put(1, store(64, 128, 16)), plain(76), false),
        (put(1, store(64, 128, 16)), plain(80), true),
        (plain(64), put(9, store(64, 128, 16)), false),
        (put(1, add(64, 128, 16)), put(9, add(64, 128, 16)), true),
        (put(1, add(64, 128, 16)), put(9, store(64, 128, 16)), false),
        (put(1, store(64, 128, 16)), put(9, add(64, 128, 16)), false),
        (put(1, add(64, 128, 16)), plain(72), false),
        (plain(72), put(1, add(64, 128, 16)), false),
        (put(1, add(64, 128, 16)), red(72), true),
    ] {
        for other in ["", "red.global.add.u32 [%out+1024], 1;\n"] {
            let body =
                format!("{other}setp.eq.u32 %p3, %block, 1;\n@%p3 bra SECOND;\n{first}bra END;\nSECOND: {second}END:");
            for schedule in Schedule::ALL {
                let outcome = kernel(64, &body).launch(Launch::new(2, 64).schedule(schedule)).run();
                match outcome {
                    Ok(_) => assert!(right, "{schedule}: {body}"),
                    Err(fault) => {
                        assert!(!right && fault.kind == FaultKind::Race, "{schedule}: {fault}\n{body}");
                        let combines = !other.is_empty() && body.contains("cp.reduce");
                        let said = ["atomic by ", "copy to there by "].iter().any(|who| fault.message.contains(who));
                        assert!(!combines || said, "{schedule}: {fault}\n{body}");
                        assert!(body.contains("cp.reduce") || !fault.message.contains("atomic"), "{fault}");
                    }
                }
            }
        }
    }
    // Within a block, the other thread is ordered by barriers alone.
    for other in ["", "red.global.add.u32 [%out+1024], 1;\n"] {
        let put = by(37, &format!("{}{}\n{DONE}", fill(128, 4, 1), store(64, 128, 16)));
        for usage in ["ld.global.u32 %r2, [%out+72];", "mov.u32 %r1, 4;\nst.global.u32 [%out+72], %r1;"] {
            let usage = by(3, usage);
            for (first, second) in [(&put, &usage), (&usage, &put)] {
                for (between, right) in [("bar.sync 0;\n", true), ("", false)] {
                    let outcomes = in_every_order(64, &format!("{other}{first}{between}{second}"));
                    assert_eq!(outcomes.iter().all(Result::is_ok), right, "{other}{first}{between}{second}");
                }
            }
        }
    }
}
