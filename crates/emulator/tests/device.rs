//! Devices, buffers, arguments and variables: what a host may do, and what it is told when it may not.

use emulator::{Argument, Device, DeviceError, Dim3, FaultKind, Launch, LaunchError, Module, Refusal};

/// `out[i] = in[i] + n` for each of 32 threads.
const ADD: &str = "\
.version 8.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 in, .param .u64 out, .param .u32 n)
{
.reg .b32 %r<4>;
.reg .b64 %d<5>;
ld.param.u64 %d0, [in];
ld.param.u64 %d1, [out];
ld.param.u32 %r0, [n];
mov.u32 %r1, %tid.x;
mul.wide.u32 %d2, %r1, 4;
add.s64 %d3, %d0, %d2;
add.s64 %d4, %d1, %d2;
ld.global.u32 %r2, [%d3];
add.s32 %r3, %r2, %r0;
st.global.u32 [%d4], %r3;
ret;
}";

/// Each launch adds 1 to `count`, and `factor[1]` to `sum`.
const VARIABLES: &str = "\
.version 8.0
.target sm_75
.address_size 64
.const .align 1 .b8 odd[3] = {1, 2, 3};
.const .align 4 .u32 factor[2] = {5, 7};
.global .align 4 .u32 count = 3;
.global .align 4 .u32 sum;
.visible .entry step()
{
.reg .b32 %r<4>;
ld.global.u32 %r0, [count];
add.s32 %r0, %r0, 1;
st.global.u32 [count], %r0;
ld.const.u32 %r1, [factor+4];
ld.global.u32 %r2, [sum];
add.s32 %r2, %r2, %r1;
st.global.u32 [sum], %r2;
ret;
}";

/// `*p.where = p.what`, with `struct { char tag; int* where; int what; }`.
const STRUCTURE: &str = "\
.version 8.0
.target sm_75
.address_size 64
.visible .entry put(.param .u32 before, .param .align 8 .b8 p[24])
{
.reg .b32 %r<2>;
.reg .b64 %d<1>;
ld.param.u64 %d0, [p+8];
ld.param.u32 %r0, [p+16];
ld.param.u32 %r1, [before];
add.s32 %r0, %r0, %r1;
st.global.u32 [%d0], %r0;
ret;
}";

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn said<T: std::fmt::Debug>(result: Result<T, DeviceError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn a_launch_tells_how_many_of_its_blocks_have_ended() {
    use std::sync::{Arc, Mutex};
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
    let kernel = Module::parse(text).and_then(|module| module.kernel("k")).expect("the text is right");
    for threads in [1, 3] {
        let told = Arc::new(Mutex::new(Vec::new()));
        let mut device = Device::new();
        device.set_threads(Some(threads));
        let list = told.clone();
        device.on_progress(move |done, of| list.lock().expect("nobody panics").push((done, of)));
        device.launch(&kernel, Launch::new(20, 32), &[]).expect("it does nothing");
        let mut told = told.lock().expect("nobody panics").clone();
        told.sort_unstable();
        assert_eq!(told, (1..=20).map(|n| (n, 20)).collect::<Vec<_>>());
    }
}

#[test]
fn bytes_are_written_and_read_at_any_offset() {
    let mut device = Device::new();
    let buffer = device.alloc("b", 23);
    device.write_at(buffer, 5, &[1, 2, 3, 4, 5, 6, 7, 8, 9]).unwrap();
    let mut bytes = [0; 5];
    device.read_at(buffer, 7, &mut bytes).unwrap();
    assert_eq!(bytes, [3, 4, 5, 6, 7]);
    let unwritten = device.read_at(buffer, 12, &mut [0; 4]).unwrap_err();
    let name = "b".to_string();
    assert_eq!(unwritten, DeviceError::Unwritten { count: 2, bytes: 4, first: 14, name });
    let mut all = [0; 23];
    assert_eq!(device.peek(buffer, 0, &mut all), Ok(14));
    assert_eq!(all[5..14], [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    device.write_at(buffer, 22, &[9]).unwrap();
    assert_eq!(said(device.write_at(buffer, 22, &[1, 2])), "write of 2 bytes at offset 22 of b, which has 23");
    assert_eq!(said(device.write(buffer, &[0; 24])), "write of 24 bytes of b, which has 23");
    assert!(said(device.read_at(buffer, usize::MAX, &mut [0; 4])).contains("which has 23"));
}

#[test]
fn a_handle_of_another_device_is_an_error_everywhere() {
    let mut one = Device::new();
    let mut other = Device::new();
    let (mine, foreign) = (one.alloc("mine", 128), other.alloc("foreign", 128));
    assert_eq!(one.write(foreign, &[1]), Err(DeviceError::Foreign));
    assert_eq!(one.read(foreign, &mut [0]), Err(DeviceError::Foreign));
    assert_eq!(one.free(foreign), Err(DeviceError::Foreign));
    assert_eq!(one.address(foreign), Err(DeviceError::Foreign));
    assert_eq!(one.name(foreign), Err(DeviceError::Foreign));
    let said = "a buffer of another device\nhint: a handle is good for the device that gave it out";
    assert_eq!(DeviceError::Foreign.to_string(), said);
    let kernel = Module::parse(ADD).unwrap().kernel("add").unwrap();
    let refused = one.launch(&kernel, Launch::new(1, 32), &[mine.into(), foreign.into(), 1.into()]).unwrap_err();
    let expected = Refusal::Buffer { kernel: "add".to_string(), index: 1, error: DeviceError::Foreign };
    assert_eq!(refused, LaunchError::Refused(expected));
}

#[test]
fn a_freed_handle_is_an_error_or_a_fault() {
    let mut device = Device::new();
    let (input, out) = (device.alloc("in", 128), device.alloc("out", 128));
    device.write(input, &[0; 128]).unwrap();
    assert_eq!(device.named("out"), Some(out));
    device.free(out).unwrap();
    assert_eq!(device.named("out"), None);
    assert_eq!(said(device.free(out)), "release of 0 bytes of out, which has been freed");
    assert_eq!(said(device.write(out, &[1])), "write of 1 bytes of out, which has been freed");
    let kernel = Module::parse(ADD).unwrap().kernel("add").unwrap();
    match device.launch(&kernel, Launch::new(1, 32), &[input.into(), out.into(), 1.into()]) {
        Err(LaunchError::Fault(fault)) => assert_eq!(fault.kind, FaultKind::UseAfterFree),
        other => panic!("the buffer is gone: {other:?}"),
    }
}

#[test]
fn a_size_without_memory_is_an_error_of_what_uses_the_buffer() {
    let mut device = Device::new();
    for size in [usize::MAX, usize::MAX / 2, 1 << 45, (1 << 39) + 1] {
        let huge = device.alloc("huge", size);
        let missing = DeviceError::NoMemory { name: "huge".to_string(), size };
        assert_eq!(device.write(huge, &[1]), Err(missing.clone()));
        assert_eq!(device.read(huge, &mut [0]), Err(missing.clone()));
        assert_eq!(device.free(huge), Err(missing.clone()));
        let kernel = Module::parse(ADD).unwrap().kernel("add").unwrap();
        let refused = device.launch(&kernel, Launch::new(1, 32), &[huge.into(), huge.into(), 1.into()]);
        let expected = Refusal::Buffer { kernel: "add".to_string(), index: 0, error: missing };
        assert_eq!(refused.unwrap_err(), LaunchError::Refused(expected));
    }
    let empty = device.alloc("empty", 0);
    assert_eq!(device.write(empty, &[]), Ok(()));
}

#[test]
fn impossible_launches_are_refused_by_what_is_wrong() {
    let mut device = Device::new();
    let kernel = Module::parse(ADD).unwrap().kernel("add").unwrap();
    let mut refused = |launch: Launch, arguments: &[Argument]| device.launch(&kernel, launch, arguments).unwrap_err();
    let three = [Argument::U64(0), Argument::U64(0), Argument::U32(0)];
    for (launch, said) in [
        (Launch::new(0, 1), "grid (0,1) of blocks (1,1): an extent is 0"),
        (Launch::new(1, 1025), "1025 threads per block are more than 1024"),
        (Launch::new(1, (u32::MAX, u32::MAX, u32::MAX)), "18446744073709551615 threads per block are more than 1024"),
        (Launch::new(1, (1, 1, 65)), "65 threads in z of a block are more than 64"),
        (Launch::new((1, 65536), 1), "65536 thread blocks in y are more than 65535"),
        (Launch::new((65535, 65535, 2), 1), "8589672450 thread blocks are more than the emulator counts, 4294967294"),
        (
            Launch::new(1, 1).dynamic_shared(u32::MAX),
            "4294967295 bytes of shared memory per block are more than 232448",
        ),
    ] {
        assert_eq!(refused(launch, &three).to_string(), said);
    }
    let few = refused(Launch::new(1, 1), &three[..2]);
    assert_eq!(few.to_string(), "add takes 3 arguments, and 2 were given");
    let narrow = refused(Launch::new(1, 1), &[Argument::U64(0), Argument::U32(0), Argument::U32(0)]);
    assert_eq!(narrow.to_string(), "argument 1 of add has 4 bytes, and the parameter 8");
    assert_eq!(Dim3::from((u32::MAX, u32::MAX, 3)).count(), u64::MAX);
}

#[test]
fn a_pointer_may_lead_into_a_buffer() {
    let mut device = Device::new();
    let (input, out) = (device.alloc("in", 256), device.alloc("out", 256));
    device.write(input, &words(0..64)).unwrap();
    let kernel = Module::parse(ADD).unwrap().kernel("add").unwrap();
    let arguments = [Argument::Within(input, 40), Argument::Within(out, 128), 100.into()];
    device.launch(&kernel, Launch::new(1, 32), &arguments).unwrap();
    let mut bytes = [0; 128];
    device.read_at(out, 128, &mut bytes).unwrap();
    assert_eq!(bytes.to_vec(), words(110..142));
}

#[test]
fn structures_are_passed_by_value() {
    let module = Module::parse(STRUCTURE).unwrap();
    let parameters = module.parameters("put").unwrap();
    assert_eq!((parameters[1].bytes, parameters[1].alignment), (24, 8));
    let kernel = module.kernel("put").unwrap();
    let mut device = Device::new();
    let out = device.alloc("out", 8);
    let mut structure = vec![0; 24];
    structure[8..16].copy_from_slice(&(device.address(out).unwrap() + 4).to_le_bytes());
    structure[16..20].copy_from_slice(&41u32.to_le_bytes());
    device.launch(&kernel, Launch::new(1, 1), &[1.into(), structure.clone().into()]).unwrap();
    let mut bytes = [0; 4];
    device.read_at(out, 4, &mut bytes).unwrap();
    assert_eq!(u32::from_le_bytes(bytes), 42);
    // Two blocks put different numbers there: it is watched, though no argument is the buffer.
    let text = STRUCTURE.replace("ld.param.u32 %r1, [before];", "mov.u32 %r1, %ctaid.x;");
    let racing = Module::parse(&text).unwrap().kernel("put").unwrap();
    match device.launch(&racing, Launch::new(2, 1), &[1.into(), structure.into()]) {
        Err(LaunchError::Fault(fault)) => assert_eq!(fault.kind, FaultKind::Race),
        other => panic!("it is a race: {other:?}"),
    }
}

#[test]
fn modules_have_variables_of_their_own() {
    let mut device = Device::new();
    let [one, two] = [0; 2].map(|_| Module::parse(VARIABLES).unwrap());
    let count = |device: &mut Device, module: &Module| {
        let mut bytes = [0; 4];
        device.read_variable(module, "count", 0, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    };
    for _ in 0..4 {
        device.launch(&one.kernel("step").unwrap(), Launch::new(1, 1), &[]).unwrap();
    }
    device.launch(&two.clone().kernel("step").unwrap(), Launch::new(1, 1), &[]).unwrap();
    assert_eq!((count(&mut device, &one), count(&mut device, &two)), (7, 4));
    // A module that comes after one that is gone is not taken for it.
    for _ in 0..50 {
        let passing = Module::parse(VARIABLES).unwrap();
        assert_eq!(count(&mut device, &passing), 3);
        device.write_variable(&passing, "count", 0, &words([99])).unwrap();
    }
}

#[test]
fn variables_are_read_and_written_by_name() {
    let mut device = Device::new();
    let module = Module::parse(VARIABLES).unwrap();
    assert_eq!(module.variables().collect::<Vec<_>>(), ["odd", "factor", "count", "sum"]);
    let mut bytes = [0; 8];
    device.read_variable(&module, "factor", 0, &mut bytes).unwrap();
    assert_eq!(bytes.to_vec(), words([5, 7]));
    device.write_variable(&module, "factor", 4, &words([100])).unwrap();
    device.write_variable(&module, "sum", 0, &words([11])).unwrap();
    device.launch(&module.kernel("step").unwrap(), Launch::new(1, 1), &[]).unwrap();
    let sum = device.variable(&module, "sum").unwrap();
    let mut bytes = [0; 4];
    device.read(sum, &mut bytes).unwrap();
    assert_eq!(u32::from_le_bytes(bytes), 111);
    assert_eq!(device.name(sum), Ok("sum"));
    let wrong = device.write_variable(&module, "factor", 5, &words([1]));
    assert_eq!(said(wrong), "write of 4 bytes at offset 5 of factor, which has 8");
    let absent = device.read_variable(&module, "nonesuch", 0, &mut bytes);
    assert_eq!(said(absent), "the module has no variable `nonesuch`; it has: odd, factor, count, sum");
    assert_eq!(said(device.variable(&module, "factor")), "the module has no variable `factor`; it has: count, sum");
    // Another device has its own.
    Device::new().read_variable(&module, "count", 0, &mut bytes).unwrap();
    assert_eq!(u32::from_le_bytes(bytes), 3);
}

#[test]
fn a_sparse_buffer_is_zeros_as_far_as_nobody_writes() {
    let mut device = Device::new();
    let (huge, beyond) = (device.alloc_sparse("huge", 16 << 30), device.alloc_sparse("beyond", 17 << 30));
    let kernel = Module::parse(ADD).unwrap().kernel("add").unwrap();
    let far: u64 = (15 << 30) + 4;
    device.write_at(huge, far as usize, &words(0..32)).unwrap();
    // Twice, since a launch goes back to what was there where it runs blocks a second time.
    for _ in 0..2 {
        let arguments = [Argument::Within(huge, far), Argument::Within(huge, 1 << 33), 100.into()];
        let report = device.launch(&kernel, Launch::new(1, 32), &arguments).unwrap();
        assert_eq!(report.footprint_bytes, 288, "five sectors are read, four written");
    }
    let mut bytes = [0; 136];
    assert_eq!(device.peek(huge, 1 << 33, &mut bytes), Ok(0));
    assert_eq!((bytes[..128].to_vec(), &bytes[128..]), (words(100..132), &[0; 8][..]));
    let places: Vec<usize> = device.parts(huge).unwrap().iter().map(|(first, _)| first >> 30).collect();
    assert_eq!(places, [8, 15]);
    let outside = [Argument::Within(huge, 16 << 30), Argument::Within(huge, 0), 100.into()];
    let fault = device.launch(&kernel, Launch::new(1, 32), &outside).unwrap_err().to_string();
    assert!(fault.contains("huge"), "{fault}");
    assert!(matches!(device.read(beyond, &mut [0; 4]), Err(DeviceError::NoMemory { .. })));
}
