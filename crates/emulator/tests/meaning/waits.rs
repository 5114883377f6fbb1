//! Barriers, and lanes and warps that wait for each other: what is complete, what never will be, and what stands in the message.

use emulator::{Fault, FaultKind, Launch, Schedule};

use crate::run::Kernel;

fn fault(threads: u32, body: &str) -> Box<Fault> {
    Kernel { zeros: 4096, ..Kernel::new(threads, body) }.fault()
}

fn words(threads: u32, body: &str, count: usize) -> Vec<u32> {
    let mut last = None;
    for schedule in Schedule::ALL {
        let kernel = Kernel { zeros: 4096, ..Kernel::new(threads, body) };
        let words = kernel.launch(Launch::new(1, threads).schedule(schedule)).words(count);
        assert!(last.replace(words.clone()).is_none_or(|last| last == words), "{schedule}: {body}");
    }
    last.expect("there is a schedule")
}

#[test]
fn a_barrier_is_for_whole_warps_and_has_a_number_below_sixteen() {
    for (text, what) in [
        ("bar.sync 0, %r1;", "barrier 0 is for 0 threads, which is no multiple of 32"),
        ("bar.sync 1, %r3;", "barrier 1 is for 33 threads, which is no multiple of 32"),
        ("bar.sync 15, %r4;", "barrier 15 is for 1 threads, which is no multiple of 32"),
        ("bar.sync %r2;", "barrier 16 does not exist: a thread block has barriers 0 to 15"),
        ("bar.sync %t;", "lane 0 names barrier 0, lane 1 barrier 1"),
    ] {
        let fault = fault(32, &format!("mov.u32 %r1, 0;\nmov.u32 %r2, 16;\nmov.u32 %r3, 33;\nmov.u32 %r4, 1;\n{text}"));
        assert_eq!((fault.kind, fault.site.lane), (FaultKind::Barrier, 0), "{text}: {fault}");
        assert!(fault.message.starts_with(what), "{text}: {fault}");
    }
    assert_eq!(
        words(
            64,
            "bar.sync 15, 64;\nbar.sync 14;\nst.global.u32 [%out], 1;"
                .replace("[%out], 1", "[%out], %r9")
                .replace("bar.sync 14;", "bar.sync 14;\nmov.u32 %r9, 1;")
                .as_str(),
            1
        ),
        [1]
    );
}

#[test]
fn who_arrives_and_who_waits_meet() {
    // Warps 0 and 1 produce, 2 and 3 consume: what is stored before the arrival is there behind the barrier.
    let body = "mov.u32 %r100, tile;\nmad.lo.u32 %r100, %t, 4, %r100;\nsetp.ge.u32 %p1, %t, 64;\n@%p1 bra CONSUME;\nadd.u32 %r1, %t, 500;\nst.shared.u32 [%r100], %r1;\n\
        bar.arrive 3, 128;\nbra END;\nCONSUME: bar.sync 3, 128;\nld.shared.u32 %r1, [%r100+-256];\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1+-256], %r1;\nEND:";
    assert_eq!(words(128, body, 64), (500..564).collect::<Vec<u32>>());
    let too_few = body.replace("bar.sync 3, 128", "bar.sync 3, 160").replace("bar.arrive 3, 128", "bar.arrive 3, 160");
    let fault = fault(128, &too_few);
    assert_eq!(fault.kind, FaultKind::Barrier);
    assert!(
        fault.message.starts_with(
            "barrier 3 is never complete: it is for 160 threads, 128 have arrived, 0 wait at another barrier"
        ),
        "{fault}"
    );
    assert_eq!((fault.site.warp, fault.site.lane), (2, 0), "{fault}");
}

#[test]
fn warps_at_two_barriers_wait_for_ever() {
    let body = "setp.lt.u32 %p1, %t, 64;\n@%p1 bra ONE;\nbar.sync 2;\nbra END;\nONE: bar.sync 1;\nEND:";
    let fault = fault(96, body);
    assert_eq!(fault.kind, FaultKind::Barrier);
    let said = "barrier 1 is never complete: it is for every thread that has not ended, 64 have arrived, 32 wait at another barrier";
    assert!(fault.message.starts_with(said), "{fault}");
    assert_eq!((fault.site.warp, fault.other.as_ref().map(|(_, site)| site.warp)), (0, Some(2)), "{fault}");
}

#[test]
fn warps_that_have_ended_do_not_count() {
    // Warp 1 ends at once, warp 2 after a barrier; barriers for all are for those that are left.
    let body = "shr.u32 %r1, %t, 5;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 ret;\nbar.sync 0;\nsetp.eq.u32 %p1, %r1, 2;\n@%p1 ret;\nbar.sync 0;\nbar.sync 5;\n\
        mad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r1;";
    assert_eq!(words(128, body, 128)[96..], [3; 32]);
    // Lanes that have ended, too.
    let lanes = "setp.gt.u32 %p1, %t, 40;\n@%p1 ret;\nbar.sync 0;\nmov.u32 %r1, 9;\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r1;";
    let got = words(64, lanes, 64);
    assert_eq!((&got[..41], &got[41..]), (&[9; 41][..], &[0; 23][..]));
}

#[test]
fn arrivals_that_do_not_fit_are_named_with_both_parties() {
    let counts = "setp.lt.u32 %p1, %t, 32;\n@%p1 bra ONE;\nbar.sync 1, 96;\nbra END;\nONE: bar.sync 1, 64;\nEND:";
    let fault_of_counts = fault(96, counts);
    assert!(
        fault_of_counts.message.contains("barrier 1 is for 64 threads at ")
            && fault_of_counts.message.contains(" and for 96 threads at "),
        "{fault_of_counts}"
    );
    assert_eq!((fault_of_counts.site.warp, fault_of_counts.other.as_ref().map(|(_, site)| site.warp)), (1, Some(0)));
    // All of the block by number, and without one, is the same.
    let same = "setp.lt.u32 %p1, %t, 32;\n@%p1 bra ONE;\nbar.sync 1, 96;\nbra END;\nONE: bar.sync 1;\nEND: mov.u32 %r1, 4;\nst.global.u32 [%out], %r1;";
    assert_eq!(words(96, same, 1), [4]);
    let twice = "setp.lt.u32 %p1, %t, 32;\n@!%p1 bra REST;\nbar.arrive 1, 96;\nbar.arrive 1, 96;\nbra END;\nREST: bar.sync 1, 96;\nEND:";
    let fault_of_twice = fault(96, twice);
    assert!(
        fault_of_twice
            .message
            .starts_with("warp 0 arrives twice at barrier 1, for 96 threads, before the others have come"),
        "{fault_of_twice}"
    );
    let kinds =
        "setp.lt.u32 %p1, %t, 32;\n@%p1 bra ONE;\nbar.red.popc.u32 %r1, 1, %p1;\nbra END;\nONE: bar.sync 1;\nEND:";
    let fault_of_kinds = fault(64, kinds);
    assert!(
        fault_of_kinds.message.starts_with("barrier 1 is used by `bar.sync` and by `bar.red.popc.u32` at once"),
        "{fault_of_kinds}"
    );
}

#[test]
fn lanes_of_a_warp_may_come_to_an_unaligned_barrier_by_parts() {
    let body = "and.b32 %r1, %t, 1;\nsetp.eq.u32 %p1, %r1, 0;\nmov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nst.shared.u32 [%r101], %t;\n\
        @%p1 bra EVEN;\nbarrier.sync 2;\nbra JOIN;\nEVEN: barrier.sync 2;\nJOIN: xor.b32 %r2, %t, 32;\nmad.lo.u32 %r102, %r2, 4, %r100;\nld.shared.u32 %r3, [%r102];\n\
        mad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r3;";
    assert_eq!(words(64, body, 64), (0..64).map(|t| t ^ 32).collect::<Vec<u32>>());
    let counts = body
        .replace("EVEN: barrier.sync 2;", "EVEN: barrier.sync 2, 64;")
        .replace("barrier.sync 2;\nbra", "barrier.sync 2, 96;\nbra");
    let fault_of_counts = fault(64, &counts);
    assert!(
        fault_of_counts.message.starts_with("barrier 2 is for different counts of threads in one warp"),
        "{fault_of_counts}"
    );
    // Some lanes only arrive; those of the other warp wait for them all the same.
    let arrive = body
        .replace("EVEN: barrier.sync 2;", "EVEN: barrier.arrive 2, 64;\nbra END;")
        .replace("barrier.sync 2;\nbra", "barrier.sync 2, 64;\nbra");
    let got = words(64, &format!("{arrive}\nEND:"), 64);
    assert_eq!(got, (0..64).map(|t| if t % 2 == 1 { t ^ 32 } else { 0 }).collect::<Vec<u32>>());
    let elsewhere = "and.b32 %r1, %t, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra EVEN;\nbarrier.sync 2;\nbra END;\nEVEN: barrier.sync 3;\nEND:";
    let fault_of_numbers = fault(32, elsewhere);
    assert_eq!(fault_of_numbers.kind, FaultKind::Barrier);
    assert!(fault_of_numbers.message.contains("waits for all lanes of warp 0, and thread "), "{fault_of_numbers}");
    // An aligned one is for all lanes at once.
    let aligned = body.replace("barrier.sync 2", "bar.sync 2");
    let fault_of_parts = fault(64, &aligned);
    assert!(
        fault_of_parts.message.starts_with("barrier reached by only 16 of the 32 live threads of warp 0; thread "),
        "{fault_of_parts}"
    );
}

#[test]
fn reductions_are_over_those_who_take_part() {
    for (below, count) in [(0u32, 0), (1, 1), (40, 40), (96, 96)] {
        let body = format!(
            "setp.lt.u32 %p1, %t, {below};\nbar.red.popc.u32 %r1, 0, %p1;\nbar.red.and.pred %p2, 0, %p1;\nbar.red.or.pred %p3, 0, %p1;\nbar.red.popc.u32 %r2, 1, 96, !%p1;\n\
             selp.u32 %r3, 1, 0, %p2;\nselp.u32 %r4, 1, 0, %p3;\nmad.wide.u32 %d1, %t, 16, %out;\nst.global.v4.u32 [%d1], {{%r1, %r2, %r3, %r4}};"
        );
        let wanted = [count, 96 - count, u32::from(count == 96), u32::from(count > 0)];
        assert_eq!(words(96, &body, 4 * 96), wanted.repeat(96), "the first {below}");
    }
    // A partial last warp: absent lanes neither count nor decide.
    let body = "setp.lt.u32 %p1, %t, 40;\nbar.red.popc.u32 %r1, 0, %p1;\nbar.red.and.pred %p2, 0, %p1;\nselp.u32 %r2, 1, 0, %p2;\nmad.wide.u32 %d1, %t, 8, %out;\nst.global.v2.u32 [%d1], {%r1, %r2};";
    assert_eq!(words(40, body, 80), [40, 1].repeat(40));
}

#[test]
fn lanes_meet_by_the_mask_that_they_name() {
    // Odd and even lanes shuffle on their own, at two instructions each.
    let body = "and.b32 %r1, %t, 1;\nsetp.eq.u32 %p1, %r1, 1;\nselp.b32 %r2, 0xaaaaaaaa, 0x55555555, %p1;\nadd.u32 %r3, %t, 100;\n@%p1 bra ODD;\n\
        shfl.sync.bfly.b32 %r4, %r3, 2, 31, %r2;\nbra END;\nODD: shfl.sync.bfly.b32 %r4, %r3, 4, 31, %r2;\nEND: mad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r4;";
    let wanted: Vec<u32> = (0..32).map(|t| 100 + (t ^ if t % 2 == 1 { 4 } else { 2 })).collect();
    assert_eq!(words(32, body, 32), wanted);
    // All lanes, at two instructions: they meet all the same.
    let all = body
        .replace("selp.b32 %r2, 0xaaaaaaaa, 0x55555555, %p1;", "mov.u32 %r2, 0xffffffff;")
        .replace("%r3, 4, 31", "%r3, 1, 31")
        .replace("%r3, 2, 31", "%r3, 1, 31");
    assert_eq!(words(32, &all, 32), (0..32).map(|t| 100 + (t ^ 1)).collect::<Vec<u32>>());
    // Half of them do something else, and end: what the others read of them is nothing.
    let half = all.replace("ODD: shfl.sync.bfly.b32 %r4, %r3, 1, 31, %r2;", "ODD: mov.u32 %r4, 0;");
    let fault_of_half = fault(32, &format!("{half}\nadd.u32 %r4, %r4, 1;\nst.global.u32 [%d1], %r4;"));
    assert_eq!((fault_of_half.kind, fault_of_half.site.lane), (FaultKind::Uninitialised, 0), "{fault_of_half}");
    assert!(fault_of_half.message.contains("lane 1, which does not execute the shuffle"), "{fault_of_half}");
    // Where they wait elsewhere, nobody comes.
    let fault_of_half = fault(32, &half.replace("END:", "END: bar.sync 0;"));
    assert_eq!(fault_of_half.kind, FaultKind::Barrier);
    assert!(
        fault_of_half.message.starts_with("lanes 0x55555555 alone reach `shfl.sync.bfly.b32` of lanes 0xffffffff"),
        "{fault_of_half}"
    );
    // A vote and a shuffle are no meeting.
    let other =
        all.replace("ODD: shfl.sync.bfly.b32 %r4, %r3, 1, 31, %r2;", "ODD: vote.sync.ballot.b32 %r4, %p1, %r2;");
    let fault_of_other = fault(32, &other);
    let said = "lanes 0xaaaaaaaa alone reach `vote.sync.ballot.b32` of lanes 0xffffffff: 0x55555555 are missing";
    assert_eq!((fault_of_other.kind, fault_of_other.message.as_str()), (FaultKind::Barrier, said), "{fault_of_other}");
    let there = fault_of_other.other.as_ref().map(|(_, site)| (site.lane, site.opcode.as_str()));
    assert_eq!(there, Some((0, "shfl.sync.bfly.b32")), "{fault_of_other}");
    for (masks, what) in [
        ("mov.u32 %r2, 0xfffffff7;", "lane 3 executes `shfl.sync.bfly.b32` for lanes 0xfffffff7, and is none of them"),
        (
            "mov.u32 %r2, 0xffffffff;\nsetp.eq.u32 %p3, %t, 5;\n@%p3 mov.u32 %r2, 0xfffffffe;",
            "lane 0 executes `shfl.sync.bfly.b32` for lanes 0xffffffff, and lane 5, one of them, for lanes 0xfffffffe",
        ),
    ] {
        let fault = fault(32, &format!("{masks}\nshfl.sync.bfly.b32 %r4, %t, 1, 31, %r2;"));
        assert!(fault.kind == FaultKind::Barrier && fault.message.starts_with(what), "{fault}");
    }
    // Lanes that have ended are not waited for.
    let ended = "mov.u32 %r2, 0xffffffff;\nsetp.gt.u32 %p1, %t, 19;\n@%p1 ret;\nvote.sync.ballot.b32 %r4, %p1, %r2;\nnot.b32 %r4, %r4;\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r4;";
    assert_eq!(words(32, ended, 20), [u32::MAX; 20]);
    let late = "mov.u32 %r2, 0xffffffff;\nsetp.gt.u32 %p1, %t, 19;\n@%p1 bra LATE;\nvote.sync.any.pred %p4, %p1, %r2;\nselp.b32 %r4, 7, 8, %p4;\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r4;\nret;\nLATE: mov.u32 %r5, 1;\nst.global.u32 [%out+512], %r5;";
    assert_eq!(words(32, late, 20), [8; 20]);
}

#[test]
fn a_wait_that_nobody_ends_names_what_it_waits_for() {
    let shared = "mov.u32 %r1, 0;\nst.shared.u32 [tile+12], %r1;\nbar.sync 0;\nAGAIN: ld.volatile.shared.u32 %r2, [tile+12];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra AGAIN;";
    let fault_of_shared = fault(64, shared);
    assert_eq!(fault_of_shared.kind, FaultKind::NoProgress);
    assert!(
        fault_of_shared
            .message
            .contains("waits for a change of tile (shared memory) at offset 12, and nobody is left who could make it"),
        "{fault_of_shared}"
    );
    let one = "setp.eq.u32 %p1, %t, 37;\n@!%p1 bra END;\nAGAIN: atom.global.or.b32 %r2, [%out+20], 0;\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra AGAIN;\nEND: bar.sync 0;";
    let fault_of_one = fault(64, one);
    assert_eq!((fault_of_one.kind, fault_of_one.site.thread.x), (FaultKind::NoProgress, 37), "{fault_of_one}");
    assert!(fault_of_one.message.contains("thread (37,0) waits for a change of out at offset 20, and nobody is left who could make it; 1 other warps of its block wait at barriers"), "{fault_of_one}");
    assert_eq!(
        fault_of_one.other.as_ref().map(|(what, site)| (what.as_str(), site.warp, site.opcode.as_str())),
        Some(("another warp waits here:", 0, "bar.sync"))
    );
    let nothing = "mov.u32 %r1, 5;\nAGAIN: xor.b32 %r1, %r1, 1;\nsetp.ne.u32 %p1, %r1, 100;\n@%p1 bra AGAIN;";
    let fault_of_nothing = fault(32, nothing);
    assert!(
        fault_of_nothing.message.starts_with("endless loop: thread (0,0) comes back to where it was"),
        "{fault_of_nothing}"
    );
    // The same value again and again changes nothing; a counter does.
    let writes = "mov.u32 %r1, 5;\nAGAIN: st.global.u32 [%out], %r1;\nst.shared.u32 [tile], %r1;\nsetp.ne.u32 %p1, %r1, 100;\n@%p1 bra AGAIN;";
    assert_eq!(fault(1, writes).kind, FaultKind::NoProgress);
    let counts = "mov.u32 %r1, 0;\nst.shared.u32 [tile], %r1;\nAGAIN: ld.shared.u32 %r1, [tile];\nadd.u32 %r1, %r1, 1;\nst.shared.u32 [tile], %r1;\nsetp.ne.u32 %p1, %r1, 20000;\n@%p1 bra AGAIN;\nst.global.u32 [%out], %r1;";
    assert_eq!(words(1, counts, 1), [20000]);
    let global = counts.replace(".shared", ".global").replace("[tile]", "[%out+8]");
    assert_eq!(words(1, &global, 1), [20000]);
    let generic = counts.replace(".shared", "").replace("[tile]", "[%d1]");
    assert_eq!(words(1, &format!("mov.u64 %d1, tile;\ncvta.shared.u64 %d1, %d1;\n{generic}"), 1), [20000]);
    let local = counts.replace(".shared", ".local").replace("[tile]", "[mine]");
    assert_eq!(words(1, &local, 1), [20000]);
}

#[test]
fn warps_of_a_block_wait_for_each_other_and_get_on() {
    // Warp 1 sets what warp 0 waits for; a lane sets what another of its warp waits for; in every order.
    let warps = "mov.u32 %r1, 0;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 st.shared.u32 [tile], %r1;\nbar.sync 0;\nsetp.ge.u32 %p1, %t, 32;\n@%p1 bra SET;\n\
        AGAIN: ld.volatile.shared.u32 %r2, [tile];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra AGAIN;\nst.global.u32 [%out], %r2;\nbra END;\nSET: mov.u32 %r3, 6;\nst.volatile.shared.u32 [tile], %r3;\nEND:";
    assert_eq!(words(64, warps, 1), [6]);
    let lanes = warps.replace("setp.ge.u32 %p1, %t, 32;", "setp.eq.u32 %p1, %t, 17;");
    assert_eq!(words(32, &lanes, 1), [6]);
    let flipped = warps.replace("setp.ge.u32 %p1, %t, 32;", "setp.lt.u32 %p1, %t, 32;");
    assert_eq!(words(64, &flipped, 1), [6]);
}

#[test]
fn local_memory_begins_unwritten_in_every_block() {
    let body = "setp.eq.u32 %p1, %block, 0;\n@%p1 st.local.u32 [mine], %t;\nld.local.u32 %r1, [mine];\nadd.u32 %r1, %r1, 1;\nmad.lo.u32 %r2, %block, 32, %t;\nmad.wide.u32 %d1, %r2, 4, %out;\nst.global.u32 [%d1], %r1;";
    let fault = Kernel::new(32, body).launch(Launch::new(2, 32)).fault();
    assert_eq!((fault.kind, fault.site.block.x, fault.site.lane), (FaultKind::Uninitialised, 1, 0), "{fault}");
    let shared = body.replace(".local", ".shared").replace("[mine]", "[%r100]");
    let shared = format!("mov.u32 %r100, tile;\nmad.lo.u32 %r100, %t, 4, %r100;\n{shared}");
    let fault = Kernel::new(32, &shared).launch(Launch::new(2, 32)).fault();
    assert_eq!((fault.kind, fault.site.block.x, fault.site.lane), (FaultKind::Uninitialised, 1, 0), "{fault}");
}

#[test]
fn many_barriers_keep_threads_apart() {
    // More than a thousand warp barriers and block barriers in turn, each with a store before and a load of a neighbour's behind.
    for barrier in ["bar.warp.sync %r90;", "bar.sync 0;"] {
        let body = format!(
            "mov.u32 %r90, 0xffffffff;\nmov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nxor.b32 %r102, %t, 1;\nmad.lo.u32 %r102, %r102, 4, %r100;\nmov.u32 %r1, 0;\n\
             AGAIN: st.shared.u32 [%r101], %r1;\n{barrier}\nld.shared.u32 %r2, [%r102];\n{barrier}\nadd.u32 %r1, %r2, 1;\nsetp.lt.u32 %p1, %r1, 1100;\n@%p1 bra AGAIN;\nst.global.u32 [%out], %r1;"
        );
        assert_eq!(Kernel::new(32, &body).words(1), [1100], "{barrier}");
        let racing = body.replacen(&format!("{barrier}\nadd"), "add", 1);
        assert_eq!(Kernel::new(32, &racing).fault().kind, FaultKind::Race, "{barrier}");
    }
}

#[test]
fn a_barrier_under_a_guard_is_for_the_warps_that_it_lets_through() {
    // Warp 1 passes by; the barrier is for the two others.
    let body = "setp.lt.u32 %p1, %t, 32;\nsetp.ge.u32 %p2, %t, 64;\nor.pred %p1, %p1, %p2;\nmov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nst.shared.u32 [%r101], %t;\n\
        @%p1 bar.sync 2, 64;\nxor.b32 %r2, %t, 64;\nmad.lo.u32 %r102, %r2, 4, %r100;\nmov.u32 %r3, 1000;\n@%p1 ld.shared.u32 %r3, [%r102];\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r3;";
    let wanted: Vec<u32> = (0..96).map(|t| if t / 32 == 1 { 1000 } else { t ^ 64 }).collect();
    assert_eq!(words(96, body, 96), wanted);
    // No lane at all.
    assert_eq!(
        words(
            32,
            "setp.gt.u32 %p1, %t, 99;\n@%p1 bar.sync 0;\n@%p1 bar.warp.sync %t;\nmov.u32 %r1, 5;\nst.global.u32 [%out], %r1;",
            1
        ),
        [5]
    );
}

#[test]
fn what_changes_for_a_while_and_then_no_more_is_found() {
    for space in ["global", "shared"] {
        let base = if space == "global" { "%out" } else { "tile" };
        let body = format!(
            "mov.u32 %r1, 0;\nAGAIN: add.u32 %r1, %r1, 1;\nmin.u32 %r1, %r1, 3000;\nst.{space}.u32 [{base}], %r1;\nsetp.ne.u32 %p1, %r1, 9000;\n@%p1 bra AGAIN;"
        );
        let kernel = Kernel::new(1, &body);
        let kernel = Kernel { launch: kernel.launch.instruction_limit(50_000_000), ..kernel };
        let fault = kernel.fault();
        assert!(fault.kind == FaultKind::NoProgress && fault.message.starts_with("endless loop"), "{fault}");
    }
}

#[test]
fn a_loop_that_leaves_its_buffer_is_convicted_of_that() {
    for words in [1000, 5000, 30_000, 100_000] {
        for text in ["st.global.u32 [%d1], %r1;", "ld.global.u32 %r2, [%d1];", "red.global.add.u32 [%d1], 1;"] {
            let body = format!(
                "mov.u64 %d1, %out;\nmov.u32 %r1, 0;\nAGAIN: {text}\nadd.u64 %d1, %d1, 4;\nadd.u32 %r1, %r1, 1;\nbra AGAIN;"
            );
            let kernel = Kernel { zeros: 4 * words, ..Kernel::new(1, &body).output(4 * words) };
            let fault = kernel.fault();
            assert_eq!(fault.kind, FaultKind::OutOfBounds, "{fault}");
            assert!(fault.message.ends_with(&format!("at offset {}", 4 * words)), "{fault}");
        }
    }
}

#[test]
fn waits_end_without_checks_as_well() {
    let body = "mov.u32 %r1, 0;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 st.shared.u32 [tile], %r1;\nbar.sync 0;\nsetp.ge.u32 %p1, %t, 32;\n@%p1 bra SET;\n\
        AGAIN: ld.volatile.shared.u32 %r2, [tile];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra AGAIN;\nst.global.u32 [%out], %r2;\nbra END;\nSET: mov.u32 %r3, 6;\nst.volatile.shared.u32 [tile], %r3;\nEND:";
    for text in [body.to_string(), body.replace("setp.ge.u32 %p1, %t, 32;", "setp.eq.u32 %p1, %t, 17;")] {
        for schedule in Schedule::ALL {
            let kernel = Kernel::new(64, &text)
                .launch(Launch::new(1, 64).sanitize(false).schedule(schedule).instruction_limit(1_000_000));
            assert_eq!(kernel.words(1), [6], "{schedule}");
        }
    }
}

#[test]
fn a_loop_that_changes_memory_alone_gets_on() {
    // Behind each round every register is as it was: only what is counted in memory says that it gets on.
    for (space, base, start) in [
        (".shared", "tile", ""),
        (".global", "%out+8", ""),
        (".local", "mine", ""),
        ("", "%d1", "mov.u64 %d1, tile;\ncvta.shared.u64 %d1, %d1;\n"),
        ("", "%d1", "mov.u64 %d1, mine;\ncvta.local.u64 %d1, %d1;\n"),
        ("", "%d1", "add.u64 %d1, %out, 16;\n"),
    ] {
        let store = format!("ld{space}.u32 %r1, [{base}];\nadd.u32 %r1, %r1, 1;\nst{space}.u32 [{base}], %r1;\n");
        let add = format!("red{space}.add.u32 [{base}], 1;\nld{space}.u32 %r1, [{base}];\n");
        // (Longer than a turn, where the lane's own memory is not looked at.)
        let rounds = if base == "mine" || start.contains("mine") { 60000 } else { 30000 };
        for (round, name) in [(&store, "store"), (&add, "add")] {
            if name == "add" && (space == ".local" || start.contains("mine")) {
                continue;
            }
            let body = format!(
                "{start}mov.u32 %r1, 0;\nst{space}.u32 [{base}], %r1;\nAGAIN: {round}setp.ne.u32 %p1, %r1, {rounds};\nmov.u32 %r1, 0;\n@%p1 bra AGAIN;\nld{space}.u32 %r1, [{base}];\nst.global.u32 [%out], %r1;"
            );
            assert_eq!(words(1, &body, 1), [rounds], "{name} in `{space}` {start}");
        }
    }
}

#[test]
fn a_reduction_counts_lanes_once_that_come_by_parts() {
    let body = "and.b32 %r1, %t, 1;\nsetp.eq.u32 %p1, %r1, 1;\nsetp.lt.u32 %p2, %t, 41;\n@%p1 bra ODD;\nbarrier.red.popc.u32 %r3, 2, %p2;\nbra JOIN;\nODD: barrier.red.popc.u32 %r3, 2, %p2;\n\
        JOIN: mad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r3;";
    assert_eq!(words(64, body, 64), [41; 64]);
    let all = body
        .replace("setp.lt.u32 %p2, %t, 41;", "setp.lt.u32 %p2, %t, 64;")
        .replace("popc.u32 %r3", "and.pred %p3")
        .replace("JOIN:", "JOIN: selp.u32 %r3, 1, 0, %p3;");
    assert_eq!(words(64, &all, 64), [1; 64]);
    let not_all = all.replace("%t, 64;", "%t, 63;");
    assert_eq!(words(64, &not_all, 64), [0; 64]);
}

#[test]
fn threads_that_ended_came_to_every_barrier_before() {
    // Each of the last warp's threads stores and ends; who waits at a barrier knows of it, in both models.
    for threads in [33u32, 40, 64] {
        for partial in ["", "setp.ge.u32 %p3, %t, 32;\n@!%p3 bar.sync 5, 32;\n"] {
            let body = format!(
                "{partial}mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nst.shared.u32 [%r101], %t;\nsetp.ge.u32 %p1, %t, 32;\n@%p1 ret;\nbar.sync 0;\nadd.u32 %r2, %t, 32;\nmov.u32 %r3, 7;\nsetp.lt.u32 %p2, %r2, {threads};\n\
                 @%p2 ld.shared.u32 %r3, [%r101+128];\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r3;"
            );
            let wanted: Vec<u32> = (32..64).map(|t| if t < threads { t } else { 7 }).collect();
            assert_eq!(words(threads, &body, 32), wanted, "{threads} threads, `{partial}`");
        }
    }
}

#[test]
fn arrivals_that_nobody_waited_for_end_with_their_block() {
    // Every block leaves warp 0's arrival at barrier 4 behind, and begins anew.
    let body = "setp.ge.u32 %p1, %t, 32;\n@%p1 bra REST;\nbar.sync 1, 64;\nbar.arrive 4, 96;\nbra END;\nREST: bar.sync 1, 64;\nEND: mad.lo.u32 %r1, %block, 64, %t;\nmad.wide.u32 %d1, %r1, 4, %out;\nst.global.u32 [%d1], %t;";
    let kernel = Kernel::new(64, body).launch(Launch::new(3, 64));
    assert_eq!(kernel.words(192), (0..192).map(|n| n % 64).collect::<Vec<u32>>());
    let used = body
        .replace("bar.sync 1, 64;\nbar.arrive", "bar.sync 4, 64;\nbar.arrive")
        .replace("REST: bar.sync 1, 64;", "REST: bar.sync 4, 64;");
    let kernel = Kernel::new(64, &used).launch(Launch::new(3, 64));
    assert_eq!(kernel.words(192), (0..192).map(|n| n % 64).collect::<Vec<u32>>());
}

#[test]
fn every_path_of_a_warp_has_its_turn() {
    // Three lanes of a warp: one waits for the second, and tells both then; the second tells it and waits; so does the third.
    let waits = |flag: u32, label: &str| {
        format!("{label}: ld.volatile.global.u32 %r1, [%out+{flag}];\nsetp.eq.u32 %p5, %r1, 0;\n@%p5 bra {label};\n")
    };
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let roles = [
            format!("{}st.volatile.global.u32 [%out+128], %r2;", waits(64, "W0")),
            format!("st.volatile.global.u32 [%out+64], %r2;\n{}", waits(128, "W1")),
            waits(128, "W2"),
        ];
        let mut body = String::from("mov.u32 %r2, 1;\n");
        for (lane, role) in order.iter().enumerate() {
            body += &format!("setp.eq.u32 %p1, %t, {lane};\n@%p1 bra R{role};\n");
        }
        body += "bra END;\n";
        for (n, role) in roles.iter().enumerate() {
            body += &format!("R{n}:\n{role}\nbra END;\n");
        }
        body += "END: mov.u32 %r3, 1;\nst.global.u32 [%out+4], %r3;";
        assert_eq!(words(32, &body, 2)[1], 1, "{order:?}");
    }
}

#[test]
fn a_loop_that_reads_matrices_alone_never_ends() {
    let body = "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nst.shared.u32 [%r101], %t;\nbar.sync 0;\nand.b32 %r1, %t, 7;\n\
        mad.lo.u32 %r102, %r1, 16, %r100;\nL: ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r102];\nsetp.lt.u32 %p1, %r2, 700;\n@%p1 bra L;";
    let fault = fault(32, body);
    assert_eq!(fault.kind, FaultKind::NoProgress, "{fault}");
    assert!(fault.message.contains("waits for a change of tile (shared memory) at offset 0"), "{fault}");
    let once = body.replace("700", "0");
    assert!(Kernel::new(32, &once).run().is_ok());
}

#[test]
fn who_ends_later_is_waited_for_no_more() {
    // Some lanes wait for all; the others do something first, and end. Whoever has his turn first.
    let meets = [
        "bar.warp.sync -1;",
        "shfl.sync.idx.b32 %r2, %r2, 3, 0x1f, -1;",
        "vote.sync.all.pred %p3, %p1, -1;",
        "match.any.sync.b32 %r5, %r2, -1;",
    ];
    for meet in meets {
        for (first, second) in [("%p1", "%p2"), ("%p2", "%p1")] {
            let body = format!(
                "setp.lt.u32 %p1, %t, 16;\nsetp.ge.u32 %p2, %t, 16;\nmov.u32 %r2, 9;\nmad.wide.u32 %d1, %t, 4, %out;\n\
                 @{first} bra F{first};\n@{second} bra F{second};\nF%p1: {meet}\nst.global.u32 [%d1], %r2;\nbra END;\n\
                 F%p2: add.u32 %r3, %r2, 1;\nst.global.u32 [%d1], %r3;\nret;\nEND:"
            );
            let body = body.replace("F%p", "F");
            let wanted = [[9; 16], [10; 16]].concat();
            assert_eq!(words(32, &body, 32), wanted, "{meet}, {first}");
        }
    }
}

#[test]
fn a_barrier_that_was_complete_begins_with_nobody() {
    // Of one number in turn: counts, waits, and reductions of other lanes.
    let count =
        |lanes: u32, register: u32| format!("setp.lt.u32 %p2, %t, {lanes};\nbar.red.popc.u32 %r{register}, 3, %p2;\n");
    let body = count(41, 1)
        + &count(7, 2)
        + "bar.sync 3;\n"
        + &count(64, 3)
        + "bar.sync 3;\nbar.red.and.pred %p3, 3, %p2;\nselp.u32 %r4, 1, 0, %p3;\n"
        + "mad.lo.u32 %r5, %r1, 100, %r2;\nmad.lo.u32 %r5, %r5, 100, %r3;\nmad.lo.u32 %r5, %r5, 10, %r4;\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r5;";
    assert_eq!(words(64, &body, 64), [4_107_641; 64]);
    // Who waits elsewhere meanwhile goes on when that is complete.
    let body = "setp.lt.u32 %p1, %t, 32;\nmov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nbar.sync 1;\nbar.sync 1;\nst.shared.u32 [%r101], %t;\n@%p1 bra FIRST;\n\
        bar.sync 1, 64;\nbar.sync 1, 64;\nbra JOIN;\nFIRST: setp.lt.u32 %p2, %t, 16;\nbar.sync 1, 64;\nbar.sync 1, 64;\nJOIN: bar.sync 2;\nxor.b32 %r2, %t, 64;\n\
        setp.lt.u32 %p3, %r2, 96;\nmov.u32 %r3, 7;\n@%p3 mad.lo.u32 %r102, %r2, 4, %r100;\n@%p3 ld.shared.u32 %r3, [%r102];\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r3;";
    let of_three = body.replace(
        "bar.sync 1, 64;\nbar.sync 1, 64;\nbra JOIN;",
        "setp.ge.u32 %p4, %t, 64;\n@%p4 bra JOIN;\nbar.sync 1, 64;\nbar.sync 1, 64;\nbra JOIN;",
    );
    let wanted: Vec<u32> = (0..96u32).map(|t| if t ^ 64 < 96 { t ^ 64 } else { 7 }).collect();
    assert_eq!(words(96, &of_three, 96), wanted);
}
