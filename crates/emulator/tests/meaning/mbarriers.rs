//! Barriers in shared memory: counts, bytes and states to their limits, whom messages name, and who may use which bytes when.

use emulator::{Fault, FaultKind, Launch, Schedule};

use crate::run::Kernel;

fn kernel(threads: u32, body: &str) -> Kernel {
    Kernel { zeros: 4096, ..Kernel::new(threads, body) }
}

/// What one thread makes of a barrier for so many arrivals.
fn of_one(count: u32, body: &str) -> Kernel {
    kernel(1, &format!("mbarrier.init.shared.b64 [tile+64], {count};\n{body}"))
}

/// Executed by one thread of many.
fn by(thread: u32, text: &str) -> String {
    let guarded: String = text.lines().map(|line| format!("@%p9 {line}\n")).collect();
    format!("setp.eq.u32 %p9, %t, {thread};\n{guarded}")
}

/// Asks once, and appends the answer to `%r50` as a bit.
fn ask(what: &str) -> String {
    format!("mbarrier.test_wait{what};\nselp.u32 %r51, 1, 0, %p1;\nmad.lo.u32 %r50, %r50, 2, %r51;\n")
}

fn parity(parity: u32) -> String {
    ask(&format!(".parity.shared.b64 %p1, [tile+64], {parity}"))
}

/// The answers, from the first on.
fn answers(count: u32, body: &str) -> u32 {
    of_one(count, &format!("mov.u32 %r50, 1;\n{body}\nst.global.u32 [%out], %r50;")).words(1)[0]
}

/// The words that a message begins with, and the thread that it names.
fn convicted(fault: &Fault, thread: u32, said: &str) {
    assert_eq!((fault.kind, fault.site.thread.x), (FaultKind::Barrier, thread), "{fault}");
    assert!(fault.message.contains(said), "{said}: {fault}");
}

/// What stands beside the other place that a message names, and its thread.
fn other(fault: &Fault) -> Option<(&str, u32)> {
    fault.other.as_ref().map(|(what, site)| (what.as_str(), site.thread.x))
}

#[test]
fn a_state_is_that_of_its_phase_and_of_the_one_before() {
    let state = |n: u32| ask(&format!(".shared.b64 %p1, [tile+64], %d{n}"));
    let mut body = String::new();
    let mut wanted = 1;
    for phase in 0..5u32 {
        let (first, second) = (2 * phase + 1, 2 * phase + 2);
        body += &format!("mbarrier.arrive.shared.b64 %d{first}, [tile+64];\n");
        body += &(state(first) + &parity(phase % 2) + &parity(1 - phase % 2));
        body += &format!("mbarrier.arrive.shared.b64 %d{second}, [tile+64];\n");
        body += &(state(first) + &state(second) + &parity(phase % 2));
        wanted = wanted << 6 | 0b00_1111;
    }
    assert_eq!(answers(2, &body), wanted);
    // One of two phases ago is none any more.
    let old = |rounds: usize| {
        let round = "mbarrier.arrive.shared.b64 %d2, [tile+64];\n".repeat(rounds);
        of_one(1, &format!("mov.u32 %r50, 1;\nmbarrier.arrive.shared.b64 %d1, [tile+64];\n{round}{}", state(1)))
    };
    assert!(old(0).run().is_ok());
    convicted(
        &old(1).fault(),
        0,
        "wait for phase 0 of the mbarrier tile (shared memory) at offset 64, which is in phase 2",
    );
    convicted(
        &old(4).fault(),
        0,
        "wait for phase 0 of the mbarrier tile (shared memory) at offset 64, which is in phase 5",
    );
}

#[test]
fn a_barrier_is_for_as_many_arrivals_as_there_may_be() {
    let most = "mov.u32 %r1, 1048575;\nmbarrier.arrive.shared.b64 %d1, [tile+64], %r1;\n";
    assert_eq!(answers(0xf_ffff, &format!("{}{most}{}", parity(0), parity(0))), 0b101);
    convicted(&of_one(0x10_0000, "").fault(), 0, "for 1048576 arrivals, and may be for 1 to 1048575");
    convicted(&of_one(0, "").fault(), 0, "for 0 arrivals, and may be for 1 to 1048575");
    let some = |count: u32| of_one(2, &format!("mbarrier.arrive.shared.b64 %d1, [tile+64], {count};")).fault();
    convicted(&some(0), 0, "0 arrivals at the mbarrier tile (shared memory) at offset 64, where 2 of 2 are missing");
    convicted(&some(3), 0, "3 arrivals at the mbarrier tile (shared memory) at offset 64, where 2 of 2 are missing");
}

#[test]
fn arrivals_that_do_not_complete_a_phase_or_drop_out_count() {
    let arrive = |how: &str, count: u32| format!("mbarrier.{how}.shared.b64 %d1, [tile+64], {count};\n");
    let (none, plain, drop) = ("arrive.noComplete", "arrive", "arrive_drop");
    let body = arrive(none, 1) + &arrive(none, 2) + &parity(0) + &arrive(plain, 1) + &parity(0);
    assert_eq!(answers(4, &body), 0b101);
    let last = "by the last arrival of a phase with `.noComplete`";
    convicted(&of_one(4, &(arrive(none, 1) + &arrive(none, 3))).fault(), 0, last);
    // Who drops out is not awaited in the next phase.
    let body = arrive(drop, 2) + &arrive(plain, 1) + &parity(0) + &parity(1) + &arrive(plain, 1) + &parity(1);
    assert_eq!(answers(3, &body), 0b1101);
}

#[test]
fn bytes_are_counted_to_the_last_one() {
    let (expect, complete) = ("mbarrier.expect_tx.relaxed.cta", "mbarrier.complete_tx.relaxed.cta");
    let told = |what: &str, bytes: u32| format!("mov.u32 %r1, {bytes};\n{what}.shared::cta.b64 [tile+64], %r1;\n");
    let arrive =
        |bytes: u32| format!("mov.u32 %r1, {bytes};\nmbarrier.arrive.expect_tx.shared.b64 %d1, [tile+64], %r1;\n");
    assert_eq!(answers(1, &(arrive(1) + &parity(0) + &told(complete, 1) + &parity(0))), 0b101);
    assert_eq!(answers(1, &(arrive(3) + &told(complete, 2) + &parity(0) + &told(complete, 1) + &parity(0))), 0b101);
    // As many as there may be, before they come and behind that.
    let most = 0xf_ffff;
    assert_eq!(answers(1, &(told(expect, most) + &told(complete, most) + &arrive(0) + &parity(0))), 0b11);
    assert_eq!(answers(1, &(arrive(most) + &parity(0) + &told(complete, most) + &parity(0))), 0b101);
    assert_eq!(answers(2, &(told(complete, most) + &arrive(most) + &arrive(0) + &parity(0))), 0b11);
    let (many, few) =
        ("expecting 1048576 bytes, and may expect 1048575", "expecting -1048576 bytes, and may expect 1048575");
    for (body, said) in [
        (told(expect, most + 1), many),
        (told(expect, most) + &told(expect, 1), many),
        (arrive(most + 1), many),
        (arrive(1) + &arrive(most), many),
        (told(complete, most + 1), few),
        (told(complete, 1) + &told(complete, most), few),
    ] {
        convicted(&of_one(2, &body).fault(), 0, said);
    }
}

#[test]
fn bytes_that_nobody_expects_are_held_against_who_expects() {
    // In each of three phases: by an expectation alone, and by one that arrives; another one of none at all changes nothing.
    let told = |what: &str, bytes: u32| format!("mbarrier.{what}.relaxed.cta.shared::cta.b64 [tile+64], {bytes};");
    let arrive = |bytes: u32| format!("mbarrier.arrive.expect_tx.shared.b64 %d1, [tile+64], {bytes};");
    let init = by(0, "mbarrier.init.shared.b64 [tile+64], 1;") + "bar.sync 0;\n";
    for phase in 0..3 {
        let before = by(3, &format!("{}\n{}", arrive(48), told("complete_tx", 48))) + "bar.sync 0;\n";
        let before = init.clone() + &before.repeat(phase);
        for expects in [
            by(37, &told("expect_tx", 16))
                + "bar.sync 0;\n"
                + &by(5, &told("expect_tx", 0))
                + &by(38, &told("complete_tx", 32))
                + "bar.sync 0;\n"
                + &by(6, "mbarrier.arrive.shared.b64 %d1, [tile+64];"),
            by(37, &arrive(16))
                + "bar.sync 0;\n"
                + &by(5, &told("expect_tx", 0))
                + "bar.sync 0;\n"
                + &by(6, &told("complete_tx", 32)),
        ] {
            let fault = kernel(64, &(before.clone() + &expects)).fault();
            let said = format!(
                "the mbarrier tile (shared memory) at offset 64 expects 16 bytes in phase {phase}, and 32 come"
            );
            convicted(&fault, 6, &said);
            assert_eq!(other(&fault), Some(("bytes are expected here:", 37)), "{fault}");
        }
        // Who waits for ever is told how many there are.
        for expects in [told("expect_tx", 16), arrive(16)] {
            let wait = format!("W: mbarrier.test_wait.parity.shared.b64 %p1, [tile+64], {};\n@!%p1 bra W;", phase % 2);
            let body = before.clone()
                + &by(37, &expects)
                + "bar.sync 0;\n"
                + &by(38, &told("complete_tx", 4))
                + "bar.sync 0;\n"
                + &wait;
            let fault = kernel(64, &body).fault();
            let arrived = u32::from(expects.contains("arrive"));
            let said = format!(
                "waits for phase {phase} of the mbarrier tile (shared memory) at offset 64: {arrived} of 1 arrivals have come, and 4 of 16 bytes"
            );
            assert!(fault.kind == FaultKind::NoProgress && fault.message.contains(&said), "{said}: {fault}");
        }
    }
}

#[test]
fn an_arrival_too_many_is_held_against_the_one_before() {
    // While bytes are missing, so that the phase goes on.
    let start =
        by(0, "mbarrier.init.shared.b64 [tile+64], 2;\nmbarrier.expect_tx.relaxed.cta.shared::cta.b64 [tile+64], 16;")
            + "bar.sync 0;\n";
    let said = "1 arrivals at the mbarrier tile (shared memory) at offset 64, where 0 of 2 are missing in phase 0";
    let arrive = "mbarrier.arrive.shared.b64 %d1, [tile+64];";
    let turn = |thread: u32, text: &str| by(thread, text) + "bar.sync 0;\n";
    let fault = kernel(64, &(start.clone() + &turn(5, arrive) + &turn(37, arrive) + &turn(40, arrive))).fault();
    convicted(&fault, 40, said);
    assert_eq!(other(&fault), Some(("the arrival before it:", 37)), "{fault}");
    // Those that wait for copies, when their threads wait or when somebody asks.
    let copies = "cp.async.ca.shared.global [%r60], [%in], 4;\ncp.async.mbarrier.arrive.noinc.shared.b64 [tile+64];";
    let ask = by(3, "mbarrier.test_wait.parity.shared.b64 %p1, [tile+64], 0;") + "cp.async.wait_all;";
    for (wait, between) in [("\ncp.async.wait_all;", ""), ("", "")] {
        let turn = |thread: u32| turn(thread, &format!("{copies}{wait}")) + between;
        let body = format!(
            "mov.u32 %r60, tile;\nmad.lo.u32 %r60, %t, 4, %r60;\nadd.u32 %r60, %r60, 1024;\n{start}{}{}{}{ask}",
            turn(5),
            turn(37),
            turn(40)
        );
        let fault = kernel(64, &body).fault();
        convicted(&fault, 40, said);
        assert_eq!(other(&fault), Some(("the arrival before it:", 37)), "{fault}");
        assert_eq!(fault.site.opcode, "cp.async.mbarrier.arrive.noinc.shared.b64", "{fault}");
    }
}

#[test]
fn only_the_bytes_of_a_barrier_are_forbidden() {
    let access = |text: &str| of_one(1, &format!("mov.u32 %r1, 1;\nmov.u64 %d1, 1;\n{text}"));
    for (kind, bytes) in [("u8", 1u32), ("u16", 2), ("u32", 4), ("u64", 8), ("v4.u32", 16)] {
        let value = match kind {
            "u64" => "%d1",
            "v4.u32" => "{%r1, %r1, %r1, %r1}",
            _ => "%r1",
        };
        let at = (40..96).filter(|at| at % bytes == 0);
        for at in at {
            let store = format!("st.shared.{kind} [tile+{at}], {value};");
            match access(&store).run() {
                Ok(_) => assert!(at + bytes <= 64 || at >= 72, "{store}"),
                Err(fault) => {
                    assert!(at + bytes > 64 && at < 72, "{store}: {fault}");
                    convicted(
                        &fault,
                        0,
                        "store of the mbarrier tile (shared memory) at offset 64, whose bytes mean nothing",
                    );
                }
            }
        }
    }
    for at in [56, 60, 64, 68, 72] {
        let load = access(&format!("ld.shared.u32 %r2, [tile+{at}];")).run();
        assert_eq!(load.is_err(), at == 64 || at == 68, "load at {at}");
        // Behind its end they are free.
        let end = format!("mbarrier.inval.shared.b64 [tile+64];\nst.shared.u32 [tile+{at}], %r1;");
        assert!(access(&end).run().is_ok(), "store at {at}");
    }
}

#[test]
fn a_barrier_ends_behind_all_who_used_it() {
    let init = by(0, "mbarrier.init.shared.b64 [tile+64], 9;") + "bar.sync 0;\n";
    let arrive = "mbarrier.arrive.shared.b64 %d1, [tile+64];";
    let end = |thread: u32| by(thread, "mbarrier.inval.shared.b64 [tile+64];");
    for user in [69, 37, 64] {
        let body = init.clone() + &by(user, arrive) + &end(3);
        let in_order = |schedule| kernel(96, &body).launch(Launch::new(1, 96).schedule(schedule)).fault();
        let fault = in_order(Schedule::LastFirst);
        let said = format!("the mbarrier tile (shared memory) at offset 64 is used by thread ({user},0) at ");
        convicted(&fault, 3, &said);
        assert_eq!(other(&fault), Some(("it is used here:", user)), "{fault}");
        let fault = in_order(Schedule::FirstFirst);
        let said = "of tile (shared memory) at offset 64, whose mbarrier was invalidated";
        convicted(&fault, user, said);
        assert_eq!(other(&fault), Some(("it was invalidated here:", 3)), "{fault}");
        let ordered = init.clone() + &by(user, arrive) + "bar.sync 0;\n" + &end(3);
        assert!(kernel(96, &ordered).run().is_ok());
        // The next one there is another one, until its own end.
        let again = ordered
            + "bar.sync 0;\n"
            + &by(4, "mbarrier.init.shared.b64 [tile+64], 1;")
            + "bar.sync 0;\n"
            + &by(user, arrive);
        assert!(kernel(96, &again).run().is_ok());
        let behind = again + "bar.sync 0;\n" + &end(5) + "bar.sync 0;\n" + &by(user, arrive);
        let fault = kernel(96, &behind).fault();
        convicted(&fault, user, said);
        assert_eq!(other(&fault), Some(("it was invalidated here:", 5)), "{fault}");
    }
    let never = kernel(96, &by(40, arrive)).fault();
    convicted(&never, 40, "of tile (shared memory) at offset 64, where no mbarrier was initialised");
    let lanes = kernel(32, &(init + "setp.ge.u32 %p1, %t, 7;\n@%p1 mbarrier.inval.shared.b64 [tile+64];")).fault();
    convicted(&lanes, 7, "invalidated by 25 lanes at once");
}

#[test]
fn a_thread_waits_for_its_own_copies_group_by_group() {
    // Two groups, then an arrival that waits for both: who has waited for the first only has not got the second.
    let body = |behind: &str, lane: u32, pending: u32, place: &str| {
        let groups = ["cp.async.ca.shared.global [%r101], [%d1], 4;", "cp.async.ca.shared.global [%r101+4], [%d1], 4;"];
        format!(
            "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 8, %r100;\nmad.wide.u32 %d1, %t, 8, %in;\n{}bar.sync 0;\n{}\ncp.async.commit_group;\n{}\ncp.async.commit_group;\n\
             {behind}\ncp.async.wait_group {pending};\n{}cp.async.wait_all;",
            by(0, "mbarrier.init.shared.b64 [tile+2048], 32;"),
            groups[0],
            groups[1],
            by(lane, &format!("ld.shared.u32 %r1, [{place}];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%out], %r1;")),
        )
    };
    let arrive = "cp.async.mbarrier.arrive.noinc.shared.b64 [tile+2048];";
    for lane in [0, 1, 17, 31] {
        for behind in ["", arrive] {
            assert_eq!(kernel(32, &body(behind, lane, 1, "%r101")).words(1), [1], "lane {lane}");
            assert_eq!(kernel(32, &body(behind, lane, 0, "%r101+4")).words(1), [1], "lane {lane}");
            let fault = kernel(32, &body(behind, lane, 1, "%r101+4")).fault();
            assert_eq!((fault.kind, fault.site.thread.x), (FaultKind::Uninitialised, lane), "{fault}");
            assert!(fault.message.ends_with("to which a copy is still under way"), "{fault}");
        }
    }
}

#[test]
fn what_lands_while_a_block_is_looked_at_gets_it_on() {
    // One warp waits for copies of the other, which waits for its answer; whoever asks first, and whoever asks for what lands.
    let wait = |label: &str, at: u32| {
        format!("{label}: mbarrier.test_wait.parity.shared.b64 %p2, [tile+{at}], 0;\n@!%p2 bra {label};\n")
    };
    let init = by(
        0,
        "mbarrier.init.shared.b64 [tile+2048], 32;\nmbarrier.init.shared.b64 [tile+2056], 1;\nfence.mbarrier_init.release.cluster;",
    );
    let by_threads = "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nmad.wide.u32 %d1, %t, 4, %in;\ncp.async.ca.shared.global [%r101], [%d1], 4;\n\
        cp.async.mbarrier.arrive.noinc.shared.b64 [tile+2048];\n";
    let copy =
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile+128], [%in+128], 128, [tile+2048];";
    let expect = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [tile+2048], 128;";
    let in_bulk = by(37, &format!("{expect}\n{copy}")) + "mbarrier.arrive.shared.b64 %d2, [tile+2048];\n";
    for copies in [by_threads, &in_bulk] {
        let body = format!(
            "{init}bar.sync 0;\nsetp.ge.u32 %p1, %t, 32;\n@%p1 bra COPY;\n{}ld.shared.u32 %r1, [tile+128];\n{}st.global.u32 [%out], %r1;\nbra END;\nCOPY: {copies}{}END:",
            wait("W", 2048),
            by(3, "mbarrier.arrive.shared.b64 %d1, [tile+2056];"),
            wait("V", 2056),
        );
        let input: Vec<u8> = (0..64u32).flat_map(|n| (n + 500).to_le_bytes()).collect();
        for schedule in Schedule::ALL {
            let kernel = kernel(64, &body).input(input.clone()).launch(Launch::new(1, 64).schedule(schedule));
            assert_eq!(kernel.words(1), [532], "{schedule}");
        }
    }
}

#[test]
fn a_read_while_a_copy_lands_is_found_when_somebody_asks() {
    // Thread 3 knows that the copy has begun, and reads there before it asks.
    let body = |first: &str, second: &str| {
        format!(
            "{}bar.sync 0;\nsetp.ge.u32 %p1, %t, 32;\n@%p1 bra COPY;\nbar.sync 1, 64;\n{first}W: mbarrier.test_wait.parity.shared.b64 %p2, [tile+2048], 0;\n@!%p2 bra W;\n{second}bra END;\n\
             COPY: {}bar.arrive 1, 64;\nEND:",
            by(0, "mbarrier.init.shared.b64 [tile+2048], 1;"),
            by(
                37,
                "cp.async.ca.shared.global [tile+64], [%in], 4;\ncp.async.mbarrier.arrive.noinc.shared.b64 [tile+2048];"
            ),
        )
    };
    let read = by(3, "ld.shared.u32 %r1, [tile+64];");
    for schedule in Schedule::ALL {
        let kernel = |body: String| kernel(64, &body).launch(Launch::new(1, 64).schedule(schedule));
        assert!(kernel(body("", &read)).run().is_ok(), "{schedule}");
        let fault = kernel(body(&read, "")).fault();
        assert_eq!(fault.kind, FaultKind::Race, "{schedule}: {fault}");
    }
}

#[test]
fn a_copy_of_one_lane_lands_whatever_its_neighbours_wait_for() {
    // Two lanes copy; the copies of one have landed, by its wait or by an arrival, before the other one waits.
    for (first, second) in [(5, 0), (0, 5), (31, 0), (1, 31)] {
        let copy = |lane: u32, and: &str| by(lane, &format!("cp.async.ca.shared.global [%r101], [%d1], 4;\n{and}"));
        let noinc = "cp.async.mbarrier.arrive.noinc.shared.b64 [tile+2048];";
        for (and, lands) in [
            ("", by(first, "cp.async.wait_all;")),
            (
                noinc,
                "bar.sync 0;\n".to_string()
                    + &by(40, "mbarrier.test_wait.parity.shared.b64 %p2, [tile+2048], 0;")
                    + "bar.sync 0;\n",
            ),
        ] {
            let body = format!(
                "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nmad.wide.u32 %d1, %t, 4, %in;\nmad.wide.u32 %d2, %t, 4, %out;\n{}bar.sync 0;\n{}{}{lands}{}",
                by(1, "mbarrier.init.shared.b64 [tile+2048], 1;"),
                copy(first, and),
                copy(second, ""),
                by(
                    second,
                    "cp.async.wait_all;\nld.shared.u32 %r1, [%r101];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%d2], %r1;"
                ),
            );
            let input: Vec<u8> = (0..64u32).flat_map(|n| (n + 500).to_le_bytes()).collect();
            let words = kernel(64, &body).input(input).words(64);
            assert_eq!(words[second as usize], 501 + second, "{first}, {second}: {and}");
        }
    }
}

#[test]
fn an_arrival_for_copies_comes_when_those_before_it_are_waited_for() {
    // Two copies in groups of their own; the arrival is between them, or behind both. The barrier is asked twice.
    let copy = |n: u32| {
        format!("cp.async.ca.shared.global [tile+{}], [%in+{}], 4;\n", 128 + 4 * n, 4 * n) + "cp.async.commit_group;\n"
    };
    let arrive = "cp.async.mbarrier.arrive.noinc.shared.b64 [tile+64];\n";
    for (between, wait, wanted) in [
        (true, "cp.async.wait_group 0;\n", 0b111),
        (true, "cp.async.wait_group 1;\n", 0b111),
        (true, "cp.async.wait_group 2;\n", 0b101),
        (true, "cp.async.wait_all;\n", 0b111),
        (true, "", 0b101),
        (false, "cp.async.wait_group 0;\n", 0b111),
        (false, "cp.async.wait_group 1;\n", 0b101),
        (false, "cp.async.wait_all;\n", 0b111),
    ] {
        let steps = match between {
            true => copy(0) + arrive + &copy(1),
            false => copy(0) + &copy(1) + arrive,
        };
        let body = format!("{steps}{wait}{}{}cp.async.wait_all;\n", parity(0), parity(0));
        assert_eq!(answers(1, &body), wanted, "{between}, {wait}");
    }
}
