//! Where a rule ends: the reader that must not be forgotten, the byte of several, the loop that runs for long, the second arrival.

use emulator::{Class, Fault, FaultKind, Launch, Schedule};

use crate::run::Kernel;

fn kernel(threads: u32, body: &str) -> Kernel {
    Kernel { zeros: 4096, ..Kernel::new(threads, body) }
}

fn fault(threads: u32, body: &str) -> Box<Fault> {
    kernel(threads, body).fault()
}

/// The same words in every order.
fn words(threads: u32, body: &str, count: usize) -> Vec<u32> {
    let of = |schedule| kernel(threads, body).launch(Launch::new(1, threads).schedule(schedule)).words(count);
    let first = of(Schedule::ALL[0]);
    Schedule::ALL.iter().for_each(|schedule| assert_eq!(of(*schedule), first, "{schedule}: {body}"));
    first
}

/// Shared and global memory: a place of each that has been written, and the words of an access.
const PLACES: [(&str, &str); 2] = [("shared", "%r100"), ("global", "%out")];
const START: &str = "mov.u32 %r100, tile;\nsetp.eq.u32 %p9, %t, 0;\nmov.u32 %r101, 0;\n@%p9 st.shared.u32 [tile], %r101;\nbar.sync 0;\n";

fn races(threads: u32, body: &str) {
    for (space, place) in PLACES {
        let body = format!("{START}{}", body.replace("SPACE", space).replace("PLACE", place));
        for schedule in Schedule::ALL {
            let Err(fault) = kernel(threads, &body).launch(Launch::new(1, threads).schedule(schedule)).run() else {
                panic!("{space}, {schedule}: it races: {body}")
            };
            assert_eq!(fault.kind, FaultKind::Race, "{space}, {schedule}: {fault}");
        }
    }
}

fn is_right(threads: u32, body: &str) {
    for (space, place) in PLACES {
        let body = format!("{START}{}", body.replace("SPACE", space).replace("PLACE", place));
        for schedule in Schedule::ALL {
            if let Err(fault) = kernel(threads, &body).launch(Launch::new(1, threads).schedule(schedule)).run() {
                panic!("{space}, {schedule}: {fault}\n{body}");
            }
        }
    }
}

/// A load, or a store, by one thread.
fn load(thread: u32) -> String {
    format!("setp.eq.u32 %p1, %t, {thread};\n@%p1 ld.SPACE.u32 %r1, [PLACE];\n")
}

fn store(thread: u32) -> String {
    format!("setp.eq.u32 %p1, %t, {thread};\nmov.u32 %r2, 7;\n@%p1 st.SPACE.u32 [PLACE], %r2;\n")
}

#[test]
fn who_read_since_the_barrier_of_the_warp_is_not_forgotten() {
    let before = [load(20), load(17), "bar.warp.sync -1;\n".into()].concat();
    races(32, &[before.clone(), load(21), load(5), store(5)].concat());
    races(32, &[before.clone(), load(5), load(21), store(5)].concat());
    races(32, &[before.clone(), load(21), store(5)].concat());
    is_right(32, &[before.clone(), load(5), store(5)].concat());
    is_right(32, &[before, load(5), load(21), "bar.warp.sync -1;\n".into(), store(5)].concat());
}

#[test]
fn a_reader_of_another_warp_is_not_forgotten() {
    // Turns of a block of code each: both warps read, then the first one twice more, all of its lanes at once.
    let turn = |n: u32| format!("bra T{n};\nT{n}:\n");
    let first = "setp.lt.u32 %p2, %t, 32;\n@!%p2 bra END;\n";
    let all = "ld.SPACE.u32 %r3, [PLACE];\n";
    races(64, &[all.into(), turn(1), first.into(), all.into(), turn(2), all.into(), store(0), "END:".into()].concat());
    races(64, &[load(40), turn(1), first.into(), load(3), load(9), turn(2), load(3), store(3), "END:".into()].concat());
    races(64, &[load(3), load(40), turn(1), first.into(), all.into(), store(9), "END:".into()].concat());
}

#[test]
fn a_loop_that_changes_memory_alone_runs_for_as_long_as_it_takes() {
    // Each turn begins with the same values in all registers.
    let changes = [
        "red.SPACE.add.u32 [PLACE], 1;",
        "ld.SPACE.u32 %r2, [PLACE];\nadd.u32 %r2, %r2, 1;\nst.SPACE.u32 [PLACE], %r2;",
        "ld.SPACE.v2.u32 {%r2, %r3}, [PLACE];\nadd.u32 %r2, %r2, 1;\nst.SPACE.v2.u32 [PLACE], {%r2, %r3};\nmov.u32 %r3, 0;",
    ];
    for (space, place) in PLACES {
        for change in changes {
            let body = format!(
                "{START}mov.u32 %r3, 0;\n@%p9 st.shared.u32 [tile+4], %r3;\nbar.sync 0;\nL: {change}\nld.SPACE.u32 %r2, [PLACE];\n\
                 setp.lt.u32 %p1, %r2, 300000;\nmov.u32 %r2, 0;\n@%p1 bra L;\nst.global.u32 [%out+8], %r2;"
            );
            let body = body.replace("SPACE", space).replace("PLACE", place);
            if let Err(fault) = kernel(1, &body).run() {
                panic!("{fault}\n{body}");
            }
            // With nothing added it never ends.
            let body = body.replace("add.u32 [", "or.b32 [").replace(", 1;", ", 0;");
            let fault = fault(1, &body);
            assert_eq!(fault.kind, FaultKind::NoProgress, "{fault}\n{body}");
            let place = if space == "shared" { "tile (shared memory) at offset 0" } else { "out at offset 0" };
            assert!(fault.message.contains(&format!("waits for a change of {place}")), "{fault}\n{body}");
        }
    }
    let alone = "mov.u32 %r2, 0;\nL: add.u32 %r2, %r2, 0;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;";
    let fault = fault(40, alone);
    assert_eq!(
        fault.message,
        "endless loop: thread (0,0) comes back to where it was with the same values in all registers, and reads no memory"
            .replace("(0,0)", &fault.site.thread.to_string())
    );
}

#[test]
fn who_arrives_twice_is_named_with_what_he_did_before() {
    let body = "shr.u32 %r1, %t, 5;\nbar.arrive 1, 128;\nsetp.ne.u32 %p1, %r1, 1;\n@%p1 bra END;\nbar.arrive 1, 128;\nEND: bar.sync 0;";
    let fault = fault(96, body);
    assert_eq!(fault.kind, FaultKind::Barrier, "{fault}");
    assert!(fault.message.starts_with("warp 1 arrives twice at barrier 1, for 128 threads"), "{fault}");
    let (_, before) = fault.other.as_ref().expect("the arrival before");
    assert_eq!((before.warp, fault.site.warp), (1, 1), "{fault}");
}

#[test]
fn lanes_of_a_warp_that_wait_at_two_barriers_are_named() {
    let body = "setp.lt.u32 %p1, %t, 48;\n@%p1 bra A;\nbarrier.sync 2;\nbra END;\nA: barrier.sync 1;\nEND:";
    let fault = fault(64, body);
    assert_eq!((fault.kind, fault.site.warp), (FaultKind::Barrier, 1), "{fault}");
    let said = [(1, 48), (2, 32)].map(|(id, thread)| {
        format!("barrier {id} waits for all lanes of warp 1, and thread ({thread},0) waits elsewhere")
    });
    assert!(said.contains(&fault.message), "{fault}");
}

#[test]
fn a_warp_arrives_by_parts_where_guards_send_its_lanes() {
    let exchange = |arrive: &str| {
        format!(
            "mov.u32 %r100, tile;\nmad.lo.u32 %r100, %t, 4, %r100;\nadd.u32 %r1, %t, 700;\nst.shared.u32 [%r100], %r1;\n\
             and.b32 %r2, %t, 1;\nsetp.eq.u32 %p1, %r2, 0;\n{arrive}\nxor.b32 %r3, %t, 32;\nmov.u32 %r4, tile;\n\
             mad.lo.u32 %r4, %r3, 4, %r4;\nld.shared.u32 %r5, [%r4];\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r5;"
        )
    };
    let wanted: Vec<u32> = (0..64).map(|t| (t ^ 32) + 700).collect();
    for arrive in [
        "barrier.sync 1;",
        "@%p1 barrier.sync 1;\n@!%p1 barrier.sync 1;",
        "@%p1 barrier.sync 1, 64;\n@!%p1 barrier.sync 1, 64;",
        "@!%p1 barrier.sync 1;\n@%p1 barrier.sync 1;\nbarrier.sync 2;",
        "@%p1 barrier.sync 1;\n@%p1 bra ON;\nbarrier.sync 1;\nON:",
    ] {
        assert_eq!(words(64, &exchange(arrive), 64), wanted, "{arrive}");
    }
    let fault = fault(64, &exchange("@%p1 barrier.sync 1, 64;\n@!%p1 barrier.sync 1, 32;"));
    assert_eq!(fault.kind, FaultKind::Barrier, "{fault}");
    assert!(fault.message.starts_with("barrier 1 is for different counts of threads in one warp"), "{fault}");
}

#[test]
fn lanes_that_met_at_a_barrier_go_on_to_where_they_meet_the_others() {
    // One side might leave out the barrier, and does not: the sides meet behind it.
    let body = "setp.lt.u32 %p1, %t, 16;\nmov.u32 %r2, 1;\n@%p1 bra A;\nbra X;\nA: setp.gt.u32 %p2, %t, 100;\n@%p2 bra SKIP;\n\
         X: bar.sync 0;\nadd.u32 %r2, %r2, 7;\nSKIP: add.u32 %r2, %r2, %t;\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r2;";
    assert_eq!(words(64, body, 64), (8..72).collect::<Vec<u32>>());
}

/// The value, or a byte of it, decides what is stored: it must have been written.
fn uses(threads: u32, body: &str, shift: u32) -> Result<(), Box<Fault>> {
    let decide = format!(
        "bfe.u32 %r8, %r1, {shift}, 8;\nsetp.eq.u32 %p1, %r8, 3;\n@%p1 bra END;\nst.global.u32 [%out], %r101;\nEND:"
    );
    Kernel::new(threads, &format!("mov.u32 %r100, 5;\nmov.u32 %r101, 9;\n{body}\n{decide}")).run().map(drop)
}

#[test]
fn each_byte_that_nobody_wrote_is_followed_by_itself() {
    let all_but = |missing: u32, space: &str, place: &str| -> String {
        (0..4).filter(|n| *n != missing).map(|n| format!("st.{space}.u8 [{place}+{n}], %r100;\n")).collect()
    };
    for missing in 0..4 {
        for (space, place) in [("shared", "tile"), ("local", "mine"), ("global", "%out")] {
            // (Bytes of shared memory are told apart where some access is of a byte.)
            let written = format!("st.shared.u8 [tile+100], %r100;\n{}", all_but(missing, space, place));
            let loads = [
                format!("ld.{space}.u32 %r1, [{place}];"),
                // A copy of the word, and of a copy.
                format!(
                    "ld.{space}.u32 %r2, [{place}];\nst.{space}.u32 [{place}+16], %r2;\nld.{space}.u32 %r1, [{place}+16];"
                ),
                format!("ld.{space}.u32 %r2, [{place}];\nst.shared.u32 [tile+32], %r2;\nld.shared.u32 %r1, [tile+32];"),
                format!("ld.{space}.u32 %r2, [{place}];\nst.local.u32 [mine+32], %r2;\nld.local.u32 %r1, [mine+32];"),
                format!("ld.{space}.u32 %r2, [{place}];\nmov.b64 %d1, {{%r2, %r100}};\nmov.b64 {{%r1, %r3}}, %d1;"),
            ];
            for load in loads {
                for byte in 0..4 {
                    let body = format!("{written}{load}");
                    match uses(1, &body, 8 * byte) {
                        Err(fault) if byte == missing => assert_eq!(fault.kind, FaultKind::Uninitialised, "{fault}"),
                        Err(fault) => panic!("byte {byte} was written: {fault}\n{body}"),
                        Ok(()) => assert_ne!(byte, missing, "{body}"),
                    }
                }
            }
        }
    }
}

#[test]
fn what_an_atomic_finds_is_unwritten_byte_by_byte() {
    for place in ["shared.add.u32 %r1, [tile]", "global.add.u32 %r1, [%out+64]", "shared.or.b32 %r1, [tile+8]"] {
        for byte in 0..4 {
            let fault = uses(1, &format!("atom.{place}, %r100;"), 8 * byte).expect_err("nobody wrote it");
            assert_eq!(fault.kind, FaultKind::Uninitialised, "{place}: {fault}");
        }
    }
}

#[test]
fn a_copy_of_one_lane_is_under_way_until_it_waits() {
    let copy = |wait: &str, place: u32| {
        let body = format!(
            "cp.async.ca.shared.global [tile+4], [%in], 4;\n{wait}\nld.shared.u32 %r1, [tile+{place}];\ncp.async.wait_all;"
        );
        uses(1, &format!("st.shared.u32 [tile], %r100;\nst.shared.u32 [tile+8], %r100;\n{body}"), 0)
    };
    for place in [0, 8] {
        copy("", place).unwrap_or_else(|fault| panic!("at {place}: {fault}"));
    }
    copy("cp.async.wait_all;", 4).unwrap_or_else(|fault| panic!("{fault}"));
    copy("cp.async.commit_group;\ncp.async.wait_group 0;", 4).unwrap_or_else(|fault| panic!("{fault}"));
    for wait in ["", "cp.async.commit_group;", "cp.async.commit_group;\ncp.async.wait_group 1;"] {
        assert!(copy(wait, 4).is_err(), "it is not there: {wait}");
    }
}

#[test]
fn what_a_copy_reads_is_not_written_before_it_has_landed() {
    // Another thread writes, beside the source or in it, before or behind a barrier, with or without the wait before it.
    let body = |at: i32, before: &str, behind: &str| {
        format!(
            "mov.u32 %r1, 3;\nsetp.eq.u32 %p1, %t, 0;\nsetp.eq.u32 %p2, %t, 40;\n@%p1 cp.async.ca.shared.global [tile], [%out+16], 8;\n\
             {before}bar.sync 0;\n@%p2 st.global.u32 [%out+{at}], %r1;\n{behind}"
        )
    };
    let (wait, none) = ("cp.async.wait_all;\n", "");
    for at in [12, 24] {
        kernel(64, &body(at, none, wait)).run().unwrap_or_else(|fault| panic!("at {at}: {fault}"));
    }
    for at in [16, 20] {
        kernel(64, &body(at, wait, none)).run().unwrap_or_else(|fault| panic!("at {at}: {fault}"));
        let fault = fault(64, &body(at, none, wait));
        assert_eq!(fault.kind, FaultKind::Race, "at {at}: {fault}");
    }
    // What it reads was written by another thread, and nothing orders the two.
    let early = "mov.u32 %r1, 3;\nsetp.eq.u32 %p1, %t, 0;\nsetp.eq.u32 %p2, %t, 40;\n@%p2 st.global.u32 [%out+16], %r1;\n\
         ORDER@%p1 cp.async.ca.shared.global [tile], [%out+16], 8;\ncp.async.wait_all;";
    for order in ["", "bar.sync 0;\n", "bar.sync 3, 64;\n"] {
        for schedule in Schedule::ALL {
            let body = early.replace("ORDER", order);
            let outcome = kernel(64, &body).launch(Launch::new(1, 64).schedule(schedule)).run().map(drop);
            let kind = outcome.map_err(|fault| fault.kind);
            let wanted = if order.is_empty() { Err(FaultKind::Race) } else { Ok(()) };
            assert_eq!(kind, wanted, "{schedule}: {body}");
        }
    }
    // The copy reads until it lands: the store is ordered behind its start only.
    let late = "mov.u32 %r1, 3;\nsetp.eq.u32 %p1, %t, 0;\nsetp.eq.u32 %p2, %t, 40;\n@%p1 cp.async.ca.shared.global [tile], [%out+16], 8;\n\
         bar.sync 0;\n@%p1 cp.async.wait_all;\n@%p2 st.global.u32 [%out+16], %r1;";
    for schedule in Schedule::ALL {
        let outcome = kernel(64, late).launch(Launch::new(1, 64).schedule(schedule)).run();
        let Err(fault) = outcome else { panic!("{schedule}: the copy may read what is written") };
        assert_eq!(fault.kind, FaultKind::Race, "{schedule}: {fault}");
    }
}

#[test]
fn lanes_of_one_access_touch_sectors_of_two_buffers() {
    for (threads, stride) in [(32, 32), (32, 64), (8, 32)] {
        let body = format!(
            "shl.b32 %r1, %t, 31;\nsetp.ne.u32 %p1, %r1, 0;\nselp.b64 %d1, %in, %out, %p1;\nmad.wide.u32 %d2, %t, {stride}, %d1;\n\
             ld.global.u32 %r2, [%d2];\nst.shared.u32 [tile], %r2;"
        );
        let body = body.replace("st.shared.u32 [tile], %r2;", "");
        let outcome = kernel(threads, &body).run().unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(outcome.report.footprint_bytes, u64::from(threads) * 32, "{threads} threads, {stride} bytes apart");
        assert_eq!(outcome.report.total.global_load.sectors, u64::from(threads));
    }
}

#[test]
fn a_warp_whose_lanes_are_all_off_executes_the_instruction_nevertheless() {
    let count = |lanes: u32| {
        let body = format!("setp.lt.u32 %p1, %t, {lanes};\n@%p1 mad.lo.u32 %r1, %t, %t, %t;");
        let total = kernel(64, &body).run().unwrap_or_else(|fault| panic!("{fault}")).report.total;
        (total.class(Class::Integer).warp, total.class(Class::Integer).thread)
    };
    let (none, some, all) = (count(0), count(20), count(64));
    assert_eq!((some.1 - none.1, all.1 - none.1), (20, 64));
    assert_eq!((some.0 - none.0, all.0 - none.0), (1, 2), "a warp without lanes does not issue it to its unit");
}

#[test]
fn behind_a_window_lies_no_memory() {
    for (space, name) in [("shared", "tile"), ("local", "mine")] {
        let body = |beyond: u64| {
            format!("mov.u64 %d1, {name};\ncvta.{space}.u64 %d1, %d1;\nadd.u64 %d1, %d1, {beyond};\nld.u32 %r1, [%d1];")
        };
        let base = if space == "shared" { 0x7f00_0000_0000_0000u64 } else { 0x7e00_0000_0000_0000 };
        let last = fault(1, &body((1 << 32) - 4));
        assert_eq!(last.kind, FaultKind::OutOfBounds, "{last}");
        assert!(!last.message.contains("in no buffer"), "{last}");
        let behind = fault(1, &body(1 << 32));
        assert_eq!(behind.kind, FaultKind::OutOfBounds, "{behind}");
        let address = format!("at address {:#x}, which lies in no buffer", base + (1 << 32));
        assert!(behind.message.contains(&address), "{behind}");
    }
}

#[test]
fn a_pointer_is_followed_round_a_loop_and_through_registers() {
    // `%d3` becomes the output's address only once the loop has gone round twice.
    let body = "mov.u64 %d1, %in;\nmov.u64 %d2, %in;\nmov.u64 %d3, %in;\nmov.u32 %r1, 0;\n\
         L: setp.eq.u32 %p1, %r1, 3;\n@%p1 st.global.u32 [%d3+512], %block;\nmov.u64 %d3, %d2;\nmov.u64 %d2, %d1;\nmov.u64 %d1, %out;\n\
         add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 4;\n@%p2 bra L;";
    let fault = kernel(1, body).launch(Launch::new(2, 1)).fault();
    assert_eq!(fault.kind, FaultKind::Race, "two blocks write different values: {fault}");
}

#[test]
fn a_value_that_chooses_a_branch_has_been_looked_at() {
    // A volatile load whose value goes to memory alone may be stale; one that says where to go is no surprise.
    let body = |look: &str| {
        format!(
            "setp.ge.u32 %p1, %t, 32;\n@%p1 bra READ;\nmov.u32 %r1, 1;\nst.volatile.global.u32 [%out+64], %r1;\nbra END;\n\
             READ: ld.volatile.global.u32 %r2, [%out+64];\n{look}\nst.global.u32 [%out+4], %r2;\nEND:"
        )
    };
    let run = |look: &str| kernel(33, &body(look)).run().map(drop);
    assert!(run("").is_err(), "nothing orders the two");
    let looks = [
        "setp.eq.u32 %p2, %r2, 5;\n@%p2 bra END;",
        "min.u32 %r3, %r2, 1;\nTABLE: .branchtargets GO, GO;\nbrx.idx %r3, TABLE;\nGO:",
        "and.b32 %r3, %r2, 0;\nadd.u32 %r3, %r3, 32;\nbar.sync 1, %r3;",
    ];
    for look in looks {
        run(look).unwrap_or_else(|fault| panic!("{look}: {fault}"));
    }
    // One that goes nowhere surprises nobody, whatever is computed from it.
    for (look, right) in
        [("", true), ("add.u32 %r3, %r2, 1;\nmul.lo.u32 %r4, %r3, %r2;", true), ("add.u32 %r7, %r2, 1;", false)]
    {
        let text = body(look).replace("[%out+4], %r2", "[%out+4], %r7").replacen("setp", "mov.u32 %r7, 3;\nsetp", 1);
        assert_eq!(kernel(33, &text).run().is_ok(), right, "{look}");
    }
}

#[test]
fn floats_are_compared_ordered_or_not() {
    let values = [0.0, -0.0, 1.0, -1.0, 1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    type Operator = (&'static str, fn(f64, f64) -> bool);
    let operators: [Operator; 14] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a != b && !a.is_nan() && !b.is_nan()),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
        ("equ", |a, b| a == b || a.is_nan() || b.is_nan()),
        ("neu", |a, b| a != b),
        ("ltu", |a, b| a < b || a.is_nan() || b.is_nan()),
        ("leu", |a, b| a <= b || a.is_nan() || b.is_nan()),
        ("gtu", |a, b| a > b || a.is_nan() || b.is_nan()),
        ("geu", |a, b| a >= b || a.is_nan() || b.is_nan()),
        ("num", |a, b| !a.is_nan() && !b.is_nan()),
        ("nan", |a, b| a.is_nan() || b.is_nan()),
    ];
    for (a, b) in values.iter().flat_map(|a| values.map(|b| (*a, b))) {
        let bits = |x: f64| (u64::from((x as f32).to_bits()), x.to_bits());
        let ((a32, a64), (b32, b64)) = (bits(a), bits(b));
        let mut body = format!(
            "mov.b32 %f1, {a32};\nmov.b32 %f2, {b32};\nmov.b64 %e1, {a64};\nmov.b64 %e2, {b64};\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\n"
        );
        for (n, (name, _)) in operators.iter().enumerate() {
            let bit = 1 << n;
            body += &format!("setp.{name}.f32 %p1, %f1, %f2;\n@%p1 or.b32 %r1, %r1, {bit};\n");
            body += &format!("setp.{name}.f64 %p1, %e1, %e2;\n@%p1 or.b32 %r2, %r2, {bit};\n");
            // Flushed, a comparison takes another road.
            body += &format!("setp.{name}.ftz.f32 %p1, %f1, %f2;\n@%p1 or.b32 %r3, %r3, {bit};\n");
        }
        body += "st.global.u32 [%out], %r1;\nst.global.u32 [%out+4], %r2;\nst.global.u32 [%out+8], %r3;";
        let wanted = operators.iter().enumerate().map(|(n, (_, holds))| u32::from(holds(a, b)) << n).sum::<u32>();
        assert_eq!(Kernel::new(1, &body).words(3), [wanted; 3], "{a} and {b}");
    }
}

#[test]
fn a_guard_of_a_barrier_keeps_its_predicate() {
    // Others are set and used before it, so that it is not the first of its kind.
    let mut body = String::from("mov.u32 %r1, 0;\n");
    for n in 1..6 {
        body += &format!("setp.lt.u32 %p{n}, %t, {};\n", 8 * n);
    }
    body += "and.b32 %r2, %t, 1;\nsetp.eq.u32 %p9, %r2, 1;\nmov.u32 %r100, tile;\nmad.lo.u32 %r100, %t, 4, %r100;\nst.shared.u32 [%r100], %t;\n\
         @%p9 barrier.sync 1;\n@!%p9 barrier.sync 1;\n";
    for n in 1..6 {
        body += &format!("@%p{n} add.u32 %r1, %r1, 1;\n");
    }
    body += "xor.b32 %r3, %t, 32;\nmov.u32 %r4, tile;\nmad.lo.u32 %r4, %r3, 4, %r4;\nld.shared.u32 %r5, [%r4];\nmad.lo.u32 %r5, %r5, 16, %r1;\n\
         mad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r5;";
    let passed = |t: u32| (1..6).filter(|n| t < 8 * n).count() as u32;
    assert_eq!(words(64, &body, 64), (0..64).map(|t| 16 * (t ^ 32) + passed(t)).collect::<Vec<u32>>());
}

#[test]
fn a_matrix_is_loaded_from_what_the_warp_has_just_stored() {
    let body = "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nst.shared.u32 [%r101], %t;\nSYNC\nand.b32 %r1, %t, 7;\n\
         mad.lo.u32 %r102, %r1, 16, %r100;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r102];\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r2;";
    for sync in ["bar.warp.sync -1;", "bar.sync 0;"] {
        assert_eq!(words(32, &body.replace("SYNC", sync), 32), (0..32).collect::<Vec<u32>>(), "{sync}");
    }
    assert_eq!(fault(32, &body.replace("SYNC", "")).kind, FaultKind::Race);
    let unwritten = body
        .replace("st.shared.u32 [%r101], %t;\nSYNC", "")
        .replace("st.global.u32 [%d1], %r2", "add.u32 %r2, %r2, 1;\nst.global.u32 [%d1], %r2");
    assert_eq!(Kernel::new(32, &unwritten).fault().kind, FaultKind::Uninitialised);
}

#[test]
fn an_assertion_says_that_it_does_not_hold() {
    let text = "call __assertfail, (a0, a1, a2, a3, a4);";
    let body = format!(
        "{{ .param .b64 a0; .param .b64 a1; .param .b32 a2; .param .b64 a3; .param .b64 a4;\nst.param.b64 [a0], %in;\nst.param.b64 [a1], %in;\n\
         st.param.b32 [a2], %t;\nst.param.b64 [a3], %in;\nst.param.b64 [a4], 1;\n{text}\n}}"
    );
    let declared =
        ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n";
    let mut kernel = kernel(32, &body);
    kernel.text = kernel.text.replacen(".visible .entry", &format!("{declared}.visible .entry"), 1);
    let fault = kernel.fault();
    assert_eq!(fault.kind, FaultKind::Trap, "{fault}");
    assert!(fault.to_string().contains("what the kernel asserts does not hold for this thread"), "{fault}");
}

#[test]
fn a_register_that_nothing_set_leaves_memory_as_unwritten_as_it_was() {
    let outcome =
        Kernel::new(1, "st.global.u32 [%out], %r77;\nst.global.u64 [%out+8], %d77;\nst.global.u32 [%out+16], %t;")
            .run();
    let bytes = outcome.unwrap_or_else(|fault| panic!("copies are no fault: {fault}")).bytes;
    let wanted = [[None; 16], std::array::from_fn(|n| (n < 4).then_some(0))].concat();
    assert_eq!(bytes[..32], wanted);
}

#[test]
fn a_row_of_multiply_adds_adds_each_product_once() {
    // All lanes of a warp, and some; in f32 and f64; each sum is what the next one adds to.
    for (threads, lanes) in [(32, 32), (64, 64), (32, 20), (20, 20)] {
        for (kind, register) in [("f32", "%f"), ("f64", "%e")] {
            let row: String = (1..9)
                .map(|n| {
                    format!(
                        "fma.rn.{kind} {register}1, {register}2, {register}3, {register}{};\n",
                        if n == 5 { 4 } else { 1 }
                    )
                })
                .collect();
            let body = format!(
                "cvt.rn.{kind}.u32 {register}2, %t;\ncvt.rn.{kind}.u32 {register}3, 3;\ncvt.rn.{kind}.u32 {register}4, 1000;\nmov.{kind} {register}1, {register}4;\n\
                 setp.ge.u32 %p1, %t, {lanes};\n@%p1 bra END;\n{row}END: cvt.rzi.u32.{kind} %r1, {register}1;\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r1;"
            );
            // The fifth begins anew.
            let wanted: Vec<u32> = (0..threads).map(|t| if t < lanes { 1000 + 4 * 3 * t } else { 1000 }).collect();
            assert_eq!(words(threads, &body, threads as usize), wanted, "{threads} threads, {lanes} of them, {kind}");
        }
    }
}
