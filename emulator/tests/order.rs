//! Thread blocks run in the order of the grid, or in the opposite one if the launch asks for it.

use emulator::{Argument, Device, Dim3, Launch, LaunchError, Module};

/// A block takes the next ticket and writes its number there: `out[atomicAdd(count, 1)] = block`.
const TICKETS: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 count, .param .u64 out)
{
.reg .b32 %r<3>;
.reg .b64 %d<4>;
ld.param.u64 %d0, [count];
ld.param.u64 %d1, [out];
atom.global.add.u32 %r0, [%d0], 1;
mov.u32 %r1, %ctaid.x;
mad.wide.u32 %d2, %r0, 4, %d1;
st.global.u32 [%d2], %r1;
ret;
}";

/// A block leaves its number behind and reads what the one before it in the grid left, with no atomic: a race in either
/// order, between other blocks.
const NEIGHBOURS: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 to, .param .u64 out)
{
.reg .b32 %r<3>;
.reg .b64 %d<4>;
.reg .pred %first;
ld.param.u64 %d1, [out];
mov.u32 %r1, %ctaid.x;
mad.wide.u32 %d2, %r1, 4, %d1;
st.global.u32 [%d2], %r1;
setp.eq.u32 %first, %r1, 0;
@%first ret;
ld.global.u32 %r2, [%d2+-4];
st.global.u32 [%d2], %r2;
ret;
}";

/// What is in `out` after a launch of so many blocks of one thread.
fn run(text: &str, blocks: u32, last_first: bool) -> Result<Vec<u32>, LaunchError> {
    let kernel = Module::parse(text).and_then(|module| module.kernel("k")).expect("the text is right");
    let mut device = Device::new();
    let mut zeros = |name: &str, words: u32| {
        let buffer = device.alloc(name, 4 * words as usize);
        device.write(buffer, &vec![0; 4 * words as usize]).expect("it has this size");
        buffer
    };
    let (count, out) = (zeros("count", 1), zeros("out", blocks));
    let launch = Launch { last_first, ..Launch::new(Dim3::xy(blocks, 1), Dim3::xy(1, 1)) };
    device.launch(&kernel, launch, &[Argument::Buffer(count), Argument::Buffer(out)])?;
    let mut bytes = vec![0; 4 * blocks as usize];
    device.read(out, &mut bytes).expect("it was written");
    Ok(bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

#[test]
fn blocks_that_meet_through_atomics_run_in_the_order_that_the_launch_asks_for() {
    let grid: Vec<u32> = (0..9).collect();
    let opposite: Vec<u32> = (0..9).rev().collect();
    assert_eq!(run(TICKETS, 9, false), Ok(grid));
    assert_eq!(run(TICKETS, 9, true), Ok(opposite));
}

#[test]
fn the_fault_is_the_first_in_the_order_that_the_launch_asks_for() {
    let blocks = |last_first| match run(NEIGHBOURS, 9, last_first) {
        Err(LaunchError::Fault(fault)) => (fault.site.block.x, fault.other.map(|(_, site)| site.block.x)),
        other => panic!("it is a race: {other:?}"),
    };
    assert_eq!(blocks(false), (1, Some(0)), "block 1 reads what block 0 wrote");
    assert_eq!(blocks(true), (7, Some(8)), "block 7 writes what block 8 read");
}
