//! Ways through a kernel: guards of whatever they guard, tables of targets, calls, comparisons that are joined, votes.

use emulator::{AccessKind, Argument, Device, FaultKind, Launch, Memory, Module};

use crate::dice::Dice;
use crate::run::Kernel;

/// What each of 32 lanes leaves in `%r0`.
fn lanes(body: &str) -> Vec<u32> {
    Kernel::new(32, &format!("{body}\nmad.wide.u32 %d90, %t, 4, %out;\nst.global.u32 [%d90], %r0;")).words(32)
}

#[test]
fn comparisons_are_joined_with_another_predicate() {
    for (join, of) in
        [("and", (|c, q| c && q) as fn(bool, bool) -> bool), ("or", |c, q| c || q), ("xor", |c, q| c != q)]
    {
        for negated in [false, true] {
            let not = if negated { "!" } else { "" };
            for (kind, test) in
                [("u32", "lt"), ("s32", "lt"), ("u64", "lt"), ("f32", "lt"), ("b32", "eq"), ("f64", "ge")]
            {
                // Bit 0 of the lane decides the comparison, bit 1 the other predicate.
                let body = format!(
                    "and.b32 %r1, %t, 1;\nand.b32 %r2, %t, 2;\nsetp.ne.u32 %p5, %r2, 0;\nmov.u32 %r3, 1;\ncvt.u64.u32 %d1, %r1;\nmov.u64 %d3, 1;\ncvt.rn.f32.u32 %f1, %r1;\nmov.f32 %f3, 0f3F800000;\n\
                     cvt.rn.f64.u32 %e1, %r1;\nmov.f64 %e3, 0d3FF0000000000000;\nsetp.{test}.{join}.{kind} %p1|%p2, %{0}1, %{0}3, {not}%p5;\nselp.u32 %r0, 1, 0, %p1;\nselp.u32 %r4, 2, 0, %p2;\nadd.u32 %r0, %r0, %r4;",
                    match kind {
                        "u64" => 'd',
                        "f32" => 'f',
                        "f64" => 'e',
                        _ => 'r',
                    }
                );
                let wanted: Vec<u32> = (0..32u32)
                    .map(|lane| {
                        let (a, q) = (lane & 1, (lane & 2 != 0) != negated);
                        let holds = match test {
                            "lt" => a < 1,
                            "eq" => a == 1,
                            _ => a >= 1,
                        };
                        u32::from(of(holds, q)) + 2 * u32::from(of(!holds, q))
                    })
                    .collect();
                assert_eq!(lanes(&body), wanted, "setp.{test}.{join}.{kind} {not}");
            }
        }
    }
}

#[test]
fn a_guard_keeps_out_whatever_it_guards() {
    for (text, on, off) in [
        ("mov.u32 %r0, 7;", 7, 1),
        ("bra THERE;\nmov.u32 %r0, 8;\nTHERE:", 1, 8),
        ("ret;\nmov.u32 %r0, 9;", u32::MAX, 9),
        ("exit;\nmov.u32 %r0, 9;", u32::MAX, 9),
        ("ld.global.u32 %r0, [%in];", 5, 1),
        ("st.shared.u32 [tile], %t;", 1, 1),
        ("brx.idx %r5, TABLE;\nmov.u32 %r0, 30;\nONE: add.u32 %r0, %r0, 1;\nTWO: add.u32 %r0, %r0, 1;", 2, 32),
        ("vote.sync.any.pred %p3, %p2, %r6;\nselp.u32 %r0, 4, 3, %p3;", 4, 3),
    ] {
        for negated in [false, true] {
            let guard = if negated { "@!%p2 " } else { "@%p2 " };
            let text = text.replace("%p2, %r6", if negated { "!%p2, %r6" } else { "%p2, %r6" });
            let body = format!(
                "TABLE: .branchtargets ONE, TWO;\nsetp.ge.u32 %p2, %t, 12;\nselp.b32 %r6, 0xfffff000, 0x00000fff, %p2;\nsetp.ne.u32 %p3, %t, %t;\nmov.u32 %r0, 1;\nmov.u32 %r5, 1;\nmov.u32 %r10, 0xffffffff;\nmad.wide.u32 %d90, %t, 4, %out;\nst.global.u32 [%d90], %r10;\n{guard}{text}\n"
            );
            let body =
                if text.contains("TABLE;") { body } else { body.replace("TABLE: .branchtargets ONE, TWO;\n", "") };
            let mut kernel = Kernel::new(32, &format!("{body}\nst.global.u32 [%d90], %r0;"));
            kernel.input = 5u32.to_le_bytes().repeat(8);
            let kernel = Kernel { launch: kernel.launch.sanitize(false), ..kernel };
            let wanted: Vec<u32> = (0..32).map(|lane| if (lane >= 12) != negated { on } else { off }).collect();
            assert_eq!(kernel.words(32), wanted, "{guard}{text}");
        }
    }
    let trap = Kernel::new(32, "setp.eq.u32 %p1, %t, 9;\n@%p1 trap;").fault();
    assert_eq!((trap.kind, trap.site.lane), (FaultKind::Trap, 9), "{trap}");
    assert!(Kernel::new(32, "setp.eq.u32 %p1, %t, 99;\n@%p1 trap;").run().is_ok());
}

#[test]
fn a_call_under_a_guard_is_made_by_those_whom_it_lets_through() {
    for (guard, of) in [("", (|_| true) as fn(u32) -> bool), ("@%p1 ", |t| t < 10), ("@!%p1 ", |t| t >= 10)] {
        let body = format!(
            "setp.lt.u32 %p1, %t, 10;\nadd.u32 %r1, %t, 5;\nmov.u32 %r0, 3;\n{{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1;\nst.param.b32 [y], %r0;\n{guard}call (y), twice, (x);\nld.param.b32 %r0, [y]; }}"
        );
        let kernel = Kernel::new(32, &format!("{body}\nmad.wide.u32 %d90, %t, 4, %out;\nst.global.u32 [%d90], %r0;"));
        let function = ".func (.param .b32 r) twice (.param .b32 x)\n{ .reg .b32 %q<3>; .reg .pred %z; ld.param.b32 %q1, [x]; setp.eq.u32 %z, %q1, 20; add.u32 %q2, %q1, %q1; @%z mov.u32 %q2, 1; st.param.b32 [r], %q2; ret; }\n.visible";
        let text = kernel.text.replacen(".visible", function, 1);
        let wanted: Vec<u32> = (0..32)
            .map(|t| {
                if !of(t) {
                    3
                } else if t == 15 {
                    1
                } else {
                    2 * (t + 5)
                }
            })
            .collect();
        assert_eq!(Kernel { text, ..kernel }.words(32), wanted, "{guard}");
    }
}

#[test]
fn a_table_has_as_many_places_as_it_names() {
    for count in [1u32, 2, 3, 5, 8, 9] {
        let names: Vec<String> = (0..count).map(|n| format!("L{n}")).collect();
        let places: String = (0..count).map(|n| format!("L{n}: mov.u32 %r0, {};\nbra END;\n", 100 + n)).collect();
        let body = format!("TABLE: .branchtargets {};\nbrx.idx %t, TABLE;\n{places}END:", names.join(", "));
        let wanted: Vec<u32> = (0..32).map(|t| 100 + t.min(count - 1)).collect();
        assert_eq!(lanes(&body), wanted, "{count} places; beyond them, the last");
    }
}

#[test]
fn lanes_that_agree_find_each_other() {
    let mut dice = Dice::new(77);
    for _ in 0..40 {
        let (shift, members, add) = (
            dice.roll(5),
            [0xffff_ffffu32, 0x0fff_fff0, 0x8000_0001, 0x5555_5555][dice.roll(4) as usize],
            dice.roll(2),
        );
        let value = |lane: u32| (u64::from(lane) >> shift) + add * u64::from(lane == 0) + (1 << 32);
        for (kind, wide) in [("b32", false), ("b64", true)] {
            let register = if wide { "%d1" } else { "%r2" };
            let body = |what: &str| {
                format!(
                    "mov.u32 %r5, {members};\nmov.u32 %r0, 0;\nshr.u32 %r3, %r5, %t;\nand.b32 %r3, %r3, 1;\nsetp.eq.u32 %p1, %r3, 0;\nshr.u32 %r2, %t, {shift};\nsetp.eq.u32 %p2, %t, 0;\n@%p2 add.u32 %r2, %r2, {add};\n\
                     cvt.u64.u32 %d1, %r2;\nadd.u64 %d1, %d1, 0x100000000;\nsetp.ne.u32 %p3, %t, %t;\n@%p1 bra END;\n{what}\nEND:"
                )
            };
            let in_group = |lane: u32| members >> lane & 1 == 1;
            let same = |lane: u32| {
                (0..32)
                    .filter(|other| in_group(*other) && value(*other) == value(lane))
                    .fold(0u32, |all, n| all | 1 << n)
            };
            let any = lanes(&body(&format!("match.any.sync.{kind} %r0, {register}, %r5;")));
            let all = lanes(&body(&format!(
                "match.all.sync.{kind} %r0|%p3, {register}, %r5;\nselp.u32 %r9, 0, 7, %p3;\nadd.u32 %r0, %r0, %r9;"
            )));
            for lane in 0..32u32 {
                let (wanted_any, agree) = (same(lane), same(lane) == members);
                let wanted_all = if agree { members } else { 7 };
                let wanted = if in_group(lane) { (wanted_any, wanted_all) } else { (0, 0) };
                assert_eq!(
                    (any[lane as usize], all[lane as usize]),
                    wanted,
                    "{kind} >> {shift} + {add}, of {members:#x}, lane {lane}"
                );
            }
        }
    }
}

#[test]
fn stores_of_one_value_are_no_race_and_of_two_are() {
    for (space, base) in [("shared", "tile"), ("global", "%out")] {
        for watch in ["", "bar.sync 3, 64;\n"] {
            for (values, race) in [
                ("mov.u32 %r1, 9;\n", None),
                ("mov.u32 %r1, %t;\n", Some((1, 0))),
                ("mov.u32 %r1, 9;\nsetp.eq.u32 %p1, %t, 40;\n@%p1 mov.u32 %r1, 265;\n", Some((40, 0))),
            ] {
                let body = format!(
                    "{values}mov.u32 %r2, 0;\nst.{space}.u8 [{base}+100], %r2;\nst.{space}.u32 [{base}+4], %r1;\n{watch}bar.sync 0;\nld.{space}.u32 %r4, [{base}+4];\nadd.u32 %r4, %r4, 1;\nsetp.eq.u32 %p2, %t, 0;\n@%p2 st.global.u32 [%out+64], %r4;"
                );
                let name = format!("{space} {values} {watch}");
                match (Kernel::new(64, &body).run(), race) {
                    (Ok(outcome), None) => assert_eq!(outcome.bytes[64], Some(10), "{name}"),
                    (Err(fault), Some((now, before))) => {
                        assert_eq!(fault.kind, FaultKind::Race, "{name}: {fault}");
                        let parties = (fault.site.thread.x, fault.other.as_ref().expect("two").1.thread.x);
                        // Of many stores of the one value, any may stand for them.
                        assert_eq!(parties.0, now, "{name}: {fault}");
                        assert!(parties.1 == before || now == 40 && parties.1 < 40, "{name}: {fault}");
                        assert!(fault.message.contains("store by thread"), "{name}: {fault}");
                        let at = if now == 40 { [4, 5].as_slice() } else { &[4] };
                        assert!(
                            at.iter().any(|at| fault.message.contains(&format!("at offset {at}:"))),
                            "{name}: {fault}"
                        );
                    }
                    (Ok(_), Some(_)) => panic!("{name} races"),
                    (Err(fault), None) => panic!("{name}: {fault}"),
                }
            }
        }
    }
}

#[test]
fn a_trace_shows_the_rows_of_matrices() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<9>, %t;\n.shared .align 16 .b8 tile[512];\nmov.u32 %t, %tid.x;\nmov.u32 %r1, tile;\nmad.lo.u32 %r2, %t, 16, %r1;\n\
        mov.u32 %r3, 0;\nst.shared.v4.u32 [%r2], {%r3, %r3, %r3, %r3};\nbar.sync 0;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2];\nldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];\nbar.sync 0;\n\
        stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r2], {%r4, %r5};\nret;\n}";
    let kernel = Module::parse(text).and_then(|module| module.kernel("k")).expect("it is right");
    let trace = Device::new().trace(&kernel, Launch::new(1, 32), &[] as &[Argument], |_| true).expect("it is right");
    let notes: Vec<_> = trace.accesses.iter().map(|a| (a.kind, a.memory, a.bytes, a.lanes.len(), a.phase)).collect();
    let wanted =
        [(AccessKind::Store, 32, 0), (AccessKind::Load, 8, 1), (AccessKind::Load, 32, 1), (AccessKind::Store, 16, 2)];
    assert_eq!(notes, wanted.map(|(kind, lanes, phase)| (kind, Memory::Shared, 16, lanes, phase)));
    for access in &trace.accesses {
        for (n, lane) in access.lanes.iter().enumerate() {
            assert_eq!((lane.lane, lane.offset, lane.thread.x), (n as u32, 16 * n as u64, n as u32));
        }
    }
}

#[test]
fn one_lane_may_meet_itself() {
    for lane in [0u32, 1, 31] {
        for (text, value) in [
            ("vote.sync.ballot.b32 %r0, %p1, %r5;", 1 << lane),
            ("shfl.sync.idx.b32 %r0, %r6, %t, 31, %r5;", 70 + lane),
            ("match.any.sync.b32 %r0, %r6, %r5;", 1 << lane),
            ("redux.sync.add.u32 %r0, %r6, %r5;", 70 + lane),
            ("elect.sync %r0|%p2, %r5;", lane),
        ] {
            let body = format!(
                "setp.eq.u32 %p1, %t, {lane};\nmov.u32 %r5, {};\nmov.u32 %r0, 5;\nadd.u32 %r6, %t, 70;\n@%p1 {text}",
                1u32 << lane
            );
            let wanted: Vec<u32> = (0..32).map(|n| if n == lane { value } else { 5 }).collect();
            assert_eq!(lanes(&body), wanted, "{text} by lane {lane}");
        }
    }
}

#[test]
fn who_meets_at_two_instructions_has_two_results() {
    for (text, value) in [
        ("vote.sync.ballot.b32 RESULT, %p2, %r5;", (|_| 0xffff_ff00) as fn(u32) -> u32),
        ("shfl.sync.bfly.b32 RESULT, %r6, 1, 31, %r5;", |t| 70 + (t ^ 1)),
        ("redux.sync.max.u32 RESULT, %r6, %r5;", |_| 101),
        ("match.any.sync.b32 RESULT, %r7, %r5;", |t| if t < 8 { 0xff } else { 0xffff_ff00 }),
    ] {
        let body = format!(
            "and.b32 %r1, %t, 1;\nsetp.eq.u32 %p1, %r1, 1;\nsetp.ge.u32 %p2, %t, 8;\nselp.u32 %r7, 1, 2, %p2;\nmov.u32 %r5, 0xffffffff;\nadd.u32 %r6, %t, 70;\nmov.u32 %r10, 11;\nmov.u32 %r11, 13;\n\
             @%p1 bra ODD;\n{}\nbra JOIN;\nODD: {}\nJOIN: mad.wide.u32 %d1, %t, 8, %out;\nst.global.v2.u32 [%d1], {{%r10, %r11}};",
            text.replace("RESULT", "%r10"),
            text.replace("RESULT", "%r11")
        );
        let wanted: Vec<u32> = (0..32).flat_map(|t| if t % 2 == 1 { [11, value(t)] } else { [value(t), 13] }).collect();
        assert_eq!(Kernel::new(32, &body).words(64), wanted, "{text}");
    }
}

#[test]
fn hints_of_caches_change_nothing() {
    for text in [
        "ld.global.L1::no_allocate.u32 %r0, [%d1];",
        "ld.global.L1::evict_last.L2::128B.u32 %r0, [%d1];",
        "ld.global.L2::256B.u32 %r0, [%d1];",
        "ld.global.nc.L1::no_allocate.L2::64B.u32 %r0, [%d1];",
        "ld.global.ca.u32 %r0, [%d1];",
        "ld.global.cg.u32 %r0, [%d1];",
        "ld.global.cs.u32 %r0, [%d1];",
        "ld.global.lu.u32 %r0, [%d1];",
        "ld.global.cv.u32 %r0, [%d1];",
        "ldu.global.u32 %r0, [%d1];",
        "ld.weak.global.u32 %r0, [%d1];",
        "st.global.L1::evict_first.u32 [%d2], %r1;\nld.global.u32 %r0, [%d2];",
        "st.global.wb.u32 [%d2], %r1;\nld.global.u32 %r0, [%d2];",
        "st.global.wt.u32 [%d2], %r1;\nld.global.u32 %r0, [%d2];",
    ] {
        let body = format!(
            "mad.wide.u32 %d1, %t, 4, %in;\nmad.wide.u32 %d2, %t, 4, %out;\nadd.u64 %d2, %d2, 1024;\nadd.u32 %r1, %t, 500;\n{text}\nmad.wide.u32 %d90, %t, 4, %out;\nst.global.u32 [%d90], %r0;"
        );
        let kernel = Kernel::new(32, &body).input((500..532u32).flat_map(u32::to_le_bytes).collect());
        assert_eq!(kernel.words(32), (500..532).collect::<Vec<u32>>(), "{text}");
    }
}

#[test]
fn a_trace_knows_the_first_line_and_copies_of_a_byte() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"a.cu\"\n.visible .entry k(.param .u64 a)\n{\n.reg .b32 %r<9>; .reg .b64 %d<9>;\n.shared .align 16 .b8 tile[512];\nld.param.u64 %d1, [a];\nmov.u32 %r1, %tid.x;\nmov.u32 %r3, tile;\nmad.lo.u32 %r2, %r1, 4, %r3;\n\
        .loc 1 1 0\nld.global.u32 %r4, [%d1];\n.loc 1 2 0\ncp.async.ca.shared.global [%r2], [%d1], 4, %r1;\n.loc 1 3 0\ncp.async.wait_all;\nret;\n}";
    let kernel = Module::parse(text).and_then(|module| module.kernel("k")).expect("it is right");
    let mut device = Device::new();
    let input = device.alloc("in", 16);
    device.write(input, &[1; 16]).expect("it fits");
    let trace = device.trace(&kernel, Launch::new(1, 3), &[Argument::Buffer(input)], |_| true).expect("it is right");
    let notes: Vec<_> = trace
        .accesses
        .iter()
        .map(|a| (a.source.as_ref().map(|(_, line)| *line), a.kind, a.memory, a.lanes.len()))
        .collect();
    // Lane 0 copies no byte: it reads nothing.
    let wanted = [
        (Some(1), AccessKind::Load, Memory::Global, 3),
        (Some(2), AccessKind::Load, Memory::Global, 2),
        (Some(2), AccessKind::Store, Memory::Shared, 3),
    ];
    assert_eq!(notes, wanted);
}

#[test]
fn a_function_of_three_may_be_joined_with_a_predicate() {
    for (join, of) in [("and", (|c, q| c && q) as fn(bool, bool) -> bool), ("or", |c, q| c || q)] {
        for (table, function) in [
            (0x80u8, (|a, b, c| a & b & c) as fn(u32, u32, u32) -> u32),
            (0x96, |a, b, c| a ^ b ^ c),
            (0xca, |a, b, c| a & b | !a & c),
        ] {
            for negated in [false, true] {
                let not = if negated { "!" } else { "" };
                let body = format!(
                    "and.b32 %r1, %t, 3;\nshr.u32 %r2, %t, 1;\nand.b32 %r2, %r2, 3;\nshr.u32 %r3, %t, 2;\nand.b32 %r3, %r3, 3;\nand.b32 %r4, %t, 16;\nsetp.ne.u32 %p5, %r4, 0;\n\
                     lop3.{join}.b32 %r5|%p1, %r1, %r2, %r3, {table}, {not}%p5;\nselp.u32 %r6, 16, 0, %p1;\nadd.u32 %r0, %r5, %r6;\nlop3.{join}.b32 _|%p2, %r1, %r2, %r3, {table}, {not}%p5;\nselp.u32 %r6, 32, 0, %p2;\nadd.u32 %r0, %r0, %r6;"
                );
                let wanted: Vec<u32> = (0..32u32)
                    .map(|t| {
                        let d = function(t & 3, t >> 1 & 3, t >> 2 & 3);
                        d + 48 * u32::from(of(d != 0, (t & 16 != 0) != negated))
                    })
                    .collect();
                assert_eq!(lanes(&body), wanted, "lop3.{join} {table:#x} {not}");
            }
        }
    }
}

#[test]
fn every_comparison_of_whole_numbers_is_by_its_name() {
    let holds = |test: &str, order: std::cmp::Ordering| match test {
        "eq" => order.is_eq(),
        "ne" => order.is_ne(),
        "lt" | "lo" => order.is_lt(),
        "le" | "ls" => order.is_le(),
        "gt" | "hi" => order.is_gt(),
        _ => order.is_ge(),
    };
    for test in ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"] {
        for (kind, register) in [("u32", 'r'), ("s32", 'r'), ("u64", 'd'), ("s64", 'd'), ("u16", 'h'), ("s16", 'h')] {
            let signed = kind.starts_with('s');
            if signed && ["lo", "ls", "hi", "hs"].contains(&test) {
                continue;
            }
            // From -16 to 15 against -1, which is the largest without a sign.
            let body = format!(
                "sub.u32 %r1, %t, 16;\nmov.u32 %r2, -1;\ncvt.s64.s32 %d1, %r1;\nmov.u64 %d2, -1;\ncvt.u16.u32 %h1, %r1;\nmov.u16 %h2, -1;\nsetp.{test}.{kind} %p1, %{register}1, %{register}2;\nselp.u32 %r0, 1, 0, %p1;"
            );
            let wanted: Vec<u32> = (0..32i64)
                .map(|t| {
                    let a = t - 16;
                    let order = if signed { a.cmp(&-1) } else { (a as u64).cmp(&u64::MAX) };
                    u32::from(holds(test, order))
                })
                .collect();
            assert_eq!(lanes(&body), wanted, "setp.{test}.{kind}");
        }
    }
}
