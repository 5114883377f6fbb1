//! Tensor maps that a kernel changes: where they may lie, and who must have acquired what before a copy goes by them.

use emulator::{Argument, Device, Fault, FaultKind, Launch, LaunchError, Module, TensorElement, TensorMapDescription};

/// Runs a body for which `%in` has 16 maps of four words each, of nothing yet, and from byte 2048 on the words 0, 1, …; `%out` has zeros.
fn run(threads: u32, body: &str) -> Result<Vec<u32>, Box<Fault>> {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 tile[4096];\n\
         .visible .entry k(.param .u64 a, .param .u64 b)\n{{\n.reg .pred %p<9>; .reg .b32 %r<32>, %t; .reg .b64 %d<32>, %in, %out;\n\
         ld.param.u64 %in, [a];\nld.param.u64 %out, [b];\nmov.u32 %t, %tid.x;\n{body}\nret;\n}}\n"
    );
    let kernel = Module::parse(&text).and_then(|module| module.kernel("k")).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut device = Device::new();
    let (from, to) = (device.alloc("in", 4096), device.alloc("out", 256));
    let map = TensorMapDescription::packed(TensorElement::U32, 1 << 40, &[4], &[4]).encode().expect("it is right");
    let words = (0..512u32).flat_map(u32::to_le_bytes);
    let bytes: Vec<u8> = (0..16).flat_map(|_| *map.bytes()).chain(words).collect();
    device.write(from, &bytes).expect("it has this size");
    device.write(to, &[0; 256]).expect("it has this size");
    match device.launch(&kernel, Launch::new(1, threads), &[Argument::Buffer(from), Argument::Buffer(to)]) {
        Ok(_) => {
            let mut all = [0; 256];
            device.read(to, &mut all).expect("it is written");
            Ok(all.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
        }
        Err(LaunchError::Fault(fault)) => Err(fault),
        Err(error) => panic!("{error}\n{text}"),
    }
}

const BEGIN: &str = "mbarrier.init.shared.b64 [tile], 1;\nfence.mbarrier_init.release.cluster;\nmbarrier.arrive.expect_tx.shared.b64 %d1, [tile], 64;\n";
const WAIT: &str = "W: mbarrier.try_wait.parity.shared.b64 %p1, [tile], 0;\n@!%p1 bra W;\n";

/// Map `n` becomes that of the words from 16 n + 4 on.
fn replace(n: u32, space: &str) -> String {
    format!(
        "add.u64 %d2, %in, {};\nadd.u64 %d3, %in, {};\ntensormap.replace.tile.global_address{space}.b1024.b64 [%d2], %d3;\n",
        128 * n,
        2048 + 64 * n + 16
    )
}

fn acquire(n: u32) -> String {
    format!("add.u64 %d2, %in, {};\nfence.proxy.tensormap::generic.acquire.gpu [%d2], 128;\n", 128 * n)
}

fn load(n: u32, place: u32) -> String {
    format!(
        "add.u64 %d2, %in, {};\nmov.u32 %r1, 0;\n\
         cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [tile+{}], [%d2, {{%r1}}], [tile];\n",
        128 * n,
        128 + 128 * place
    )
}

#[test]
fn each_map_that_was_changed_is_acquired_by_itself_in_any_order() {
    const RELEASE: &str = "fence.proxy.tensormap::generic.release.gpu;\n";
    for order in [[0, 5, 9, 15], [15, 9, 5, 0], [9, 0, 15, 5], [5, 15, 0, 9]] {
        for space in ["", ".global"] {
            let body = |missing: Option<u32>, twice: bool| {
                let each = |text: &dyn Fn(u32) -> String| order.map(text).concat();
                let acquired =
                    |n: u32| if missing == Some(n) { String::new() } else { acquire(n).repeat(1 + usize::from(twice)) };
                let loads: String = order.iter().zip(0..).map(|(n, place)| load(*n, place)).collect();
                let store = |place: u32| {
                    format!(
                        "ld.shared.v4.u32 {{%r1, %r2, %r3, %r4}}, [tile+{}];\nst.global.v4.u32 [%out+{}], {{%r1, %r2, %r3, %r4}};\n",
                        128 + 128 * place,
                        16 * place
                    )
                };
                format!(
                    "{BEGIN}{}{RELEASE}{}{loads}{WAIT}{}",
                    each(&|n| replace(n, space)),
                    each(&acquired),
                    [0, 1, 2, 3].map(store).concat()
                )
            };
            for twice in [false, true] {
                let words = run(1, &body(None, twice)).unwrap_or_else(|fault| panic!("{order:?}: {fault}"));
                let wanted: Vec<u32> = order.iter().flat_map(|n| (0..4).map(move |word| 16 * n + 4 + word)).collect();
                assert_eq!(words[..16], wanted, "{order:?}");
            }
            for missing in order {
                let fault = run(1, &body(Some(missing), false)).expect_err("it was not acquired");
                let place =
                    format!("race on the tensor map in in at offset {}: written by thread (0,0) at ", 128 * missing);
                assert!(fault.kind == FaultKind::Race && fault.message.starts_with(&place), "{order:?}: {fault}");
                assert!(fault.message.contains(", used by a tensor copy of thread (0,0) at "), "{fault}");
                let writer = &fault.other.as_ref().expect("two parties").1;
                assert!(writer.opcode.starts_with("tensormap.replace"), "{fault}");
            }
        }
    }
}

#[test]
fn who_wrote_a_map_is_the_thread_that_did() {
    // By whole barriers alone, and with atomics besides.
    for (thread, also) in [0, 3, 31, 32, 45]
        .into_iter()
        .flat_map(|thread| ["", "red.global.add.u32 [%out+200], 1;"].map(|also| (thread, also)))
    {
        let body = format!(
            "setp.ne.u32 %p2, %t, {thread};\n@%p2 bra READY;\n{}READY: bar.sync 0;\nsetp.ne.u32 %p2, %t, 7;\n@%p2 bra END;\n{BEGIN}{}{WAIT}END:{also}",
            replace(3, ".global"),
            load(3, 0)
        );
        let fault = run(64, &body).expect_err("nobody acquired it");
        let other = fault.other.as_ref().expect("two parties").1.thread.x;
        assert_eq!((fault.kind, fault.site.thread.x, other), (FaultKind::Race, 7, thread), "{fault}");
    }
}

#[test]
fn what_lies_beside_a_map_may_be_written_meanwhile() {
    // Thread 32 writes a word before the map, within it, or behind it.
    for (at, also) in
        [124, 128, 252, 256].into_iter().flat_map(|at| ["", "red.global.add.u32 [%out+200], 1;"].map(|also| (at, also)))
    {
        let body = format!(
            "setp.eq.u32 %p3, %t, 32;\n@%p3 st.global.u32 [%in+{at}], %t;\nsetp.ne.u32 %p2, %t, 7;\n@%p2 bra END;\n\
             add.u64 %d4, %in, 2048;\n{BEGIN}{}{WAIT}END:{also}",
            load(1, 0).replace("mov.u32 %r1, 0;", "mov.u32 %r1, 4;")
        );
        let body = body.replace(", 64;\n", ", 16;\n");
        let outcome = run(64, &body);
        let within = (128..256).contains(&at);
        match outcome {
            Ok(_) => assert!(!within, "{at}"),
            Err(fault) => assert!(within && fault.kind == FaultKind::Race, "{at}: {fault}"),
        }
    }
}

#[test]
fn a_map_has_128_bytes_from_a_multiple_of_64_on() {
    let shared = |at: u32| {
        format!(
            "mov.u32 %r1, tile;\nadd.u32 %r1, %r1, {at};\nst.shared.u32 [tile+{at}], %t;\ntensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r1], %in;\n"
        )
    };
    let generic = |at: u32| {
        format!(
            "mov.u64 %d2, tile;\ncvta.shared.u64 %d2, %d2;\nadd.u64 %d2, %d2, {at};\nst.shared.u32 [tile+{at}], %t;\ntensormap.replace.tile.global_address.b1024.b64 [%d2], %in;\n"
        )
    };
    let global = |at: u32| {
        format!("add.u64 %d2, %in, {at};\ntensormap.replace.tile.global_address.global.b1024.b64 [%d2], %in;\n")
    };
    let copied = |at: u32| {
        format!(
            "mov.u32 %r1, tile;\nadd.u32 %r1, %r1, {at};\ntensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%in], [%r1], 128;\n"
        )
    };
    for (name, text) in [
        ("tile (shared memory)", &shared as &dyn Fn(u32) -> String),
        ("tile (shared memory)", &generic),
        ("in", &global),
        ("tile (shared memory)", &copied),
    ] {
        for (at, kind, said) in [
            (3968, None, ""),
            (0, None, ""),
            (32, Some(FaultKind::Misaligned), "is at no multiple of 64 bytes"),
            (4032, Some(FaultKind::OutOfBounds), "has 128 bytes, and only 64 are there"),
        ] {
            // All of shared memory is written before.
            let threads = if text(0).contains("aligned") { 32 } else { 1 };
            let fill = "mov.u32 %r9, 0;\nF: add.u32 %r10, %r9, 0;\nmov.u32 %r11, tile;\nadd.u32 %r11, %r11, %r9;\nsetp.eq.u32 %p3, %t, 0;\n@%p3 st.shared.u32 [%r11], %r9;\n\
                        add.u32 %r9, %r9, 4;\nsetp.lt.u32 %p1, %r9, 4096;\n@%p1 bra F;\nbar.sync 0;\n";
            match (run(threads, &format!("{fill}{}", text(at))), kind) {
                (Ok(_), None) => {}
                (Err(fault), Some(kind)) => {
                    assert_eq!(fault.kind, kind, "{at}: {fault}");
                    assert!(
                        fault.message.contains(&format!("in {name} at offset {at}, which {said}")),
                        "{at}: {fault}"
                    );
                }
                (outcome, _) => panic!("{name}, {at}: {:?}", outcome.map(drop).map_err(|fault| fault.to_string())),
            }
        }
    }
}

#[test]
fn what_is_no_map_is_said_by_its_bytes() {
    for (bytes, said) in [
        (0, "is none: all of its bytes are 0"),
        (1, "is none, but would be of a box whose rows have 1 bytes, no multiple of 16"),
    ] {
        let body = format!(
            "mov.u64 %d5, {bytes};\nmov.u64 %d6, 0;\nadd.u64 %d2, %in, 128;\nst.global.v2.u64 [%d2], {{%d6, %d6}};\n{}st.global.u64 [%d2+120], %d5;\n\
             fence.proxy.tensormap::generic.release.gpu;\n{}{BEGIN}{}{WAIT}",
            (1..7).map(|n| format!("st.global.v2.u64 [%d2+{}], {{%d6, %d6}};\n", 16 * n)).collect::<String>()
                + "st.global.u64 [%d2+112], %d6;\n",
            acquire(1),
            load(1, 0)
        );
        let fault = run(1, &body).expect_err("it is none");
        let begins = "the tensor map in in at offset 128, which ";
        assert!(fault.kind == FaultKind::Trap && fault.message.contains(&format!("{begins}{said}")), "{fault}");
        assert_eq!(fault.message.contains("all of its bytes are 0"), bytes == 0, "{fault}");
    }
}

#[test]
fn a_map_that_lies_askew_or_runs_past_the_end_is_named_as_one() {
    // 4096 bytes are in `in` and in `tile`; the other map, where there are two, lies well.
    let copy = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned";
    for (at, kind, why) in [
        (16, FaultKind::Misaligned, "is at no multiple of 64 bytes"),
        (48, FaultKind::Misaligned, "is at no multiple of 64 bytes"),
        (4096 - 64, FaultKind::OutOfBounds, "has 128 bytes, and only 64 are there"),
    ] {
        for (deed, place) in [
            (format!("{copy} [%d2], [tile+{at}], 128;"), "in tile (shared memory)"),
            (format!("{copy} [%d4], [tile], 128;"), "in in"),
            (
                format!("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [tile+{at}], %d2;"),
                "in tile (shared memory)",
            ),
            ("tensormap.replace.tile.global_address.global.b1024.b64 [%d4], %d2;".to_string(), "in in"),
            ("tensormap.replace.tile.global_address.b1024.b64 [%d4], %d2;".to_string(), "in in"),
        ] {
            let body = format!("add.u64 %d2, %in, 0;\nadd.u64 %d4, %in, {at};\n{deed}");
            let fault = run(32, &body).expect_err("no map may lie there");
            let said = format!("{place} at offset {at}, which {why}");
            assert!(fault.kind == kind && fault.message.contains(&said), "{deed}: {fault}");
        }
    }
}
