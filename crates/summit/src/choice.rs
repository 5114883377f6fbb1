//! Which level multiplies, and with which tile sizes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use device::{Device, nvrtc};
use gemm::dtype::Sum;
use gemm::fit::{Card, misfit};
use gemm::form::{Form, Specialization};
use gemm::kernel::{FindCompiler, shipped};
use gemm::{Build, Dtype, Level, Shape};

use crate::nearby::Near;
use crate::predict::{Model, Numbers, models, name};
use crate::tuned::{Record, records};

/// The level that multiplies.
#[derive(Debug, Clone, Copy)]
pub enum Choice<'a> {
    /// This one, with its default tile sizes; where the GPU cannot run these, with others that it can ([`gemm::fit::fitting`]).
    Level(&'static Level),
    /// Of these, with all the tile sizes that they ship, the one that is predicted to be the fastest, or that was where this very
    /// shape was measured: see [`Chooser`]. The emulator counts as the GPU that it models by default.
    Best(&'a [&'static Level]),
}

/// The build that [`Choice::Best`] means; nothing, if there are no levels.
pub fn best(levels: &[&'static Level], device: &Device, shape: &Shape, dtype: Dtype) -> Option<Build> {
    Chooser::new(levels, device.architecture(), device.multiprocessors()).best(shape, dtype, &Form::PLAIN)
}

/// Chooses for one GPU among the shipped configurations of some levels, in a tenth of a millisecond or two: by their predicted times
/// ([`crate::predict`]),
/// and at a shape that `lab tune` or `lab measure` has on record for this architecture, of each level that is on record there, the one
/// that was the fastest, by its measured time.
///
/// The predictions are those of the GPU on record whose architecture is the nearest, with this GPU's number of SMs. On
/// another architecture they are no times of it: what they order is the work. Where nothing is predicted, [`by_tile`]
/// chooses.
#[derive(Debug)]
pub struct Chooser {
    levels: Vec<&'static Level>,
    architecture: u32,
    sms: u32,
    /// What the candidates' times are predicted from.
    model: Option<Model>,
    candidates: Vec<Candidate>,
    /// What was measured on this architecture: a candidate, its shape, and its microseconds.
    measured: Vec<(usize, Shape, f64)>,
    /// Whether the GPU can run a candidate, in a form: found out when it is first the best.
    runs: Mutex<HashMap<(usize, Specialization), bool>>,
    find: FindCompiler,
}

#[derive(Debug)]
struct Candidate {
    build: Build,
    numbers: Option<Numbers>,
}

impl Chooser {
    /// For a GPU of an architecture, 90 for `sm_90`, with so many SMs, by what comes with this crate.
    pub fn new(levels: &[&'static Level], architecture: u32, sms: u32) -> Chooser {
        Chooser::of(models(), records(), levels, (architecture, sms), nvrtc::find)
    }

    /// The same by other models and records. `find` looks for NVRTC, should the best not be shipped compiled.
    pub fn of(
        models: &[Model],
        records: &[Record],
        levels: &[&'static Level],
        (architecture, sms): (u32, u32),
        find: FindCompiler,
    ) -> Chooser {
        let nearest = models.iter().min_by_key(|model| model.architecture.abs_diff(architecture));
        let numbers: HashMap<_, &Numbers> =
            nearest.iter().flat_map(|model| &model.configurations).map(|numbers| (numbers.name(), numbers)).collect();
        let shipped = levels.iter().flat_map(|level| level.shipped_builds()).filter(|build| !is_by_name_alone(build));
        let mut candidates: Vec<Candidate> = shipped
            .filter_map(|build| {
                let numbers = *numbers.get(&name(&build))?;
                Some(Candidate { build, numbers: Some(numbers.clone()) })
            })
            .collect();
        let mut measured = Vec::new();
        for best in records.iter().filter(|record| record.architecture == architecture).flat_map(Record::best) {
            let Some(build) =
                levels.iter().find_map(|level| best.build(level)).filter(|build| !is_by_name_alone(build))
            else {
                continue;
            };
            let known = candidates.iter().position(|candidate| candidate.build == build);
            let candidate = known.unwrap_or(candidates.len());
            if known.is_none() {
                candidates.push(Candidate { build, numbers: None });
            }
            measured.push((candidate, best.shape(), 1e3 * best.ms));
        }
        let (levels, runs, model) = (levels.to_vec(), Mutex::default(), nearest.cloned());
        Chooser { levels, architecture, sms, model, candidates, measured, runs, find }
    }

    /// The build that is to multiply; nothing, if there are no levels.
    pub fn best(&self, shape: &Shape, dtype: Dtype, form: &Form) -> Option<Build> {
        let mut ranked = self.ranked(shape, dtype);
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut able = ranked.into_iter().filter_map(|(candidate, _)| self.able(candidate, shape, form));
        able.next().or_else(|| by_tile(&self.levels, self.architecture, self.sms, shape, dtype, form))
    }

    /// The candidates with their microseconds.
    fn ranked(&self, shape: &Shape, dtype: Dtype) -> Vec<(usize, f64)> {
        let level = |candidate: usize| self.candidates[candidate].build.level.number;
        let of_type = |candidate: usize| self.candidates[candidate].build.configuration.dtype == dtype;
        let here = self.measured.iter().filter(|(candidate, at, _)| at == shape && of_type(*candidate));
        let mut ranked: Vec<(usize, f64)> = here.map(|&(candidate, _, time)| (candidate, time)).collect();
        let known = ranked.len();
        let near = self.model.as_ref().map_or_else(|| Near::nothing(shape), |model| model.near(dtype, shape));
        for (place, candidate) in self.candidates.iter().enumerate() {
            let Some(numbers) = &candidate.numbers else { continue };
            if of_type(place) && !ranked[..known].iter().any(|&(other, _)| level(other) == level(place)) {
                ranked.push((place, numbers.cautious(&candidate.build, self.sms, &near)));
            }
        }
        ranked
    }

    /// The candidate in this form, if the GPU can run it.
    fn able(&self, candidate: usize, shape: &Shape, form: &Form) -> Option<Build> {
        let build = self.candidates[candidate].build.clone().in_form(form).ok()?;
        build.plan_in(*shape, *form).ok()?;
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let runs = *runs.entry((candidate, form.specialization())).or_insert_with(|| match shipped(&build) {
            Ok(_) => misfit(&build, &Card::of_architecture(self.architecture)).is_none(),
            Err(_) => (self.find)().is_ok(),
        });
        runs.then_some(build)
    }
}

/// Whether its sums lose bits that another level's keep, or are of f32 numbers cut into halves. Whoever wants that names the level.
fn is_by_name_alone(build: &Build) -> bool {
    let sum = build.level.sum(&build.configuration);
    sum.loses_bits() || matches!(sum, Sum::Halved { .. })
}

/// Without any measurement, of the default variants and shipped tile sizes, those that lose no bits first: the largest tile of C
/// that still gives every SM a block; of equal ones that with the most elements of C per thread; then the first. Where no tile
/// gives every SM a block, the one with the most blocks. Nothing, if there are no levels.
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
            let merit = (can_run, !is_by_name_alone(&build), most, tile / threads);
            if best.as_ref().is_none_or(|(most, _)| merit > *most) {
                best = Some((merit, build));
            }
        }
    }
    best.map(|(_, build)| build)
}
