//! Lanes whose addresses lie in a row, all at one place, or the other way round: what they get, and what it costs.

use emulator::Counters;

use crate::run::Kernel;

/// Where lane `t` is, of 32, in units of what a lane accesses: in PTX, and here.
type Way = (&'static str, fn(u32) -> u32);

const WAYS: [Way; 5] = [
    ("mov.u32 %r1, %t;", |t| t),
    ("mov.u32 %r1, 0;", |_| 0),
    ("sub.u32 %r1, 31, %t;", |t| 31 - t),
    ("shr.u32 %r1, %t, 1;", |t| t / 2),
    ("xor.b32 %r1, %t, 1;", |t| t ^ 1),
];

#[test]
fn vectors_are_loaded_from_rows() {
    let input: Vec<u8> = (0..4096u32).map(|n| ((n * 37) >> 3) as u8 ^ n as u8).collect();
    for (bytes, letter) in [(1, 'h'), (2, 'h'), (4, 'r'), (8, 'd')] {
        for count in [1, 2, 4].into_iter().filter(|count| bytes * count <= 16) {
            let list: Vec<String> = (10..10 + count).map(|n| format!("%{letter}{n}")).collect();
            let (vector, list) = match count {
                1 => (String::new(), list[0].clone()),
                _ => (format!(".v{count}"), format!("{{{}}}", list.join(", "))),
            };
            let kind = format!("{vector}.u{}", 8 * bytes);
            for (way, place) in WAYS {
                for (space, from) in [("global", "%d2"), ("shared", "%r3")] {
                    for less in [0, 1] {
                        let body = format!(
                            "{way}\nmul.lo.u32 %r2, %r1, {width};\ncvt.u64.u32 %d1, %r2;\nadd.u64 %d2, %in, %d1;\nmov.u32 %r3, tile;\nadd.u32 %r3, %r3, %r2;\n\
                             mul.wide.u32 %d3, %t, 16;\nadd.u64 %d4, %in, %d3;\nmov.u32 %r4, tile;\nmad.lo.u32 %r4, %t, 16, %r4;\n\
                             ld.global.v4.u32 {{%r50, %r51, %r52, %r53}}, [%d4];\nst.shared.v4.u32 [%r4], {{%r50, %r51, %r52, %r53}};\nbar.sync 0;\n\
                             setp.ge.u32 %p1, %t, {lanes};\n@%p1 bra END;\nld.{space}{kind} {list}, [{from}];\nmad.wide.u32 %d5, %t, {width}, %out;\nst.global{kind} [%d5], {list};\nEND:",
                            width = bytes * count,
                            lanes = 32 - less,
                        );
                        let outcome = Kernel::new(32, &body).input(input.clone()).run().expect("it is right");
                        let width = bytes * count;
                        for at in 0..(32 - less) * width {
                            let wanted = input[(place(at / width) * width + at % width) as usize];
                            assert_eq!(outcome.bytes[at as usize], Some(wanted), "byte {at}: {space}{kind} {way}");
                        }
                    }
                }
            }
        }
    }
}

/// What so many accesses one after the other cost, each by so many bytes further on.
fn cost(access: &str, shifts: &[u32]) -> Counters {
    // Each is done in a loop, so that it is one and the same instruction.
    let table: String = (0..32).map(|n| format!("{}, ", shifts.get(n).unwrap_or(&0))).collect();
    let body = format!(
        "mov.u32 %r9, 0;\nmov.u32 %r20, tile;\nmad.lo.u32 %r21, %t, 16, %r20;\nst.shared.v4.u32 [%r21], {{%r9, %r9, %r9, %r9}};\nst.shared.v4.u32 [%r21+512], {{%r9, %r9, %r9, %r9}};\nbar.sync 0;\n\
         L: setp.ge.u32 %p1, %r9, {};\n@%p1 bra END;\nmul.wide.u32 %d1, %r9, 4;\nmov.u64 %d2, shifts;\nadd.u64 %d2, %d2, %d1;\nld.const.u32 %r1, [%d2];\ncvt.u64.u32 %d3, %r1;\nadd.u64 %d4, %in, %d3;\n\
         mad.wide.u32 %d4, %t, 16, %d4;\nadd.u32 %r5, %r21, %r1;\n{access}\nbar.warp.sync -1;\nadd.u32 %r9, %r9, 1;\nbra L;\nEND:",
        shifts.len()
    );
    let kernel = Kernel { zeros: 4096, ..Kernel::new(32, &body) };
    let table = format!(".const .align 4 .u32 shifts[32] = {{{}}};\n.visible", table.trim_end_matches(", "));
    let text = kernel.text.replacen(".visible", &table, 1);
    Kernel { text, ..kernel }.run().expect("it is right").report.total
}

#[test]
fn an_access_costs_what_it_costs_alone() {
    for access in [
        "cp.async.cg.shared.global [%r21], [%d4], 16;\ncp.async.wait_all;",
        "cp.async.ca.shared.global [%r21], [%d4], 8;\ncp.async.wait_all;",
        "ld.global.u32 %r6, [%d4];",
        "ld.global.v4.u32 {%r50, %r51, %r52, %r53}, [%d4];",
        "st.global.u32 [%d4], %t;",
        "ld.shared.u32 %r6, [%r5];",
        "ld.shared.v2.u32 {%r50, %r51}, [%r5];",
        "st.shared.u32 [%r5], %t;",
    ] {
        let numbers = |c: &Counters| {
            let (a, b) = ([&c.global_load, &c.global_store], [&c.shared_load, &c.shared_store]);
            let global = a.map(|g| [g.requests, g.sectors, g.ideal_sectors, g.bytes]);
            (global, b.map(|s| [s.requests, s.wavefronts, s.ideal_wavefronts, s.unique_bytes, s.bytes]))
        };
        let shifts: Vec<u32> = (0..20).map(|n| 16 * n).collect();
        let zero = numbers(&cost(access, &[]));
        let mut sum = zero;
        for &shift in &shifts {
            let one = numbers(&cost(access, &[shift]));
            for (sum, (one, zero)) in
                sum.0.as_flattened_mut().iter_mut().zip(one.0.as_flattened().iter().zip(zero.0.as_flattened()))
            {
                *sum += one - zero;
            }
            for (sum, (one, zero)) in
                sum.1.as_flattened_mut().iter_mut().zip(one.1.as_flattened().iter().zip(zero.1.as_flattened()))
            {
                *sum += one - zero;
            }
        }
        assert_eq!(numbers(&cost(access, &shifts)), sum, "{access}");
    }
}

#[test]
fn an_asynchronous_copy_stores_as_a_store_does() {
    // Lanes whose neighbours do nothing share a wavefront in a load, and in no store.
    for (copy, store) in [
        (
            "cp.async.cg.shared.global [%r21], [%d4], 16;\ncp.async.wait_all;",
            "st.shared.v4.u32 [%r21], {%r9, %r9, %r9, %r9};",
        ),
        ("cp.async.ca.shared.global [%r21], [%d4], 8;\ncp.async.wait_all;", "st.shared.v2.u32 [%r21], {%r9, %r9};"),
        ("cp.async.ca.shared.global [%r21], [%d4], 4;\ncp.async.wait_all;", "st.shared.u32 [%r21], %r9;"),
    ] {
        for lanes in [1u32, 2, 3, 5, 0xf, 0x5555_5555, 0x3333_3333, 0xffff, u32::MAX] {
            let some = |access: &str| {
                let guard =
                    format!("shr.u32 %r30, {lanes:#x}, %t;\nand.b32 %r30, %r30, 1;\nsetp.eq.u32 %p5, %r30, 1;\n@%p5 ");
                let s = cost(&format!("{guard}{access}"), &[0]).shared_store;
                [s.requests, s.wavefronts, s.ideal_wavefronts, s.unique_bytes, s.bytes]
            };
            assert_eq!(some(copy), some(store), "{copy} by {lanes:#x}");
        }
    }
}
