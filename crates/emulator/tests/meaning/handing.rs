//! The order of threads, further: what a thread hands on and takes over, piece by piece; and what a race's message says.

use emulator::{Fault, FaultKind, Launch, Schedule};

use crate::litmus::{by_blocks, is_race};
use crate::run::Kernel;

/// Steps by lane 0 of warps of one block, which run one after the other.
fn by_warps(steps: &[&str]) -> Kernel {
    let mut body = String::from("mov.u32 %r1, 1;\nmov.u32 %r7, 7;\n");
    for (n, step) in steps.iter().enumerate() {
        body += &format!(
            "setp.ne.u32 %p1, %t, {};\n@%p1 bra AFTER{n};\n{}\nbra END;\nAFTER{n}:\n",
            32 * n,
            step.replace("FLAG", "%out+")
        );
    }
    Kernel { zeros: 4096, ..Kernel::new(32 * steps.len() as u32, &format!("{body}END:")) }
}

fn fault(threads: u32, body: &str) -> Box<Fault> {
    Kernel { zeros: 4096, ..Kernel::new(threads, body) }.fault()
}

const READER: &str =
    "ld.acquire.gpu.global.u32 %r2, [FLAG64];\nld.global.u32 %r3, [%out];\nst.global.u32 [%out+128], %r3;";

#[test]
fn a_release_of_one_place_leaves_that_of_another_as_it_was() {
    let writer = "st.global.u32 [%out], %r7;\nst.release.gpu.global.u32 [FLAG64], %r1;\nst.release.gpu.global.u32 [FLAG72], %r1;\n\
        st.relaxed.gpu.global.u32 [FLAG64], %r7;";
    assert!(!is_race(&by_blocks(&[writer, READER]), "the later write hands on the release of its place"));
    assert!(!is_race(&by_blocks(&[writer, &READER.replace("64", "72")]), "the other place"));
    // Of two releases of one place, the later one is handed on.
    let twice = "st.release.gpu.global.u32 [FLAG64], %r1;\nst.global.u32 [%out], %r7;\nst.release.gpu.global.u32 [FLAG64], %r1;\n\
        st.relaxed.gpu.global.u32 [FLAG64], %r7;";
    assert!(!is_race(&by_blocks(&[twice, READER]), "released twice"));
    // The same for the threads of a block.
    let near = "st.global.u32 [%out], %r7;\nst.release.cta.global.u32 [FLAG64], %r1;\nst.relaxed.cta.global.u32 [FLAG64], %r7;";
    assert!(!is_race(&by_warps(&[near, &READER.replace(".gpu", ".cta")]), near));
}

#[test]
fn every_counter_of_a_blocks_row_hands_on_its_part() {
    let add =
        |n: u32| format!("st.global.u32 [%out+{}], %r7;\nred.release.cta.global.add.u32 [FLAG64], 1;", 256 + 4 * n);
    for n in 0..3 {
        let last = format!(
            "ld.acquire.cta.global.u32 %r2, [FLAG64];\nld.global.u32 %r3, [%out+{}];\nst.global.u32 [%out+128], %r3;",
            256 + 4 * n
        );
        assert!(!is_race(&by_warps(&[&add(0), &add(1), &add(2), &last]), "part {n}"));
    }
}

#[test]
fn lanes_that_meet_learn_from_each_other_alone() {
    // A lane of the second block has acquired the message; lanes 1 and 2 meet, with it or without.
    for (lane, mask, race) in [(0, 7, false), (0, 6, true), (31, 0x8000_0006u32, false), (31, 6, true), (31, 7, true)] {
        let body = format!(
            "mov.u32 %r1, 1;\nmov.u32 %r7, 7;\nmov.u32 %r20, {mask};\nsetp.ne.u32 %p1, %block, 0;\n@%p1 bra READ;\nsetp.eq.u32 %p2, %t, 5;\n\
             @%p2 st.global.u32 [%out], %r7;\n@%p2 st.release.gpu.global.u32 [%out+64], %r1;\nbra END;\n\
             READ: setp.eq.u32 %p2, %t, {lane};\n@%p2 ld.acquire.gpu.global.u32 %r2, [%out+64];\nshr.u32 %r21, %r20, %t;\nand.b32 %r21, %r21, 1;\n\
             setp.eq.u32 %p3, %r21, 0;\n@%p3 bra END;\nbar.warp.sync %r20;\nsetp.eq.u32 %p2, %t, 2;\n@!%p2 bra END;\n\
             ld.global.u32 %r3, [%out];\nst.global.u32 [%out+128], %r3;\nEND:"
        );
        let kernel = Kernel { zeros: 4096, ..Kernel::new(0, &body).launch(Launch::new(2, 32)) };
        assert_eq!(is_race(&kernel, &body), race, "lane {lane}, lanes {mask:#b} meet");
    }
}

#[test]
fn a_fence_that_is_too_narrow_leaves_the_message_to_a_wider_one() {
    let write = "st.global.u32 [%out], %r7;\nst.release.gpu.global.u32 [FLAG64], %r1;";
    let reader = |fences: &str| READER.replace("acquire", "relaxed").replacen('\n', &format!("\n{fences}\n"), 1);
    for (fences, race) in [
        ("fence.acq_rel.cta;", true),
        ("fence.acq_rel.cta;\nfence.acq_rel.gpu;", false),
        ("fence.acquire.gpu;", false),
        ("fence.release.gpu;", true),
    ] {
        assert_eq!(is_race(&by_blocks(&[write, &reader(fences)]), fences), race, "{fences}");
    }
}

#[test]
fn who_read_a_place_and_then_acquires_it_acquires_what_he_read() {
    // The reader sees the first writer's flag; another thread sets it anew, and hands on nothing; then the reader acquires it.
    let wait = |label: &str, at: u32| {
        format!("{label}: ld.relaxed.gpu.global.u32 %r2, [%out+{at}];\nsetp.eq.u32 %p4, %r2, 0;\n@%p4 bra {label};\n")
    };
    for (look, race) in [(wait("L0", 64), false), (String::new(), true)] {
        let reader = format!(
            "{look}st.relaxed.gpu.global.u32 [%out+68], %r1;\n{}ld.acquire.gpu.global.u32 %r2, [%out+64];\n\
             ld.global.u32 %r3, [%out];\nst.global.u32 [%out+128], %r3;",
            wait("L1", 72)
        );
        let other = format!(
            "{}st.relaxed.gpu.global.u32 [%out+64], %r7;\nst.relaxed.gpu.global.u32 [%out+72], %r1;",
            wait("L2", 68)
        );
        let kernel =
            by_warps(&["st.global.u32 [%out], %r7;\nst.release.gpu.global.u32 [FLAG64], %r1;", &reader, &other]);
        assert_eq!(is_race(&kernel, &look), race, "{look}");
    }
}

#[test]
fn one_lane_that_knows_does_not_speak_for_its_neighbours() {
    // Half of a warp uses a row that another block has written; one lane of it has not acquired the message.
    let body = |first: u32, access: &str| {
        format!(
            "mov.u32 %r1, 1;\nmad.wide.u32 %d1, %t, 4, %out;\nsetp.ne.u32 %p1, %block, 0;\n@%p1 bra READ;\nst.global.u32 [%d1], %t;\n\
             mov.u32 %r20, -1;\nbar.warp.sync %r20;\nst.release.gpu.global.u32 [%out+1024], %r1;\nbra END;\n\
             READ: setp.ge.u32 %p2, %t, {first};\n@%p2 ld.acquire.gpu.global.u32 %r2, [%out+1024];\nsetp.ge.u32 %p3, %t, 16;\n@%p3 bra END;\n\
             mov.u32 %r3, 77;\n{access}\nEND:"
        )
    };
    for access in ["st.global.u32 [%d1], %r3;", "ld.global.u32 %r4, [%d1];\nst.global.u32 [%d1+2048], %r4;"] {
        let kernel = |first| {
            let kernel = Kernel::new(0, &body(first, access)).launch(Launch::new(2, 32));
            Kernel { zeros: 4096, ..kernel }
        };
        assert!(kernel(0).run().is_ok(), "{access}");
        let fault = kernel(1).fault();
        assert_eq!((fault.kind, fault.site.lane), (FaultKind::Race, 0), "{access}: {fault}");
    }
}

#[test]
fn what_several_lanes_read_at_once_each_may_or_may_not_know() {
    // Lanes 0 and 1 load one word with one instruction; only lane 0 has acquired the message.
    let body = "mov.u32 %r1, 1;\nmov.u32 %r7, 7;\nsetp.ne.u32 %p1, %block, 0;\n@%p1 bra READ;\nsetp.eq.u32 %p2, %t, 0;\n@%p2 st.global.u32 [%out], %r7;\n\
        @%p2 st.release.gpu.global.u32 [%out+64], %r1;\nbra END;\nREAD: setp.eq.u32 %p2, %t, 0;\n@%p2 ld.acquire.gpu.global.u32 %r2, [%out+64];\n\
        setp.gt.u32 %p3, %t, 1;\n@%p3 bra END;\nld.global.u32 %r3, [%out];\nEND:";
    let fault = Kernel { zeros: 4096, ..Kernel::new(0, body).launch(Launch::new(2, 32)) }.fault();
    assert_eq!((fault.kind, fault.site.lane), (FaultKind::Race, 1), "{fault}");
    // A lane stores; it and its neighbours load with one instruction.
    let own = "mov.u32 %r1, 1;\nred.global.add.u32 [%out+64], 1;\nsetp.eq.u32 %p2, %t, 0;\n@%p2 st.global.u32 [%out], %r1;\nld.global.u32 %r3, [%out];";
    let fault = self::fault(32, own);
    assert_eq!((fault.kind, fault.site.lane), (FaultKind::Race, 1), "{fault}");
}

#[test]
fn who_comes_last_of_a_row_may_use_the_counter_plainly() {
    // It observed all the others: so it may set the counter back, which is how blocks and lanes find out who is the last one.
    for (space, base) in [("global", "%out+64"), ("shared", "tile+64")] {
        for threads in [32u32, 96] {
            let body = format!(
                "mov.u32 %r1, 0;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 st.{space}.u32 [{base}], %r1;\nbar.sync 0;\natom.{space}.add.u32 %r2, [{base}], 1;\n\
                 setp.ne.u32 %p2, %r2, {};\n@%p2 bra END;\nst.{space}.u32 [{base}], %r1;\nst.global.u32 [%out], %r2;\nEND:",
                threads - 1
            );
            for schedule in Schedule::ALL {
                let kernel = Kernel { zeros: 4096, ..Kernel::new(threads, &body) };
                let words = kernel.launch(Launch::new(1, threads).schedule(schedule)).words(1);
                assert_eq!(words, [threads - 1], "{space}, {schedule}");
            }
            let early = body.replace(&format!("%r2, {};", threads - 1), &format!("%r2, {};", threads - 2));
            let fault = fault(threads, &early);
            assert_eq!(fault.kind, FaultKind::Race, "the last but one: {fault}");
        }
    }
}

#[test]
fn a_read_that_fits_no_write_of_its_thread_still_counts() {
    // What was read plainly, or in another size, by a thread whose strong store is no race with the second block's.
    let store = "st.relaxed.gpu.global.u32 [FLAG64], %r1;";
    for (before, race) in [
        ("", false),
        ("ld.relaxed.gpu.global.u32 %r2, [FLAG64];\n", false),
        ("ld.global.u32 %r2, [FLAG64];\n", true),
        ("ld.relaxed.gpu.global.u16 %h2, [FLAG64];\n", true),
        ("ld.relaxed.cta.global.u32 %r2, [FLAG64];\n", true),
    ] {
        for second in [store, "red.relaxed.gpu.global.add.u32 [FLAG64], 1;"] {
            let outcome = by_blocks(&[&format!("{before}{second}"), second]).run();
            assert_eq!(outcome.map(drop).map_err(|fault| fault.kind).is_err(), race, "{before}{second}");
        }
    }
    let bytes = ["st.relaxed.gpu.global.u8 [FLAG64], %h1;", "ld.relaxed.gpu.global.u16 %h2, [FLAG64];"];
    assert_eq!(by_blocks(&bytes.map(|text| text)).fault().kind, FaultKind::Race, "a byte and two");
}

#[test]
fn what_is_read_only_is_written_by_nobody_whoever_knows_of_it() {
    // Rows, and single words of them, that others of the block wrote before a barrier.
    for (guard, first) in [("", 0), ("setp.eq.u32 %p1, %t, 5;\n@%p1 ", 5)] {
        let body = format!(
            "red.global.add.u32 [%out+2048], 1;\nxor.b32 %r1, %t, 1;\nmad.wide.u32 %d1, %t, 4, %out;\nmad.wide.u32 %d2, %r1, 4, %out;\n\
             st.global.u32 [%d2+256], %t;\nbar.sync 0;\n{guard}ld.global.nc.u32 %r2, [%d1+256];"
        );
        let fault = fault(32, &body);
        assert_eq!((fault.kind, fault.site.lane), (FaultKind::Race, first), "{fault}");
        let said =
            format!("race on out at offset {}: store by block (0,0), thread ({},0) at ", 256 + 4 * first, first ^ 1);
        assert!(fault.message.starts_with(&said), "{fault}");
    }
    // A row that one warp writes and another one reads.
    let rows = "red.global.add.u32 [%out+2048], 1;\nmad.wide.u32 %d1, %t, 4, %out;\nsetp.lt.u32 %p1, %t, 32;\n@%p1 st.global.u32 [%d1+256], %t;\n\
        bar.sync 0;\n@!%p1 ld.global.nc.u32 %r2, [%d1+128];";
    let fault = fault(64, rows);
    assert_eq!((fault.kind, fault.site.thread.x), (FaultKind::Race, 32), "{fault}");
}

#[test]
fn a_volatile_value_that_nobody_looks_at_is_named_with_its_place() {
    for (thread, why) in [(9, "lanes of one warp with no `__syncwarp()` between"), (40, "no barrier between")] {
        let body = format!(
            "mov.u32 %r1, 3;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 st.volatile.global.u32 [%out+256], %r1;\nsetp.eq.u32 %p2, %t, {thread};\n\
             @%p2 ld.volatile.global.u32 %r2, [%out+256];\n@%p2 st.global.u32 [%out+512], %r2;"
        );
        let fault = fault(64, &body);
        let said = "race on out at offset 256: store by thread (0,0)";
        assert!(fault.kind == FaultKind::Race && fault.message.starts_with(said), "{fault}");
        assert!(fault.message.ends_with(why), "{fault}");
    }
}

#[test]
fn of_lanes_that_store_one_value_in_one_place_the_last_one_is_named() {
    let body = "red.global.add.u32 [%out+2048], 1;\nmov.u32 %r1, 3;\nsetp.lt.u32 %p1, %t, 9;\n@%p1 st.global.u32 [%out+256], %r1;\n\
        setp.eq.u32 %p1, %t, 40;\n@%p1 ld.global.u32 %r2, [%out+256];";
    let fault = fault(64, body);
    let said = "race on out at offset 256: store by thread (8,0) at ";
    assert!(fault.kind == FaultKind::Race && fault.message.starts_with(said), "{fault}");
}

/// The end of the message of two steps' race.
fn why(kernel: &Kernel, wanted: &str) {
    let fault = kernel.fault();
    assert!(fault.kind == FaultKind::Race && fault.message.ends_with(wanted), "`{wanted}`: {fault}\n{}", kernel.text);
}

#[test]
fn a_race_says_what_is_wrong_with_two_accesses() {
    let scope = "ordered for the threads of one block only";
    let strength = "only one of the two is an atomic or volatile access";
    let add = |scope: &str| format!("red.relaxed.{scope}.global.add.u32 [FLAG64], 1;");
    let plain = "st.global.u32 [FLAG64], %r7;";
    for (first, second, blocks, warps) in [
        (add("cta"), add("cta"), Some(scope), None),
        (add("cta"), add("gpu"), Some(scope), None),
        (add("gpu"), plain.to_string(), Some(strength), Some("no barrier between")),
        (plain.to_string(), add("gpu"), Some(strength), Some("no barrier between")),
        ("st.relaxed.gpu.global.u16 [FLAG64], %h1;".to_string(), add("gpu"), Some(scope), Some("no barrier between")),
    ] {
        if let Some(wanted) = blocks {
            why(&by_blocks(&[&first, &second]), wanted);
        }
        let warps_of = by_warps(&[&first, &second]);
        match warps {
            Some(wanted) => why(&warps_of, wanted),
            None => assert!(warps_of.run().is_ok(), "{first} {second}"),
        }
    }
}

#[test]
fn a_race_says_what_a_thread_of_the_block_met() {
    // One thread has acquired the message: what its neighbour lacks is no fence.
    let body = |look: &str| {
        format!(
            "mov.u32 %r1, 1;\nsetp.ne.u32 %p1, %block, 0;\n@%p1 bra READ;\nsetp.eq.u32 %p2, %t, 3;\n@%p2 st.global.u32 [%out], %r1;\n\
             @%p2 st.release.gpu.global.u32 [%out+64], %r1;\nbra END;\nREAD: setp.eq.u32 %p2, %t, 3;\nsetp.eq.u32 %p3, %t, 4;\n{look}\n\
             @%p3 ld.global.u32 %r3, [%out];\nEND:"
        )
    };
    let kernel = |look: &str| Kernel { zeros: 4096, ..Kernel::new(0, &body(look)).launch(Launch::new(2, 32)) };
    let relaxed = "@%p2 ld.relaxed.gpu.global.u32 %r2, [%out+64];\n";
    let acquire = "@%p2 ld.acquire.gpu.global.u32 %r2, [%out+64];\n";
    why(&kernel(relaxed), "no fence or acquire after the read that tells of the first");
    why(&kernel(acquire), "nothing orders the two");
    why(&kernel(&format!("{relaxed}{acquire}")), "nothing orders the two");
    // A message that was meant for its writer's block; a wider fence comes too late.
    let narrow =
        "st.global.u32 [%out], %r7;\nfence.acq_rel.cta;\nst.relaxed.gpu.global.u32 [FLAG64], %r1;\nfence.acq_rel.gpu;";
    why(&by_blocks(&[narrow, READER]), "ordered for the threads of one block only");
}

#[test]
fn of_blocks_that_ended_the_last_ones_are_remembered() {
    for (between, wanted) in [
        (1, "no fence or release after the first"),
        (63, "no fence or release after the first"),
        (99, "nothing orders the two"),
    ] {
        let body = format!(
            "mov.u32 %r1, 1;\nred.global.add.u32 [%out+512], 1;\nsetp.eq.u32 %p1, %block, 0;\n@%p1 st.global.u32 [%out], %r1;\n@%p1 st.relaxed.gpu.global.u32 [%out+64], %r1;\n\
             setp.ne.u32 %p2, %block, {};\n@%p2 bra END;\nld.acquire.gpu.global.u32 %r2, [%out+64];\nld.global.u32 %r3, [%out];\nEND:",
            between + 1
        );
        let kernel = Kernel::new(0, &body).launch(Launch::new(between + 2, 1));
        why(&Kernel { zeros: 4096, ..kernel }, wanted);
    }
}
