//! `press calibrate`: from surveys to the numbers that times are predicted from, and how far predictions and choices are off.

mod columns;
mod fit;
mod judge;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use archive::Texts;
use clap::Args;
use emulator::gpu::GPUS;
use emulator::occupancy::occupancy;
use gemm::form::Form;
use gemm::kernel::shipped;
use gemm::{Build, Dtype, Error, Shape};
use predict::nearby::{Beyond, Surveyed};
use predict::{Model, Numbers, Sharing, TERMS, models, products, terms};
use rayon::prelude::*;

use crate::survey::record::{Line, Survey};
use judge::{Judged, Predicted};
use lab::output::{note, say};
use lab::provenance::{file_name, replace, text};

/// Fit predicted times to surveys, or judge the choice by them
#[derive(Debug, Clone, Args)]
pub struct Calibrate {
    /// Surveys of one GPU, any number for each type, made by `press survey` [default: those that are kept]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Judge what this program predicts and chooses by these surveys, and fit nothing [default: by those that are kept for that]
    #[arg(long)]
    judge: bool,
    /// Judge by surveys of this type alone
    #[arg(long, value_name = "DTYPE", requires = "judge")]
    dtype: Option<Dtype>,
    /// The file that is written, for `cargo x pack`; or a folder, where it is named after the GPU [default: crates/predict]
    #[arg(long, value_name = "FILE", default_value = "crates/predict", hide_default_value = true)]
    out: PathBuf,
}

/// Where surveys are kept, an archive of the files that `press survey` wrote.
pub const KEPT: &str = "book/measurements/surveys.csv.zst";
/// How the names of those end that were made to judge a choice, after it was frozen: nothing is fitted to them.
pub const JUDGING: &str = "-judge.csv";
/// Parts of the shapes; each is predicted by what is fitted to the others.
const FOLDS: usize = 5;
/// What [`Sharing::side_by_side`] may be.
const SIDE_BY_SIDE: [f64; 9] = [1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0];
/// The share of SMs at most that clusters leave idle.
const IDLE: f64 = 0.2;
/// Shapes that a configuration must have been measured at.
const LEAST: usize = 20;

/// Runs the command.
pub fn run(calibrate: &Calibrate) -> Result<ExitCode, Error> {
    let (surveys, unseen) = match calibrate.files.is_empty() {
        true => kept(Path::new(""))?,
        false => named(&calibrate.files)?,
    };
    if calibrate.judge {
        let judging = if calibrate.files.is_empty() { &unseen } else { &surveys };
        let is_asked = |survey: &&Survey| calibrate.dtype.is_none_or(|dtype| survey.dtype == dtype);
        for survey in judging.iter().filter(is_asked) {
            let name = survey.said("gpu").unwrap_or_default();
            let model = models().iter().find(|model| model.gpu == name).ok_or_else(|| {
                Error::usage(format!("no times are predicted for {name}"), "`press calibrate` fits them to surveys")
            })?;
            say(&judge::shipped(survey, model).text(survey, true))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (model, judged) = model(&surveys, &unseen)?;
    let surveys = Survey::joined(&surveys);
    let [usual, others] = [true, false].map(|it| surveys.iter().filter(move |survey| survey.is_usual() == it));
    for (survey, judged) in usual.chain(others).zip(&judged) {
        say(&judged.text(survey, false))?;
    }
    let name = file_name(&model.gpu);
    let out = if calibrate.out.is_dir() { calibrate.out.join(&name) } else { calibrate.out.clone() };
    let packed = Texts::of([(&*name, &*text(&model)?)]);
    replace(&out, packed.joined().as_bytes())?;
    let (count, out) = (model.configurations.len(), out.display());
    note(&format!("{count} configurations, in {out}; `cargo x pack {out}` makes of it what is shipped"));
    Ok(ExitCode::SUCCESS)
}

/// Surveys to fit to, and those that were made to judge what is fitted.
type Kept = (Vec<Survey>, Vec<Survey>);

/// Surveys by their files, and those beside them that judge.
fn named(files: &[PathBuf]) -> Result<Kept, Error> {
    let beside = files.iter().map(|file| PathBuf::from(file.to_string_lossy().replace(".csv", JUDGING)));
    let judging = beside.filter(|file| file.exists()).map(|file| Survey::read(&file)).collect::<Result<_, _>>()?;
    Ok((files.iter().map(|file| Survey::read(file)).collect::<Result<_, _>>()?, judging))
}

/// The surveys that are kept below the repository's root.
fn kept(root: &Path) -> Result<Kept, Error> {
    let refused = |why: String| Error::usage(format!("{KEPT}: {why}"), "name the files of `press survey`");
    let texts = Texts::read(&root.join(KEPT)).map_err(|error| refused(error.to_string()))?;
    let (mut surveys, mut judging) = (Vec::new(), Vec::new());
    for (name, text) in texts.iter() {
        let survey = Survey::of(text).map_err(|why| refused(format!("{name} is no survey: {why}")))?;
        if name.ends_with(JUDGING) { &mut judging } else { &mut surveys }.push(survey);
    }
    Ok((surveys, judging))
}

/// What is fitted to these surveys, and, of each, how it does at shapes that it was not fitted to. Beside the numbers stands
/// how they do at `unseen` surveys, in the types that these have.
pub fn model(surveys: &[Survey], unseen: &[Survey]) -> Result<(Model, Vec<Judged>), Error> {
    let first = surveys.first().ok_or_else(|| Error::usage("there is no survey", "`press survey` makes them"))?;
    let said = |survey: &Survey, name: &str| survey.said(name).unwrap_or_default().to_string();
    let number = |name: &str| {
        let text = said(first, name);
        text.parse::<u32>()
            .map_err(|_| Error::usage(format!("a survey's {name} is `{text}`, no number"), "survey anew"))
    };
    let (gpu, architecture, sms) = (said(first, "gpu"), number("architecture")?, number("sms")?);
    if let Some(other) = surveys.iter().find(|survey| said(survey, "gpu") != gpu) {
        let message = format!("a survey is of {}, another one of {gpu}", said(other, "gpu"));
        return Err(Error::usage(message, "calibrate one GPU at a time"));
    }
    let mut model = Model {
        gpu,
        architecture,
        sms,
        command: "press calibrate".to_string(),
        records: Vec::new(),
        errors: Vec::new(),
        surveyed: Vec::new(),
        errors_by_columns: Vec::new(),
        surveyed_by_columns: Vec::new(),
        configurations: Vec::new(),
    };
    model.records.extend(surveys.iter().map(record));
    let mut all = Vec::new();
    let joined = Survey::joined(surveys);
    for survey in joined.iter().filter(|survey| survey.is_usual()) {
        let taken = taken(survey, architecture)?;
        let predicted = crossed(survey, &taken, sms);
        let lines: Vec<&Line> = survey.lines.iter().collect();
        model.surveyed.push(surveyed(survey, &lines));
        let whole = |(taken, predicted): (&Taken, &Predicted)| {
            let numbers = taken.numbers(sms, &lines)?;
            Some(Numbers { error: rounded(predicted.error), ..numbers })
        };
        let numbers: Vec<_> = taken.par_iter().zip(&predicted).map(whole).collect();
        model.configurations.extend(numbers.into_iter().flatten());
        let how = "at shapes that nothing was fitted to: each fifth by what is fitted to the others";
        let judged = Judged::new(survey, &predicted, how);
        let is_like = |other: &&Survey| other.dtype == survey.dtype && other.layout() == survey.layout();
        let other = unseen.iter().find(|other| is_like(other) && said(other, "gpu") == model.gpu);
        let off = other.map(|other| judge::by_numbers(other, &model).off(other));
        model.errors.push(off.unwrap_or_else(|| judged.off(survey)));
        all.push(judged);
    }
    for survey in joined.iter().filter(|survey| !survey.is_usual()) {
        let taken = taken(survey, architecture)?;
        let predicted = columns::fit(&mut model, survey, &taken);
        let how = "at shapes that no factor was fitted to: each fifth by what is fitted to the others";
        let judged = Judged::new(survey, &predicted, how);
        model.errors_by_columns.push(judged.off(survey));
        all.push(judged);
    }
    Ok((model, all))
}

/// What a survey is on record as.
fn record(survey: &Survey) -> String {
    let words = ["type", "date", "commit", "driver", "command"];
    words.map(|name| format!("{name} {}", survey.said(name).unwrap_or_default())).join(", ")
}

/// A column of a survey that a level still ships.
struct Taken {
    column: usize,
    build: Build,
    blocks_per_sm: u32,
}

/// The columns of a survey that can be predicted: shipped, and known to fit on an SM.
///
/// # Errors
/// Where what is shipped is not of the kernel as it is: a fit would leave it out.
fn taken(survey: &Survey, architecture: u32) -> Result<Vec<Taken>, Error> {
    let gpu = GPUS.iter().find(|gpu| gpu.sm() == architecture);
    let mut taken = Vec::new();
    for (column, build) in survey.builds().into_iter().enumerate() {
        let Some(build) = build else { continue };
        let stale = |_| {
            let message =
                format!("the shipped PTX of {} is not of its kernel: no time can be fitted", build.level.name);
            Error::usage(message, "`cargo x ptx` makes it anew; then build `press` again")
        };
        // Not every tile is shipped for each way to store B, and a block's needs hardly differ.
        let (header, _) = shipped(&build).or_else(|_| shipped(&plain(&build))).map_err(stale)?;
        let (Some(gpu), Some(needs)) = (gpu, header.resources.get(&architecture)) else { continue };
        let shared = needs.shared_bytes + build.dynamic_shared();
        let blocks_per_sm = occupancy(gpu, build.threads(), needs.registers, shared).blocks_per_sm;
        if blocks_per_sm > 0 {
            taken.push(Taken { column, build, blocks_per_sm });
        }
    }
    Ok(taken)
}

/// The same configuration for the plain product.
fn plain(build: &Build) -> Build {
    build.clone().in_form(&Form::PLAIN).unwrap_or_else(|_| build.clone())
}

/// The shapes of some lines.
fn surveyed(survey: &Survey, lines: &[&Line]) -> Surveyed {
    Surveyed::new(survey.dtype, lines.iter().map(|line| line.shape).collect())
}

impl Taken {
    /// What is fitted to these lines; nothing where they are too few.
    fn numbers(&self, sms: u32, lines: &[&Line]) -> Option<Numbers> {
        let measured = |line: &Line| line.builds()[self.column].microseconds();
        let timed = lines.iter().filter_map(|line| Some((line.shape, measured(line)?)));
        let (shapes, times): (Vec<Shape>, Vec<f64>) = timed.unzip();
        if times.len() < LEAST {
            return None;
        }
        let of = |sharing: &Sharing| -> Vec<[f64; TERMS.len()]> {
            shapes.iter().map(|shape| terms(&self.build, sharing, sms, shape)).collect()
        };
        let fits = self.sharings(sms).map(|sharing| (sharing, fit::fit(&of(&sharing), &times)));
        let (sharing, (microseconds, _)) = fits.min_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b))?;
        let microseconds = fit::refit(&of(&sharing), &times, microseconds);
        let configuration = &self.build.configuration;
        let mut numbers = Numbers {
            dtype: configuration.dtype,
            level: self.build.level.name.to_string(),
            also: self.build.level.from.filter(|_| self.build.level.number().is_none()).map(str::to_string),
            variant: configuration.variant.to_string(),
            tiles: configuration.tiles.to_string(),
            sharing,
            error: 0.0,
            most: rounded(shapes.iter().map(products).fold(0.0, f64::max)),
            microseconds: microseconds.map(rounded),
            beyond: Beyond::default(),
            by_columns: None,
        };
        let both = |line: &&Line| Some((measured(line)?, numbers.by_terms(&self.build, sms, &line.shape)));
        numbers.beyond = Beyond::of(lines.iter().map(both));
        Some(numbers)
    }

    /// How blocks may share the GPU. All SMs are at work, unless a cluster needs several at once.
    fn sharings(&self, sms: u32) -> impl Iterator<Item = Sharing> {
        let (blocks_per_sm, cluster) = (self.blocks_per_sm, self.build.cluster().count() as u32);
        let idle = move |clusters: u32| sms - clusters * cluster;
        let idle =
            (1..=sms / cluster).rev().map(idle).take_while(move |&idle| f64::from(idle) <= IDLE * f64::from(sms));
        let idle = idle.take(if cluster == 1 { 1 } else { usize::MAX });
        idle.flat_map(move |idle_sms| {
            let possible = SIDE_BY_SIDE.into_iter().filter(move |&blocks| blocks <= f64::from(blocks_per_sm));
            possible.map(move |side_by_side| Sharing { blocks_per_sm, side_by_side, idle_sms })
        })
    }
}

/// With three significant digits, which is more than is known.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// Each fifth of the shapes as predicted by what is fitted to the others.
fn crossed(survey: &Survey, taken: &[Taken], sms: u32) -> Vec<Predicted> {
    let mut times = vec![vec![None; survey.lines.len()]; taken.len()];
    for fold in 0..FOLDS {
        let others = survey.lines.iter().enumerate().filter(|(line, _)| line % FOLDS != fold);
        let others: Vec<&Line> = others.map(|(_, line)| line).collect();
        let surveyed = surveyed(survey, &others);
        let numbers: Vec<_> = taken.par_iter().map(|taken| taken.numbers(sms, &others)).collect();
        for (line, known) in survey.lines.iter().enumerate().skip(fold).step_by(FOLDS) {
            let near = surveyed.near(&known.shape);
            for ((taken, numbers), times) in taken.iter().zip(&numbers).zip(&mut times) {
                times[line] = numbers.as_ref().map(|numbers| numbers.microseconds(&taken.build, sms, &near));
            }
        }
    }
    let predicted = |(taken, times): (&Taken, Vec<_>)| Predicted::new(survey, taken.column, times);
    taken.iter().zip(times).map(predicted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::takers::everyone;
    use predict::name;

    /// Each type is fitted by itself: with `DEEP=1` all of them, else the one with the fewest configurations.
    #[test]
    fn what_is_shipped_is_what_the_surveys_give() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let (mut surveys, judging) = kept(root).unwrap();
        let gpu = surveys[0].said("gpu").unwrap().to_string();
        let shipped = models().iter().find(|model| model.gpu == gpu).unwrap();
        let how = "`press calibrate` makes it anew";
        assert_eq!(shipped.records, surveys.iter().map(record).collect::<Vec<_>>(), "{how}");

        let is_fitted = |dtype: Dtype| level_tests::deep() || dtype == Dtype::TF32;
        surveys.retain(|survey| is_fitted(survey.dtype));
        let (fresh, _) = model(&surveys, &judging).unwrap();
        let errors: Vec<_> = shipped.errors.iter().filter(|error| is_fitted(error.dtype)).cloned().collect();
        assert_eq!(errors, fresh.errors, "{how}");
        let configurations: Vec<_> = shipped.configurations.iter().filter(|one| is_fitted(one.dtype)).collect();
        for (old, new) in configurations.iter().zip(&fresh.configurations) {
            assert_eq!(*old, new, "{how}");
        }
        assert!(configurations.len() == fresh.configurations.len() && configurations.len() > 10, "{how}");
    }

    /// In every type, fitted anew or not: which configurations have numbers, not which numbers.
    #[test]
    fn what_was_surveyed_and_is_shipped_has_numbers() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let (surveys, _) = kept(root).unwrap();
        let gpu = surveys[0].said("gpu").unwrap().to_string();
        let shipped = models().iter().find(|model| model.gpu == gpu).unwrap();
        let mut surveyed = Vec::new();
        let joined = Survey::joined(&surveys);
        let [usual, others] = [true, false].map(|it| joined.iter().filter(move |survey| survey.is_usual() == it));
        for survey in usual.chain(others) {
            let times =
                |column: usize| survey.lines.iter().filter_map(move |line| line.builds()[column].microseconds());
            let enough = taken(survey, shipped.architecture)
                .unwrap()
                .into_iter()
                .filter(|one| times(one.column).count() >= LEAST);
            // What is made for the other layout alone has its numbers from there.
            let names: Vec<_> = enough.map(|one| name(&one.build)).collect();
            let is_new = |one: &_| survey.is_usual() || !surveyed.contains(one);
            let new: Vec<_> = names.into_iter().filter(is_new).collect();
            surveyed.extend(new);
        }
        let numbers: Vec<_> = shipped.configurations.iter().map(Numbers::name).collect();
        assert_eq!(numbers, surveyed, "`press calibrate` makes it anew, once the kernels' PTX is whole");
    }

    #[test]
    fn surveys_that_do_not_go_together_are_refused() {
        let survey = |gpu: &str, sms: &str| {
            let head = format!("# gpu: {gpu}\n# architecture: 90\n# sms: {sms}\n# type: f32\n");
            Survey::of(&(head + "m,n,k,cuBLAS\n1,2,3,4\n")).unwrap()
        };
        let refused = |surveys: &[Survey]| match model(surveys, &[]) {
            Err(error) => error.to_string().lines().next().unwrap_or_default().to_string(),
            Ok(_) => panic!("it is taken"),
        };
        assert_eq!(refused(&[]), "there is no survey");
        assert_eq!(refused(&[survey("NVIDIA H200", "all")]), "a survey's sms is `all`, no number");
        let two = [survey("NVIDIA H200", "132"), survey("NVIDIA H100", "132")];
        assert_eq!(refused(&two), "a survey is of NVIDIA H100, another one of NVIDIA H200");
    }

    #[test]
    fn a_launch_that_copies_first_is_one_of_whole_lines_and_its_copies() {
        let of = |name: &str, m, n, k| {
            let level = everyone().find(|level| level.name == name).unwrap();
            let sharing = Sharing { blocks_per_sm: 1, side_by_side: 1.0, idle_sms: 0 };
            terms(&level.default_build(Dtype::BF16), &sharing, 132, &Shape { m, n, k })
        };
        let term = |name: &str| TERMS.iter().position(|term| *term == name).unwrap();
        let [launch, copied] =
            ["a launch that copies A or B before the kernel's own", "10^6 bytes of what it copies"].map(term);
        let steps = [2, 3, 4, 5];
        let ragged = of("level14-clusters", 1000, 1000, 1023);
        assert_eq!((ragged[launch], ragged[copied]), (1.0, 1000.0 * 1023.0 * 2.0 / 1e6), "A alone is ragged");
        assert_eq!(steps.map(|step| ragged[step] > 0.0), [true, false, false, false]);
        let aligned = of("level14-clusters", 1000, 1000, 1024);
        assert_eq!((aligned[launch], aligned[copied]), (0.0, 0.0));
        assert_eq!(steps.map(|step| aligned[step]), steps.map(|step| ragged[step]));
        for small in [of("summit wgmma_clusters", 100, 104, 103), of("level11-tensor-core", 1000, 1000, 1023)] {
            assert_eq!((small[launch], small[copied]), (0.0, 0.0));
            assert_eq!(steps.map(|step| small[step] > 0.0), [false, false, true, false]);
        }
    }

    #[test]
    fn choices_cost_little_where_nothing_was_fitted() {
        let errors = models().iter().flat_map(|model| &model.errors);
        for off in errors.filter(|off| [Dtype::F32, Dtype::F64].contains(&off.dtype)) {
            assert!(off.chosen >= 0.98 && off.median < 0.06, "{off:?}");
        }
    }
}
