//! Cooperative launches: all thread blocks of the grid meet, at a barrier whose address stands in registers of the
//! environment. The kernel waits there as `grid.sync()` of cooperative groups does.

use emulator::{Argument, Device, FaultKind, Launch, LaunchError, Module, Report, Schedule};

const SYNC: &str = "barrier.sync 0;
@!%first bra MET;
mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; mov.b64 %d1, {%r2, %r1};
ld.u32 %r3, [%d1]; setp.lt.u32 %p1, %r3, 8; @%p1 trap;
mov.u32 %r3, %nctaid.x; sub.u32 %r3, 0x80000001, %r3;
setp.ne.u32 %p1, %block, 0; selp.u32 %r3, 1, %r3, %p1;
atom.add.release.gpu.u32 %r4, [%d1+4], %r3;
WAIT: ld.acquire.gpu.u32 %r5, [%d1+4];
xor.b32 %r5, %r5, %r4; setp.ge.s32 %p1, %r5, 0; @%p1 bra WAIT;
MET: barrier.sync 0;";

/// Each block writes its word of `part`, and one more than the next one wrote to `out`.
fn kernel(sync: &str) -> String {
    format!(
        ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 part, .param .u64 out)\n{{\n\
         .reg .pred %p<4>, %first; .reg .b32 %r<9>, %block; .reg .b64 %d<9>, %part, %out;\n\
         ld.param.u64 %part, [part];\nld.param.u64 %out, [out];\nmov.u32 %block, %ctaid.x;\n\
         mov.u32 %r1, %tid.x;\nsetp.eq.u32 %first, %r1, 0;\n\
         mad.wide.u32 %d2, %block, 4, %part;\nadd.u32 %r6, %block, 100;\n@%first st.global.u32 [%d2], %r6;\n{sync}\n\
         add.u32 %r7, %block, 1;\nmov.u32 %r8, %nctaid.x;\nrem.u32 %r7, %r7, %r8;\nmad.wide.u32 %d3, %r7, 4, %part;\n\
         @!%first bra END;\nld.global.u32 %r7, [%d3];\nadd.u32 %r7, %r7, 1;\nmad.wide.u32 %d4, %block, 4, %out;\nst.global.u32 [%d4], %r7;\nEND: ret;\n}}\n"
    )
}

fn run(text: &str, launch: Launch) -> Result<(Vec<u32>, Report), LaunchError> {
    let kernel = Module::parse(text).and_then(|module| module.kernel("k")).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let (mut device, bytes) = (Device::new(), 4 * launch.grid.count() as usize);
    let (part, out) = (device.alloc("part", bytes), device.alloc("out", bytes));
    let arguments = [Argument::Buffer(part), Argument::Buffer(out)];
    let mut held = vec![0; bytes];
    // The barrier is as it was behind a launch: the next one meets there again.
    device.launch(&kernel, launch, &arguments)?;
    let report = device.launch(&kernel, launch, &arguments)?;
    device.read(out, &mut held).expect("all of it is written");
    let word = |word: &[u8]| u32::from_le_bytes(word.try_into().expect("4 bytes"));
    Ok((held.chunks_exact(4).map(word).collect(), report))
}

#[test]
fn all_blocks_of_the_grid_meet_in_every_order() {
    for order in Schedule::ALL {
        for blocks in [1, 2, 7, 200] {
            let (out, _) =
                run(&kernel(SYNC), Launch::new(blocks, 64).schedule(order)).unwrap_or_else(|e| panic!("{e}"));
            let wanted: Vec<u32> = (0..blocks).map(|block| 101 + (block + 1) % blocks).collect();
            assert_eq!(out, wanted, "{order:?}");
        }
    }
}

#[test]
fn a_grid_that_does_not_fit_is_refused_with_the_limit() {
    let said = |launch: Launch| match run(&kernel(SYNC), launch) {
        Err(LaunchError::Refused(why)) => why.to_string(),
        other => panic!("{:?}", other.map(|(_, report)| report.grid)),
    };
    // An H200 holds two blocks of 1024 threads on each of its 132 multiprocessors.
    let large = said(Launch::new(265, 1024));
    assert!(
        large.starts_with("k lets all 265 thread blocks of the grid meet, and the GPU holds 264 of them"),
        "{large}"
    );
    let small = said(Launch::new(3, 32).resident_blocks(2));
    assert!(small.contains("holds 2 of them at a time\nhint: "), "{small}");
    // Blocks that do not meet run one after the other.
    let apart = kernel("").replace("rem.u32 %r7, %r7, %r8", "mov.u32 %r7, %block");
    assert!(run(&apart, Launch::new(3, 32).resident_blocks(2)).is_ok());
}

#[test]
fn without_the_meeting_it_is_a_race_of_two_blocks() {
    // Not only a read of what nobody wrote yet, which it is in this order, too.
    for order in [Schedule::FirstFirst, Schedule::LastFirst] {
        let fault = match run(&kernel(""), Launch::new(4, 64).schedule(order)) {
            Err(LaunchError::Fault(fault)) => fault,
            other => panic!("{:?}", other.map(|(_, report)| report.grid)),
        };
        assert_eq!(fault.kind, FaultKind::Race, "{fault}");
        assert!(fault.hint.as_ref().is_some_and(|hint| hint.contains("grid.sync()")), "{fault}");
        assert_ne!(fault.other.as_ref().map(|(_, site)| site.block), Some(fault.site.block), "{fault}");
    }
    // What no block ever writes stays what it is.
    let never = kernel(SYNC).replace("@%first st.global.u32 [%d2], %r6;", "");
    let Err(LaunchError::Fault(fault)) = run(&never, Launch::new(4, 64)) else { panic!("it reads what nobody wrote") };
    assert_eq!(fault.kind, FaultKind::Uninitialised, "{fault}");
}

#[test]
fn tiles_of_several_warps_meet_in_memory_of_the_system() {
    // As `tiled_partition<64>` does, beside the kernel's own shared memory.
    let text = ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
         .shared .align 4 .b8 tile[256];\n.reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %d<9>;\nld.param.u64 %d0, [out];\n\
         mov.u32 %r0, %tid.x;\nmul.lo.u32 %r1, %r0, 4;\nmov.u32 %r2, tile;\nadd.u32 %r2, %r2, %r1;\nst.shared.u32 [%r2], %r0;\n\
         mov.u32 %r3, %reserved_smem_offset_1;\ncvt.u64.u32 %d1, %r3;\ncvta.shared.u64 %d1, %d1;\n\
         red.and.release.cta.b32 [%d1], -2;\natom.or.acq_rel.cta.b32 %r4, [%d1+4], %r0;\nbarrier.sync 0;\n\
         ld.acquire.cta.u32 %r5, [%d1+4];\nld.shared.u32 %r6, [%r2];\nadd.u32 %r5, %r5, %r6;\n\
         mad.wide.u32 %d2, %r0, 4, %d0;\nst.global.u32 [%d2], %r5;\nret;\n}\n";
    let kernel = Module::parse(text).and_then(|module| module.kernel("k")).unwrap_or_else(|e| panic!("{e}"));
    let mut device = Device::new();
    let out = device.alloc("out", 256);
    let mut bytes = [0; 256];
    device.launch(&kernel, Launch::new(1, 64), &[Argument::Buffer(out)]).unwrap_or_else(|fault| panic!("{fault}"));
    device.read(out, &mut bytes).expect("all of it is written");
    let words: Vec<u32> = bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    assert_eq!(words, (63..127).collect::<Vec<u32>>());
}
