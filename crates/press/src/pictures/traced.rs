//! The accesses that pictures show: those of the kernels themselves, as the emulator executes them.

use device::nvrtc;
use emulator::{AccessKind, Device, Dim3, LaneAccess, Launch, Memory, Module, TracedAccess};
use gemm::kernel::Kernel;
use gemm::task::Operand;
use gemm::{Build, Configuration, Dtype, Error, LaunchShape, Level, Shape, emulated};

/// Bytes of an element: the pictures are of f32, but where they say so.
pub const ELEMENT: u64 = 4;

/// A level in one of its shipped configurations, in f32.
pub fn build(level: &'static Level, variant: &str, sizes: &[u32]) -> Result<Build, Error> {
    build_of(level, Dtype::F32, variant, sizes)
}

/// The same, in other types.
pub fn build_of(level: &'static Level, dtype: Dtype, variant: &str, sizes: &[u32]) -> Result<Build, Error> {
    let fits = |c: &Configuration| c.dtype == dtype && c.variant == variant && c.tiles.sizes() == sizes;
    level.shipped_builds().into_iter().find(|build| fits(&build.configuration)).ok_or_else(|| {
        let wanted = format!("{} ships no {variant} {sizes:?} in {dtype}, which a picture shows", level.name);
        Error::usage(wanted, "draw another configuration, or ship this one")
    })
}

/// A build's kernel.
pub fn kernel(build: &Build) -> Result<Kernel, Error> {
    Kernel::obtain(build, 90, nvrtc::find)
}

/// All accesses of a build's kernel to global and shared memory.
pub fn accesses(build: &Build, shape: Shape) -> Result<Vec<TracedAccess>, Error> {
    some_accesses(build, shape, |_| true)
}

/// The same, of some blocks only.
pub fn some_accesses(build: &Build, shape: Shape, wanted: impl Fn(Dim3) -> bool) -> Result<Vec<TracedAccess>, Error> {
    some_accesses_in(build, shape, build.launch(&shape).grid, wanted)
}

/// The same, of a launch that has another grid: where the first blocks are enough.
pub fn some_accesses_in(
    build: &Build,
    shape: Shape,
    grid: Dim3,
    wanted: impl Fn(Dim3) -> bool,
) -> Result<Vec<TracedAccess>, Error> {
    let kernel = kernel(build)?;
    let plan = build.plan(shape)?;
    let LaunchShape { block, .. } = plan.launch;
    let launch = Launch::new(grid, block).dynamic_shared(build.dynamic_shared());
    trace(&kernel.ptx, build.level.entry, launch, shape, &plan.task(&kernel).operands, wanted)
}

/// The accesses of some blocks of a kernel with these arguments. A and B hold zeros.
pub fn trace(
    ptx: &str,
    entry: &str,
    launch: Launch,
    shape: Shape,
    operands: &[Operand],
    wanted: impl Fn(Dim3) -> bool,
) -> Result<Vec<TracedAccess>, Error> {
    let Shape { m, n, k } = shape;
    let fault = |what: String| Error::Fault(format!("{entry}, for a picture: {what}"));
    let program = Module::parse(ptx).and_then(|module| module.kernel(entry)).map_err(|e| fault(e.to_string()))?;
    let mut device = Device::new();
    let mut zeros = |name: &str, rows: u32, columns: u32| {
        let zeros = vec![0; (ELEMENT * u64::from(rows) * u64::from(columns)) as usize];
        let buffer = device.alloc(name, zeros.len());
        device.write(buffer, &zeros).map(|()| buffer).map_err(|e| fault(e.to_string()))
    };
    let (a, b, c) = (zeros("A", m, k)?, zeros("B", k, n)?, zeros("C", m, n)?);
    let arguments = emulated::arguments(operands, &mut device, [a, b, c].map(|buffer| (buffer, 0)))?;
    let trace = device.trace(&program, launch, &arguments.values, wanted).map_err(|e| fault(e.to_string()))?;
    Ok(trace.accesses)
}

/// The array that an access is to: a warp's lanes access one at a time in all kernels drawn here.
pub fn array(access: &TracedAccess) -> &str {
    access.lanes.first().map_or("", |lane| &lane.array)
}

/// Loads from an array.
pub fn is_load(access: &TracedAccess, of: &str) -> bool {
    access.kind == AccessKind::Load && array(access) == of
}

/// Stores to an array.
pub fn is_store(access: &TracedAccess, to: &str) -> bool {
    access.kind == AccessKind::Store && array(access) == to
}

/// Loads from global memory.
pub fn is_global_load(access: &TracedAccess) -> bool {
    access.kind == AccessKind::Load && access.memory == Memory::Global
}

/// Rows and columns of the elements that a lane accesses, in a matrix of so many columns.
pub fn elements(access: &TracedAccess, lane: &LaneAccess, columns: u32) -> Vec<(u32, u32)> {
    let first = lane.offset / ELEMENT;
    let place = |n: u64| ((n / u64::from(columns)) as u32, (n % u64::from(columns)) as u32);
    (first..first + u64::from(access.bytes) / ELEMENT).map(place).collect()
}

/// The elements that all lanes access, each once, by rows.
pub fn distinct(access: &TracedAccess, columns: u32) -> Vec<(u32, u32)> {
    let mut all: Vec<_> = access.lanes.iter().flat_map(|lane| elements(access, lane, columns)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What is not as a picture takes it to be.
pub fn unlike(what: &str) -> Error {
    Error::usage(format!("a picture does not fit its kernel: {what}"), "change the picture in crates/lab/src/pictures")
}
