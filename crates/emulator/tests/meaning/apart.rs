//! Lanes that go apart: whose turn is next, code that lies out of the way of its loop, who asks in vain, and for how long.

use emulator::{FaultKind, Launch, Schedule};

use crate::run::Kernel;

fn kernel(threads: u32, body: &str) -> Kernel {
    Kernel { zeros: 4096, ..Kernel::new(threads, body) }
}

/// A kernel whose last instruction is its body's.
fn without_end(kernel: Kernel) -> Kernel {
    Kernel { text: kernel.text.replacen("\nret;\n}", "\n}", 1), ..kernel }
}

#[test]
fn paths_of_a_warp_have_their_turns_in_a_row() {
    // Each of four lanes notes its turn, and asks in vain until that is over.
    let path = |lane: u32| {
        format!(
            "P{lane}: mov.u32 %r1, 0;\nA{lane}: atom.global.add.u32 %r2, [%out], 1;\nmad.wide.u32 %d1, %r2, 4, %out;\nst.global.u32 [%d1+16], %t;\n\
             mov.u32 %r3, 0;\nB{lane}: ld.volatile.global.u32 %r4, [%out+2048];\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 25;\n@%p1 bra B{lane};\n\
             add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 5;\n@%p1 bra A{lane};\nbra END;\n"
        )
    };
    let parts: String = (0..3).map(|lane| format!("setp.eq.u32 %p1, %t, {lane};\n@%p1 bra P{lane};\n")).collect();
    let paths: String = [3, 2, 1, 0].map(path).concat();
    let words = kernel(4, &format!("{parts}{paths}END:")).words(24);
    assert_eq!(words[0], 20);
    let turns = &words[4..24];
    // Once all have begun, and before the first has ended.
    let (mut row, next) = (turns[6..10].to_vec(), &turns[10..14]);
    assert_eq!(row, next, "{turns:?}");
    row.sort_unstable();
    assert_eq!(row, [0, 1, 2, 3], "{turns:?}");
}

#[test]
fn any_load_that_others_may_answer_asks() {
    // The first warp asks in vain for so long that the second has its ticket before it.
    let ticket = "and.b32 %r90, %t, 31;\nsetp.ne.u32 %p15, %r90, 0;\nshr.u32 %r90, %t, 5;\nmad.wide.u32 %d90, %r90, 4, %out;\n\
        @!%p15 atom.global.add.u32 %r91, [%out+2048], 1;\n@!%p15 st.global.u32 [%d90], %r91;\n";
    let registers = [
        (".b8", "%r10"),
        (".s16", "%h10"),
        (".u32", "%r10"),
        (".u64", "%d10"),
        (".f64", "%e10"),
        (".v2.u32", "{%r10, %r11}"),
        (".v4.f32", "{%f10, %f11, %f12, %f13}"),
        (".v2.u64", "{%d10, %d11}"),
    ];
    for (kind, to) in registers {
        for (space, at) in [(".global", "%out+3072"), (".shared", "%r100"), ("", "%d100"), ("", "%out+3072")] {
            for order in [".volatile", ".relaxed.gpu", ".acquire.sys", ""] {
                for checks in if order == ".volatile" { vec![true, false] } else { vec![true] } {
                    let load = format!("ld{order}{space}{kind} {to}, [{at}];");
                    let body = format!(
                        "mov.u32 %r100, tile;\nmad.lo.u32 %r100, %t, 16, %r100;\ncvt.u64.u32 %d100, %r100;\ncvta.shared.u64 %d100, %d100;\n\
                         mov.u32 %r1, 0;\nst.shared.v4.u32 [%r100], {{%r1, %r1, %r1, %r1}};\nsetp.ge.u32 %p2, %t, 32;\n@%p2 bra OTHER;\n\
                         A: {load}\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 17;\n@%p1 bra A;\nOTHER: {ticket}"
                    );
                    let tickets = kernel(64, &body).launch(Launch::new(1, 64).sanitize(checks)).words(2);
                    let wanted = if order.is_empty() { [0, 1] } else { [1, 0] };
                    assert_eq!(tickets, wanted, "{load} checks: {checks}");
                }
            }
        }
    }
}

#[test]
fn lanes_meet_behind_code_that_lies_at_the_kernels_end() {
    // Half of the lanes, or none, take a way that the kernel's text has last, as compilers put what is rare.
    for (bound, lanes) in [(16, 32), (0, 32), (32, 32), (1, 1)] {
        let body = format!(
            "mov.u32 %r1, 1;\nsetp.lt.u32 %p1, %t, {bound};\n@%p1 bra RARE;\nBACK: add.u32 %r1, %r1, %t;\nmad.wide.u32 %d1, %t, 4, %out;\n\
             bar.sync 0;\nst.global.u32 [%d1], %r1;\nret;\nRARE: mov.u32 %r1, 100;\nbra.uni BACK;"
        );
        let outcome = without_end(kernel(lanes, &body)).run().unwrap_or_else(|fault| panic!("{bound}: {fault}"));
        let wanted = (0..lanes).map(|t| t + if t < bound { 100 } else { 1 });
        assert_eq!(outcome.words(lanes as usize), wanted.collect::<Vec<_>>(), "{bound}");
    }
    // Without a barrier that convicts who comes alone: all lanes store at once.
    let body = "mov.u32 %r1, 1;\nsetp.lt.u32 %p1, %t, 16;\n@%p1 bra RARE;\nBACK: mad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r1;\nret;\n\
        RARE: mov.u32 %r1, 100;\nbra.uni BACK;";
    let outcome = without_end(kernel(32, body)).run().expect("it is right");
    assert_eq!(outcome.report.total.global_store.requests, 1);
}

#[test]
fn lanes_meet_before_a_kernel_that_ends_without_a_return() {
    let body = "mov.u32 %r1, 1;\nsetp.lt.u32 %p1, %t, 16;\n@%p1 bra A;\nmov.u32 %r1, 5;\nbra B;\nA: mov.u32 %r1, 100;\nB: mad.wide.u32 %d1, %t, 4, %out;\n\
        st.global.u32 [%d1], %r1;";
    let outcome = without_end(kernel(32, body)).run().expect("it is right");
    assert_eq!(outcome.words(32), (0..32).map(|t| if t < 16 { 100 } else { 5 }).collect::<Vec<u32>>());
    assert_eq!(outcome.report.total.global_store.requests, 1);
}

/// The kernel with a function of its module.
fn with(function: &str, kernel: Kernel) -> Kernel {
    Kernel { text: kernel.text.replacen(".visible", &format!("{function}.visible"), 1), ..kernel }
}

#[test]
fn lanes_that_left_a_called_function_meet_those_that_wait_in_it() {
    // The lower lanes wait within the function, which a pointer names, the upper ones behind their return: each does so once.
    let body = "mov.u32 %r1, 100;\nsetp.lt.u32 %p1, %t, 16;\nmov.u64 %d9, f;\n{\n.param .b32 x;\nst.param.b32 [x], %t;\n.param .b32 y;\n\
        F: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (y), %d9, (x), F;\nld.param.b32 %r2, [y];\n}\n\
        @%p1 bra END;\nadd.u32 %r2, %r2, 1;\nbar.warp.sync -1;\nEND: add.u32 %r2, %r2, %r1;\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r2;";
    for turned in [false, true] {
        let lower = if turned { "lt" } else { "ge" };
        let function = format!(
            ".func (.param .b32 y) f(.param .b32 x)\n{{\n.reg .b32 %r<9>;\n.reg .pred %p<9>;\nld.param.b32 %r1, [x];\nmov.u32 %r2, 0;\n\
             setp.{lower}.u32 %p1, %r1, 16;\n@%p1 bra OUT;\nadd.u32 %r2, %r2, 1;\nbar.warp.sync -1;\nadd.u32 %r2, %r2, 10;\nOUT: st.param.b32 [y], %r2;\nret;\n}}\n"
        );
        let body = if turned { body.replace("lt.u32", "ge.u32") } else { body.to_string() };
        let wanted: Vec<u32> = (0..32).map(|t| if (t < 16) != turned { 111 } else { 101 }).collect();
        for schedule in Schedule::ALL {
            let kernel = with(&function, kernel(32, &body).launch(Launch::new(1, 32).schedule(schedule)));
            assert_eq!(kernel.words(32), wanted, "{schedule}");
        }
    }
}

#[test]
fn a_block_begins_in_no_call() {
    // All blocks but the last end within a function; the last calls without end, and is as deep as if it were alone.
    let functions = ".func leave()\n{\nexit;\n}\n.func deeper()\n{\nF: .callprototype _ ();\n.reg .b64 %d;\nmov.u64 %d, deeper;\ncall %d, F;\nret;\n}\n";
    let body = |last: u32| {
        format!(
            "mov.u32 %r7, %t;\nmov.u64 %d1, leave;\nmov.u64 %d2, deeper;\nsetp.eq.u32 %p1, %block, {last};\nselp.b64 %d1, %d2, %d1, %p1;\n\
             F: .callprototype _ ();\ncall %d1, F;\nst.global.u32 [%out], %r7;"
        )
    };
    let message = |blocks: u32| {
        let kernel = kernel(1, &body(blocks - 1)).launch(Launch::new(blocks, 1));
        let fault = with(functions, kernel).fault();
        assert_eq!(fault.site.block.x, blocks - 1, "{fault}");
        fault.message.clone()
    };
    assert!(message(1).contains("deep"), "{}", message(1));
    assert_eq!(message(40), message(1));
}

#[test]
fn a_loop_that_only_calls_never_ends() {
    let function = ".func f(.param .b32 x)\n{\nret;\n}\n";
    let body = "mov.u64 %d9, f;\nF: .callprototype _ (.param .b32 _);\n{\n.param .b32 x;\nst.param.b32 [x], %t;\nL: call %d9, (x), F;\nbra L;\n}";
    let launch = Launch::new(1, 40).instruction_limit(2_000_000_000);
    let fault = with(function, kernel(40, body).launch(launch)).fault();
    assert_eq!(fault.kind, FaultKind::NoProgress, "{fault}");
}

/// The lower lanes wait for the upper ones where both meet, go ahead, and tell them to come; these go `on` behind that.
fn gone_ahead(ahead: &str, on: &str) -> String {
    format!(
        "mov.u32 %r5, 1;\nmov.u32 %r6, 0;\nsetp.lt.u32 %p1, %t, 16;\n@%p1 bra JOIN;\nL1: ld.volatile.global.u32 %r1, [%out+1024];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra L1;\n\
         JOIN: @%p1 bra AHEAD;\n{on}\nbra END;\nAHEAD: st.volatile.global.u32 [%out+1024], %r5;\n\
         L2: ld.volatile.global.u32 %r1, [%out+1028];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra L2;\n{ahead}\n\
         END: mad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r1;"
    )
}

#[test]
fn lanes_that_went_ahead_wait_for_others_however_long_these_take() {
    let tell = "st.volatile.global.u32 [%out+1028], %r5;";
    let long = "L3: add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p3, %r6, 100000;\n@%p3 bra L3;";
    for schedule in [Schedule::FirstFirst, Schedule::LastFirst] {
        let run = |ahead: &str, on: &str| {
            kernel(32, &gone_ahead(ahead, on)).launch(Launch::new(1, 32).schedule(schedule)).run()
        };
        let outcome = run("", &format!("{long}\n{tell}")).unwrap_or_else(|fault| panic!("{schedule}: {fault}"));
        assert_eq!(outcome.words(32), [1; 32]);
        // To a barrier that the others cannot come to any more.
        let fault = run("bar.sync 0;", &format!("{tell}\n{long}")).map(drop).expect_err("they do not come");
        assert_eq!(fault.kind, FaultKind::Barrier, "{fault}");
        assert!(fault.message.starts_with("barrier reached by only 16 of the 32 live threads"), "{fault}");
    }
}

#[test]
fn values_outlive_a_way_back_by_two_jumps() {
    // A round goes forth to the text's end, and back from there by two jumps: all that the next round reads is kept.
    let temporaries: String = (20..40).map(|n| format!("mad.lo.u32 %r{n}, %r2, {n}, %r{};\n", n - 1)).collect();
    let sum: String = (20..40).map(|n| format!("xor.b32 %r4, %r4, %r{n};\n")).collect();
    let body = format!(
        "mov.u32 %r1, 7;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\nmov.u32 %r4, 0;\nmov.f64 %e1, 0d3FF8000000000000;\nmov.f64 %e2, 0d0000000000000000;\nsetp.eq.u32 %p3, %t, 0;\nbra.uni ROUND;\n\
         BACK: add.u32 %r2, %r2, 1;\nsetp.ge.u32 %p1, %r2, 4;\n@%p1 bra END;\nROUND: add.u32 %r3, %r3, %r1;\nadd.f64 %e2, %e2, %e1;\n@%p3 add.u32 %r3, %r3, 100;\nbra.uni FAR;\n\
         END: cvt.rni.u32.f64 %r5, %e2;\nst.global.v4.u32 [%out], {{%r3, %r4, %r5, %r2}};\nret;\n\
         NEAR: bra.uni BACK;\nFAR: mov.u32 %r19, 5;\ncvt.rn.f64.u32 %e3, %r2;\nadd.f64 %e4, %e3, %e3;\nsetp.gt.f64 %p4, %e4, %e3;\n@%p4 xor.b32 %r4, %r4, 1;\n{temporaries}{sum}bra.uni NEAR;"
    );
    let mut wanted = 0u32;
    for round in 0..4u32 {
        wanted ^= u32::from(round > 0);
        let mut last = 5u32;
        for n in 20..40 {
            last = round.wrapping_mul(n).wrapping_add(last);
            wanted ^= last;
        }
    }
    for schedule in Schedule::ALL {
        let kernel = without_end(kernel(1, &body)).launch(Launch::new(1, 1).schedule(schedule));
        assert_eq!(kernel.words(4), [4 * 107, wanted, 6, 4], "{schedule}");
    }
}

#[test]
fn a_limit_is_of_the_instructions_of_each_block() {
    // Each piece of code counts its instructions and its end.
    for (body, least) in [("", 2), ("ret;", 2), ("mov.u32 %r1, 1;", 3), ("mov.u32 %r1, 1;\nmov.u32 %r2, 1;\nret;", 4)] {
        let text = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<9>;\n{body}\n}}\n"
        );
        let kernel = emulator::Module::parse(&text).and_then(|module| module.kernel("k")).expect("it is right");
        let run = |limit| emulator::Device::new().launch(&kernel, Launch::new(3, 1).instruction_limit(limit), &[]);
        let found = (0..20).find(|limit| run(*limit).is_ok());
        assert_eq!(found, Some(least), "`{body}`");
    }
}
