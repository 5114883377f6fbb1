//! Thread blocks run in the order of the grid, or in another one if the launch asks for it; and wait for each other.

use emulator::{Argument, Device, FaultKind, Launch, LaunchError, Module, Schedule};

/// A block takes the next ticket and writes its number there: `out[atomicAdd(count, 1)] = block`.
const TICKETS: &str = "\
atom.global.add.u32 %r0, [%count], 1;
mad.wide.u32 %d0, %r0, 4, %out;
st.global.u32 [%d0], %block;";

/// A block leaves its number behind and reads what the one before it in the grid left, with no atomic: a race in either
/// order, between other blocks.
const NEIGHBOURS: &str = "\
mad.wide.u32 %d0, %block, 4, %out;
st.global.u32 [%d0], %block;
setp.eq.u32 %first, %block, 0;
@%first ret;
ld.global.u32 %r0, [%d0+-4];
st.global.u32 [%d0], %r0;";

/// Block 0 waits until block 2 has left a number; each leaves one.
const WAITS: &str = "\
setp.ne.u32 %first, %block, 0;
@%first bra SET;
AGAIN:
ld.volatile.global.u32 %r0, [%out+8];
setp.eq.u32 %first, %r0, 0;
@%first bra AGAIN;
SET:
mad.wide.u32 %d0, %block, 4, %out;
st.volatile.global.u32 [%d0], 7;";

/// Each of two lanes counts on only when the other has counted, a few times.
const LANES: &str = "\
mov.u32 %r0, %tid.x;
setp.gt.u32 %first, %r0, 1;
@%first ret;
AGAIN:
ld.volatile.global.u32 %block, [%out];
and.b32 %r1, %block, 1;
setp.ne.u32 %first, %r0, %r1;
@%first bra AGAIN;
add.u32 %block, %block, 1;
st.volatile.global.u32 [%out], %block;
setp.lt.u32 %first, %block, 99;
@%first bra AGAIN;";

/// Runs the body of a kernel with `%count`, `%out` and the block's number in `%block`: what is in `out` after a launch of so
/// many blocks of one thread.
fn run(body: &str, blocks: u32, schedule: Schedule) -> Result<Vec<u32>, LaunchError> {
    run_on(body, [blocks, 1], schedule, None)
}

/// The same with some threads per block, on a GPU that holds so many blocks at a time.
fn run_on(
    body: &str,
    [blocks, threads]: [u32; 2],
    schedule: Schedule,
    resident_blocks: Option<u32>,
) -> Result<Vec<u32>, LaunchError> {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b)\n{{\n\
         .reg .b32 %r<2>, %block;\n.reg .b64 %d<1>, %count, %out;\n.reg .pred %first;\n\
         ld.param.u64 %count, [a];\nld.param.u64 %out, [b];\nmov.u32 %block, %ctaid.x;\n{body}\nret;\n}}"
    );
    let kernel = Module::parse(&text).and_then(|module| module.kernel("k")).expect("the text is right");
    let mut device = Device::new();
    let mut zeros = |name: &str, words: u32| {
        let buffer = device.alloc(name, 4 * words as usize);
        device.write(buffer, &vec![0; 4 * words as usize]).expect("it has this size");
        buffer
    };
    let (count, out) = (zeros("count", 1), zeros("out", blocks));
    let mut launch = Launch::new(blocks, threads).schedule(schedule);
    launch.resident_blocks = resident_blocks;
    device.launch(&kernel, launch, &[Argument::Buffer(count), Argument::Buffer(out)])?;
    let mut bytes = vec![0; 4 * blocks as usize];
    device.read(out, &mut bytes).expect("it was written");
    Ok(bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

#[test]
fn blocks_that_meet_through_atomics_run_in_the_order_that_the_launch_asks_for() {
    let grid: Vec<u32> = (0..9).collect();
    let opposite: Vec<u32> = (0..9).rev().collect();
    assert_eq!(run(TICKETS, 9, Schedule::FirstFirst), Ok(grid));
    assert_eq!(run(TICKETS, 9, Schedule::LastFirst), Ok(opposite));
}

#[test]
fn the_fault_is_the_first_in_the_order_that_the_launch_asks_for() {
    let blocks = |schedule| match run(NEIGHBOURS, 9, schedule) {
        Err(LaunchError::Fault(fault)) => (fault.site.block.x, fault.other.map(|(_, site)| site.block.x)),
        other => panic!("it is a race: {other:?}"),
    };
    assert_eq!(blocks(Schedule::FirstFirst), (1, Some(0)), "block 1 reads what block 0 wrote");
    assert_eq!(blocks(Schedule::LastFirst), (7, Some(8)), "block 7 writes what block 8 read");
}

#[test]
fn a_block_waits_for_a_later_one_if_the_gpu_holds_both() {
    let waits = |schedule, resident| run_on(WAITS, [3, 1], schedule, Some(resident));
    for schedule in Schedule::ALL {
        assert_eq!(waits(schedule, 2), Ok(vec![7; 3]), "{schedule}");
    }
    assert_eq!(waits(Schedule::LastFirst, 1), Ok(vec![7; 3]), "block 2 has ended by then");
    match waits(Schedule::FirstFirst, 1) {
        Err(LaunchError::Fault(fault)) => {
            assert_eq!(fault.kind, FaultKind::NoProgress);
            assert!(fault.message.contains("waits for a change of out at offset 8"), "{}", fault.message);
            assert!(fault.message.contains("2 start only when one of these has ended"), "{}", fault.message);
        }
        other => panic!("blocks 1 and 2 never start: {other:?}"),
    }
}

#[test]
fn lanes_of_a_warp_wait_for_each_other() {
    for schedule in Schedule::ALL {
        let counted = run_on(LANES, [1, 32], schedule, None).map(|out| out[0]);
        assert_eq!(counted, Ok(100), "{schedule}");
    }
}

#[test]
fn an_endless_loop_is_found_although_nothing_limits_it() {
    for body in
        ["AGAIN: bra AGAIN;", "mov.u32 %r0, 0;\nAGAIN:\nxor.b32 %r0, %r0, 5;\nst.global.u32 [%out], 3;\nbra AGAIN;"]
    {
        match run(body, 2, Schedule::FirstFirst) {
            Err(LaunchError::Fault(fault)) => assert_eq!(fault.kind, FaultKind::NoProgress, "{}", fault.message),
            other => panic!("{body} never ends: {other:?}"),
        }
    }
}
