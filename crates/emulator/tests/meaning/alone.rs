//! What happens to one thing and to nothing beside it: an element of a vector, a register, an array, a warp, a function of several.

use emulator::{Fault, FaultKind, Launch, Schedule};

use crate::run::Kernel;

/// A place of 16 bytes in each space that is written to.
const PLACES: [(&str, &str); 3] = [("shared", "tile+16"), ("local", "mine+16"), ("global", "%out+64")];

/// Vectors of elements of so many bytes.
fn vectors() -> impl Iterator<Item = (u32, u32)> {
    [1u32, 2, 4, 8].into_iter().flat_map(|bytes| [1u32, 2, 4].map(|count| (bytes, count))).filter(|(b, n)| b * n <= 16)
}

fn list(bytes: u32, count: u32, first: u32) -> (String, String) {
    let letter = if bytes == 8 { 'd' } else { 'r' };
    let names: Vec<String> = (0..count).map(|n| format!("%{letter}{}", first + n)).collect();
    match count {
        1 => (String::new(), names[0].clone()),
        _ => (format!(".v{count}"), format!("{{{}}}", names.join(", "))),
    }
}

/// Register 60 and those behind it: set, but for the one that is `missing`.
fn set_all_but(missing: u32, bytes: u32, count: u32) -> String {
    let letter = if bytes == 8 { 'd' } else { 'r' };
    let kind = if bytes == 8 { "u64" } else { "u32" };
    (0..count).filter(|n| *n != missing).map(|n| format!("mov.{kind} %{letter}{}, 3;\n", 60 + n)).collect()
}

#[test]
fn an_element_that_nobody_set_is_stored_by_itself() {
    for (space, place) in PLACES {
        for (bytes, count) in vectors() {
            for missing in 0..count {
                let (vector, names) = list(bytes, count, 60);
                let mut body = set_all_but(missing, bytes, count);
                body += &format!("st.{space}{vector}.u{} [{place}], {names};\n", 8 * bytes);
                for n in 0..bytes * count {
                    body += &format!("ld.{space}.u8 %r1, [{place}+{n}];\nst.global.u8 [%out+{}], %r1;\n", 512 + n);
                }
                // A buffer that was written before, and one that was not.
                for zeros in [0, 4096] {
                    let outcome = Kernel { zeros, ..Kernel::new(1, &body) }
                        .run()
                        .unwrap_or_else(|fault| panic!("{fault}\n{body}"));
                    let copied: Vec<bool> =
                        (0..bytes * count).map(|n| outcome.bytes[512 + n as usize].is_none()).collect();
                    let wanted: Vec<bool> = (0..bytes * count).map(|n| n / bytes == missing).collect();
                    assert_eq!(copied, wanted, "{zeros} zeros: {body}");
                    if space == "global" {
                        let there: Vec<bool> =
                            (0..bytes * count).map(|n| outcome.bytes[64 + n as usize].is_none()).collect();
                        assert_eq!(there, wanted, "{zeros} zeros: {body}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_element_that_nobody_wrote_is_loaded_by_itself() {
    for (space, place) in PLACES {
        for (bytes, count) in vectors() {
            for missing in 0..bytes * count {
                let mut body = String::from("mov.u32 %r1, 7;\n");
                for n in (0..bytes * count).filter(|n| *n != missing) {
                    body += &format!("st.{space}.u8 [{place}+{n}], %r1;\n");
                }
                let (vector, names) = list(bytes, count, 60);
                body += &format!("ld.{space}{vector}.u{} {names}, [{place}];\n", 8 * bytes);
                let (letter, width) = if bytes == 8 { ('d', 8) } else { ('r', 4) };
                for n in 0..count {
                    body += &format!("st.global.u{} [%out+{}], %{letter}{};\n", 8 * width, 512 + width * n, 60 + n);
                }
                // Those that are written may be computed with.
                for n in (0..count).filter(|n| *n != missing / bytes) {
                    body += &format!(
                        "add.u{0} %{letter}{1}, %{letter}{1}, 1;\nst.global.u{0} [%out+256], %{letter}{1};\n",
                        8 * width,
                        60 + n
                    );
                }
                let outcome = Kernel::new(1, &body).run().unwrap_or_else(|fault| panic!("{fault}\n{body}"));
                for n in 0..width * count {
                    let (element, byte) = (n / width, n % width);
                    let unwritten = byte < bytes && element * bytes + byte == missing;
                    assert_eq!(outcome.bytes[512 + n as usize].is_none(), unwritten, "byte {n}: {body}");
                }
            }
        }
    }
}

#[test]
fn what_brings_something_unwritten_leaves_other_registers_alone() {
    // Special registers, constants and registers before and behind, all computed with.
    let uses = "ld.param.u64 %d52, [a];\nmov.u32 %r50, %tid.y;\nadd.u32 %r53, %r50, %t;\nmov.u32 %r54, %ntid.x;\nadd.u32 %r53, %r53, %r54;\n\
        mov.u32 %r54, %ctaid.x;\nadd.u32 %r53, %r53, %r54;\nsetp.eq.u32 %p3, %r53, 7;\n@%p3 add.u32 %r53, %r53, 1;\nld.global.u32 %r55, [%d52];\nmov.u32 %r50, %tid.x;\nmov.u32 %r51, %ntid.y;\nmov.u32 %r52, %laneid;\nadd.u32 %r50, %r50, %r51;\nadd.u32 %r50, %r50, %r52;\n\
        add.u32 %r50, %r50, 12;\nadd.u32 %r50, %r50, %r40;\nadd.u64 %d50, %d40, 9;\nmul.wide.u32 %d51, %t, 64;\nadd.u64 %d51, %d51, %out;\n\
        setp.eq.u32 %p2, %r50, 3;\n@%p2 add.u32 %r50, %r50, 1;\n@%p4 add.u32 %r50, %r50, 1;\nst.global.u32 [%d51+128], %r50;\nst.global.u64 [%d51+136], %d50;\n";
    for text in [
        "ld.shared.u32 %r1, [tile];",
        "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [tile];",
        "ld.shared.u64 %d1, [tile];",
        "ld.local.v2.u64 {%d1, %d2}, [mine];",
        "ld.local.v4.u8 {%r1, %r2, %r3, %r4}, [mine];",
        "ld.global.v2.u32 {%r1, %r2}, [%out];",
        "ld.global.s8 %r1, [%out];",
        "atom.global.add.u32 %r1, [%out], 1;",
        "atom.global.add.u64 %d1, [%out], 1;",
        "atom.shared.max.u32 %r1, [tile], 1;",
        "atom.shared.cas.b64 %d1, [tile], 1, 2;",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [tile];",
        "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r1}, [tile];",
        "shfl.sync.idx.b32 %r1|%p1, %r77, 3, 31, -1;",
        "mov.b64 {%r1, %r2}, %d77;",
        "mov.u32 %r1, %r77;\nadd.u32 %r2, %r1, 1;\nmul.wide.u32 %d1, %r2, 3;\nsetp.eq.u32 %p1, %r1, 3;",
    ] {
        let body = format!("mov.u32 %r40, 1;\nmov.u64 %d40, 1;\nsetp.eq.u32 %p4, %r40, 1;\n{text}\n{uses}");
        if let Err(fault) = Kernel::new(32, &body).run() {
            panic!("{text}: {fault}");
        }
        let used = format!("{body}\n{}", "setp.eq.u32 %p5, %r1, 3;\n@%p5 st.global.u32 [%out], %r40;");
        if text.contains("%r1") {
            assert_eq!(Kernel::new(32, &used).fault().kind, FaultKind::Uninitialised, "{text}");
        }
    }
}

#[test]
fn nothing_is_convicted_where_nobody_asks_for_checks() {
    let decide = "setp.eq.u32 %p1, %r1, 3;\n@%p1 st.global.u32 [%out+64], %t;";
    for text in [
        "ld.shared.u32 %r1, [tile];",
        "ld.local.u32 %r1, [mine];",
        "ld.global.u32 %r1, [%out];",
        "atom.shared.add.u32 %r1, [tile], 1;",
        "atom.global.add.u32 %r1, [%out], 1;",
        "mad.wide.u32 %d9, %t, 4, %out;\natom.global.exch.b32 %r1, [%d9], %t;",
        "add.u32 %r1, %r77, 1;",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [tile];",
        "setp.ne.u32 %p3, %t, 3;\n@!%p3 bra END;\nshfl.sync.idx.b32 %r1, %t, 3, 31, 0xfffffff7;\nEND: mov.u32 %r1, 0;",
        "cp.async.ca.shared.global [tile], [%out], 4;\nld.shared.u32 %r1, [tile];",
        "mov.u32 %r1, 0;\nst.shared.u32 [tile], %t;\nst.global.u32 [%out], %t;",
    ] {
        let kernel = Kernel::new(32, &format!("{text}\n{decide}"));
        let unchecked = kernel.clone().launch(Launch::new(1, 32).sanitize(false));
        unchecked.run().unwrap_or_else(|fault| panic!("{text}: {fault}"));
        if !text.contains("END") {
            assert!(kernel.run().is_err(), "{text}: it is wrong");
        }
    }
}

#[test]
fn constants_are_stored_as_wide_as_they_are() {
    for (space, place) in PLACES {
        for (kind, values, wanted) in [
            ("u64", "-2", vec![0xffff_fffe, 0xffff_ffff]),
            ("u64", "0x123456789a", vec![0x3456_789a, 0x12]),
            ("v2.u64", "{0x100000003, -1}", vec![3, 1, 0xffff_ffff, 0xffff_ffff]),
            ("f64", "0d3FF8000000000001", vec![1, 0x3ff8_0000]),
            ("f32", "0f3FC00000", vec![0x3fc0_0000]),
            ("v4.u32", "{1, 2, -3, 4}", vec![1, 2, 0xffff_fffd, 4]),
            ("s32", "-5", vec![0xffff_fffb]),
            ("v2.u16", "{0x1234, -1}", vec![0xffff_1234]),
            ("v4.u8", "{1, 0x82, 3, -4}", vec![0xfc03_8201]),
        ] {
            let mut body = format!("st.{space}.{kind} [{place}], {values};\n");
            for n in 0..wanted.len() {
                body += &format!("ld.{space}.u32 %r1, [{place}+{0}];\nst.global.u32 [%out+{0}], %r1;\n", 4 * n);
            }
            let outcome = Kernel { zeros: 4096, ..Kernel::new(1, &body) }.words(wanted.len());
            assert_eq!(outcome, wanted, "{space} {kind} {values}");
        }
    }
}

/// A load by 32 lanes, of which several share a word, of words that tell where they lie.
#[test]
fn lanes_that_share_words_get_each_its_own() {
    let fill = "mov.u32 %r1, %t;\nF: mov.u32 %r2, tile;\nmad.lo.u32 %r2, %r1, 4, %r2;\nadd.u32 %r3, %r1, 7000;\nst.shared.u32 [%r2], %r3;\n\
        add.u32 %r1, %r1, 32;\nsetp.lt.u32 %p1, %r1, 1024;\n@%p1 bra F;\nbar.sync 0;\n";
    type Place = (&'static str, fn(u32) -> u32);
    let places: [Place; 8] = [
        ("shr.u32 %r4, %t, 1;", |t| t / 2),
        ("shr.u32 %r4, %t, 2;", |t| t / 4),
        ("and.b32 %r4, %t, 7;", |t| t % 8),
        ("and.b32 %r4, %t, 15;\nxor.b32 %r4, %r4, 5;", |t| (t % 16) ^ 5),
        ("shr.u32 %r4, %t, 4;\nmul.lo.u32 %r4, %r4, 9;", |t| t / 16 * 9),
        ("rem.u32 %r4, %t, 3;\nsub.u32 %r4, 3, %r4;", |t| 3 - t % 3),
        ("mov.u32 %r4, 3;", |_| 3),
        ("mov.u32 %r4, %t;", |t| t),
    ];
    for (text, place) in places {
        for count in [1u32, 2, 4] {
            for base in [0u32, 16, 1040, 3072] {
                for lanes in [32, 31, 5] {
                    let (vector, names) = list(4, count, 60);
                    let text = text.replace("sub.u32 %r4, 3, %r4;", "neg.s32 %r4, %r4;\nadd.u32 %r4, %r4, 3;");
                    let stores: String =
                        (0..count).map(|n| format!("st.global.u32 [%d1+{}], %r{};\n", 4 * n, 60 + n)).collect();
                    let body = format!(
                        "{fill}{text}\nmov.u32 %r5, tile;\nmad.lo.u32 %r5, %r4, {}, %r5;\nmul.wide.u32 %d1, %t, {};\nadd.u64 %d1, %d1, %out;\n\
                         setp.lt.u32 %p2, %t, {lanes};\n@!%p2 bra END;\nld.shared{vector}.u32 {names}, [%r5+{base}];\n{stores}END:",
                        4 * count,
                        4 * count
                    );
                    for sanitize in [true, false] {
                        let kernel = Kernel { zeros: 4096, ..Kernel::new(32, &body) };
                        let got = kernel.launch(Launch::new(1, 32).sanitize(sanitize)).words((lanes * count) as usize);
                        let wanted: Vec<u32> = (0..lanes)
                            .flat_map(|t| (0..count).map(move |n| 7000 + base / 4 + place(t) * count + n))
                            .collect();
                        assert_eq!(got, wanted, "{text} {count} {base} {lanes}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_atomic_by_a_generic_address_goes_to_each_lanes_own_space() {
    // Even lanes add in shared memory, odd ones in global memory; each its own word.
    for (operation, old, new) in [
        ("add.u32 %r9, [%d3], 5", 100, 105),
        ("exch.b32 %r9, [%d3], 44", 100, 44),
        ("max.u32 %r9, [%d3], 107", 100, 107),
    ] {
        let body = format!(
            "mov.u64 %d1, tile;\ncvta.shared.u64 %d1, %d1;\nmul.wide.u32 %d2, %t, 4;\nadd.u64 %d1, %d1, %d2;\nadd.u64 %d4, %out, %d2;\n\
             mov.u32 %r1, 100;\nst.u32 [%d1], %r1;\nst.global.u32 [%d4+1024], %r1;\nand.b32 %r2, %t, 1;\nsetp.eq.u32 %p1, %r2, 0;\n\
             add.u64 %d5, %d4, 1024;\nselp.b64 %d3, %d1, %d5, %p1;\natom.{operation};\nld.u32 %r3, [%d3];\n\
             st.global.u32 [%d4], %r3;\nst.global.u32 [%d4+512], %r9;"
        );
        for sanitize in [true, false] {
            let kernel = Kernel { zeros: 4096, ..Kernel::new(64, &body) }.launch(Launch::new(1, 64).sanitize(sanitize));
            let words = kernel.words(256 + 64);
            assert_eq!((&words[..64], &words[128..192]), (&[new; 64][..], &[old; 64][..]), "{operation}");
            let there: Vec<u32> = (0..64).map(|t| if t % 2 == 1 { new } else { 100 }).collect();
            assert_eq!(words[256..], there, "{operation}");
        }
    }
}

pub fn words_in_every_order(threads: u32, body: &str, count: usize) -> Vec<Vec<u32>> {
    let of = |schedule| {
        let kernel = Kernel { zeros: 4096, ..Kernel::new(threads, body) };
        kernel.launch(Launch::new(1, threads).schedule(schedule)).words(count)
    };
    Schedule::ALL.into_iter().map(of).collect()
}

pub fn fault(threads: u32, body: &str) -> Box<Fault> {
    Kernel { zeros: 4096, ..Kernel::new(threads, body) }.fault()
}

#[test]
fn an_address_out_of_memory_may_be_of_any_array() {
    let two = ".shared .align 16 .b8 one[64];\n.shared .align 16 .b8 other[64];\n.shared .align 8 .b32 slot;\n";
    // What an exchange finds is the address that was there, not the one that it leaves.
    let exchange = "mov.u32 %r1, other;\nst.shared.u32 [slot], %r1;\nmov.u32 %r2, one;\natom.shared.exch.b32 %r3, [slot], %r2;\n\
        mov.u32 %r4, 21;\nst.shared.u32 [%r3+8], %r4;\nld.shared.u32 %r5, [other+8];\nst.global.u32 [%out], %r5;";
    assert_eq!(words_in_every_order(1, &format!("{two}{exchange}"), 1), [[21]; 3]);
    let load = "mov.u32 %r1, other;\nmov.u32 %r2, one;\nst.shared.u32 [%r2], %r1;\nld.shared.u32 %r2, [%r2];\nmov.u32 %r4, 22;\nst.shared.u32 [%r2+8], %r4;\n\
        ld.shared.u32 %r5, [other+8];\nst.global.u32 [%out], %r5;";
    assert_eq!(words_in_every_order(1, &format!("{two}{load}"), 1), [[22]; 3]);
    // One that is chosen by a look at the other array's address is of the array that it is of.
    let chosen = "mov.u32 %r1, one;\nmov.u32 %r2, other;\nsetp.lt.u32 %p1, %r2, 4;\nadd.u32 %r3, %r1, 60;\nselp.b32 %r4, %r1, %r3, %p1;\n\
        mov.u32 %r5, 1;\nst.shared.u32 [%r4+4], %r5;";
    let fault = fault(1, &format!("{two}{chosen}"));
    assert_eq!(fault.kind, FaultKind::OutOfBounds, "{fault}");
    assert!(fault.message.contains("past the end of one (shared memory, 64 bytes) at offset 64"), "{fault}");
}

#[test]
fn a_part_that_is_copied_may_be_all_that_there_is() {
    // Of a buffer shorter than a copy, as much as it has; and a byte more.
    for size in [1usize, 3, 4, 7, 15] {
        let body = |read: usize| {
            format!(
                "mov.u32 %r1, {read};\ncp.async.ca.shared.global [tile], [%in], 16, %r1;\ncp.async.wait_all;\n\
                 ld.shared.v4.u32 {{%r2, %r3, %r4, %r5}}, [tile];\nst.global.v4.u32 [%out], {{%r2, %r3, %r4, %r5}};"
            )
        };
        let kernel = |read: usize| Kernel::new(1, &body(read)).input((1..=size as u8).collect());
        let outcome = kernel(size).run().unwrap_or_else(|fault| panic!("{size}: {fault}"));
        let wanted: Vec<Option<u8>> = (1..=16).map(|n| Some(if n <= size as u8 { n } else { 0 })).collect();
        assert_eq!(outcome.bytes[..16], wanted);
        let fault = kernel(size + 1).fault();
        assert_eq!(fault.kind, FaultKind::OutOfBounds, "{fault}");
        assert!(fault.message.contains(&format!("past the end of in ({size} bytes) at offset 0")), "{fault}");
    }
}

#[test]
fn a_copy_reads_its_own_buffer_and_no_other() {
    // Meanwhile another thread writes the same offset of another buffer.
    let body = |to: &str| {
        format!(
            "mov.u32 %r1, 3;\nsetp.eq.u32 %p1, %t, 0;\nsetp.eq.u32 %p2, %t, 40;\n@%p1 cp.async.ca.shared.global [tile], [%out+16], 8;\n\
             bar.sync 0;\n@%p2 st.global.u32 [{to}], %r1;\n@%p1 st.global.u32 [%in+128], %r1;\n@%p1 st.global.u32 [%out+256], %r1;\ncp.async.wait_all;"
        )
    };
    for (to, race) in [("%in+16", false), ("%in+20", false), ("%out+24", false), ("%out+12", false), ("%out+20", true)]
    {
        for schedule in Schedule::ALL {
            let kernel = Kernel { zeros: 4096, ..Kernel::new(64, &body(to)) };
            match (kernel.launch(Launch::new(1, 64).schedule(schedule)).run(), race) {
                (Ok(_), false) => {}
                (Err(fault), true) => assert_eq!(fault.kind, FaultKind::Race, "{schedule}, {to}: {fault}"),
                (Ok(_), true) => panic!("{schedule}, {to}: the copy may read it"),
                (Err(fault), false) => panic!("{schedule}, {to}: {fault}"),
            }
        }
    }
}

#[test]
fn lanes_that_a_register_does_not_name_are_not_ordered() {
    // Whichever register holds the mask, beside the constant that names all lanes.
    for before in 0..24 {
        let others: String = (0..before).map(|n| format!("add.u32 %r{}, %t, %t;\n", 10 + n)).collect();
        let body = format!(
            "{others}mov.u32 %r50, 0xffff;\nmov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nst.shared.u32 [%r101], %t;\n\
             setp.ge.u32 %p1, %t, 16;\n@%p1 bra END;\nbar.warp.sync %r50;\nld.shared.u32 %r2, [%r101+64];\n\
             mad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r2;\nEND: bar.warp.sync -1;"
        );
        assert_eq!(fault(32, &body).kind, FaultKind::Race, "{before} registers before it");
    }
}

#[test]
fn a_row_races_with_whoever_was_in_one_of_its_words() {
    // Warp `row` accesses a word by each lane; before it, one thread of another warp was in the word of one lane.
    for (row, lane) in [1u32, 2].iter().flat_map(|row| (0..32u32).map(move |lane| (*row, lane))) {
        for other in [32 * row - lane % 32, 32 * (row - 1) + lane, 32 * row - 1] {
            if other / 32 == row {
                continue;
            }
            for (before, now) in [("ld", "st"), ("st", "st"), ("st", "ld")] {
                let access = |name: &str, address: &str| match name {
                    "ld" => format!("ld.shared.u32 %r9, [{address}];\n"),
                    _ => format!("st.shared.u32 [{address}], %t;\n"),
                };
                let body = format!(
                    "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nst.shared.u32 [%r101], %t;\nbar.sync 0;\n\
                     setp.eq.u32 %p1, %t, {other};\nand.b32 %r1, %t, 31;\nmad.lo.u32 %r102, %r1, 4, %r100;\nshr.u32 %r2, %t, 5;\n\
                     setp.eq.u32 %p2, %r2, {row};\n@!%p1 bra ROW;\n{}ROW: @!%p2 bra END;\n{}END:",
                    access(before, &format!("tile+{}", 4 * lane)),
                    access(now, "%r102")
                );
                let fault = fault(96, &body);
                assert_eq!(fault.kind, FaultKind::Race, "{row}, {lane}, {other}: {fault}");
                let parties = [fault.site.thread.x, fault.other.as_ref().expect("two parties").1.thread.x];
                assert_eq!(parties, [32 * row + lane, other], "{before} {now}: {fault}");
                assert!(fault.message.contains(&format!("tile (shared memory) at offset {}:", 4 * lane)), "{fault}");
            }
        }
    }
}

#[test]
fn where_the_first_lanes_do_nothing_the_others_meet_all_the_same() {
    // One lane of each of two warps accesses a word; the others name another place, and do not go there.
    let body = |lane: u32, first: &str, second: &str| {
        format!(
            "mov.u32 %r100, tile;\nmov.u32 %r1, 1;\nmad.lo.u32 %r101, %t, 4, %r100;\nst.shared.u32 [%r101+1024], %r1;\nst.shared.u32 [%r101], %r1;\nbar.sync 0;\nand.b32 %r2, %t, 31;\nsetp.eq.u32 %p1, %r2, {lane};\n\
             selp.u32 %r3, 64, 1024, %p1;\nadd.u32 %r3, %r3, %r100;\nsetp.lt.u32 %p2, %t, 32;\n@!%p2 bra SECOND;\n@%p1 {first}\nbra END;\nSECOND:\n@%p1 {second}\nEND:\nbar.sync 0;\nst.global.u32 [%out], %r1;"
        )
    };
    let (load, store) = ("ld.shared.u32 %r4, [%r3];", "st.shared.u32 [%r3], %t;");
    let copy = "cp.async.ca.shared.global [%r3], [%in], 4;";
    for lane in [0, 1, 5, 31] {
        for (first, second, race) in [
            (load, load, false),
            (load, store, true),
            (store, load, true),
            (store, store, true),
            (copy, store, true),
            (store, copy, true),
        ] {
            for schedule in [Schedule::FirstFirst, Schedule::LastFirst] {
                let kernel = Kernel { zeros: 4096, ..Kernel::new(64, &body(lane, first, second)) };
                let outcome = kernel.launch(Launch::new(1, 64).schedule(schedule)).run();
                match outcome {
                    Ok(_) => assert!(!race, "{lane}: {first} {second} {schedule}"),
                    Err(fault) => {
                        assert!(race && fault.kind == FaultKind::Race, "{lane}: {first} {second} {schedule}: {fault}");
                        assert!(fault.message.contains("at offset 64"), "{lane}: {first} {second}: {fault}");
                        assert_eq!(fault.site.lane, lane, "{first} {second}: {fault}");
                    }
                }
            }
        }
    }
}

#[test]
fn one_instruction_of_one_warp_is_told_from_two() {
    // By whole barriers alone, and with atomics besides.
    for (place, also) in [
        ("shared.u32 [tile]", ""),
        ("global.u32 [%out]", ""),
        ("shared.u32 [tile]", "red.shared.add.u32 [tile+64], 1;"),
        ("global.u32 [%out]", "red.global.add.u32 [%out+64], 1;"),
    ] {
        let store = format!("@%p1 st.{place}, %t;\n");
        let (kind, at) = place.split_once(' ').expect("two words");
        let load = format!("@%p1 ld.{kind} %r9, {at};\n");
        let by = |thread: u32, deed: &str| format!("setp.eq.u32 %p1, %t, {thread};\n{deed}");
        let one = "one instruction, different values";
        for (steps, why) in [
            (format!("setp.lt.u32 %p1, %t, 2;\n{store}"), one),
            (format!("and.b32 %r1, %t, 24;\nsetp.eq.u32 %p1, %r1, 24;\n{store}"), one),
            (by(0, &store) + &by(1, &store), "no barrier between"),
            (by(31, &store) + &by(3, &store), "no barrier between"),
            (format!("and.b32 %r1, %t, 31;\nsetp.eq.u32 %p1, %r1, 0;\n{store}"), "no barrier between"),
            (by(0, &store) + &by(1, &load), "no barrier between"),
            (by(7, &load) + &by(6, &store), "no barrier between"),
        ] {
            let before = "st.shared.u32 [tile+64], %t;\nmov.u32 %r2, 3;\nsetp.eq.u32 %p2, %t, 9;\n@%p2 st.shared.u32 [tile], %r2;\nbar.sync 0;\n";
            let before = before.replacen("st.shared.u32 [tile+64], %t;\n", "@%p3 st.shared.u32 [tile+64], %t;\n", 1);
            let body = format!("setp.eq.u32 %p3, %t, 9;\n{before}{steps}{also}");
            let fault = Kernel { zeros: 4096, ..Kernel::new(64, &body) }.fault();
            assert!(fault.kind == FaultKind::Race && fault.message.ends_with(why), "{place} {also} {steps}: {fault}");
        }
    }
}
