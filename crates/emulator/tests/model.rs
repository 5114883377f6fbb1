//! What the memory model of PTX says of well-known protocols between thread blocks, and atomics of several elements.

use emulator::{Argument, Device, FaultKind, Launch, LaunchError, Module, PtxError, Schedule};

/// Runs the body of a kernel with `%d1` the address of `flags`, `%d2` that of `out`, and `%block` and `%tid` in `%r1` and `%r2`:
/// all of both buffers, of 64 words each, which hold zeros and ones before.
fn run(body: &str, [blocks, threads]: [u32; 2], schedule: Schedule) -> Result<(Vec<u32>, Vec<u32>), LaunchError> {
    let kernel = kernel(body).expect("the text is right");
    let mut device = Device::new();
    let [flags, out] = [("flags", 0u32), ("out", 1)].map(|(name, word)| {
        let buffer = device.alloc(name, 256);
        device.write(buffer, &word.to_le_bytes().repeat(64)).expect("it fits");
        buffer
    });
    let launch = Launch::new(blocks, threads).schedule(schedule);
    device.launch(&kernel, launch, &[Argument::Buffer(flags), Argument::Buffer(out)])?;
    let read = |buffer| {
        let mut bytes = [0; 256];
        device.read(buffer, &mut bytes).expect("it was written");
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
    };
    Ok((read(flags), read(out)))
}

fn kernel(body: &str) -> Result<emulator::Kernel, PtxError> {
    let text = format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n.shared .align 4 .b32 last;\n\
         .visible .entry k(.param .u64 flags, .param .u64 out) {{\n\
         .reg .pred %p<5>; .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .f32 %f<9>; .reg .b16 %h<9>;\n\
         ld.param.u64 %d1, [flags];\nld.param.u64 %d2, [out];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n{body}\nret;\n}}\n"
    );
    Module::parse(&text).and_then(|module| module.kernel("k"))
}

/// What a body is convicted of in any of the orders.
fn faults(body: &str, shape: [u32; 2]) -> Vec<(FaultKind, String, String)> {
    let fault = |schedule| match run(body, shape, schedule) {
        Ok(_) => None,
        Err(LaunchError::Fault(fault)) => Some((fault.kind, fault.message, fault.hint.unwrap_or_default())),
        Err(other) => panic!("{other}"),
    };
    Schedule::ALL.into_iter().filter_map(fault).collect()
}

/// Dekker: each of two blocks raises its flag and looks at the other's; `access` says how, `fence` what stands between.
fn dekker(access: &str, fence: &str) -> String {
    format!(
        "mad.wide.u32 %d3, %r1, 4, %d1; xor.b32 %r3, %r1, 1; mad.wide.u32 %d4, %r3, 4, %d1; mad.wide.u32 %d5, %r1, 4, %d2;\n\
         st.{access}.u32 [%d3], 1;\n{fence}\nld.{access}.u32 %r4, [%d4];\nst.global.u32 [%d5], %r4;"
    )
}

#[test]
fn flags_with_a_fence_between_them_are_no_race() {
    for access in ["relaxed.gpu.global", "relaxed.sys.global", "volatile.global"] {
        let body = dekker(access, "fence.sc.gpu;");
        for schedule in Schedule::ALL {
            let (_, out) = run(&body, [2, 1], schedule).expect("atomics of one kind do not race");
            assert_ne!(out[..2], [0, 0], "one of the two sees the other's flag");
        }
    }
    // Without the fence both may miss it, and still there is no race.
    assert_eq!(faults(&dekker("relaxed.gpu.global", ""), [2, 1]), []);
    // Accesses of a scope that does not reach the other are not atomic for it, and weak ones for nobody.
    for access in ["relaxed.cta.global", "weak.global"] {
        let found = faults(&dekker(access, "fence.sc.gpu;"), [2, 1]);
        assert!(!found.is_empty() && found.iter().all(|(kind, ..)| *kind == FaultKind::Race), "{access}: {found:?}");
    }
}

/// NVIDIA's `threadFenceReduction`: each block leaves a sum, a fence and its ticket behind; the last one adds the sums up.
fn last_block(load: &str, reader: &str) -> String {
    format!(
        "mad.wide.u32 %d3, %r1, 4, %d2; setp.ne.u32 %p1, %r2, 0; @%p1 bra WAIT;\n\
         add.u32 %r3, %r1, 10; st.global.u32 [%d3+4], %r3;\nmembar.gl;\n\
         atom.global.inc.u32 %r4, [%d1], 3; setp.eq.u32 %p2, %r4, 3; selp.u32 %r5, 1, 0, %p2;\n{reader}\nst.shared.u32 [last], %r5;\n\
         WAIT: bar.sync 0;\nld.shared.u32 %r5, [last]; setp.eq.u32 %p2, %r5, 0; @%p2 ret; @%p1 ret;\n\
         ld.{load}.u32 %r6, [%d2+4]; ld.{load}.u32 %r7, [%d2+8]; ld.{load}.u32 %r8, [%d2+12]; ld.{load}.u32 %r9, [%d2+16];\n\
         add.u32 %r6, %r6, %r7; add.u32 %r8, %r8, %r9; add.u32 %r6, %r6, %r8; st.global.u32 [%d2], %r6;"
    )
}

#[test]
fn the_last_block_reads_what_fences_on_both_sides_order() {
    for schedule in Schedule::ALL {
        let (flags, out) =
            run(&last_block("global", "membar.gl;"), [4, 64], schedule).expect("both sides have a fence");
        assert_eq!((flags[0], out[0]), (0, 10 + 11 + 12 + 13), "{schedule}");
    }
}

#[test]
fn the_last_block_without_a_fence_of_its_own_is_a_race_that_names_the_fence() {
    let found = faults(&last_block("global", ""), [4, 64]);
    assert_eq!(found.len(), Schedule::ALL.len(), "{found:?}");
    for (kind, message, hint) in found {
        assert_eq!(kind, FaultKind::Race);
        println!("{message}\n{hint}");
        assert!(hint.contains("fence") && hint.contains("read"), "{message}: {hint}");
    }
}

#[test]
fn an_atomic_of_several_elements_adds_to_each() {
    let body = "mov.f32 %f1, 1.5; mov.f32 %f2, 2.0; cvt.rn.f32.u32 %f3, %r2; and.b32 %r3, %r2, 1; mad.wide.u32 %d3, %r3, 16, %d1;\n\
        red.global.add.v4.f32 [%d3], {%f1, %f2, %f3, 0f3f800000};\n\
        setp.ne.u32 %p1, %r2, 0; @%p1 ret; atom.global.gpu.add.v2.f32 {%f2, %f1}, [%d1+32], {%f1, %f2};\n\
        atom.global.add.v2.f32 {%f4, %f5}, [%d1+32], {%f1, %f2}; st.global.v4.f32 [%d2], {%f1, %f2, %f4, %f5};\n\
        mov.b32 %r4, {0x3c00, 0x4000}; mov.b32 %r5, {0x4200, 0x4400}; red.global.add.noftz.v2.f16x2 [%d1+40], {%r4, %r5};";
    for schedule in Schedule::ALL {
        let (flags, out) = run(body, [1, 32], schedule).expect("it is right");
        let floats = |words: &[u32]| words.iter().map(|word| f32::from_bits(*word)).collect::<Vec<_>>();
        assert_eq!(floats(&flags[..8]), [24.0, 32.0, 240.0, 16.0, 24.0, 32.0, 256.0, 16.0]);
        assert_eq!(floats(&out[..4]), [0.0, 0.0, 1.5, 2.0], "the old values, from before the second");
        assert_eq!(floats(&flags[8..10]), [1.5, 2.0]);
        assert_eq!(flags[10..12], [0x4000_3c00, 0x4400_4200]);
    }
    let found = faults("mov.f32 %f1, 1.0; red.global.add.v2.f32 [%d1+4], {%f1, %f1};", [1, 1]);
    assert!(!found.is_empty() && found.iter().all(|(kind, ..)| *kind == FaultKind::Misaligned), "{found:?}");
    let found = faults("red.global.add.v4.f32 [%d1+256], {0f00000000, 0f00000000, 0f00000000, 0f00000000};", [1, 1]);
    assert!(!found.is_empty() && found.iter().all(|(kind, ..)| *kind == FaultKind::OutOfBounds), "{found:?}");
    for wrong in [
        "red.global.add.v2.f32 [%d1], {%f1};",
        "red.shared.add.v2.f32 [last], {%f1, %f2};",
        "red.global.add.f64.v2 [%d1], {%d3, %d4};",
    ] {
        assert!(kernel(wrong).is_err(), "{wrong}");
    }
}
