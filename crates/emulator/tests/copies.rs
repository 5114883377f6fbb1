//! Copies by `cp.async` of which a predicate says that the source is ignored: zeros come instead, and the source is not
//! looked at.

use emulator::{Argument, Device, Dim3, FaultKind, Launch, LaunchError, Module};

/// Each of 32 lanes copies its element, odd lanes ignoring the source; then the lane stores what it has got, plus one.
fn run(ignore: &str, lanes_of_source: usize) -> Result<Vec<u32>, LaunchError> {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 c)\n{{\n\
         .reg .b32 %r<4>, %lane;\n.reg .b64 %d<4>;\n.reg .pred %odd;\n.shared .align 4 .b8 s[128];\n\
         ld.param.u64 %d0, [a];\nld.param.u64 %d1, [c];\nmov.u32 %lane, %tid.x;\n\
         mad.wide.u32 %d0, %lane, 4, %d0;\nmad.wide.u32 %d1, %lane, 4, %d1;\n\
         and.b32 %r0, %lane, 1;\nsetp.eq.u32 %odd, %r0, 1;\n\
         mov.u32 %r1, s;\nmad.lo.u32 %r1, %lane, 4, %r1;\n\
         cp.async.ca.shared.global [%r1], [%d0], 4{ignore};\ncp.async.wait_all;\n\
         ld.shared.u32 %r2, [%r1];\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%d1], %r2;\nret;\n}}"
    );
    let kernel = Module::parse(&text).and_then(|module| module.kernel("k")).expect("the text is right");
    let mut device = Device::new();
    let source = device.alloc("A", 128);
    let bytes: Vec<u8> = (0..lanes_of_source as u32).flat_map(|n| (10 * n).to_le_bytes()).collect();
    device.write(source, &bytes).expect("it fits");
    let result = device.alloc("C", 128);
    let launch = Launch::new(Dim3::xy(1, 1), Dim3::xy(32, 1));
    device.launch(&kernel, launch, &[Argument::Buffer(source), Argument::Buffer(result)])?;
    let mut bytes = vec![0; 128];
    device.read(result, &mut bytes).expect("it was written");
    Ok(bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

#[test]
fn an_ignored_source_gives_zeros_and_any_other_its_bytes() {
    let all: Vec<u32> = (0..32).map(|n| 10 * n + 1).collect();
    let even: Vec<u32> = (0..32).map(|n| if n % 2 == 1 { 1 } else { 10 * n + 1 }).collect();
    assert_eq!(run("", 32), Ok(all));
    assert_eq!(run(", %odd", 32), Ok(even));
}

#[test]
fn what_nobody_wrote_is_no_matter_where_it_is_ignored() {
    let uninitialised = |outcome| match outcome {
        Err(LaunchError::Fault(fault)) => (fault.kind == FaultKind::Uninitialised).then_some(fault.site.lane),
        _ => None,
    };
    // Lanes 30 and 31 copy what nobody wrote; lane 31 ignores it.
    assert_eq!(uninitialised(run("", 31)), Some(31));
    assert!(run(", %odd", 31).is_ok());
    assert_eq!(uninitialised(run(", %odd", 30)), Some(30));
}
