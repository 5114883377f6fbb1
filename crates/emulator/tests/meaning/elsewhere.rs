//! Lanes, threads and blocks that never come, or come to nothing: where others wait for them, and where nobody does.

use emulator::{FaultKind, Launch, Schedule};

use crate::alone::{fault, words_in_every_order};
use crate::run::Kernel;

#[test]
fn lanes_that_ended_are_known_to_the_barriers_that_name_them() {
    let body = |mask: &str| {
        format!(
            "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nst.shared.u32 [%r101], %t;\nsetp.lt.u32 %p1, %t, 16;\n@%p1 ret;\n\
             mov.u32 %r5, {mask};\nbar.warp.sync %r5;\nld.shared.u32 %r2, [%r101+-64];\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1+-64], %r2;"
        )
    };
    let wanted: Vec<u32> = (0..16).collect();
    assert_eq!(words_in_every_order(32, &body("-1"), 16), vec![wanted.clone(); 3]);
    for mask in ["0xffff0000", "0xffff00ff"] {
        let fault = fault(32, &body(mask));
        assert_eq!((fault.kind, fault.site.lane >= 16), (FaultKind::Race, true), "{mask}: {fault}");
    }
}

#[test]
fn a_lane_alone_that_cannot_come_is_noticed_at_once() {
    // It would trap otherwise, or never end.
    for lane in [0, 1, 17, 31] {
        for away in ["trap;", "L: bra L;", "st.global.u32 [%out+8192], %t;"] {
            let body = format!(
                "setp.eq.u32 %p1, %t, {lane};\n@%p1 bra AWAY;\nbar.sync 0;\nbra END;\nAWAY: {away}\nmov.u32 %r1, 1;\nst.global.u32 [%out], %r1;\nEND:"
            );
            let kernel = Kernel { zeros: 4096, ..Kernel::new(32, &body) };
            let fault = kernel.launch(Launch::new(1, 32).schedule(Schedule::LastFirst)).fault();
            assert_eq!(fault.kind, FaultKind::Barrier, "lane {lane}, {away}: {fault}");
            let said =
                format!("barrier reached by only 31 of the 32 live threads of warp 0; thread ({lane},0) is elsewhere");
            assert!(fault.message.starts_with(&said), "{fault}");
        }
    }
}

#[test]
fn a_block_waits_through_two_of_its_warps_for_another_block() {
    // Warp 0 waits for warp 1, and that for the other block.
    let body = "mov.u32 %r1, 0;\nmov.u32 %r2, 6;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 st.shared.u32 [tile], %r1;\nbar.sync 0;\nsetp.ne.u32 %p2, %block, WAITS;\n@%p2 bra SET;\n\
        setp.lt.u32 %p3, %t, 32;\n@%p3 bra INNER;\nOUTER: ld.volatile.global.u32 %r3, [%out+256];\nsetp.eq.u32 %p4, %r3, 0;\n@%p4 bra OUTER;\n\
        st.volatile.shared.u32 [tile], %r3;\nbra END;\nINNER: ld.volatile.shared.u32 %r3, [tile];\nsetp.eq.u32 %p4, %r3, 0;\n@%p4 bra INNER;\n\
        st.global.u32 [%out], %r3;\nbra END;\nSET: setp.lt.u32 %p3, %t, 32;\n@%p3 st.volatile.global.u32 [%out+256], %r2;\nEND:";
    for waits in ["0", "1"] {
        for (first, second) in [("lt", "lt"), ("ge", "lt"), ("lt", "ge")] {
            let body = body.replace("WAITS", waits).replacen("setp.lt.u32 %p3", &format!("setp.{first}.u32 %p3"), 1);
            let body = body.replace("SET: setp.lt", &format!("SET: setp.{second}"));
            for schedule in Schedule::ALL {
                let kernel = Kernel { zeros: 4096, ..Kernel::new(64, &body) };
                let words = kernel.launch(Launch::new(2, 64).schedule(schedule)).words(1);
                assert_eq!(words, [6], "{schedule}, {waits}, {first}, {second}");
            }
        }
    }
}

#[test]
fn a_loop_that_waits_for_the_clock_or_changes_memory_by_matrices_gets_on() {
    for clock in ["%clock", "%globaltimer_lo"] {
        let body = format!(
            "mov.u32 %r1, 0;\nL: mov.u32 %r1, {clock};\nsetp.lt.u32 %p1, %r1, 300000;\nmov.u32 %r1, 0;\n@%p1 bra L;\nmov.u32 %r2, 5;\nst.global.u32 [%out], %r2;"
        );
        assert_eq!(Kernel::new(1, &body).words(1), [5], "{clock}");
    }
    let wide = "mov.u64 %d1, 0;\nL: mov.u64 %d1, %clock64;\nsetp.lt.u64 %p1, %d1, 300000;\nmov.u64 %d1, 0;\n@%p1 bra L;\nmov.u32 %r2, 5;\nst.global.u32 [%out], %r2;";
    assert_eq!(Kernel::new(1, wide).words(1), [5]);
    // Each lane's own two elements, counted in shared memory alone.
    let matrix = "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nmov.u32 %r1, 0;\nst.shared.u32 [%r101], %r1;\nand.b32 %r2, %t, 7;\n\
        mad.lo.u32 %r102, %r2, 16, %r100;\nbar.sync 0;\nL: ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r102];\nadd.u32 %r1, %r1, 1;\n\
        bar.warp.sync -1;\nstmatrix.sync.aligned.m8n8.x1.shared.b16 [%r102], {%r1};\nbar.warp.sync -1;\nsetp.lt.u32 %p1, %r1, 40000;\nmov.u32 %r1, 0;\n@%p1 bra L;\n\
        ld.shared.u32 %r3, [%r101];\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r3;";
    assert_eq!(Kernel::new(32, matrix).words(32), [40000; 32]);
}

#[test]
fn an_endless_loop_is_not_blamed_on_a_load_before_it() {
    // Somewhere among these counts the first loop ends while the warp is looked at.
    for rounds in [1000, 87_400, 87_480, 87_600] {
        let body = format!(
            "mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nsetp.ne.u32 %p1, %r1, {rounds};\n@%p1 bra L;\nld.global.u32 %r2, [%in];\nM: mov.u32 %r3, 1;\nbra M;"
        );
        let fault = fault(1, &body);
        assert_eq!(fault.kind, FaultKind::NoProgress, "{fault}");
        assert!(fault.message.starts_with("endless loop:"), "{rounds}: {fault}");
    }
}

#[test]
fn blocks_that_wait_for_ever_say_how_many_they_are() {
    // Each block waits for a flag that the last one would set, had the GPU room for it; or that nobody sets.
    let body = |sets: u32| {
        format!(
            "setp.eq.u32 %p1, %block, {sets};\nmov.u32 %r1, 1;\n@%p1 st.volatile.global.u32 [%out+64], %r1;\n\
             L: ld.volatile.global.u32 %r2, [%out+64];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra L;"
        )
    };
    for (grid, room) in [(2, 1), (3, 2), (3, 1), (4, 3), (2, 2), (3, 3), (1, 1), (2, 9)] {
        for schedule in [Schedule::FirstFirst, Schedule::ShortTurns] {
            let sets = if grid > room { grid - 1 } else { 99 };
            let kernel = Kernel { zeros: 4096, ..Kernel::new(1, &body(sets)) };
            let fault = kernel.launch(Launch::new(grid, 1).schedule(schedule).resident_blocks(room)).fault();
            assert_eq!(fault.kind, FaultKind::NoProgress, "{fault}");
            let started = grid.min(room);
            let mut said = String::from("waits for a change of out at offset 64, and nobody is left who could make it");
            if started > 1 {
                said += &format!("; {started} thread blocks have started and wait");
            }
            if grid > started {
                said += &format!("; {} start only when one of these has ended", grid - started);
            }
            assert!(fault.message.contains(&said), "{grid}, {room}: {fault}");
            assert_eq!(fault.message.contains("start only"), grid > started, "{grid}, {room}: {fault}");
            assert_eq!(fault.message.contains("have started"), started > 1, "{grid}, {room}: {fault}");
            let hint = fault.hint.as_deref().unwrap_or_default();
            assert_eq!(hint.contains("must fit on the GPU together"), grid > started, "{grid}, {room}: {hint}");
        }
    }
}

#[test]
fn a_wait_by_a_generic_address_names_what_it_waits_for() {
    for (space, offset, place) in [
        ("mov.u64 %d1, tile;\ncvta.shared.u64 %d1, %d1;", 12, "tile (shared memory) at offset 12"),
        ("mov.u64 %d1, %out;", 12, "out at offset 12"),
    ] {
        for ask in
            ["ld.volatile.u32 %r2, [%d1+12];", "atom.or.b32 %r2, [%d1+12], 0;", "ld.relaxed.gpu.u32 %r2, [%d1+12];"]
        {
            let body = format!(
                "{space}\nmov.u32 %r1, 0;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 st.u32 [%d1+{offset}], %r1;\nbar.sync 0;\nL: {ask}\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra L;"
            );
            let fault = fault(32, &body);
            assert_eq!(fault.kind, FaultKind::NoProgress, "{ask}: {fault}");
            assert!(fault.message.contains(&format!("waits for a change of {place}, and nobody")), "{ask}: {fault}");
            // Who counts there gets on.
            let counts = body
                .replace(ask, "red.add.u32 [%d1+12], 1;\nld.u32 %r2, [%d1+12];")
                .replace("setp.eq.u32 %p2, %r2, 0;", "setp.lt.u32 %p2, %r2, 60000;\nmov.u32 %r2, 0;");
            if let Err(fault) = (Kernel { zeros: 4096, ..Kernel::new(1, &counts) }).run() {
                panic!("{counts}: {fault}");
            }
        }
    }
}

#[test]
fn threads_that_ended_came_to_no_barrier_of_some_threads() {
    // Warp 2 stores and ends; two others meet at a barrier of their own, or of all.
    let body = |barrier: &str| {
        format!(
            "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nsetp.lt.u32 %p1, %t, 64;\n@%p1 bra REST;\nst.shared.u32 [%r101], %t;\nret;\n\
             REST: {barrier}\nand.b32 %r2, %t, 31;\nmad.lo.u32 %r102, %r2, 4, %r100;\nld.shared.u32 %r3, [%r102+256];\n\
             mad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r3;"
        )
    };
    let last_first = |barrier: &str| {
        let kernel = Kernel { zeros: 4096, ..Kernel::new(96, &body(barrier)) };
        kernel.launch(Launch::new(1, 96).schedule(Schedule::LastFirst))
    };
    let wanted: Vec<u32> = (0..64).map(|t| 64 + t % 32).collect();
    assert_eq!(last_first("bar.sync 1;").words(64), wanted);
    for barrier in ["bar.sync 1, 64;", "barrier.sync 2, 64;", "bar.sync 1, 64;\nbar.sync 2, 64;"] {
        let fault = last_first(barrier).fault();
        assert_eq!(fault.kind, FaultKind::Race, "{barrier}: {fault}");
    }
}

#[test]
fn the_clock_goes_on_behind_a_look_for_endless_loops() {
    // (While such a look goes on, it stands still.)
    let body = "mov.u32 %r1, 0;\nmov.u32 %r5, 0;\nmov.u32 %r2, %clock;\nL: mov.u32 %r3, %clock;\nsetp.ne.u32 %p1, %r3, %r2;\n@%p1 add.u32 %r5, %r5, 1;\nmov.u32 %r2, %r3;\n\
        add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 10000;\n@%p2 bra L;\nst.global.u32 [%out], %r5;";
    let kernel = Kernel::new(1, body).launch(Launch::new(1, 1).schedule(Schedule::ShortTurns));
    let steps = kernel.words(1)[0];
    assert!(steps > 150, "{steps}");
}
