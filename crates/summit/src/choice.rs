//! Which kernel multiplies, and with which tile sizes.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use device::{Device, nvrtc};
use gemm::fit::{Card, runs};
use gemm::form::{Form, Layout};
use gemm::kernel::FindCompiler;
use gemm::{Build, Dtype, Level, Shape};

use crate::kernels::{KERNELS, Order};
use crate::product::Product;
use crate::scheme::{Scheme, has_one, loses_bits};
use crate::tuned::{Record, records};
use predict::nearby::Near;
use predict::{Model, Numbers, models, name};

/// The kernel that multiplies.
#[derive(Debug, Clone, Copy)]
pub enum Choice {
    /// This one, with its default tile sizes; where the GPU cannot run these, with others that it can ([`gemm::fit::fitting`]).
    Kernel(&'static Level),
    /// Of [`KERNELS`], with all the tile sizes that they ship, the one that is predicted to be the fastest, or that was where this very
    /// shape was measured: see [`Chooser`]. The emulator counts as the GPU that it models by default.
    Best,
}

/// The build that [`Choice::Best`] means; nothing, where no kernel multiplies this type.
pub fn best(device: &Device, shape: &Shape, dtype: Dtype) -> Option<Build> {
    Chooser::new(device.architecture(), device.multiprocessors()).best(shape, dtype, &Form::PLAIN)
}

/// What is to multiply, and why.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// The kernel with its tile sizes.
    pub build: Build,
    /// Why it is this one.
    pub why: Why,
}

/// Why a configuration was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Why {
    /// It was measured at this very shape on a GPU of this architecture, and nothing is known to be faster.
    Measured {
        /// What its plain product took.
        microseconds: f64,
    },
    /// Of so many configurations its plain product is predicted to take the least; half the usual error of its predictions is added.
    Predicted {
        /// What it is predicted to take, at most about.
        microseconds: f64,
        /// How many were compared, with those that take no such form or do not run here.
        among: usize,
    },
    /// The product allows this scheme, and is large enough for it to be faster.
    Allowed(Scheme),
    /// No time is known of what runs here: it has the largest tile that still gives every SM a block, or the most blocks.
    Tile,
    /// Whoever asked named it.
    Named,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Measured { microseconds } => {
                write!(f, "it took {microseconds:.1} µs at this shape, the least on record")
            }
            Why::Predicted { microseconds, among } => {
                write!(f, "it is predicted to take {microseconds:.1} µs, the least of {among} configurations that can")
            }
            Why::Allowed(scheme) => {
                write!(f, "{scheme} is allowed, and faster from {} of M, N and K on", scheme.least())
            }
            Why::Named => f.write_str("it was named"),
            Why::Tile => f.write_str("it has the largest tile that gives every SM a block, or the most blocks"),
        }
    }
}

/// Chooses for one GPU among the shipped configurations of the kernels: by their predicted times
/// ([`predict`]),
/// and at a shape that `press tune` or `press measure` has on record for this architecture, of each kernel that is on record there, the one
/// that was the fastest, by its measured time.
///
/// The predictions are those of the GPU on record whose architecture is the nearest, with this GPU's number of SMs. On
/// another architecture they are no times of it: what they order is the work. Where nothing is predicted, [`by_tile`]
/// chooses.
#[derive(Debug)]
pub struct Chooser {
    kernels: Vec<&'static Level>,
    architecture: u32,
    sms: u32,
    /// What the candidates' times are predicted from.
    model: Option<Model>,
    candidates: Vec<Candidate>,
    /// What was measured on this architecture: a candidate, its shape with how many products of it, and its microseconds.
    measured: Vec<(usize, (Shape, u32), f64)>,
    /// Whether the GPU can run a build, by its words: found out when it is first the best.
    runs: Mutex<HashMap<String, bool>>,
    find: FindCompiler,
}

#[derive(Debug)]
struct Candidate {
    build: Build,
    /// The same for a B that is stored as N × K, if it takes one.
    by_columns: Option<Build>,
    numbers: Option<Numbers>,
    loses_bits: bool,
}

impl Candidate {
    fn new(build: Build, numbers: Option<Numbers>) -> Candidate {
        let by_columns = build.clone().in_form(&Form { layout: Layout::Columns, ..Form::PLAIN }).ok();
        let loses_bits = loses_bits(&build);
        Candidate { build, by_columns, numbers, loses_bits }
    }

    /// What its time is predicted of.
    fn laid_out(&self, layout: Layout) -> &Build {
        self.by_columns.as_ref().filter(|_| layout == Layout::Columns).unwrap_or(&self.build)
    }
}

/// What a product wants beside its shape, type and form.
struct Wanted<'a> {
    /// Which kernels have it.
    takes_it: &'a dyn Fn(&Level) -> bool,
    /// Whether sums may lose bits.
    fast_sums: bool,
    /// Microseconds that a build takes for it beyond the plain product.
    more: &'a dyn Fn(&Build) -> f64,
}

impl Chooser {
    /// For a GPU of an architecture, 90 for `sm_90`, with so many SMs, by what comes with this crate.
    pub fn new(architecture: u32, sms: u32) -> Chooser {
        Chooser::of(models(), records(), &KERNELS, (architecture, sms), nvrtc::find)
    }

    /// The same among these kernels, by other models and records. `find` looks for NVRTC, should the best not be shipped compiled.
    pub fn of(
        models: &[Model],
        records: &[Record],
        kernels: &[&'static Level],
        (architecture, sms): (u32, u32),
        find: FindCompiler,
    ) -> Chooser {
        let nearest = models.iter().min_by_key(|model| model.architecture.abs_diff(architecture));
        let numbers: HashMap<_, &Numbers> =
            nearest.iter().flat_map(|model| &model.configurations).map(|numbers| (numbers.name(), numbers)).collect();
        let kernels: Vec<&'static Level> = kernels.iter().copied().filter(|kernel| !has_one(kernel)).collect();
        let shipped = kernels.iter().flat_map(|kernel| kernel.shipped_builds());
        let mut candidates: Vec<Candidate> = shipped
            .filter_map(|build| {
                let numbers = *numbers.get(&name(&build))?;
                Some(Candidate::new(build, Some(numbers.clone())))
            })
            .collect();
        let mut measured = Vec::new();
        for best in records.iter().filter(|record| record.architecture == architecture).flat_map(Record::best) {
            let Some(build) = kernels.iter().find_map(|kernel| best.build(kernel)) else { continue };
            let known = candidates.iter().position(|candidate| candidate.build == build);
            let candidate = known.unwrap_or(candidates.len());
            if known.is_none() {
                candidates.push(Candidate::new(build, None));
            }
            measured.push((candidate, (best.shape(), best.batch.unwrap_or(1)), 1e3 * best.ms));
        }
        let (runs, model) = (Mutex::default(), nearest.cloned());
        Chooser { kernels, architecture, sms, model, candidates, measured, runs, find }
    }

    /// The build that is to multiply; nothing, where no kernel does.
    pub fn best(&self, shape: &Shape, dtype: Dtype, form: &Form) -> Option<Build> {
        self.choose(shape, dtype, form).map(|chosen| chosen.build)
    }

    /// The same, with why.
    pub fn choose(&self, shape: &Shape, dtype: Dtype, form: &Form) -> Option<Chosen> {
        self.choose_among(
            (shape, shape, 1),
            dtype,
            form,
            Wanted { takes_it: &|_| true, fast_sums: false, more: &|_| 0.0 },
        )
    }

    /// The same for a product with its batch and epilogue: a kernel that makes all products in one launch comes first, and is chosen as
    /// for one with the rows of all.
    pub(crate) fn choose_for(&self, product: &Product, dtype: Dtype) -> Option<Chosen> {
        if !product.invariant_rows {
            return self.by_scheme(product, dtype).or_else(|| self.choose_with(product, dtype, |_| true));
        }
        // Which order it is must not depend on M: the first of which there is a kernel that runs here.
        Order::ALL
            .into_iter()
            .find_map(|order| self.choose_with(product, dtype, |level| Order::of(level) == Some(order)))
    }

    /// The same among some of the kernels.
    fn choose_with(&self, product: &Product, dtype: Dtype, among: impl Fn(&Level) -> bool) -> Option<Chosen> {
        let Product { shape, form, batch, epilogue, scheme, .. } = product;
        let fast_sums = *scheme == Scheme::FastSums;
        let takes_it = |level: &Level| among(level) && (!epilogue.is_any() || level.takes_epilogues());
        let all = Shape { m: shape.m.saturating_mul(batch.count), ..*shape };
        let at_once = |level: &Level| (batch.count == 1 || level.takes_batches()) && takes_it(level);
        let later = [form.beta != 0.0, epilogue.is_computed()].into_iter().filter(|asked| *asked).count() as f64;
        let more = |build: &Build| later * EPILOGUE * unhidden(build, self.sms, &all);
        let chosen = self.choose_among(
            (shape, &all, batch.count),
            dtype,
            form,
            Wanted { takes_it: &at_once, fast_sums, more: &more },
        );
        chosen.or_else(|| {
            let one_by_one = self.choose_among(
                (shape, shape, 1),
                dtype,
                form,
                Wanted { takes_it: &takes_it, fast_sums, more: &more },
            );
            one_by_one.filter(|_| batch.count > 1 && !epilogue.is_any())
        })
    }

    /// The kernel of the scheme that a product allows, where that pays.
    fn by_scheme(&self, Product { shape, form, epilogue, scheme, .. }: &Product, dtype: Dtype) -> Option<Chosen> {
        let kernel = scheme.kernel().filter(|_| scheme.pays(shape) && !epilogue.is_any())?;
        let build = largest(&[kernel], self.sms, (shape, dtype, form), |build| self.runs(build, build))?;
        Some(Chosen { build, why: Why::Allowed(*scheme) })
    }

    /// The same among kernels that have what else is wanted, for so many of a shape, by the times at another one, and what a build takes beyond
    /// them.
    fn choose_among(
        &self,
        (shape, timed, count): (&Shape, &Shape, u32),
        dtype: Dtype,
        form: &Form,
        Wanted { takes_it, fast_sums, more }: Wanted,
    ) -> Option<Chosen> {
        let (mut ranked, known) = self.ranked(timed, (*shape, count), (dtype, fast_sums), form.layout);
        let measured: Vec<usize> = ranked[..known].iter().map(|(candidate, _)| *candidate).collect();
        ranked.retain(|(candidate, _)| takes_it(self.candidates[*candidate].build.level));
        let among = ranked.len();
        ranked.iter_mut().for_each(|(candidate, time)| *time += more(&self.candidates[*candidate].build));
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
        let able = |(candidate, time)| {
            let build = self.able(candidate, shape, form)?;
            let why = match measured.contains(&candidate) {
                true => Why::Measured { microseconds: time },
                false => Why::Predicted { microseconds: time, among },
            };
            Some(Chosen { build, why })
        };
        ranked.into_iter().find_map(able).or_else(|| {
            let runs = |build: &Build| takes_it(build.level) && self.runs(build, build);
            let build = largest(&self.kernels, self.sms, (shape, dtype, form), runs)?;
            Some(Chosen { build, why: Why::Tile })
        })
    }

    /// Why no kernel that runs here takes a product of these sizes, if a smaller one is taken: what the one that reaches farthest says.
    pub(crate) fn too_large(&self, shape: &Shape, dtype: Dtype, form: &Form) -> Option<String> {
        let small = Shape { m: shape.m.min(16), n: shape.n.min(16), k: shape.k.min(16) };
        let refusing = |kernel: &&'static Level| {
            let is_it = |level: &Level| level.name == kernel.name;
            let build = self
                .choose_among(
                    (&small, &small, 1),
                    dtype,
                    form,
                    Wanted { takes_it: &is_it, fast_sums: true, more: &|_| 0.0 },
                )?
                .build;
            build.plan_in(*shape, *form).err()
        };
        let mut kernels: Vec<&&'static Level> = self.kernels.iter().collect();
        kernels.sort_by_key(|kernel| !kernel.needs.wide_offsets);
        kernels.into_iter().find_map(refusing).map(|error| error.to_string())
    }

    /// The architecture of its GPU: 90 is `sm_90`.
    pub fn architecture(&self) -> u32 {
        self.architecture
    }

    /// The candidates with their microseconds, and how many of these, the first, were measured with so many products of a shape. Of a B that
    /// is stored as N × K nobody has measured these, and where predictions know of it, they count.
    fn ranked(
        &self,
        shape: &Shape,
        measured: (Shape, u32),
        (dtype, fast_sums): (Dtype, bool),
        layout: Layout,
    ) -> (Vec<(usize, f64)>, usize) {
        let kernel = |candidate: usize| self.candidates[candidate].build.level.name;
        let of_type = |candidate: usize| {
            let Candidate { build, loses_bits, .. } = &self.candidates[candidate];
            build.configuration.dtype == dtype && (fast_sums || !loses_bits)
        };
        let near = self.model.as_ref().map_or_else(|| Near::nothing(shape), |model| model.near(dtype, shape, layout));
        let counts = |at: &(Shape, u32)| *at == measured && near.by_columns.is_none();
        let here = self.measured.iter().filter(|(candidate, at, _)| counts(at) && of_type(*candidate));
        let mut ranked: Vec<(usize, f64)> = here.map(|&(candidate, _, time)| (candidate, time)).collect();
        let known = ranked.len();
        for (place, candidate) in self.candidates.iter().enumerate() {
            let Some(numbers) = &candidate.numbers else { continue };
            if of_type(place) && !ranked[..known].iter().any(|&(other, _)| kernel(other) == kernel(place)) {
                ranked.push((place, numbers.cautious(candidate.laid_out(layout), self.sms, &near)));
            }
        }
        (ranked, known)
    }

    /// The candidate in this form, if that is what it is made for and the GPU can run it.
    fn able(&self, candidate: usize, shape: &Shape, form: &Form) -> Option<Build> {
        let build = self.candidates[candidate].build.clone().in_form(form).ok()?;
        build.plan_in(*shape, *form).ok().filter(|_| (build.level.needs.is_meant_for)(&build.configuration))?;
        self.runs(&build, &self.candidates[candidate].build).then_some(build)
    }

    /// Whether the GPU runs a build, remembered. Nobody waits for who finds it out.
    fn runs(&self, build: &Build, plain: &Build) -> bool {
        let key = build.to_string();
        let known = || self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let remembered = known().get(&key).copied();
        let runs = remembered.unwrap_or_else(|| self.can_run(build, plain));
        known().insert(key, runs);
        runs
    }

    /// Whether the GPU runs a build: by its shipped PTX or, where that is shipped in another form alone, by that one's, and with a compiler.
    fn can_run(&self, build: &Build, plain: &Build) -> bool {
        // What is made for one architecture alone need not be unpacked.
        let made_for = build.level.needs.architecture;
        if !made_for.suffix.is_empty() && !made_for.runs_on(self.architecture) {
            return false;
        }
        let card = Card::of_architecture(self.architecture);
        // Without the compiler only what is shipped in this form.
        runs(build, &card).unwrap_or_else(|| {
            let is_able = runs(plain, &card).unwrap_or_else(|| made_for.runs_on(self.architecture));
            is_able && (self.find)().is_ok()
        })
    }
}

/// Microseconds that an SM takes for an element of C that is read, or for a function of a sum and a bias: on an H100 both made 4096×14336×4096 in
/// bf16 longer by 166 µs, in 13.6 rounds of tiles of 128 × 256, where nothing else was done meanwhile.
const EPILOGUE: f64 = 166.0 / 13.6 / (128.0 * 256.0) / 2.0;

/// Elements of C of which an SM makes what becomes of sums while it multiplies nothing.
fn unhidden(build: &Build, sms: u32, shape: &Shape) -> f64 {
    let launch = build.launch(shape);
    let tiles = launch.tiles(shape);
    let rounds = if build.level.needs.hides_epilogues { 1 } else { tiles.div_ceil(u64::from(sms.max(1))) };
    rounds as f64 * f64::from(launch.tile.m) * f64::from(launch.tile.n)
}

/// Without any measurement, of the default variants and shipped tile sizes, those that lose no bits first: the largest tile of C
/// that still gives every SM a block; of equal ones that with the most elements of C per thread; then the first. Where no tile
/// gives every SM a block, the one with the most blocks. Nothing, where no kernel that the GPU runs has the type in this form.
pub fn by_tile(
    kernels: &[&'static Level],
    architecture: u32,
    sms: u32,
    shape: &Shape,
    dtype: Dtype,
    form: &Form,
) -> Option<Build> {
    let card = Card::of_architecture(architecture);
    largest(kernels, sms, (shape, dtype, form), |build| !has_one(build.level) && runs(build, &card) == Some(true))
}

/// The same of those for which `runs` holds.
fn largest(
    kernels: &[&'static Level],
    sms: u32,
    (shape, dtype, form): (&Shape, Dtype, &Form),
    runs: impl Fn(&Build) -> bool,
) -> Option<Build> {
    let mut best = None;
    for &kernel in kernels {
        let fits = |build: &Build| {
            let configuration = &build.configuration;
            let same_form = configuration.specialization == form.specialization();
            let is_meant = (kernel.needs.is_meant_for)(configuration);
            configuration.dtype == dtype && same_form && is_meant && build.is_first_variant()
        };
        let takes_it = form.is_plain() || kernel.takes_any_form();
        for build in kernel.all_shipped_builds().into_iter().filter(|build| takes_it && fits(build)) {
            if build.plan_in(*shape, *form).is_err() || !runs(&build) {
                continue;
            }
            let launch = build.launch(shape);
            let (blocks, threads) = (launch.grid.count(), launch.block.count());
            let tile = u64::from(launch.tile.m) * u64::from(launch.tile.n);
            let most = if blocks >= u64::from(sms) { (true, tile) } else { (false, blocks) };
            let merit = (!loses_bits(&build), most, tile / threads);
            if best.as_ref().is_none_or(|(most, _)| merit > *most) {
                best = Some((merit, build));
            }
        }
    }
    best.map(|(_, build)| build)
}
