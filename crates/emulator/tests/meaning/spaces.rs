//! Loads and stores in every space, of every width, alone and in vectors, at the edges of what may be accessed.

use emulator::{FaultKind, Launch};

use crate::run::{Kernel, MINE, TILE};

fn byte(at: usize) -> u8 {
    (at * 37 + 11) as u8
}

/// The spaces, with what an address in them is made of: its declaration, the base, and how long the memory is.
const SPACES: [(&str, &str, &str, usize); 7] = [
    (".global", "", "%in", 256),
    (".shared", "", "tile", 256),
    (".local", "", "mine", MINE),
    (".const", "", "fixed", 64),
    ("", "mov.u64 %d1, tile;\ncvta.shared.u64 %d1, %d1;", "%d1", 256),
    ("", "mov.u64 %d1, mine;\ncvta.local.u64 %d1, %d1;", "%d1", MINE),
    ("", "mov.u64 %d1, fixed;\ncvta.const.u64 %d1, %d1;", "%d1", 64),
];

/// Fills `tile` and `mine` with the bytes, and declares `fixed` of them.
fn kernel(threads: u32, body: &str) -> Kernel {
    let fixed: Vec<String> = (0..64).map(|at| byte(at).to_string()).collect();
    let mut fill = String::new();
    for at in 0..256 {
        fill += &format!("mov.u32 %r1, {};\nst.shared.u8 [tile+{at}], %r1;\n", byte(at));
        if at < MINE {
            fill += &format!("st.local.u8 [mine+{at}], %r1;\n");
        }
    }
    let kernel =
        Kernel::new(threads, &format!("setp.ne.u32 %p1, %t, 0;\n@%p1 bra FILLED;\n{fill}FILLED: bar.sync 0;\n{body}"));
    let fixed = format!(".const .align 16 .b8 fixed[64] = {{{}}};\n.visible", fixed.join(", "));
    let text = kernel.text.replacen(".visible", &fixed, 1);
    Kernel { text, ..kernel }.input((0..256).map(byte).collect())
}

fn number(at: usize, bytes: usize, signed: bool) -> u64 {
    let value = (0..bytes).fold(0, |value, n| value | u64::from(byte(at + n)) << (8 * n));
    let shift = 64 - 8 * bytes as u32;
    if signed { ((value << shift) as i64 >> shift) as u64 } else { value }
}

#[test]
fn a_load_brings_its_bytes_and_the_sign_of_its_type() {
    for (space, start, base, _) in SPACES {
        let mut body = format!("{start}\n");
        let mut wanted = Vec::new();
        for (bytes, letter) in [(1, 'u'), (1, 's'), (2, 'u'), (2, 's'), (4, 'u'), (4, 's'), (8, 'u')] {
            for elements in [1, 2, 4] {
                if bytes * elements > 16 {
                    continue;
                }
                let at = 3 * bytes * elements % 48 / (bytes * elements) * (bytes * elements);
                // Into registers as wide as they may be, and no wider than 32 bits.
                for wide in [true, false] {
                    if bytes == 8 && !wide {
                        continue;
                    }
                    let register = if wide { 'd' } else { 'r' };
                    let list: Vec<String> = (0..elements).map(|n| format!("%{register}{}", 20 + n)).collect();
                    let (vector, list) = match elements {
                        1 => (String::new(), list[0].clone()),
                        _ => (format!(".v{elements}"), format!("{{{}}}", list.join(", "))),
                    };
                    body += &format!("ld{space}{vector}.{letter}{} {list}, [{base}+{at}];\n", 8 * bytes);
                    for n in 0..elements {
                        let value = number(at + n * bytes, bytes, letter == 's');
                        wanted.push(if wide { value } else { value & 0xffff_ffff });
                        if !wide {
                            body += &format!("cvt.u64.u32 %d{0}, %r{0};\n", 20 + n);
                        }
                        body += &format!("st.global.u64 [%out+{}], %d{};\n", 8 * (wanted.len() - 1), 20 + n);
                    }
                }
            }
        }
        let words = kernel(1, &body).words(2 * wanted.len());
        for (n, wanted) in wanted.iter().enumerate() {
            let got = u64::from(words[2 * n + 1]) << 32 | u64::from(words[2 * n]);
            assert_eq!(got, *wanted, "value {n} of `ld{space}` from {base}");
        }
    }
}

#[test]
fn a_store_changes_its_bytes_and_no_others() {
    for (space, start, base, _) in SPACES.into_iter().filter(|(space, _, base, _)| *space != ".const" && *base != "%in")
    {
        if start.contains("fixed") {
            continue;
        }
        for bytes in [1usize, 2, 4, 8] {
            for elements in [1usize, 2, 4] {
                if bytes * elements > 16 {
                    continue;
                }
                let at = 16;
                let values: Vec<u64> =
                    (0..elements as u64).map(|n| 0x8182_8384_8586_8788 ^ (n << 60) ^ (n * 77)).collect();
                let sets: String = values
                    .iter()
                    .enumerate()
                    .map(|(n, value)| format!("mov.u64 %d{}, {value:#x};\n", 20 + n))
                    .collect();
                let list: Vec<String> = (0..elements).map(|n| format!("%d{}", 20 + n)).collect();
                let (vector, list) = match elements {
                    1 => (String::new(), list[0].clone()),
                    _ => (format!(".v{elements}"), format!("{{{}}}", list.join(", "))),
                };
                let loads: String = (0..12)
                    .map(|n| format!("ld{space}.u32 %r1, [{base}+{}];\nst.global.u32 [%out+{}], %r1;\n", 4 * n, 4 * n))
                    .collect();
                let body = format!("{start}\n{sets}st{space}{vector}.u{} [{base}+{at}], {list};\n{loads}", 8 * bytes);
                let words = kernel(1, &body).words(12);
                let mut wanted: Vec<u8> = (0..48).map(byte).collect();
                for (n, value) in values.iter().enumerate() {
                    wanted[at + n * bytes..][..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
                }
                let got: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                assert_eq!(got, wanted, "{bytes} bytes, {elements} elements, `st{space}` to {base}");
            }
        }
    }
}

/// Only lane 5 of the second warp goes astray; everybody else stays at the start.
fn astray(space: &str, start: &str, base: &str, what: &str, offset: i64, from: u64) -> Kernel {
    let address = match base {
        "%in" | "%d1" => format!("add.u64 %d2, {base}, %d3;"),
        _ => format!("mov.u64 %d2, {base};\nadd.u64 %d2, %d2, %d3;"),
    };
    let body = format!(
        "{start}\nmov.u64 %d3, 0;\nsetp.eq.u32 %p2, %t, 37;\n@%p2 mov.u64 %d3, {offset};\n{address}\n{}",
        what.replace("SPACE", space).replace("ADDRESS", &format!("%d2+{from}"))
    );
    let kernel = kernel(
        64,
        &format!(
            "mov.u64 %d20, 0;\nmov.u64 %d21, 0;\nmov.u32 %r20, 0;\nmov.u32 %r21, 0;\nmov.u32 %r22, 0;\nmov.u32 %r23, 0;\n{body}"
        ),
    );
    Kernel { launch: Launch::new(1, 64).sanitize(false), ..kernel }
}

#[test]
fn an_access_ends_where_its_memory_ends() {
    for (space, start, base, _) in SPACES {
        // The whole variable, not only what was filled.
        let length = match base {
            "tile" => TILE,
            "%d1" if start.contains("tile") => TILE,
            "mine" => MINE,
            "%d1" if start.contains("mine") => MINE,
            "%in" => 256,
            _ => 64,
        } as i64;
        let constant = base == "fixed" || start.contains("fixed");
        for (bytes, load, store) in [
            (1i64, "ldSPACE.u8 %r20, [ADDRESS];", "stSPACE.u8 [ADDRESS], %r20;"),
            (2, "ldSPACE.s16 %r20, [ADDRESS];", "stSPACE.u16 [ADDRESS], %r20;"),
            (4, "ldSPACE.u32 %r20, [ADDRESS];", "stSPACE.u32 [ADDRESS], %r20;"),
            (8, "ldSPACE.u64 %d20, [ADDRESS];", "stSPACE.v2.u32 [ADDRESS], {%r20, %r21};"),
            (16, "ldSPACE.v4.u32 {%r20, %r21, %r22, %r23}, [ADDRESS];", "stSPACE.v2.u64 [ADDRESS], {%d20, %d21};"),
        ] {
            for (text, verb) in [(load, "read"), (store, "write")] {
                if constant && verb == "write" {
                    continue;
                }
                let name = format!("`{text}` in {space} {base}");
                let of = |offset: i64, from: u64| astray(space, start, base, text, offset, from).run();
                assert!(of(length - bytes, 0).is_ok(), "{name}: the last element");
                assert!(of(length - 2 * bytes, bytes as u64).is_ok(), "{name}: the last element");
                let wrong = |offset: i64, from: u64| match of(offset, from) {
                    Err(fault) => fault,
                    Ok(_) => panic!("{name}: at {offset} lies nothing"),
                };
                for (offset, from) in [(length, 0), (length - bytes, bytes as u64), (length + 160, 0)] {
                    let fault = wrong(offset, from);
                    assert_eq!(fault.kind, FaultKind::OutOfBounds, "{name}: {fault}");
                    assert_eq!((fault.site.warp, fault.site.lane, fault.site.thread.x), (1, 5, 37), "{name}: {fault}");
                    let at = offset + from as i64;
                    assert!(
                        fault.message.starts_with(&format!("{verb} of {bytes} bytes past the end of ")),
                        "{name}: {fault}"
                    );
                    assert!(fault.message.ends_with(&format!("at offset {at}")), "{name}: {fault}");
                }
                let before = wrong(-bytes, 0);
                assert_eq!((before.kind, before.site.lane), (FaultKind::OutOfBounds, 5), "{name}: {before}");
                if bytes > 1 {
                    for offset in [length - bytes + 1, bytes / 2] {
                        let fault = wrong(offset, 0);
                        if offset == bytes / 2 {
                            assert_eq!(fault.kind, FaultKind::Misaligned, "{name} at {offset}: {fault}");
                            assert!(
                                fault.message.contains(&format!("at offset {offset}, which is no multiple of {bytes}")),
                                "{name}: {fault}"
                            );
                        }
                        assert_eq!(fault.site.lane, 5, "{name}: {fault}");
                    }
                }
            }
        }
    }
}

#[test]
fn lanes_may_access_several_buffers_and_spaces_at_once() {
    // Lane n: of `in`, of `out`, of `tile`, of `mine`, by the lowest two bits of its number.
    let body = "mov.u64 %d2, tile;\ncvta.shared.u64 %d2, %d2;\nmov.u64 %d3, mine;\ncvta.local.u64 %d3, %d3;\nand.b32 %r1, %t, 3;\n\
        mad.wide.u32 %d4, %t, 4, %out;\nadd.u32 %r2, %t, 1000;\nst.global.u32 [%d4+256], %r2;\nadd.u32 %r3, %t, 3000;\n\
        st.local.u32 [mine+4], %r3;\nadd.u32 %r4, %t, 2000;\nmov.u32 %r5, tile;\nmad.lo.u32 %r5, %t, 4, %r5;\nst.shared.u32 [%r5+512], %r4;\nbar.sync 0;\n\
        mad.wide.u32 %d5, %t, 4, %in;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 add.u64 %d5, %d4, 256;\nsetp.eq.u32 %p1, %r1, 2;\n\
        @%p1 mad.wide.u32 %d5, %t, 4, %d2;\n@%p1 add.u64 %d5, %d5, 512;\nsetp.eq.u32 %p1, %r1, 3;\n@%p1 add.u64 %d5, %d3, 4;\n\
        .loc 1 7 0\nld.u32 %r6, [%d5];\n.loc 1 8 0\nst.global.u32 [%d4], %r6;\n.loc 1 9 0\nadd.u32 %r6, %r6, 7;\n.loc 1 10 0\nst.u32 [%d5], %r6;\n.loc 1 11 0\nld.u32 %r7, [%d5];\n.loc 1 12 0\nst.global.u32 [%d4+1024], %r7;";
    let body =
        body.replace("@%p1 mad.wide.u32 %d5, %t, 4, %d2;", "mad.wide.u32 %d6, %t, 4, %d2;\n@%p1 mov.u64 %d5, %d6;");
    let outcome = Kernel::new(64, &body).input((0..64u32).flat_map(|n| (n + 5000).to_le_bytes()).collect()).run();
    let outcome = outcome.expect("it is right");
    let wanted = |lane: u32| lane + [5000, 1000, 2000, 3000][lane as usize % 4];
    let words: Vec<u32> = (0..64).map(wanted).collect();
    assert_eq!(outcome.words(64), words);
    let again: Vec<u32> = (0..64)
        .map(|n| u32::from_le_bytes(std::array::from_fn(|b| outcome.bytes[1024 + 4 * n + b].expect("written"))))
        .collect();
    assert_eq!(again, words.iter().map(|word| word + 7).collect::<Vec<_>>());
    let line =
        |number: u32| outcome.report.lines.iter().find(|line| line.line == number).expect("it ran").counters.clone();
    // Of each warp 16 lanes go to global memory, 8 to shared, 8 to local memory.
    let load = line(7);
    assert_eq!((load.global_load.requests, load.global_load.bytes), (2, 2 * 16 * 4));
    assert_eq!((load.shared_load.requests, load.shared_load.bytes), (2, 2 * 8 * 4));
    let store = line(10);
    assert_eq!((store.global_store.requests, store.global_store.bytes), (2, 2 * 16 * 4));
    assert_eq!((store.shared_store.requests, store.shared_store.bytes), (2, 2 * 8 * 4));
    assert_eq!((store.global_load.requests, load.global_store.requests), (0, 0));
}

#[test]
fn a_signed_byte_fills_a_register_of_sixteen_bits_and_no_more() {
    for (kind, wanted) in [("s8", 0x0000_ff9au32), ("u8", 0x9a), ("s16", 0x8b9a), ("u16", 0x8b9a)] {
        let body = format!(
            "mov.u32 %r1, 0x8b9a;\nst.shared.u16 [tile], %r1;\nld.shared.{kind} %h1, [tile];\nmov.u16 %h2, 0;\nmov.b32 %r2, {{%h1, %h2}};\ncvt.u32.u16 %r3, %h1;\nst.global.v2.u32 [%out], {{%r2, %r3}};"
        );
        assert_eq!(Kernel::new(1, &body).words(2), [wanted, wanted], "{kind}");
    }
}

#[test]
fn a_block_alone_is_the_whole_of_its_cluster() {
    // No launch names a cluster: the block's own addresses are of rank 0, and there is no other.
    let body = "mov.u32 %r1, tile;\nmapa.shared::cluster.u32 %r2, %r1, 0;\ngetctarank.shared::cluster.u32 %r3, %r2;\ncvt.u64.u32 %d1, %r1;\ncvta.shared.u64 %d1, %d1;\n\
        getctarank.u64 %r4, %d1;\nmapa.u64 %d2, %d1, 0;\nsub.u64 %d2, %d2, %d1;\ncvt.u32.u64 %r5, %d2;\nsub.u32 %r2, %r2, %r1;\n\
        st.global.v4.u32 [%out], {%r2, %r3, %r4, %r5};";
    assert_eq!(Kernel::new(1, body).words(4), [0; 4]);
    let fault = Kernel::new(1, &body.replace("%r1, 0;", "%r1, 1;")).fault();
    assert!(fault.message.contains("to block rank 1, and the cluster has 1 block"), "{fault}");
}

#[test]
fn an_address_of_a_peer_is_told_from_one_of_nobody() {
    // Addresses of a block's shared memory begin at its rank, times 16 MiB.
    const WINDOW: u32 = 1 << 24;
    for (size, address, said) in [
        (1, WINDOW, "past the end of"),
        (2, WINDOW - 4, "past the end of"),
        (2, WINDOW, "which is of block rank 1, by an instruction for own shared memory"),
        (2, 2 * WINDOW - 4, "which is of block rank 1, by an instruction for own shared memory"),
        (2, 2 * WINDOW, "past the end of"),
        (4, 3 * WINDOW + 8, "which is of block rank 3, by an instruction for own shared memory"),
        (4, 4 * WINDOW, "past the end of"),
    ] {
        for access in ["ld.shared.u32 %r2, [%r1];", "st.shared.u32 [%r1], %r1;"] {
            let body = format!(
                "mov.u32 %r1, {address};\nsetp.eq.u32 %p1, %block, 0;\n@%p1 {access}\nbarrier.cluster.arrive;\nbarrier.cluster.wait;"
            );
            let kernel = Kernel::new(0, &body).launch(Launch::new(size, 1).cluster(size, 1, 1));
            let fault = kernel.fault();
            let right = fault.kind == FaultKind::OutOfBounds && fault.message.contains(said);
            assert!(right, "{size}, {address:#x}, {access}: {fault}");
        }
    }
}

#[test]
fn who_sends_to_a_wrong_place_or_barrier_is_named() {
    for thread in [0, 5, 31, 37] {
        for (send, bytes) in [
            ("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r102], %r1, [%r101];", 4),
            (
                "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r102], %r1, [%r101];",
                4,
            ),
            (
                "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r102], [%r104], 16, [%r101];",
                16,
            ),
            ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r102], [%in], 16, [%r101];", 16),
        ] {
            for (barrier, place, kind) in [
                (72, 512, None),
                (68, 512, Some(FaultKind::Misaligned)),
                (4096, 512, Some(FaultKind::OutOfBounds)),
                (1 << 25, 512, Some(FaultKind::OutOfBounds)),
                (80, 512, Some(FaultKind::Barrier)),
                (72, 514, Some(FaultKind::Misaligned)),
                (72, 4096, Some(FaultKind::OutOfBounds)),
                (72, 1 << 25, Some(FaultKind::OutOfBounds)),
                (72, 72, Some(if bytes == 16 { FaultKind::Misaligned } else { FaultKind::Barrier })),
                (72, 64, (bytes == 16).then_some(FaultKind::Barrier)),
            ] {
                let body = format!(
                    "mov.u32 %r100, tile;\nmov.u32 %r1, 1;\nsetp.eq.u32 %p1, %t, {thread};\n@%p1 mbarrier.init.shared.b64 [%r100+72], %r1;\n@%p1 fence.mbarrier_init.release.cluster;\n\
                     @%p1 st.shared.v4.u32 [tile+1024], {{%r1, %r1, %r1, %r1}};\n@%p1 st.shared.u32 [tile+64], %r1;\n@%p1 st.shared.u32 [tile+512], %r1;\n@%p1 fence.proxy.async;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n\
                     mapa.shared::cluster.u32 %r101, %r100, 0;\nadd.u32 %r102, %r101, {place};\nadd.u32 %r101, %r101, {barrier};\nadd.u32 %r104, %r100, 1024;\n\
                     @%p1 mbarrier.arrive.expect_tx.shared.b64 %d1, [tile+72], {bytes};\n@%p1 {send}\nW: mbarrier.try_wait.parity.shared.b64 %p5, [tile+72], 0;\n@!%p5 bra W;"
                );
                let found = Kernel { zeros: 4096, ..Kernel::new(64, &body) }.run().err();
                let told = found.as_ref().map(|fault| (fault.kind, fault.site.thread.x));
                let why = found.as_ref().map_or(String::new(), |fault| fault.to_string());
                assert_eq!(told, kind.map(|kind| (kind, thread)), "{send}, {barrier}, {place}: {why}");
            }
        }
    }
}
