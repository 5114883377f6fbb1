//! From words to operations, where other tests do not look: what an instruction counts as and where it leads, names that stand
//! for numbers, and forms of 16 bits.

use emulator::{Class, Dim3, FaultKind, Launch, Schedule};

use crate::run::Kernel;

/// The text of a kernel as `Kernel` makes it, with declarations before it.
fn declared(declarations: &str, kernel: Kernel) -> Kernel {
    let text = kernel.text.replacen(".visible .entry", &format!("{declarations}\n.visible .entry"), 1);
    Kernel { text, ..kernel }
}

#[test]
fn what_only_hints_counts_once_and_changes_nothing() {
    for (text, class) in [
        ("nanosleep.u32 20;", Class::Move),
        ("prefetch.global.L2 [%in];", Class::Move),
        ("prefetchu.L1 [%in];", Class::Move),
        ("discard.global.L2 [%out+1024], 128;", Class::Move),
        ("applypriority.global.L2::evict_normal [%in], 128;", Class::Move),
        ("pmevent 3;", Class::Move),
        ("cp.async.bulk.prefetch.L2.global [%in], 256;", Class::Move),
        ("createpolicy.fractional.L2::evict_first.b64 %d9, 0f3F800000;", Class::Move),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r9}, [%r50];", Class::SharedLoad),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r50], {%r8};", Class::SharedStore),
    ] {
        // Addresses of rows of matrices in shared memory, all written; the policy of no cache is 0.
        let body = format!(
            "mov.u32 %r50, tile;\nmov.u32 %r8, 7;\nmad.lo.u32 %r51, %t, 4, %r50;\nst.shared.u32 [%r51], %r8;\nand.b32 %r51, %t, 7;\nmad.lo.u32 %r50, %r51, 16, %r50;\n\
             mov.u64 %d9, 0;\nmov.u32 %r9, 7;\nbar.sync 0;\n.loc 1 5 0\n{text}\n.loc 1 6 0\nbar.sync 0;\ncvt.u32.u64 %r10, %d9;\nadd.u32 %r10, %r10, %r9;\n\
             mad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r10;"
        );
        let outcome = Kernel::new(32, &body).run().unwrap_or_else(|fault| panic!("{text}: {fault}"));
        assert_eq!(outcome.words(32), [7; 32], "{text}");
        let counters = &outcome.report.lines.iter().find(|line| line.line == 5).expect("it ran").counters;
        for other in Class::ALL {
            assert_eq!(counters.class(other).warp, u64::from(other == class), "{text}: {other:?}");
        }
    }
    // What a policy is was set: it may be looked at.
    let policy = "createpolicy.fractional.L2::evict_first.b64 %d9, 0f3F800000;\nsetp.eq.u64 %p1, %d9, 5;\n@%p1 trap;\nst.global.u64 [%out], %d9;";
    assert_eq!(Kernel::new(1, policy).words(2), [0, 0]);
}

#[test]
fn names_stand_for_the_numbers_that_the_manual_gives_them() {
    for (text, wanted) in [
        ("mov.u32 %r1, WARP_SZ;", 32),
        ("add.u32 %r1, %t, WARP_SZ;", 32),
        ("mul.lo.u32 %r1, WARP_SZ, WARP_SZ;", 1024),
        ("mov.u32 %r1, %reserved_smem_offset_begin;", 0),
        ("mov.u32 %r1, %reserved_smem_offset_0;", 0),
        ("mov.u32 %r1, %reserved_smem_offset_end;", 0),
    ] {
        assert_eq!(Kernel::new(1, &format!("{text}\nst.global.u32 [%out], %r1;")).words(1), [wanted], "{text}");
    }
}

#[test]
fn a_number_as_an_address_is_the_same_for_every_thread() {
    // Local memory of a block with several rows, whose first lies at 0: whatever registers hold.
    let body = "st.local.u32 [8], %t;\nld.local.u32 %r1, [8];\nld.local.u32 %r2, [mine+8];\nadd.u32 %r1, %r1, %r2;\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r1;";
    let launch = Launch::new(1, Dim3 { x: 2, y: 8, z: 1 });
    let wanted: Vec<u32> = (0..16).map(|t| 2 * t).collect();
    assert_eq!(Kernel::new(16, body).launch(launch).words(16), wanted);
}

#[test]
fn what_a_kernel_wrote_is_not_for_uniform_loads() {
    for (load, wrong) in [("ld.global.u32", false), ("ldu.global.u32", true), ("ld.global.nc.u32", true)] {
        let body = format!(
            "mad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %t;\n{load} %r1, [%d1];\nst.global.u32 [%d1+256], %r1;"
        );
        match (Kernel { zeros: 4096, ..Kernel::new(32, &body) }).run() {
            Ok(outcome) => assert!(!wrong && outcome.words(96)[64..] == (0..32).collect::<Vec<u32>>(), "{load}"),
            Err(fault) => assert!(wrong && fault.kind == FaultKind::Race, "{load}: {fault}"),
        }
    }
}

#[test]
fn numbers_of_sixteen_bits_have_their_sign() {
    let values: [i16; 6] = [0, 1, -1, 7, -300, i16::MIN];
    type Of = fn(i32, i32) -> i32;
    let forms: [(&str, Of); 12] = [
        ("min.s16 %h3, %h1, %h2;", |a, b| a.min(b)),
        ("max.s16 %h3, %h1, %h2;", |a, b| a.max(b)),
        ("add.s16 %h3, %h1, %h2;", |a, b| a + b),
        ("sub.s16 %h3, %h1, %h2;", |a, b| a - b),
        ("neg.s16 %h3, %h1;", |a, _| -a),
        ("shr.s16 %h3, %h1, 3;", |a, _| a >> 3),
        ("shr.u16 %h3, %h1, 3;", |a, _| (a & 0xffff) >> 3),
        ("min.u16 %h3, %h1, %h2;", |a, b| (a & 0xffff).min(b & 0xffff)),
        ("div.s16 %h3, %h1, %h2;", |a, b| if b == 0 { -1 } else { a / b }),
        ("rem.s16 %h3, %h1, %h2;", |a, b| if b == 0 { a } else { a % b }),
        ("mul.hi.s16 %h3, %h1, %h2;", |a, b| (a * b) >> 16),
        ("sad.s16 %h3, %h1, %h2, %h1;", |a, b| (a - b).abs() + a),
    ];
    for (text, of) in forms {
        let pairs: Vec<(i16, i16)> = values.iter().flat_map(|a| values.map(|b| (*a, b))).collect();
        // What division by zero gives is nobody's affair.
        let pairs: Vec<_> = pairs.into_iter().filter(|(_, b)| *b != 0 || !text.starts_with(['d', 'r'])).collect();
        let body: String = pairs
            .iter()
            .enumerate()
            .map(|(n, (a, b))| {
                format!("mov.b16 %h1, {a};\nmov.b16 %h2, {b};\n{text}\ncvt.u32.u16 %r1, %h3;\nst.global.u32 [%out+{}], %r1;\n", 4 * n)
            })
            .collect();
        let wanted: Vec<u32> = pairs.iter().map(|(a, b)| of((*a).into(), (*b).into()) as u32 & 0xffff).collect();
        assert_eq!(Kernel::new(1, &body).words(pairs.len()), wanted, "{text}");
    }
}

#[test]
fn a_comparison_may_be_joined_and_become_a_number() {
    for (boolean, of) in
        [("and", (|a, b| a & b) as fn(bool, bool) -> bool), ("or", |a, b| a | b), ("xor", |a, b| a ^ b)]
    {
        for (negated, p, less) in (0..8).map(|n| (n & 1 == 1, n & 2 == 2, n & 4 == 4)) {
            let body = format!(
                "setp.eq.u32 %p1, {}, 1;\nsetp.eq.u32 %p2, {}, 0;\nmov.s32 %r2, {};\nset.lt.{boolean}.u32.s32 %r1, %r2, 3, {}%p1;\n\
                 set.lt.{boolean}.f32.s32 %f1, %r2, 3, {}%p1;\nst.global.u32 [%out], %r1;\nst.global.f32 [%out+4], %f1;",
                u32::from(p),
                u32::from(p),
                if less { -2 } else { 3 },
                if negated { "!" } else { "" },
                if negated { "!" } else { "" }
            );
            let holds = of(less, p != negated);
            let wanted = if holds { [u32::MAX, 1f32.to_bits()] } else { [0, 0] };
            assert_eq!(Kernel::new(1, &body).words(2), wanted, "{boolean} {negated} {p} {less}");
        }
    }
    // Two halves are compared each by itself; the result may be one number for both, or two.
    let halves = "mov.b32 %r2, 0x3c004000;\nmov.b32 %r3, 0x40003c00;\nset.gt.f16x2.f16x2 %r1, %r2, %r3;\nset.lt.f16x2.f16x2 %r4, %r2, %r3;\nst.global.u32 [%out], %r1;\nst.global.u32 [%out+4], %r4;";
    assert_eq!(Kernel::new(1, halves).words(2), [0x3c00, 0x3c00_0000]);
}

#[test]
fn what_is_flushed_is_zero_where_it_is_compared() {
    // The least subnormal number is more than zero, and with `.ftz` equal to it.
    for (text, wanted) in [
        ("setp.gt.f32 %p1, 0f00000001, %f1;", 1),
        ("setp.gt.ftz.f32 %p1, 0f00000001, %f1;", 0),
        ("setp.eq.ftz.f32 %p1, 0f80000001, %f1;", 1),
        ("setp.eq.f32 %p1, 0f80000001, %f1;", 0),
        ("slct.s32.f32 %r2, 1, 0, 0f80000001;\nsetp.eq.s32 %p1, %r2, 1;", 0),
        ("slct.ftz.s32.f32 %r2, 1, 0, 0f80000001;\nsetp.eq.s32 %p1, %r2, 1;", 1),
        ("slct.ftz.f32.f32 %f2, 0f3F800000, %f1, 0f80000001;\nsetp.gt.f32 %p1, %f2, %f1;", 1),
        ("slct.s32.s32 %r2, 1, 0, 0x80000001;\nsetp.eq.s32 %p1, %r2, 1;", 0),
        ("slct.s32.s32 %r2, 1, 0, 0;\nsetp.eq.s32 %p1, %r2, 1;", 1),
        ("mov.pred %p2, %p15;\nmov.pred %p1, !%p15;", 0),
        ("mov.pred %p1, %p15;", 1),
        ("cvt.f32.f32 %f2, 0f00000001;\nmov.b32 %r2, %f2;\nsetp.eq.u32 %p1, %r2, 1;", 1),
        // The very bits, whatever number they are.
        ("cvt.f32.f32 %f2, 0fFF800001;\nmov.b32 %r2, %f2;\nsetp.eq.u32 %p1, %r2, 0xFF800001;", 1),
        ("cvt.f64.f64 %e2, 0dFFF0000000000001;\nmov.b64 %d2, %e2;\nsetp.eq.u64 %p1, %d2, 0xFFF0000000000001;", 1),
        ("cvt.f64.f64 %e2, 0dBFF8000000000001;\nmov.b64 %d2, %e2;\nsetp.eq.u64 %p1, %d2, 0xBFF8000000000001;", 1),
    ] {
        let body = format!(
            "mov.f32 %f1, 0f00000000;\nsetp.eq.u32 %p15, 1, 1;\n{text}\nselp.u32 %r1, 1, 0, %p1;\nst.global.u32 [%out], %r1;"
        );
        assert_eq!(Kernel::new(1, &body).words(1), [wanted], "{text}");
    }
}

#[test]
fn a_variable_may_begin_with_the_address_of_another() {
    let declarations = ".global .u32 one = 11;\n.global .u32 two = 22;\n.global .u64 at[2] = {two, one};";
    let body = "ld.global.u64 %d1, [at];\nld.global.u64 %d2, [at+8];\nld.u32 %r1, [%d1];\nld.u32 %r2, [%d2];\nst.global.u32 [%out], %r1;\nst.global.u32 [%out+4], %r2;";
    assert_eq!(declared(declarations, Kernel::new(1, body)).words(2), [22, 11]);
}

#[test]
fn a_function_has_one_shared_variable_for_all_its_calls() {
    let declarations = ".func (.param .b32 r) next()\n{ .reg .b32 %q<3>; .shared .align 4 .b32 count; ld.shared.u32 %q1, [count]; add.u32 %q1, %q1, 1;\n\
        st.shared.u32 [count], %q1; st.param.b32 [r], %q1; ret; }\n.func begin()\n{ .reg .b32 %q<3>; ret; }";
    let call = "{ .param .b32 y; call (y), next, (); ld.param.b32 %r1, [y]; }\n";
    // The first call must find a number: all of static shared memory is set to one.
    let body = format!(
        "mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nF: st.shared.u32 [%r2], %r3;\nadd.u32 %r2, %r2, 4;\nsetp.lt.u32 %p1, %r2, 4100;\n@%p1 bra F;\n{call}{call}{call}st.global.u32 [%out], %r1;\n\
         mov.u32 %r4, %total_smem_size;\nst.global.u32 [%out+4], %r4;"
    );
    let words = declared(declarations, Kernel::new(1, &body)).words(2);
    assert_eq!(words, [3, 4100], "the array of the kernel, and one counter behind it");
}

#[test]
fn variables_of_bytes_lie_side_by_side() {
    let declarations = ".shared .b8 s1; .shared .b8 s2; .shared .b8 s3; .const .b8 c1 = 1; .const .b8 c2 = 2; .const .align 4 .b32 c3 = 3;";
    let body = "mov.u32 %r1, s1;\nmov.u32 %r2, s2;\nmov.u32 %r3, s3;\nsub.u32 %r4, %r2, %r1;\nsub.u32 %r5, %r3, %r1;\nst.global.u32 [%out], %r4;\nst.global.u32 [%out+4], %r5;\n\
        ld.const.u8 %r6, [c1];\nld.const.u8 %r7, [c2];\nld.const.u32 %r8, [c3];\nst.global.v2.u32 [%out+8], {%r6, %r7};\nst.global.u32 [%out+16], %r8;";
    assert_eq!(declared(declarations, Kernel::new(1, body)).words(5), [1, 2, 1, 2, 3]);
}

#[test]
fn parameters_end_where_the_last_one_ends() {
    let body = "ld.param.u64 %d1, [b+8];\nst.global.u64 [%out], %d1;";
    let fault = Kernel::new(1, body).fault();
    assert_eq!(fault.kind, FaultKind::OutOfBounds, "{fault}");
    assert!(fault.message.contains("past the end of the kernel's parameters (16 bytes) at offset 16"), "{fault}");
}

#[test]
fn a_body_may_end_without_ret() {
    // Where the lanes of an `if` meet again is at the kernel's very end, or at that of a function; behind it stand others.
    let functions = ".func (.param .b32 r) down (.param .b32 n)\n{ .reg .pred %z; .reg .b32 %q<5>; ld.param.b32 %q1, [n]; mov.u32 %q2, 0; setp.eq.u32 %z, %q1, 0; @%z bra END;\n\
        sub.u32 %q3, %q1, 1; { .param .b32 x; .param .b32 y; st.param.b32 [x], %q3; call (y), down, (x); ld.param.b32 %q2, [y]; }\n add.u32 %q2, %q2, 2;\nEND: st.param.b32 [r], %q2; }";
    let body = "mad.wide.u32 %d1, %t, 4, %out;\nand.b32 %r1, %t, 1;\nsetp.eq.u32 %p1, %r1, 0;\nmov.u32 %r2, 3;\n@%p1 bra EVEN;\n\
        { .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; call (y), down, (x); ld.param.b32 %r3, [y]; }\nbra JOIN;\nEVEN: mov.u32 %r3, 9;\n\
        JOIN:\n.loc 1 7 0\nadd.u32 %r3, %r3, 1;\nst.global.u32 [%d1], %r3;";
    let kernel = declared(functions, Kernel::new(32, body));
    let kernel = Kernel { text: kernel.text.replace("\nret;\n}\n.file", "\n}\n.file"), ..kernel };
    let outcome = kernel.run().unwrap_or_else(|fault| panic!("{fault}\n{}", kernel.text));
    assert_eq!(outcome.words(32), (0..32).map(|t| if t % 2 == 0 { 10 } else { 7 }).collect::<Vec<u32>>());
    let counters = &outcome.report.lines.iter().find(|line| line.line == 7).expect("it ran").counters;
    assert_eq!((counters.class(Class::Integer).warp, counters.class(Class::Integer).thread), (1, 32));
}

#[test]
fn lanes_meet_where_all_their_ways_lead() {
    // How many warp instructions an addition behind two ways is: one where the lanes meet before it.
    let meets = |body: &str| {
        let body = format!(
            "mad.wide.u32 %d1, %t, 4, %out;\nand.b32 %r1, %t, 3;\nmov.u32 %r2, 0;\nsetp.eq.u32 %p1, %r1, 0;\nsetp.eq.u32 %p2, %r1, 1;\n{body}"
        );
        let outcome = Kernel::new(32, &body).run().unwrap_or_else(|fault| panic!("{fault}\n{body}"));
        let counters = &outcome.report.lines.iter().find(|line| line.line == 7).expect("it ran").counters;
        counters.class(Class::Integer).warp
    };
    let add = ".loc 1 7 0\nadd.u32 %r2, %r2, 1;\n.loc 1 8 0\nst.global.u32 [%d1], %r2;\n";
    // An inner `if` in one of two branches that both end the kernel.
    let inner = format!(
        "@%p1 bra ELSE;\n@%p2 bra A;\nadd.u32 %r2, %r2, 5;\nbra J;\nA: add.u32 %r2, %r2, 6;\nJ:\n{add}ret;\nELSE: st.global.u32 [%d1], %r1;"
    );
    assert_eq!(meets(&inner), 1);
    // Of those who jump aside some come back, and some end: not all ways lead to where they come back.
    let early = format!(
        "@%p1 bra ASIDE;\nBACK:\n{add}ret;\nASIDE: setp.eq.u32 %p3, %t, 0;\n@%p3 ret;\nadd.u32 %r2, %r2, 5;\nbra BACK;"
    );
    assert_eq!(meets(&early), 2);
    let both = format!(
        "@%p1 bra ASIDE;\nBACK:\n{add}ret;\nASIDE: setp.eq.u32 %p3, %t, 0;\n@%p3 add.u32 %r2, %r2, 5;\nbra BACK;"
    );
    assert_eq!(meets(&both), 1);
}

#[test]
fn a_register_lives_through_all_rounds_of_a_loop() {
    // `%r10` is read at the head of the loop alone, others only behind; each must keep what it holds.
    let keeps: String = (10..18).map(|n| format!("mov.u32 %r{n}, {};\n", 100 * n)).collect();
    let uses: String = (10..18).map(|n| format!("add.u32 %r2, %r2, %r{n};\n")).collect();
    let others: String =
        (30..60).map(|n| format!("add.u32 %r{n}, %r{}, %r3;\n", if n == 30 { 3 } else { n - 1 })).collect();
    let body = format!(
        "{keeps}mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nHEAD: setp.eq.u32 %p1, %r3, 2;\n@%p1 bra SIDE;\nNEXT: {uses}{others}add.u32 %r3, %r3, 1;\nsetp.eq.u32 %p2, %r3, 5;\n@%p2 bra DONE;\n\
         bra LATCH;\nSIDE: add.u32 %r2, %r2, 1;\nbra NEXT;\nLATCH: {others}setp.ne.u32 %p3, %r59, 7777;\n@%p3 bra HEAD;\nDONE: st.global.u32 [%out], %r2;"
    );
    assert_eq!(Kernel::new(1, &body).words(1), [5 * (10..18).map(|n| 100 * n).sum::<u32>() + 1]);
}

#[test]
fn a_guard_of_a_barrier_is_the_register_that_it_names() {
    // Predicates before it are dead by then; another one is set before and behind it.
    for (first, last) in [(1, 8), (3, 9), (9, 1)] {
        let dead: String =
            (10..15).map(|n| format!("setp.eq.u32 %p{n}, %t, {n};\n@%p{n} add.u32 %r9, %r9, 1;\n")).collect();
        let body = format!(
            "mov.u32 %r9, 0;\n{dead}setp.lt.u32 %p{first}, %t, 64;\nsetp.ge.u32 %p{last}, %t, 64;\nmov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nst.shared.u32 [%r101], %t;\n\
             @%p{first} barrier.sync 1, 64;\n@%p{last} bra END;\nxor.b32 %r1, %t, 32;\nmad.lo.u32 %r101, %r1, 4, %r100;\nld.shared.u32 %r2, [%r101];\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r2;\nEND:"
        );
        for schedule in Schedule::ALL {
            let kernel = Kernel::new(96, &body).launch(Launch::new(1, 96).schedule(schedule));
            assert_eq!(kernel.words(64), (0..64).map(|t| t ^ 32).collect::<Vec<u32>>(), "{first} {last} {schedule}");
        }
    }
}

#[test]
fn lines_are_those_of_the_file_that_they_name() {
    let files: String = [7, 3, 12, 5, 9, 4, 20, 2].iter().map(|n| format!(".file {n} \"f{n}.cu\"\n")).collect();
    let body: String = [9, 2, 20, 3, 12, 7]
        .iter()
        .map(|n| format!(".loc {n} {} 0\nst.global.u32 [%out+{}], %t;\n", 100 + n, 4 * n))
        .collect();
    let kernel = Kernel::new(1, &body);
    let outcome = Kernel { text: kernel.text + &files, ..kernel }.run().expect("it is right");
    let lines: Vec<(String, u32)> = outcome
        .report
        .lines
        .iter()
        .filter(|line| line.counters.class(Class::GlobalStore).warp > 0)
        .map(|line| (line.file.to_string(), line.line))
        .collect();
    let wanted: Vec<(String, u32)> = [2u32, 3, 7, 9, 12, 20].map(|n| (format!("f{n}.cu"), 100 + n)).into();
    assert_eq!(lines, wanted);
}

#[test]
fn pointers_lead_to_functions_that_nobody_calls_by_name() {
    // Neither takes or gives anything, nor has a frame; both leave the caller's registers alone.
    let functions = ".global .align 4 .b32 trail;\n\
        .func ten()\n{ .reg .b32 %q<3>; .reg .b64 %w; ld.global.u32 %q1, [trail]; mov.u64 %w, 0; cvt.u32.u64 %q2, %w; add.u32 %q1, %q1, 10; add.u32 %q1, %q1, %q2; st.global.u32 [trail], %q1; ret; }\n\
        .func seven()\n{ .reg .b32 %q<3>; ld.global.u32 %q1, [trail]; mul.lo.u32 %q1, %q1, 7; st.global.u32 [trail], %q1; ret; }";
    let keeps: String = (20..40).map(|n| format!("mov.u64 %d{n}, {};\n", 3 * n)).collect();
    let sums: String = (20..40).map(|n| format!("add.u64 %d1, %d1, %d{n};\n")).collect();
    for list in ["P: .callprototype _ ();", "P: .calltargets ten, seven;"] {
        let body = format!(
            "{list}\nmov.u64 %d1, 0;\n{keeps}mov.u64 %d2, ten;\nmov.u64 %d3, seven;\ncall %d2, P;\ncall %d3, P;\ncall %d2, P;\n{sums}\
             ld.global.u32 %r1, [trail];\nst.global.u32 [%out], %r1;\nst.global.u64 [%out+8], %d1;"
        );
        let words = declared(functions, Kernel { zeros: 16, ..Kernel::new(1, &body) }).words(4);
        assert_eq!((words[0], words[2]), (80, (20..40).map(|n| 3 * n).sum()), "{list}");
    }
}

#[test]
fn a_called_function_may_take_a_short_address_of_its_own() {
    let functions = ".func (.param .b32 r) sum (.param .b32 n)\n{ .reg .pred %z; .reg .b32 %q<9>; .local .align 4 .b32 kept; ld.param.b32 %q1, [n]; mov.u32 %q2, kept; st.local.u32 [%q2], %q1; mov.u32 %q4, 0;\n\
        setp.eq.u32 %z, %q1, 0; @%z bra END; sub.u32 %q3, %q1, 1; { .param .b32 x; .param .b32 y; st.param.b32 [x], %q3; call (y), sum, (x); ld.param.b32 %q4, [y]; }\n\
        END: ld.local.u32 %q5, [%q2]; add.u32 %q4, %q4, %q5; st.param.b32 [r], %q4; ret; }";
    let body = "{ .param .b32 x; .param .b32 y; st.param.b32 [x], 6; call (y), sum, (x); ld.param.b32 %r3, [y]; }\nst.global.u32 [%out], %r3;";
    assert_eq!(declared(functions, Kernel::new(1, body)).words(1), [21]);
}

#[test]
fn blocks_race_by_a_variable_of_the_module_though_one_only_reads() {
    for (readers, writers) in [("eq", "ne"), ("ne", "eq")] {
        let body = format!(
            "setp.{readers}.u32 %p1, %block, 0;\nsetp.{writers}.u32 %p2, %block, 0;\nmov.u32 %r1, 9;\n@%p1 ld.global.u32 %r2, [shared_by_all];\n@%p2 st.global.u32 [shared_by_all], %r1;"
        );
        for schedule in Schedule::ALL {
            let kernel = Kernel::new(1, &body).launch(Launch::new(2, 1).schedule(schedule));
            let fault = declared(".global .u32 shared_by_all = 4;", kernel).fault();
            assert_eq!(fault.kind, FaultKind::Race, "{schedule}: {fault}");
        }
    }
}

#[test]
fn a_pointer_may_be_loaded_from_a_parameter_by_its_address() {
    // The second parameter, found by arithmetic: blocks race through it.
    let body = "mov.u64 %d0, a;\nadd.u64 %d0, %d0, 8;\nld.param.u64 %d1, [%d0];\nmov.u32 %r1, %block;\nst.global.u32 [%d1], %r1;";
    let text = ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b)\n{\n.reg .b64 %d<4>; .reg .b32 %r1;\nmov.u64 %d0, a;\nadd.u64 %d0, %d0, 8;\nld.param.u64 %d1, [%d0];\nmov.u32 %r1, %ctaid.x;\nst.global.u32 [%d1], %r1;\nret;\n}\n";
    let kernel = Kernel::new(1, body).launch(Launch::new(2, 1));
    assert_eq!(Kernel { text: text.to_string(), ..kernel }.fault().kind, FaultKind::Race);
}

#[test]
fn a_variable_within_a_kernel_may_begin_with_an_address_too() {
    let body = ".global .u64 inner[2] = {two, one};\nld.global.u64 %d1, [inner];\nld.global.u64 %d2, [inner+8];\nld.u32 %r1, [%d1];\nld.u32 %r2, [%d2];\nst.global.u32 [%out], %r1;\nst.global.u32 [%out+4], %r2;";
    let kernel = declared(".global .u32 one = 11;\n.global .u32 two = 22;", Kernel::new(1, body));
    assert_eq!(kernel.words(2), [22, 11]);
}

#[test]
fn a_pointer_that_goes_backwards_in_the_text_is_still_of_its_array() {
    // `%r4` is a copy of what is set behind it.
    let body = ".shared .align 4 .b8 one[64];\n.shared .align 4 .b8 other[64];\nmov.u32 %r5, 1;\nbra SET;\nUSE: mov.u32 %r4, %r3;\nst.shared.u32 [%r4+64], %r5;\nbra END;\nSET: mov.u32 %r3, one;\nbra USE;\nEND: mov.u32 %r6, other;";
    let fault = Kernel::new(1, body).fault();
    assert!(fault.message.contains("past the end of one (shared memory, 64 bytes) at offset 64"), "{fault}");
}

#[test]
fn packed_halves_are_compared_into_numbers_of_sixteen_bits() {
    let halves = "mov.b32 %r2, 0x3c004000;\nmov.b32 %r3, 0x40003c00;\nset.gt.u32.f16x2 %r1, %r2, %r3;\nset.lt.s32.f16x2 %r4, %r2, %r3;\nst.global.u32 [%out], %r1;\nst.global.u32 [%out+4], %r4;";
    assert_eq!(Kernel::new(1, halves).words(2), [0xffff, 0xffff_0000]);
}

#[test]
fn all_registers_of_a_fragment_may_be_looked_at() {
    // The old format has eight for A, whatever they hold.
    let names: Vec<String> = (10..18).map(|n| format!("%r{n}")).collect();
    let uses: String = names.iter().map(|name| format!("setp.eq.u32 %p1, {name}, 12345;\n@%p1 trap;\n")).collect();
    let body = format!("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {{{}}}, [%in];\n{uses}", names.join(", "));
    if let Err(fault) = Kernel::new(32, &body).run() {
        panic!("{fault}");
    }
}

#[test]
fn a_count_of_bits_wraps_round() {
    let body = "mov.b32 %r1, -1;\nmov.b32 %r2, 0x7fffffff;\nwmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%r3, %r4}, {%r1}, {%r1}, {%r2, %r2};\n\
        mad.wide.u32 %d1, %t, 8, %out;\nst.global.v2.u32 [%d1], {%r3, %r4};";
    assert_eq!(Kernel::new(32, body).words(64), [0x7fff_ffff + 128; 64]);
}

#[test]
fn a_sum_of_another_type_keeps_its_place() {
    // D of f16 from C of f32: element by element, each another number.
    let registers = |letter: char, from: usize, count: usize| {
        (from..from + count).map(|n| format!("%{letter}{n}")).collect::<Vec<_>>().join(", ")
    };
    let body = format!(
        "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {{{c}}}, [%in];\nmov.b32 %r1, 0;\nwmma.mma.sync.aligned.row.col.m16n16k16.f16.f32 {{{d}}}, {{{z}}}, {{{z}}}, {{{c}}};\nwmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%out], {{{d}}};",
        c = registers('f', 0, 8),
        d = registers('r', 20, 4),
        z = ["%r1"; 8].join(", ")
    );
    let input: Vec<u8> = (0..256).flat_map(|n| (n as f32).to_bits().to_le_bytes()).chain([0; 3072]).collect();
    let words = Kernel::new(32, &body).input(input).words(128);
    let half = |n: u32| {
        if n == 0 {
            0
        } else {
            let e = 31 - n.leading_zeros();
            (e + 15) << 10 | (n << (10 - e)) & 0x3ff
        }
    };
    let wanted: Vec<u32> = (0..128).map(|n| half(2 * n + 1) << 16 | half(2 * n)).collect();
    assert_eq!(words, wanted);
}

#[test]
fn a_time_limit_is_a_number_that_somebody_set() {
    let body = |hint: &str| {
        format!(
            "mov.u32 %r1, tile;\nmov.u32 %r2, 1;\nmbarrier.init.shared.b64 [%r1], %r2;\nmbarrier.arrive.shared.b64 %d1, [%r1];\n{hint}\nW: mbarrier.try_wait.shared.b64 %p1, [%r1], %d1, %r3;\n@!%p1 bra W;"
        )
    };
    assert!(Kernel::new(1, &body("mov.u32 %r3, 1000;")).run().is_ok());
    assert_eq!(Kernel::new(1, &body("ld.shared.u32 %r3, [tile+64];")).fault().kind, FaultKind::Uninitialised);
}

#[test]
fn a_fence_of_barriers_is_none_of_what_copies_read() {
    let body = |fence: &str| {
        format!(
            "mov.u32 %r1, tile;\nmov.u32 %r2, 7;\nst.shared.v4.u32 [%r1], {{%r2, %r2, %r2, %r2}};\n{fence}\ncp.async.bulk.global.shared::cta.bulk_group [%out], [%r1], 16;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;"
        )
    };
    assert!(Kernel::new(1, &body("fence.proxy.async;")).run().is_ok());
    for fence in ["", "fence.mbarrier_init.release.cluster;"] {
        assert_eq!(Kernel::new(1, &body(fence)).fault().kind, FaultKind::Race, "{fence}");
    }
}

#[test]
fn a_nan_stays_one_where_numbers_stop_at_the_largest() {
    // But for rounding away from zero, which takes it for a number beyond infinity.
    for nan in ["0f7F802000", "0fFF802000", "0f7FFFFFFF"] {
        let body = format!("mov.f32 %f1, {nan};\ncvt.rn.satfinite.tf32.f32 %r1, %f1;\nst.global.u32 [%out], %r1;");
        let kernel = Kernel::new(1, &body);
        let text = kernel.text.replace(".target sm_90", ".target sm_100");
        let launch = kernel.launch.architecture(100);
        let words = Kernel { text, launch, ..kernel }.words(1);
        assert!(words[0] & 0x7fff_ffff > 0x7f80_0000, "{nan}: {:x}", words[0]);
    }
}

#[test]
fn sums_of_two_widths_are_counted_as_sums() {
    for (text, flops) in [
        ("fma.rn.f32.f16 %f2, %h1, %h1, %f1;", 2),
        ("fma.rn.f32.bf16 %f2, %h1, %h1, %f1;", 2),
        ("add.rn.f32.f16 %f2, %h1, %f1;", 1),
        ("sub.rz.f32.f16 %f2, %h1, %f1;", 1),
    ] {
        let kernel = Kernel::new(
            32,
            &format!("mov.f32 %f1, 0f3F800000;\nmov.b16 %h1, 0x3c00;\n.loc 1 5 0\n{text}\n.loc 1 6 0\nmov.u32 %r1, 1;"),
        );
        let text = kernel.text.replace(".target sm_90", ".target sm_100");
        let outcome = Kernel { text, launch: kernel.launch.architecture(100), ..kernel }.run().expect("it is right");
        let counters = &outcome.report.lines.iter().find(|line| line.line == 5).expect("it ran").counters;
        assert_eq!((counters.class(Class::FloatF32).warp, counters.flops_f32), (1, 32 * flops));
    }
}
