//! What a thread block begins with, whatever the one before it left; what a call leaves of its caller's registers and memory; and
//! what warpgroups make of their registers.

use emulator::{Argument, Class, Device, Fault, FaultKind, Launch, LaunchError, Module, Report};

/// Runs a text of the kernel `k(.param .u64 out)` on so many cores, one block after the other on each.
fn run(text: &str, launch: Launch, cores: usize) -> Result<(Report, Vec<u32>), Box<Fault>> {
    let text = format!(".version 8.6\n.target sm_90a\n.address_size 64\n{text}");
    let kernel = Module::parse(&text).and_then(|module| module.kernel("k")).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut device = Device::new();
    device.set_threads(Some(cores));
    let out = device.alloc("out", 4096);
    device.write(out, &[0; 4096]).expect("it has this size");
    match device.launch(&kernel, launch, &[Argument::Buffer(out)]) {
        Ok(report) => {
            let mut bytes = [0; 4096];
            device.read(out, &mut bytes).expect("it is written");
            Ok((report, bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()))
        }
        Err(LaunchError::Fault(fault)) => Err(fault),
        Err(error) => panic!("{error}\n{text}"),
    }
}

const REGISTERS: &str = ".reg .pred %p<9>; .reg .b32 %r<40>, %t, %block; .reg .b64 %d<20>;\nld.param.u64 %d1, [out];\nmov.u32 %t, %tid.x;\nmov.u32 %block, %ctaid.x;\n";

/// `down(n, k)` calls itself until `n` is 0, and ends the thread there if `k` is 1; else gives the sum of 1 to `n`. It uses many registers.
const DOWN: &str = ".func (.param .b32 r) down (.param .b32 n, .param .b32 k)\n{\n.reg .pred %z<3>; .reg .b32 %q<60>;\nld.param.b32 %q1, [n];\nld.param.b32 %q2, [k];\nmov.u32 %q4, 0;\nsetp.eq.u32 %z1, %q1, 0;\n@%z1 bra BOTTOM;\n\
    sub.u32 %q3, %q1, 1;\n{ .param .b32 x; .param .b32 y; .param .b32 z; st.param.b32 [x], %q3; st.param.b32 [y], %q2; call (z), down, (x, y); ld.param.b32 %q4, [z]; }\nadd.u32 %q4, %q4, %q1;\nbra END;\n\
    BOTTOM: setp.eq.u32 %z2, %q2, 1;\n@%z2 exit;\nEND: st.param.b32 [r], %q4;\nret;\n}\n";

fn call_down(n: u32, k: &str, result: &str) -> String {
    format!(
        "{{ .param .b32 x; .param .b32 y; .param .b32 z; st.param.b32 [x], {n}; st.param.b32 [y], {k}; call (z), down, (x, y); ld.param.b32 {result}, [z]; }}\n"
    )
}

#[test]
fn a_block_that_ends_within_calls_leaves_nothing_of_them() {
    // The stack has room for one such descent, and not for two; only the last block comes back.
    let text = format!(
        "{DOWN}.visible .entry k(.param .u64 out)\n{{\n{REGISTERS}setp.lt.u32 %p1, %block, 7;\nselp.u32 %r1, 1, 0, %p1;\n{}st.global.u32 [%d1], %r2;\nret;\n}}\n",
        call_down(700, "%r1", "%r2")
    );
    for cores in [1, 2] {
        let (_, words) = run(&text, Launch::new(8, 1), cores).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(words[0], 700 * 701 / 2);
    }
    let deeper = text.replace("[x], 700;", "[x], 70000;");
    let fault = run(&deeper, Launch::new(1, 1), 1).expect_err("there is no such stack");
    assert_eq!(fault.kind, FaultKind::OutOfBounds, "{fault}");
}

#[test]
fn a_register_is_as_unset_behind_a_call_as_before() {
    // `%r3` comes from shared memory that nobody wrote, or from what somebody did; the function uses all registers there are.
    for (written, convicted) in [(true, false), (false, true)] {
        let write = if written { "st.shared.u32 [%r9], %t;" } else { "" };
        let text = format!(
            "{DOWN}.visible .entry k(.param .u64 out)\n{{\n.shared .align 4 .b32 word[4];\n{REGISTERS}mov.u32 %r9, word;\n{write}\nld.shared.u32 %r3, [%r9];\n{}setp.eq.u32 %p1, %r3, 77;\n@%p1 st.global.u32 [%d1+4], %r2;\nst.global.u32 [%d1], %r2;\nret;\n}}\n",
            call_down(5, "0", "%r2")
        );
        match run(&text, Launch::new(1, 1), 1) {
            Ok((_, words)) => assert!(!convicted && words[0] == 15),
            Err(fault) => assert!(convicted && fault.kind == FaultKind::Uninitialised, "{fault}"),
        }
    }
    // What a function leaves unset of its own, its caller does not have: it loads what nobody wrote into registers of its own.
    let text = format!(
        ".shared .align 4 .b32 word[16];\n.func dirty (.param .b32 n)\n{{\n.reg .pred %z<3>; .reg .b32 %q<60>;\nld.param.b32 %q1, [n];\nmov.u32 %q2, word;\n{}setp.eq.u32 %z1, %q1, 0;\n@%z1 bra END;\nsub.u32 %q1, %q1, 1;\n\
         {{ .param .b32 x; st.param.b32 [x], %q1; call dirty, (x); }}\n{}END: ret;\n}}\n\
         .visible .entry k(.param .u64 out)\n{{\n{REGISTERS}{}{{ .param .b32 x; st.param.b32 [x], 3; call dirty, (x); }}\nmov.u32 %r1, 0;\n{}setp.eq.u32 %p1, %r1, 5;\n@%p1 trap;\nst.global.u32 [%d1], %r1;\nret;\n}}\n",
        (10..40).map(|n| format!("ld.shared.u32 %q{n}, [%q2+{}];\n", n % 16 * 4)).collect::<String>(),
        (10..40).map(|n| format!("st.shared.u32 [%q2+{}], %q{n};\n", n % 16 * 4)).collect::<String>(),
        (10..30).map(|n| format!("add.u32 %r{n}, %t, {n};\n")).collect::<String>(),
        (10..30).map(|n| format!("add.u32 %r1, %r1, %r{n};\n")).collect::<String>(),
    );
    let (_, words) = run(&text, Launch::new(1, 1), 1).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(words[0], (10..30).sum::<u32>());
}

#[test]
fn a_function_that_stores_what_it_never_set_is_convicted() {
    let text = format!(
        ".func (.param .b32 r) odd (.param .b32 n)\n{{\n.reg .pred %z<3>; .reg .b32 %q<9>;\nld.param.b32 %q1, [n];\nsetp.eq.u32 %z1, %q1, 0;\n@%z1 bra END;\nmov.u32 %q2, 5;\nsub.u32 %q3, %q1, 1;\n\
         {{ .param .b32 x; .param .b32 z; st.param.b32 [x], %q3; call (z), odd, (x); ld.param.b32 %q4, [z]; }}\nEND: st.param.b32 [r], %q2;\nret;\n}}\n\
         .visible .entry k(.param .u64 out)\n{{\n{REGISTERS}{{ .param .b32 x; .param .b32 z; st.param.b32 [x], 0; call (z), odd, (x); ld.param.b32 %r1, [z]; }}\nsetp.eq.u32 %p1, %r1, 3;\n@%p1 trap;\nst.global.u32 [%d1], %r1;\nret;\n}}\n"
    );
    let fault = run(&text, Launch::new(1, 1), 1).expect_err("nobody set it");
    assert_eq!(fault.kind, FaultKind::Uninitialised, "{fault}");
    let right =
        text.replace("[x], 0;", "[x], 1;").replace("st.param.b32 [r], %q2;", "mov.u32 %q2, 6;\nst.param.b32 [r], %q2;");
    assert_eq!(run(&right, Launch::new(1, 1), 1).unwrap_or_else(|fault| panic!("{fault}")).1[0], 6);
}

#[test]
fn each_block_has_its_own_barriers_in_shared_memory() {
    let text = format!(
        ".visible .entry k(.param .u64 out)\n{{\n.shared .align 8 .b64 bar;\n{REGISTERS}mov.u32 %r9, bar;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 mbarrier.init.shared.b64 [%r9], 32;\nbar.sync 0;\nmbarrier.arrive.shared.b64 %d2, [%r9];\n\
         W: mbarrier.test_wait.shared.b64 %p2, [%r9], %d2;\n@!%p2 bra W;\nmul.wide.u32 %d3, %block, 4;\nadd.u64 %d3, %d3, %d1;\n@%p1 st.global.u32 [%d3], %block;\nret;\n}}\n"
    );
    for cores in [1, 2] {
        let (_, words) = run(&text, Launch::new(5, 32), cores).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(words[..5], [0, 1, 2, 3, 4]);
    }
}

/// By 8 warps and more; `%r1` is the warp's number.
fn registers_of(threads: u32, blocks: u32, body: &str) -> Result<(Report, Vec<u32>), Box<Fault>> {
    let text = format!(
        ".visible .entry k(.param .u64 out)\n.maxntid 1024, 1, 1\n{{\n{REGISTERS}shr.u32 %r1, %t, 5;\n{body}\nret;\n}}\n"
    );
    run(&text, Launch::new(blocks, threads), 1)
}

#[test]
fn warps_of_a_warpgroup_set_their_registers_alike() {
    let only = |warp: u32, first: &str, others: &str| {
        format!("setp.eq.u32 %p1, %r1, {warp};\n@%p1 bra ONE;\n{others}\nbra END;\nONE: {first}\nEND:")
    };
    let dec = |count: u32| format!("setmaxnreg.dec.sync.aligned.u32 {count};");
    let convicted = |threads: u32, body: &str, thread: u32, said: &[&str]| {
        let fault = registers_of(threads, 1, body).expect_err("it is wrong");
        assert_eq!((fault.kind, fault.site.thread.x), (FaultKind::Barrier, thread), "{fault}");
        said.iter().for_each(|said| assert!(fault.message.contains(said), "{said}: {fault}"));
    };
    convicted(
        256,
        &only(5, &dec(40), &dec(48)),
        128,
        &["registers set to 48 by warp 4, and to 40 by warp 5 of the same warpgroup"],
    );
    convicted(384, &only(9, &dec(40), ""), 288, &["by warp 9 once, and by warp 8 of the same warpgroup never"]);
    convicted(384, &only(8, "", &dec(40)), 288, &["by warp 9 once, and by warp 8 of the same warpgroup never"]);
    let twice = format!("{}\n{}", dec(48), dec(40));
    convicted(256, &only(7, &dec(40), &twice), 128, &["by warp 4 2 times, and by warp 7 of the same warpgroup once"]);
    // Another warpgroup may do otherwise, or nothing.
    let by_group = format!("setp.lt.u32 %p1, %r1, 4;\n@%p1 bra ONE;\n{}\nbra END;\nONE: {}\nEND:", dec(40), dec(48));
    assert!(registers_of(256, 1, &by_group).is_ok());
    let by_one = format!("setp.lt.u32 %p1, %r1, 4;\n@%p1 bra END;\n{}\nEND:", dec(40));
    assert!(registers_of(384, 1, &by_one).is_ok());
}

#[test]
fn registers_of_all_warpgroups_fit_on_the_multiprocessor() {
    // 65536 are there: 256 threads with 256 each, and none for a third warpgroup.
    let inc = |count: u32| format!("setmaxnreg.inc.sync.aligned.u32 {count};");
    assert!(registers_of(256, 1, &inc(256)).is_ok(), "just as many");
    let last = format!(
        "setp.lt.u32 %p1, %r1, 8;\n@%p1 bra MANY;\nsetmaxnreg.dec.sync.aligned.u32 24;\nbra END;\nMANY: {}\nEND:",
        inc(256)
    );
    let fault = registers_of(384, 1, &last).expect_err("3072 too many");
    assert_eq!((fault.kind, fault.site.thread.x), (FaultKind::Barrier, 256), "{fault}");
    assert!(fault.message.contains("registers set to 68608 for the warpgroups of a thread block, of 65536"), "{fault}");
}

#[test]
fn registers_of_all_warpgroups_are_those_of_the_launch() {
    // 384 threads are launched with 168 registers each, 64512 in all, where the bounds of the launch say so.
    let of = |few: u32, many: u32| {
        let text = format!(
            ".visible .entry k(.param .u64 out)\n.maxntid 384, 1, 1\n.minnctapersm 1\n{{\n{REGISTERS}shr.u32 %r1, %t, 5;\nsetp.lt.u32 %p1, %r1, 8;\n\
             @%p1 bra MANY;\nsetmaxnreg.dec.sync.aligned.u32 {few};\nbra END;\nMANY: setmaxnreg.inc.sync.aligned.u32 {many};\nEND: ret;\n}}\n"
        );
        run(&text, Launch::new(1, 384), 1)
    };
    assert!(of(24, 240).is_ok() && of(40, 232).is_ok(), "just as many");
    let fault = of(32, 240).expect_err("1024 too many");
    let said = "registers set to 65536 for the warpgroups of a thread block, of 64512: 168 for each of 384 threads at the launch";
    assert!(fault.kind == FaultKind::Barrier && fault.message.contains(said), "{fault}");
}

#[test]
fn registers_are_set_anew_in_each_block() {
    // In the first block all warps do; in the second one alone.
    let body = "setp.eq.u32 %p1, %block, 0;\nsetp.eq.u32 %p2, %r1, 0;\n@%p1 bra SET;\n@!%p2 bra END;\nSET: setmaxnreg.dec.sync.aligned.u32 40;\nEND:";
    let fault = registers_of(128, 2, body).expect_err("it is wrong");
    assert!(
        fault.site.block.x == 1 && fault.message.contains("by warp 0 once, and by warp 1 of the same warpgroup never"),
        "{fault}"
    );
}

#[test]
fn counts_are_the_same_on_any_number_of_cores() {
    // Of each warp, an instruction that all its lanes skip, and one that some do.
    let text = format!(
        ".visible .entry k(.param .u64 out)\n{{\n{REGISTERS}setp.lt.u32 %p1, %t, 40;\nsetp.lt.u32 %p2, %t, 0;\nadd.u32 %r1, %t, 1;\n@%p1 mad.lo.u32 %r1, %t, %t, %t;\n@%p2 mad.lo.u32 %r1, %t, %t, %t;\nret;\n}}\n"
    );
    let count = |cores| {
        let (report, _) = run(&text, Launch::new(24, 96), cores).unwrap_or_else(|fault| panic!("{fault}"));
        (report.total.class(Class::Integer).warp, report.total.class(Class::Integer).thread)
    };
    // By warps: three adds, and two of the three multiply.
    assert_eq!(count(1), (24 * 5, 24 * (96 + 40)));
    (2..5).for_each(|cores| assert_eq!(count(cores), count(1), "{cores} cores"));
}

#[test]
fn any_number_of_barriers_of_a_warp_orders_its_lanes() {
    for rounds in [1u32, 2, 1023, 1024, 1025, 2048] {
        let text = format!(
            ".visible .entry k(.param .u64 out)\n{{\n.shared .align 4 .b32 row[32];\n{REGISTERS}mov.u32 %r1, row;\nmad.lo.u32 %r2, %t, 4, %r1;\nst.shared.u32 [%r2], %t;\nmov.u32 %r3, 0;\n\
             L: bar.warp.sync -1;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, {rounds};\n@%p1 bra L;\nxor.b32 %r4, %t, 1;\nmad.lo.u32 %r4, %r4, 4, %r1;\nld.shared.u32 %r5, [%r4];\nmul.wide.u32 %d3, %t, 4;\nadd.u64 %d3, %d3, %d1;\nst.global.u32 [%d3], %r5;\nret;\n}}\n"
        );
        for cores in [1, 2] {
            let (_, words) = run(&text, Launch::new(1, 32), cores).unwrap_or_else(|fault| panic!("{rounds}: {fault}"));
            assert_eq!(words[..32], (0..32).map(|t| t ^ 1).collect::<Vec<u32>>(), "{rounds}");
        }
        // Another warp is not ordered by them.
        let wrong = text.replace("xor.b32 %r4, %t, 1;", "xor.b32 %r4, %t, 1;\nand.b32 %r4, %r4, 31;").replace("mov.u32 %t, %tid.x;", "mov.u32 %t, %tid.x;\nand.b32 %t, %t, 31;\nmov.u32 %r9, %tid.x;\nsetp.ge.u32 %p2, %r9, 32;\n@%p2 add.u32 %t, %t, 1;\nand.b32 %t, %t, 31;");
        let fault = run(&wrong, Launch::new(1, 64), 1).expect_err("two warps have one row");
        assert_eq!(fault.kind, FaultKind::Race, "{rounds}: {fault}");
    }
}
