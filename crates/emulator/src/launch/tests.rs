//! What a launch holds at a time.

use super::*;
use crate::{Module, Schedule};

/// The blocks of a group wait for each other, so that all of them are resident. Each uses its shared memory.
const GROUPS: &str = "\
.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 room[];
.visible .entry groups(.param .u64 counters, .param .u32 group)
{
.reg .pred %p<1>;
.reg .b32 %r<9>;
.reg .b64 %d<2>;
mov.u32 %r0, %tid.x;
mov.u32 %r1, room;
mad.lo.s32 %r1, %r0, 264, %r1;
st.shared.u32 [%r1], %r0;
setp.ne.u32 %p0, %r0, 0;
@%p0 bra DONE;
ld.param.u32 %r3, [group];
mov.u32 %r4, %ctaid.x;
div.u32 %r5, %r4, %r3;
mul.lo.u32 %r6, %r5, %r3;
mov.u32 %r7, %nctaid.x;
sub.u32 %r6, %r7, %r6;
min.u32 %r6, %r6, %r3;
ld.param.u64 %d0, [counters];
mad.wide.u32 %d1, %r5, 4, %d0;
atom.global.add.u32 %r8, [%d1], 1;
AGAIN:
ld.volatile.global.u32 %r8, [%d1];
setp.lt.u32 %p0, %r8, %r6;
@%p0 bra AGAIN;
DONE:
bar.sync 0;
ret;
}";

/// The most that was held at a time, in a launch of so many blocks with so much shared memory.
fn most_held(blocks: u32, shared: u32, group: u32, schedule: Schedule) -> [usize; 2] {
    let kernel = Module::parse(GROUPS).and_then(|module| module.kernel("groups")).expect("it is a kernel");
    let mut device = Device::new();
    let bytes = 4 * blocks.div_ceil(group) as usize;
    let counters = device.alloc("counters", bytes);
    device.write(counters, &vec![0; bytes]).expect("it has this size");
    let launch = Launch::new(blocks, 384).dynamic_shared(shared).schedule(schedule);
    let arguments = [counters.into(), group.into()];
    let (shape, parameters, written) = device.ready(&kernel, &launch, &arguments).expect("it can be launched");
    let pass = Pass { side_by_side: false, thorough: false };
    device.prepare(&kernel.program, &launch, &written, pass);
    let context = device.context(&kernel, &launch, &shape, &parameters, pass);
    let mut worker = Worker::new(&context);
    let mut most = [0; 2];
    let mut step = |worker: &mut Worker| {
        let pause = run_block(worker);
        let held = worker.held();
        most = [0, 1].map(|n| held[n].max(most[n]));
        pause
    };
    one_by_one(&mut worker, &mut step).unwrap_or_else(|fault| panic!("{fault}"));
    most
}

/// See `clusters::residency`.
#[test]
fn no_more_blocks_are_held_than_are_resident() {
    // One on each SM, then two; the worker has room for one besides, of which the order model knows nothing.
    assert_eq!(most_held(10_000, 227 << 10, 132, Schedule::FirstFirst), [133, 132]);
    assert_eq!(most_held(10_000, 100 << 10, 264, Schedule::LastFirst), [265, 264]);
}
