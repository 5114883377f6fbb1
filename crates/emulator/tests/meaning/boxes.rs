//! Boxes of tensors and operands of warpgroups, by whichever thread and warp: which bytes they are, and who may write them when.

use emulator::{
    Argument, Device, Fault, FaultKind, Launch, LaunchError, Module, Schedule, TensorElement, TensorMapDescription,
};

use crate::run::Kernel;

/// Executed by one thread of many.
fn by(thread: u32, text: &str) -> String {
    let guarded: String = text.lines().map(|line| format!("@%p9 {line}\n")).collect();
    format!("setp.eq.u32 %p9, %t, {thread};\n{guarded}")
}

/// Runs a body of a kernel with `%map`, the map of a tensor of rows of so many bytes 32 apart in the buffer `%out`, boxed by 16 and
/// one row, and gives what the buffer holds. Before, each byte of it is its offset.
fn run(body: &str, launch: Launch, columns: u64, bytes: usize) -> Result<Vec<u8>, Box<Fault>> {
    run_from(&(0..bytes).map(|n| n as u8).collect::<Vec<u8>>(), body, launch, columns, bytes)
}

/// The same where the buffer begins with these bytes and the others are unwritten; gives those.
fn run_from(first: &[u8], body: &str, launch: Launch, columns: u64, bytes: usize) -> Result<Vec<u8>, Box<Fault>> {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.shared .align 128 .b8 tile[1024];\n\
         .visible .entry k(.param .u64 out, .param .align 64 .b8 map[128])\n{{\n\
         .reg .pred %p<16>; .reg .b32 %r<32>, %t, %block; .reg .b64 %d<32>, %out, %map;\n\
         ld.param.u64 %out, [out];\nmov.b64 %map, map;\ncvta.param.u64 %map, %map;\nmov.u32 %t, %tid.x;\nmov.u32 %block, %ctaid.x;\n\
         {body}\nret;\n}}\n"
    );
    let kernel = Module::parse(&text).and_then(|module| module.kernel("k")).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut device = Device::new();
    let out = device.alloc("out", bytes);
    device.write(out, first).expect("it has this size");
    let rows = bytes.div_ceil(32) as u64;
    let address = device.address(out).expect("it is there");
    let map = TensorMapDescription::new(TensorElement::U8, address, &[columns, rows], &[32], &[16, 1]);
    let map = map.encode().expect("it is right");
    match device.launch(&kernel, launch, &[Argument::Buffer(out), map.into()]) {
        Ok(_) => {
            let mut all = vec![0; first.len()];
            device.read_at(out, 0, &mut all).expect("it is written");
            Ok(all)
        }
        Err(LaunchError::Fault(fault)) => Err(fault),
        Err(error) => panic!("{error}\n{text}"),
    }
}

const FULL: &str = "setp.eq.u32 %p8, %t, 1;\n@%p8 mbarrier.init.shared.b64 [tile+72], 1;\n@%p8 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n";
const WAIT: &str = "W: mbarrier.test_wait.parity.shared.b64 %p2, [tile+72], 0;\n@!%p2 bra W;\n";

fn load(to: u32, column: i32, row: i32) -> String {
    format!(
        "mov.u32 %r20, {column};\nmov.u32 %r21, {row};\nmbarrier.arrive.expect_tx.shared.b64 %d1, [tile+72], 16;\n\
         cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile+{to}], [%map, {{%r20, %r21}}], [tile+72];"
    )
}

fn store(column: i32, row: i32, from: u32) -> String {
    format!(
        "mov.u32 %r20, {column};\nmov.u32 %r21, {row};\n\
         cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {{%r20, %r21}}], [tile+{from}];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;"
    )
}

#[test]
fn a_box_goes_in_and_out_by_any_thread() {
    for thread in [0, 5, 37] {
        let body = format!("{FULL}{}{WAIT}{}", by(thread, &load(128, 16, 1)), by(thread, &store(0, 3, 128)));
        let bytes = run(&body, Launch::new(1, 64), 32, 128).unwrap_or_else(|fault| panic!("{fault}"));
        let wanted: Vec<u8> = (0..128).map(|n| if (96..112).contains(&n) { n - 96 + 48 } else { n }).collect();
        assert_eq!(bytes, wanted, "thread {thread}");
        for (copy, kind) in [
            (load(136, 0, 0), FaultKind::Misaligned),
            (load(1024, 0, 0), FaultKind::OutOfBounds),
            (store(0, 0, 136), FaultKind::Misaligned),
            (store(0, 0, 2048), FaultKind::OutOfBounds),
        ] {
            let fault = run(&format!("{FULL}{}", by(thread, &copy)), Launch::new(1, 64), 32, 128).expect_err("wrong");
            assert_eq!((fault.kind, fault.site.thread.x), (kind, thread), "{copy}: {fault}");
        }
    }
}

#[test]
fn a_row_is_stored_to_its_last_byte() {
    // A tensor of one row, at the end of a buffer of as many bytes.
    for columns in 1..=16 {
        let body = "mov.u32 %r1, 0x80818283;\nst.shared.v4.u32 [tile+128], {%r1, %r1, %r1, %r1};\nfence.proxy.async;\n";
        let body = format!("{body}{}", store(0, 0, 128));
        let bytes = run(&body, Launch::new(1, 1), columns as u64, columns).unwrap_or_else(|fault| panic!("{fault}"));
        let wanted: Vec<u8> = (0..columns).map(|n| 0x83 - n as u8 % 4).collect();
        assert_eq!(bytes, wanted, "{columns} columns");
    }
}

#[test]
fn a_row_is_loaded_to_its_last_byte() {
    // Behind it come zeros.
    for columns in 1..=32u8 {
        let copy = by(
            37,
            "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [tile+128];\nst.global.v4.u32 [%out+96], {%r1, %r2, %r3, %r4};",
        );
        for column in [0, 16] {
            let body = format!("{FULL}{}{WAIT}{copy}", by(37, &load(128, column, 1)));
            let bytes = run(&body, Launch::new(1, 64), columns.into(), 128).unwrap_or_else(|fault| panic!("{fault}"));
            let inside = |n: u8| if column as u8 + n < columns { 32 + column as u8 + n } else { 0 };
            assert_eq!(bytes[96..112], (0..16).map(inside).collect::<Vec<u8>>(), "{columns} columns from {column} on");
        }
    }
}

#[test]
fn a_box_brings_what_nobody_wrote_byte_by_byte() {
    // Of a row of 16 bytes one is missing, and one of them leads to an address.
    for missing in 0..16 {
        let some: String =
            (0..16).filter(|n| *n != missing).map(|n| format!("st.global.u8 [%out+{}], %r1;\n", 48 + n)).collect();
        for byte in [missing, (missing + 1) % 16, (missing + 15) % 16] {
            let body = format!(
                "mov.u32 %r1, 7;\n{FULL}{}{WAIT}{}",
                by(37, &format!("{some}fence.proxy.async;\n{}", load(128, 16, 1))),
                by(
                    37,
                    &format!(
                        "ld.shared.u8 %r2, [tile+{}];\ncvt.u64.u32 %d3, %r2;\nadd.u64 %d3, %d3, %out;\nst.global.u8 [%d3], %r1;",
                        128 + byte
                    )
                )
            );
            match run_from(&[0; 32], &body, Launch::new(1, 64), 32, 64) {
                Ok(bytes) => assert_eq!((byte != missing, bytes[7]), (true, 7), "{missing}"),
                Err(fault) => assert_eq!((fault.kind, byte), (FaultKind::Uninitialised, missing), "{fault}"),
            }
        }
    }
}

#[test]
fn a_box_is_of_what_was_written_before() {
    // Another block, or another thread, writes into the box or beside it; nothing orders the two, or a barrier does.
    let write = |thread: u32, at: u32| {
        by(thread, &format!("mov.u32 %r1, 9;\nst.global.u32 [%out+{at}], %r1;\nfence.proxy.async;"))
    };
    for other in ["", "red.global.add.u32 [%out+0], 1;\n"] {
        for (at, meets) in [(44, false), (48, true), (60, true), (64, false)] {
            let blocks = format!(
                "{other}setp.eq.u32 %p3, %block, 1;\n@%p3 bra WRITE;\n{FULL}{}{WAIT}bra END;\nWRITE: {}END:",
                by(37, &load(128, 16, 1)),
                write(5, at)
            );
            let threads =
                |between: &str| format!("{other}{FULL}{}{between}{}{WAIT}", write(3, at), by(37, &load(128, 16, 1)));
            let stores = |between: &str| {
                let fill = "mov.u32 %r1, 7;\nst.shared.v4.u32 [tile+128], {%r1, %r1, %r1, %r1};\nfence.proxy.async;\n";
                format!("{other}{}{between}{}", write(3, at), by(37, &format!("{fill}{}", store(16, 1, 128))))
            };
            let bar = "bar.sync 0;\n";
            for (body, grid, race) in [
                (blocks, 2, meets),
                (threads(""), 1, meets),
                (threads(bar), 1, false),
                (stores(""), 1, meets),
                (stores(bar), 1, false),
            ] {
                for schedule in Schedule::ALL {
                    match run(&body, Launch::new(grid, 64).schedule(schedule), 32, 128) {
                        Ok(_) => assert!(!race, "{schedule}: {body}"),
                        Err(fault) => assert!(race && fault.kind == FaultKind::Race, "{schedule}: {fault}\n{body}"),
                    }
                }
            }
        }
    }
}

#[test]
fn a_warp_multiplies_its_own_rows_whichever_way_they_lie() {
    // A is transposed: chunks of 8 rows. Each warp stores its own 16 rows, and knows of no other's; or of all but one chunk of them.
    let body = |skew: u32| {
        format!(
            "mov.u32 %r1, 0x3c003c00;\nmov.u32 %r100, tile;\nsetp.lt.u32 %p1, %t, 16;\nmad.lo.u32 %r101, %t, 16, %r100;\n@%p1 st.shared.v4.u32 [%r101+2048], {{%r1, %r1, %r1, %r1}};\n\
             fence.proxy.async;\nbar.sync 0;\nadd.u32 %r9, %t, {skew};\nand.b32 %r9, %r9, 127;\nshr.u32 %r2, %r9, 4;\nand.b32 %r3, %r9, 15;\nshr.u32 %r4, %r3, 3;\nand.b32 %r3, %r3, 7;\nmad.lo.u32 %r5, %r2, 128, %r100;\n\
             mad.lo.u32 %r5, %r4, 1024, %r5;\nmad.lo.u32 %r5, %r3, 16, %r5;\nst.shared.v4.u32 [%r5], {{%r1, %r1, %r1, %r1}};\nfence.proxy.async;\nbar.warp.sync -1;\n\
             mov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\nwgmma.fence.sync.aligned;\n\
             shr.u32 %r6, %r100, 4;\ncvt.u64.u32 %d1, %r6;\nor.b64 %d2, %d1, {};\nadd.u64 %d3, %d1, 128;\nor.b64 %d3, %d3, {};\n\
             wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %d2, %d3, 1, 1, 1, 1, 0;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n\
             add.f32 %f0, %f0, %f1;\nadd.f32 %f0, %f0, %f2;\nadd.f32 %f0, %f0, %f3;\ncvt.rzi.u32.f32 %r7, %f0;\nmad.wide.u32 %d4, %t, 4, %out;\nst.global.u32 [%d4], %r7;",
            64u64 << 16 | 8 << 32,
            8u64 << 16 | 16 << 32
        )
    };
    let kernel = |skew: u32, schedule| {
        let kernel = Kernel { zeros: 4096, ..Kernel::new(128, &body(skew)) };
        let text = kernel.text.replacen(".target sm_90\n", ".target sm_90a\n", 1);
        Kernel { text, ..kernel }.launch(Launch::new(1, 128).schedule(schedule))
    };
    for schedule in Schedule::ALL {
        assert_eq!(kernel(0, schedule).words(128), [64; 128], "{schedule}");
        for skew in [16, 32, 112] {
            let fault = kernel(skew, schedule).fault();
            assert_eq!(fault.kind, FaultKind::Race, "{schedule}: {fault}");
        }
    }
}

#[test]
fn whether_a_product_is_added_somebody_has_to_say() {
    // A in registers; the predicate comes from what nobody wrote.
    let body = "mov.u32 %r1, 0x3c003c00;\nmov.u32 %r100, tile;\nsetp.lt.u32 %p1, %t, 16;\nmad.lo.u32 %r101, %t, 16, %r100;\n@%p1 st.shared.v4.u32 [%r101+2048], {%r1, %r1, %r1, %r1};\n\
         fence.proxy.async;\nbar.sync 0;\nld.shared.u32 %r8, [tile+3000];\nsetp.ne.u32 %p3, %r8, 5;\n\
         mov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\nwgmma.fence.sync.aligned;\n\
         shr.u32 %r6, %r100, 4;\ncvt.u64.u32 %d1, %r6;\nadd.u64 %d3, %d1, 128;\nor.b64 %d3, %d3, 68720001024;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%r1, %r1, %r1, %r1}, %d3, %p3, 1, 1, 0;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n\
         add.f32 %f0, %f0, %f1;\ncvt.rzi.u32.f32 %r7, %f0;\nmad.wide.u32 %d4, %t, 4, %out;\nst.global.u32 [%d4], %r7;";
    let kernel = Kernel { zeros: 4096, ..Kernel::new(128, body) };
    let text = kernel.text.replacen(".target sm_90\n", ".target sm_90a\n", 1);
    let written =
        text.replacen("ld.shared.u32 %r8", "@%p1 st.shared.u32 [tile+3000], %r1;\nbar.sync 0;\nld.shared.u32 %r8", 1);
    let fault = Kernel { text, ..kernel.clone() }.fault();
    assert_eq!((fault.kind, fault.site.lane), (FaultKind::Uninitialised, 0), "{fault}");
    assert!(fault.message.contains("tile (shared memory) at offset 3000, which nobody wrote"), "{fault}");
    assert_eq!(Kernel { text: written, ..kernel }.words(128), [32; 128]);
}

#[test]
fn a_reduction_of_a_box_goes_with_atomics_on_its_elements() {
    // Block 0 adds a box of 16 bytes, block 1 an element there, as wide or not.
    for (element, elements, kind) in [
        (TensorElement::U32, 4, "u32"),
        (TensorElement::U64, 2, "u64"),
        (TensorElement::F16, 8, "f16"),
        (TensorElement::F32, 4, "f32"),
        (TensorElement::F64, 2, "f64"),
    ] {
        for (red, width) in [
            ("add.u32 [%out+8], %r2", "32"),
            ("add.u64 [%out+8], %d5", "64"),
            ("add.noftz.f16 [%out+8], %h2", "16"),
            ("add.f32 [%out+8], %f2", "32"),
            ("add.f64 [%out+8], %e2", "64"),
        ] {
            let text = format!(
                ".version 8.6\n.target sm_90\n.address_size 64\n.shared .align 128 .b8 tile[1024];\n\
                 .visible .entry k(.param .u64 out, .param .align 64 .b8 map[128])\n{{\n\
                 .reg .pred %p<16>; .reg .b32 %r<32>; .reg .b16 %h<4>; .reg .f32 %f<4>; .reg .f64 %e<4>; .reg .b64 %d<32>, %out, %map;\n\
                 ld.param.u64 %out, [out];\nmov.b64 %map, map;\ncvta.param.u64 %map, %map;\nmov.u32 %r2, 0;\nmov.u64 %d5, 0;\nmov.b16 %h2, 0;\nmov.b32 %f2, 0;\nmov.b64 %e2, 0;\n\
                 mov.u32 %r3, %ctaid.x;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra OTHER;\nst.shared.v4.u32 [tile], {{%r2, %r2, %r2, %r2}};\nfence.proxy.async;\n\
                 cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%map, {{%r2}}], [tile];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nbra END;\n\
                 OTHER: red.global.{red};\nEND: ret;\n}}\n"
            );
            let kernel = Module::parse(&text).and_then(|module| module.kernel("k"));
            let kernel = kernel.unwrap_or_else(|e| panic!("{e}\n{text}"));
            for schedule in Schedule::ALL {
                let mut device = Device::new();
                let out = device.alloc("out", 64);
                device.write(out, &[0; 64]).expect("it has this size");
                let address = device.address(out).expect("it is there");
                let map = TensorMapDescription::packed(element, address, &[elements], &[elements as u32]);
                let map = map.encode().expect("it is right");
                let done =
                    device.launch(&kernel, Launch::new(2, 1).schedule(schedule), &[Argument::Buffer(out), map.into()]);
                match done {
                    Ok(_) => assert!(kind.ends_with(width), "{kind}, {red}, {schedule}"),
                    Err(LaunchError::Fault(fault)) => {
                        let race = fault.kind == FaultKind::Race && !kind.ends_with(width);
                        assert!(race, "{kind}, {red}, {schedule}: {fault}");
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}

#[test]
fn a_box_costs_the_sectors_of_its_rows() {
    // Rows of so many bytes, 96 apart, four of them; boxes of two rows of 64 bytes.
    let text = |store: bool, column: i32, row: i32| {
        let copy = match store {
            true => {
                "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {%r20, %r21}], [tile+128];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;"
            }
            false => {
                "mbarrier.arrive.expect_tx.shared.b64 %d1, [tile], 128;\ncp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile+128], [%map, {%r20, %r21}], [tile];\n\
                 W: mbarrier.try_wait.parity.shared.b64 %p2, [tile], 0;\n@!%p2 bra W;"
            }
        };
        let fill: String =
            (0..8).map(|n| format!("st.shared.v4.u32 [tile+{}], {{%r1, %r1, %r1, %r1}};\n", 128 + 16 * n)).collect();
        format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.shared .align 128 .b8 tile[1024];\n\
             .visible .entry k(.param .u64 out, .param .align 64 .b8 map[128])\n{{\n.reg .pred %p<16>; .reg .b32 %r<32>; .reg .b64 %d<32>, %map;\n\
             mov.b64 %map, map;\ncvta.param.u64 %map, %map;\nmov.u32 %r1, 1;\nmbarrier.init.shared.b64 [tile], %r1;\nfence.mbarrier_init.release.cluster;\n{fill}fence.proxy.async;\n\
             mov.u32 %r20, {column};\nmov.u32 %r21, {row};\n{copy}\nret;\n}}\n"
        )
    };
    for columns in [1u64, 16, 33, 48, 64, 80, 96] {
        for (store, column, row) in [
            (false, 0, 0),
            (false, 16, 3),
            (false, 48, 1),
            (false, -16, 0),
            (false, 0, -1),
            (false, 96, 1),
            (true, 0, 0),
            (true, 16, 3),
            (true, 32, 1),
            (true, 48, 2),
            (true, 0, 7),
        ] {
            let text = text(store, column, row);
            let kernel = Module::parse(&text).and_then(|module| module.kernel("k"));
            let kernel = kernel.unwrap_or_else(|e| panic!("{e}\n{text}"));
            let mut device = Device::new();
            let out = device.alloc("out", 512);
            device.write(out, &[5; 512]).expect("it has this size");
            let address = device.address(out).expect("it is there");
            let map = TensorMapDescription::new(TensorElement::U8, address, &[columns, 4], &[96], &[64, 2]);
            let map = map.encode().expect("it is right");
            let report = device.launch(&kernel, Launch::new(1, 1), &[Argument::Buffer(out), map.into()]);
            let bulk = report.unwrap_or_else(|error| panic!("{columns}, {column}, {row}: {error}")).total.bulk;
            let sectors = |row: i32| {
                // A store goes on to the end of 16 bytes.
                let end = if store { columns.next_multiple_of(16) } else { columns } as i32;
                let inside: Vec<i32> = match (0..4).contains(&row) && column < columns as i32 {
                    true => (column.max(0)..(column + 64).min(end)).map(|at| 96 * row + at).collect(),
                    false => Vec::new(),
                };
                let touched = inside.first().map_or(0, |first| inside[inside.len() - 1] / 32 - first / 32 + 1);
                touched + if store { 0 } else { (64 - inside.len() as i32 + 31) / 32 }
            };
            let bytes = 32 * (sectors(row) + sectors(row + 1)) as u64;
            // One block gets what L2 gives.
            let wanted = if store { (0, 1, 0, bytes, 0) } else { (1, 0, bytes, 0, bytes) };
            let counted = (bulk.loads, bulk.stores, bulk.bytes_read, bulk.bytes_written, bulk.l2_bytes_read);
            assert_eq!(counted, wanted, "{columns} columns, {store}, {column}, {row}");
        }
    }
}

#[test]
fn a_box_is_read_until_it_is_known_to_be_done() {
    // Thread 37 copies 16 bytes from 48 on, and stores there or beside, before it has waited or behind that. The same for what a box
    // is stored from.
    let store_word = |space: &str, at: u32| {
        by(
            37,
            &format!(
                "mov.u32 %r1, 9;\nst.{space}.u32 [{}+{at}], %r1;",
                if space == "shared" { "tile" } else { "%out" }
            ),
        )
    };
    for (at, meets) in [(44, false), (48, true), (60, true), (64, false)] {
        for late in [false, true] {
            let steps = [store_word("global", at), WAIT.to_string()];
            let [first, second] = if late { [&steps[1], &steps[0]] } else { [&steps[0], &steps[1]] };
            let body = format!("{FULL}{}{first}{second}", by(37, &load(128, 16, 1)));
            for schedule in Schedule::ALL {
                match run(&body, Launch::new(1, 64).schedule(schedule), 32, 128) {
                    Ok(_) => assert!(late || !meets, "{schedule}, {at}"),
                    Err(fault) => assert!(!late && meets && fault.kind == FaultKind::Race, "{schedule}, {at}: {fault}"),
                }
            }
        }
    }
    let fill = by(37, "mov.u32 %r1, 7;\nst.shared.v4.u32 [tile+128], {%r1, %r1, %r1, %r1};\nfence.proxy.async;");
    let (copy, wait) = {
        let all = store(16, 1, 128);
        let (copy, wait) = all.rsplit_once('\n').expect("it waits at last");
        (by(37, copy), by(37, wait))
    };
    for (at, meets) in [(124, false), (128, true), (140, true), (144, false)] {
        for (late, wait) in
            [(false, wait.clone()), (true, wait.clone()), (true, wait.replace("group 0", "group.read 0"))]
        {
            let steps = [store_word("shared", at), wait];
            let [first, second] = if late { [&steps[1], &steps[0]] } else { [&steps[0], &steps[1]] };
            match run(&format!("{fill}{copy}{first}{second}"), Launch::new(1, 64), 32, 128) {
                Ok(_) => assert!(late || !meets, "{at}"),
                Err(fault) => assert!(!late && meets && fault.kind == FaultKind::Race, "{at}: {fault}"),
            }
        }
    }
}

#[test]
fn a_box_does_not_meet_a_barrier() {
    // Thread 1 makes another one at or beside the 16 bytes from 128 on.
    for (at, meets) in [(120, false), (128, true), (136, true), (144, false)] {
        let init = by(1, &format!("mbarrier.init.shared.b64 [tile+{at}], 1;"));
        for copy in [format!("{}{WAIT}", by(37, &load(128, 16, 1))), by(37, &store(16, 1, 128))] {
            let fill = by(1, "mov.u32 %r1, 7;\nst.shared.v4.u32 [tile+128], {%r1, %r1, %r1, %r1};\nfence.proxy.async;");
            match run(&format!("{fill}{init}{FULL}{copy}"), Launch::new(1, 64), 32, 128) {
                Ok(_) => assert!(!meets, "{at}, {copy}"),
                Err(fault) => {
                    let named = (fault.kind, fault.site.thread.x) == (FaultKind::Barrier, 37);
                    assert!(meets && named, "{at}, {copy}: {fault}");
                }
            }
        }
    }
}
