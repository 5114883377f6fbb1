//! Special registers, and what instructions count as work.

use emulator::{Class, Dim3, Launch};

use crate::run::{Kernel, TILE};

const GRID: Dim3 = Dim3 { x: 2, y: 3, z: 2 };
const BLOCK: Dim3 = Dim3 { x: 5, y: 4, z: 3 };

#[test]
fn special_registers_say_who_runs_where() {
    let threads = BLOCK.count() as u32;
    let names = [
        "%tid.x",
        "%tid.y",
        "%tid.z",
        "%ntid.x",
        "%ntid.y",
        "%ntid.z",
        "%ctaid.x",
        "%ctaid.y",
        "%ctaid.z",
        "%nctaid.x",
        "%nctaid.y",
        "%nctaid.z",
        "%laneid",
        "%warpid",
        "%nwarpid",
        "%lanemask_eq",
        "%lanemask_lt",
        "%lanemask_le",
        "%lanemask_gt",
        "%lanemask_ge",
        "%smid",
        "%nsmid",
        "%clusterid.x",
        "%clusterid.y",
        "%clusterid.z",
        "%nclusterid.x",
        "%nclusterid.y",
        "%nclusterid.z",
        "%cluster_ctaid.x",
        "%cluster_ctaid.y",
        "%cluster_ctaid.z",
        "%cluster_nctaid.x",
        "%cluster_nctaid.y",
        "%cluster_nctaid.z",
        "%cluster_ctarank",
        "%cluster_nctarank",
        "%total_smem_size",
        "%dynamic_smem_size",
        "%aggr_smem_size",
    ];
    let mut body = String::from(
        "mov.u32 %r1, %tid.z;\nmov.u32 %r2, %ntid.y;\nmov.u32 %r3, %tid.y;\nmad.lo.u32 %r1, %r1, %r2, %r3;\nmov.u32 %r2, %ntid.x;\n\
         mov.u32 %r3, %tid.x;\nmad.lo.u32 %r1, %r1, %r2, %r3;\nmov.u32 %r4, %ctaid.z;\nmov.u32 %r5, %nctaid.y;\nmov.u32 %r6, %ctaid.y;\n\
         mad.lo.u32 %r4, %r4, %r5, %r6;\nmov.u32 %r5, %nctaid.x;\nmov.u32 %r6, %ctaid.x;\nmad.lo.u32 %r4, %r4, %r5, %r6;\n",
    );
    let row = 4 * names.len();
    body += &format!("mad.lo.u32 %r4, %r4, {threads}, %r1;\nmad.wide.u32 %d1, %r4, {row}, %out;\n");
    for (n, name) in names.iter().enumerate() {
        body += &format!("mov.u32 %r7, {name};\nst.global.u32 [%d1+{}], %r7;\n", 4 * n);
    }
    let blocks = GRID.count() as u32;
    let words = names.len() * (blocks * threads) as usize;
    let kernel = Kernel::new(0, &body).launch(Launch::new(GRID, BLOCK).dynamic_shared(256)).output(4 * words);
    let text = kernel.text.replacen(".visible", ".extern .shared .align 16 .b8 dynamic[];\n.visible", 1);
    let got = Kernel {
        text: text.replace("mov.u32 %r7, %laneid;", "mov.u32 %r8, dynamic;\nmov.u32 %r7, %laneid;"),
        ..kernel
    }
    .words(words);
    for at in 0..blocks * threads {
        let (block, thread) = (at / threads, at % threads);
        let (lane, warp) = (thread % 32, thread / 32);
        let eq = 1u32 << lane;
        let (bx, by, bz) = (block % GRID.x, block / GRID.x % GRID.y, block / GRID.x / GRID.y);
        let wanted = [
            thread % BLOCK.x,
            thread / BLOCK.x % BLOCK.y,
            thread / BLOCK.x / BLOCK.y,
            BLOCK.x,
            BLOCK.y,
            BLOCK.z,
            bx,
            by,
            bz,
            GRID.x,
            GRID.y,
            GRID.z,
            lane,
            warp,
            2,
            eq,
            eq - 1,
            eq | (eq - 1),
            !(eq | (eq - 1)),
            !(eq - 1),
            0,
            1,
            bx,
            by,
            bz,
            GRID.x,
            GRID.y,
            GRID.z,
            0,
            0,
            0,
            1,
            1,
            1,
            0,
            1,
            TILE as u32 + 256,
            256,
            TILE as u32 + 256,
        ];
        for (n, wanted) in wanted.iter().enumerate() {
            assert_eq!(got[at as usize * names.len() + n], *wanted, "{} of thread {thread} of block {block}", names[n]);
        }
    }
}

#[test]
fn clocks_go_on() {
    let read = |n: u32| format!("mov.u64 %d{n}, %clock64;\nmov.u32 %r{n}, %clock;\nmov.u64 %d1{n}, %globaltimer;\n");
    let body = format!(
        "{}mov.u32 %r5, 0;\nAGAIN: add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 9;\n@%p1 bra AGAIN;\n{}mov.u32 %r6, %clock_hi;\nmov.u32 %r7, %globaltimer_hi;\n\
         setp.gt.u64 %p1, %d2, %d1;\nselp.u32 %r3, 1, 0, %p1;\nsetp.gt.u32 %p1, %r2, %r1;\nselp.u32 %r4, 1, 0, %p1;\nsetp.gt.u64 %p1, %d12, %d11;\nselp.u32 %r5, 1, 0, %p1;\n\
         st.global.u32 [%out], %r3;\nst.global.u32 [%out+4], %r4;\nst.global.u32 [%out+8], %r5;\nst.global.u32 [%out+12], %r6;\nst.global.u32 [%out+16], %r7;",
        read(1),
        read(2)
    );
    assert_eq!(Kernel::new(1, &body).words(5), [1, 1, 1, 0, 0], "a short kernel does not fill 32 bits");
}

/// Work of one instruction by 40 threads: its class, and operations in f32 or narrower, and in f64, by thread.
#[test]
fn an_instruction_counts_as_what_it_is() {
    let one = "mov.f32 %f1, 0f3F800000;\nmov.f64 %e1, 0d3FF0000000000000;\nmov.b32 %r1, 0x3c003c00;\nmov.b16 %h1, 0x3c00;\nmov.u64 %d1, 3;\nsetp.eq.u32 %p1, %t, %t;\nmov.u32 %r20, tile;\n";
    for (text, class, single, double) in [
        ("fma.rn.f32 %f2, %f1, %f1, %f1;", Class::FmaF32, 2, 0),
        ("fma.rz.f32 %f2, %f1, %f1, %f1;", Class::FmaF32, 2, 0),
        ("fma.rn.f64 %e2, %e1, %e1, %e1;", Class::FmaF64, 0, 2),
        ("add.f32 %f2, %f1, %f1;", Class::FloatF32, 1, 0),
        ("add.rp.f32 %f2, %f1, %f1;", Class::FloatF32, 1, 0),
        ("mul.ftz.f32 %f2, %f1, %f1;", Class::FloatF32, 1, 0),
        ("div.rn.f32 %f2, %f1, %f1;", Class::FloatF32, 1, 0),
        ("max.f32 %f2, %f1, %f1;", Class::FloatF32, 1, 0),
        ("sqrt.rn.f32 %f2, %f1;", Class::FloatF32, 1, 0),
        ("add.f64 %e2, %e1, %e1;", Class::FloatF64, 0, 1),
        ("mul.rm.f64 %e2, %e1, %e1;", Class::FloatF64, 0, 1),
        ("add.f16 %h2, %h1, %h1;", Class::FloatF32, 1, 0),
        ("add.f16x2 %r2, %r1, %r1;", Class::FloatF32, 2, 0),
        ("fma.rn.f16 %h2, %h1, %h1, %h1;", Class::FloatF32, 2, 0),
        ("fma.rn.f16x2 %r2, %r1, %r1, %r1;", Class::FloatF32, 4, 0),
        ("fma.rn.bf16x2 %r2, %r1, %r1, %r1;", Class::FloatF32, 4, 0),
        ("mad.lo.u32 %r2, %r1, %r1, %r1;", Class::Integer, 0, 0),
        ("add.u64 %d2, %d1, %d1;", Class::Integer, 0, 0),
        ("xor.b32 %r2, %r1, 1;", Class::Integer, 0, 0),
        ("popc.b32 %r2, %r1;", Class::Integer, 0, 0),
        ("setp.lt.u32 %p2, %r1, 4;", Class::Compare, 0, 0),
        ("selp.b32 %r2, %r1, 4, %p1;", Class::Compare, 0, 0),
        ("cvt.rn.f32.u32 %f2, %r1;", Class::Convert, 0, 0),
        ("cvt.u64.u32 %d2, %r1;", Class::Convert, 0, 0),
        ("mov.u32 %r2, %r1;", Class::Move, 0, 0),
        ("mov.b64 {%r2, %r3}, %d1;", Class::Move, 0, 0),
        ("mov.b64 %d2, {%r1, %r1};", Class::Move, 0, 0),
        ("mov.b64 {%h2, %h3, %h4, %h5}, %d1;", Class::Move, 0, 0),
        ("mov.b64 %d2, {%h1, %h1, %h1, %h1};", Class::Move, 0, 0),
        ("mov.b32 {%h2, %h3}, %r1;", Class::Move, 0, 0),
        ("mov.b32 %r2, {%h1, %h1};", Class::Move, 0, 0),
        ("mov.pred %p2, %p1;", Class::Move, 0, 0),
        ("cvta.to.global.u64 %d2, %in;", Class::Move, 0, 0),
        ("cvt.s64.s8 %d2, %r1;", Class::Convert, 0, 0),
        ("cvt.s32.s16 %r2, %h1;", Class::Convert, 0, 0),
        ("cvt.u32.u32 %r2, %r1;", Class::Convert, 0, 0),
        ("cvt.u64.u64 %d2, %d1;", Class::Convert, 0, 0),
        ("cvt.rzi.s32.f32 %r2, %f1;", Class::Convert, 0, 0),
        ("cvt.rn.f32.s16 %f2, %h1;", Class::Convert, 0, 0),
        ("cvt.rn.f16.f32 %h2, %f1;", Class::Convert, 0, 0),
        ("cvt.f64.f32 %e2, %f1;", Class::Convert, 0, 0),
        ("cvt.rni.f32.f32 %f2, %f1;", Class::Convert, 0, 0),
        ("setp.lt.and.u32 %p2, %r1, 4, %p1;", Class::Compare, 0, 0),
        ("setp.lt.u32 %p2|%p3, %r1, 4;", Class::Compare, 0, 0),
        ("setp.lt.or.s64 %p2|%p3, %d1, 4, !%p1;", Class::Compare, 0, 0),
        ("set.lt.u32.u32 %r2, %r1, 4;", Class::Compare, 0, 0),
        ("mad.wide.u32 %d2, %r1, %r1, %d1;", Class::Integer, 0, 0),
        ("mul.hi.s64 %d2, %d1, %d1;", Class::Integer, 0, 0),
        ("shf.l.wrap.b32 %r2, %r1, %r1, 4;", Class::Integer, 0, 0),
        ("bfi.b32 %r2, %r1, %r1, 4, 4;", Class::Integer, 0, 0),
        ("prmt.b32 %r2, %r1, %r1, 0x3210;", Class::Integer, 0, 0),
        ("lop3.b32 %r2, %r1, %r1, %r1, 0x96;", Class::Integer, 0, 0),
        ("sad.u32 %r2, %r1, %r1, %r1;", Class::Integer, 0, 0),
        ("dp4a.u32.u32 %r2, %r1, %r1, %r1;", Class::Integer, 0, 0),
        ("add.cc.u32 %r2, %r1, %r1;", Class::Integer, 0, 0),
        ("add.s16 %h2, %h1, %h1;", Class::Integer, 0, 0),
        ("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%in];", Class::GlobalLoad, 0, 0),
        ("ld.u32 %r2, [%in];", Class::GlobalLoad, 0, 0),
        ("cvta.shared.u64 %d2, %d1;", Class::Move, 0, 0),
        ("ld.global.u32 %r2, [%in];", Class::GlobalLoad, 0, 0),
        ("st.global.u32 [%out], %r1;", Class::GlobalStore, 0, 0),
        ("ld.shared.u32 %r2, [tile];", Class::SharedLoad, 0, 0),
        ("st.shared.u32 [tile], %r1;", Class::SharedStore, 0, 0),
        ("atom.shared.add.u32 %r2, [tile], 1;", Class::Atomic, 0, 0),
        ("red.global.add.u32 [%out], 1;", Class::Atomic, 0, 0),
        ("ld.local.u32 %r2, [mine];", Class::OtherMemory, 0, 0),
        ("st.local.u32 [mine], %r1;", Class::OtherMemory, 0, 0),
        ("ld.param.u64 %d2, [a];", Class::OtherMemory, 0, 0),
        ("bar.sync 0;", Class::Barrier, 0, 0),
        ("bar.warp.sync %r127;", Class::Barrier, 0, 0),
        ("fence.acq_rel.gpu;", Class::Barrier, 0, 0),
        ("shfl.sync.bfly.b32 %r2, %r1, 1, 31, %r127;", Class::Move, 0, 0),
        ("vote.sync.any.pred %p2, %p1, %r127;", Class::Move, 0, 0),
    ] {
        let members = "setp.lt.u32 %p9, %t, 32;\nselp.b32 %r127, 0xffffffff, 0xff, %p9;\n";
        let kernel = Kernel::new(40, &format!("{members}{one}.loc 1 5 0\n{text}\n.loc 1 6 0\nmov.u32 %r99, 1;"));
        let kernel = Kernel { zeros: 4096, ..kernel };
        let outcome = kernel.run().unwrap_or_else(|fault| panic!("{text}: {fault}"));
        let counters = &outcome.report.lines.iter().find(|line| line.line == 5).expect("it ran").counters;
        let of = |class: Class| (counters.class(class).warp, counters.class(class).thread);
        assert_eq!(of(class), (2, 40), "{text}");
        let others: u64 =
            Class::ALL.iter().filter(|other| **other != class).map(|other| counters.class(*other).warp).sum();
        assert_eq!(others, 0, "{text} is of one class");
        assert_eq!((counters.flops_f32, counters.flops_f64), (40 * single, 40 * double), "{text}");
        assert_eq!(counters.barriers, if text.starts_with("bar.sync") { 2 } else { 0 }, "{text}");
    }
}

#[test]
fn branches_count_by_warp_and_say_which_diverged() {
    // Of three blocks of two warps each, one warp of each diverges.
    let body = ".loc 1 5 0\nsetp.lt.u32 %p1, %t, 40;\n.loc 1 6 0\n@%p1 bra THERE;\n.loc 1 7 0\nadd.u32 %r1, %t, 1;\n.loc 1 8 0\nTHERE: add.u32 %r1, %t, 2;";
    let report = Kernel::new(64, body).launch(Launch::new(3, 64)).run().expect("it is right").report;
    assert_eq!((report.total.branches, report.total.divergent_branches), (6, 3));
    let line = |number: u32| {
        report.lines.iter().find(|line| line.line == number).expect("it ran").counters.class(Class::Integer)
    };
    assert_eq!((line(7).warp, line(7).thread), (3, 3 * 24));
    assert_eq!((line(8).warp, line(8).thread), (6, 3 * 64));
}

/// Rows of FMAs, of which some lanes are off, or a guard keeps some, give what they give one by one.
#[test]
fn rows_of_fmas_are_for_the_lanes_that_run() {
    for (prefix, condition, guard) in [("", "", ""), ("@!%p1 bra END;\n", "half", ""), ("", "half", "@%p1 ")] {
        for (kind, register, bits) in [("f32", 'f', 32), ("f64", 'e', 64)] {
            let rows: String = (1..=6)
                .map(|n| {
                    format!(
                        "{guard}fma.rn.{kind} %{register}{}, %{register}10, %{register}11, %{register}{};\n",
                        20 + n,
                        19 + n
                    )
                })
                .collect();
            let starts: String =
                (0..=6).map(|n| format!("cvt.rn.{kind}.u32 %{register}{}, {};\n", 20 + n, 100 * n)).collect();
            let stores: String =
                (1..=6).map(|n| format!("st.global.{kind} [%d1+{}], %{register}{};\n", 8 * (n - 1), 20 + n)).collect();
            let body = format!(
                "and.b32 %r1, %t, 1;\nsetp.eq.u32 %p1, %r1, 1;\nmov.u32 %r50, 3;\n{}cvt.rn.{kind}.u32 %{register}10, %t;\ncvt.rn.{kind}.u32 %{register}11, %r50;\n\
                 mad.wide.u32 %d1, %t, 48, %out;\n{prefix}{rows}END:\n{stores}",
                starts
                    .replace(", 0;", ", %r40;")
                    .lines()
                    .map(|line| {
                        let (head, number) = line.rsplit_once(", ").expect("two operands");
                        match number.trim_end_matches(';').parse::<u32>() {
                            Ok(number) => format!("mov.u32 %r40, {number};\n{head}, %r40;\n"),
                            Err(_) => format!("mov.u32 %r40, 0;\n{line}\n"),
                        }
                    })
                    .collect::<String>()
            );
            let outcome = Kernel::new(32, &body).run().expect("it is right");
            for lane in 0..32u32 {
                let on = condition.is_empty() || lane % 2 == 1;
                let mut before = 0;
                for n in 1..=6u32 {
                    let value = if on { 3 * lane + before } else { 100 * n };
                    before = value;
                    let at = (48 * lane + 8 * (n - 1)) as usize;
                    let got = (0..bits / 8)
                        .fold(0, |all, b| all | u64::from(outcome.bytes[at + b].expect("written")) << (8 * b));
                    let wanted =
                        if bits == 32 { u64::from((value as f32).to_bits()) } else { f64::from(value).to_bits() };
                    assert_eq!(got, wanted, "{kind}, `{prefix}{guard}`, lane {lane}, {n}");
                }
            }
        }
    }
}

#[test]
fn a_comparison_of_halves_changes_no_register() {
    for kind in ["s16", "u16", "b16"] {
        let test = if kind == "b16" { "eq" } else { "lt" };
        let starts: String = (0..12).map(|n| format!("mov.u32 %r{}, {};\n", 20 + n, 0x1234_0000 + n)).collect();
        let tests: String = (1..12).map(|n| format!("setp.{test}.{kind} %p{n}, %h1, {};\n", n * 100)).collect();
        let stores: String = (0..12).map(|n| format!("st.global.u32 [%out+{}], %r{};\n", 4 * n, 20 + n)).collect();
        let words = Kernel::new(1, &format!("{starts}mov.u16 %h1, 400;\n{tests}{stores}")).words(12);
        assert_eq!(words, (0..12).map(|n| 0x1234_0000 + n).collect::<Vec<u32>>(), "{kind}");
    }
}

#[test]
fn a_footprint_is_of_all_sectors_that_anything_touched() {
    for (text, sectors) in [
        ("ld.global.u32 %r1, [%in];", 1),
        ("mad.wide.u32 %d1, %t, 4, %in;\nld.global.u32 %r1, [%d1];", 4),
        ("mad.wide.u32 %d1, %t, 64, %in;\nld.global.u32 %r1, [%d1];\nld.global.u32 %r2, [%d1];", 32),
        ("mad.wide.u32 %d1, %t, 64, %out;\nst.global.u32 [%d1+32], %t;\nst.global.u32 [%d1], %t;", 64),
        ("red.global.add.u32 [%out+64], 1;", 1),
        ("mad.wide.u32 %d1, %t, 32, %out;\nred.global.add.u32 [%d1], 1;\natom.global.add.u32 %r1, [%out], 1;", 32),
        (
            "mov.u32 %r3, tile;\nmad.lo.u32 %r3, %t, 16, %r3;\nmad.wide.u32 %d1, %t, 16, %in;\ncp.async.cg.shared.global [%r3], [%d1], 16;\ncp.async.wait_all;",
            16,
        ),
        ("mov.u32 %r1, 5;\nst.shared.u32 [tile], %r1;", 0),
    ] {
        let kernel = Kernel { zeros: 4096, ..Kernel::new(32, text) };
        let report = kernel.run().unwrap_or_else(|fault| panic!("{text}: {fault}")).report;
        assert_eq!(report.footprint_bytes, 32 * sectors, "{text}");
    }
}
