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
    device.write(out, &(0..bytes).map(|n| n as u8).collect::<Vec<u8>>()).expect("it has this size");
    let rows = bytes.div_ceil(32) as u64;
    let address = device.address(out).expect("it is there");
    let map = TensorMapDescription::new(TensorElement::U8, address, &[columns, rows], &[32], &[16, 1]);
    let map = map.encode().expect("it is right");
    match device.launch(&kernel, launch, &[Argument::Buffer(out), map.into()]) {
        Ok(_) => {
            let mut all = vec![0; bytes];
            device.read(out, &mut all).expect("it is written");
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
