//! Which level multiplies, and with which tile sizes.

use rung::fit::{Card, misfit};
use rung::{Build, Dtype, Level, Shape};

use crate::device::Device;
use crate::kernel::{FindCompiler, nvrtc, shipped};
use crate::tuned::{Record, records};
use rung::form::Form;

/// The level that multiplies.
#[derive(Debug, Clone, Copy)]
pub enum Choice<'a> {
    /// This one, with its default tile sizes; where the GPU cannot run these, with others that it can ([`rung::fit::fitting`]).
    Level(&'static Level),
    /// Of these, the one that was the fastest where it was measured: on a GPU of the device's architecture, or of the nearest
    /// one on record, at the shape nearest to the asked one ([`crate::tuned::distance`]), with the tile sizes it had there. Where
    /// nothing on record can run, [`by_tile`] chooses. The emulator counts as the GPU that it models by default.
    Best(&'a [&'static Level]),
}

/// The build that [`Choice::Best`] means; nothing, if there are no levels.
pub fn best(levels: &[&'static Level], device: &Device, shape: &Shape, dtype: Dtype) -> Option<Build> {
    best_in(levels, device.architecture(), device.multiprocessors(), shape, dtype, &Form::PLAIN)
}

/// The same for a form of the product, on a GPU of an architecture with so many SMs.
pub fn best_in(
    levels: &[&'static Level],
    architecture: u32,
    sms: u32,
    shape: &Shape,
    dtype: Dtype,
    form: &Form,
) -> Option<Build> {
    by_record(records(), levels, architecture, shape, dtype, form, nvrtc::find)
        .or_else(|| by_tile(levels, architecture, sms, shape, dtype, form))
}

/// What was measured to be the fastest nearby, on a GPU of this architecture or of the nearest one, and can run. `find` looks
/// for NVRTC, should the best not be shipped compiled.
pub fn by_record(
    records: &[Record],
    levels: &[&'static Level],
    architecture: u32,
    shape: &Shape,
    dtype: Dtype,
    form: &Form,
    find: FindCompiler,
) -> Option<Build> {
    let mut records: Vec<&Record> = records.iter().collect();
    records.sort_by_key(|record| record.architecture.abs_diff(architecture));
    let nearest = records.iter().flat_map(|record| record.nearest(levels, dtype, shape));
    let mut chosen = nearest.filter_map(|build| build.in_form(form).ok());
    let card = Card::of_architecture(architecture);
    chosen.find(|build| {
        build.plan_in(*shape, *form).is_ok()
            && match shipped(build) {
                Ok(_) => misfit(build, &card).is_none(),
                Err(_) => find().is_ok(),
            }
    })
}

/// Without any measurement, of the default variants and shipped tile sizes: the largest tile of C that still gives every SM a
/// block; of equal ones that with the most elements of C per thread; then the first. Where no tile gives every SM a
/// block, the one with the most blocks. Nothing, if there are no levels.
pub fn by_tile(
    levels: &[&'static Level],
    architecture: u32,
    sms: u32,
    shape: &Shape,
    dtype: Dtype,
    form: &Form,
) -> Option<Build> {
    let card = Card::of_architecture(architecture);
    let mut best = None;
    for &level in levels {
        let fits = |build: &Build| {
            let configuration = &build.configuration;
            let same_form = configuration.specialization == form.specialization();
            configuration.dtype == dtype && same_form && build.is_first_variant()
        };
        let takes_it = form.is_plain() || level.takes_any_form();
        for build in level.all_shipped_builds().into_iter().filter(|build| takes_it && fits(build)) {
            let can_run = build.plan_in(*shape, *form).is_ok() && misfit(&build, &card).is_none();
            let launch = build.launch(shape);
            let (blocks, threads) = (launch.grid.count(), launch.block.count());
            let tile = u64::from(launch.tile.m) * u64::from(launch.tile.n);
            let most = if blocks >= u64::from(sms) { (true, tile) } else { (false, blocks) };
            let merit = (can_run, most, tile / threads);
            if best.as_ref().is_none_or(|(most, _)| merit > *most) {
                best = Some((merit, build));
            }
        }
    }
    best.map(|(_, build)| build)
}
