//! How far predicted times are off, and what choosing by them costs, by a survey.

use gemm::Shape;
use gemm::form::Form;
use predict::nearby::Near;
use predict::{Model, Off};
use summit::choice::Chooser;

use crate::survey::record::Survey;
use lab::table::{number, table};

/// Predictions beside what was measured.
pub struct Judged {
    /// Where the predictions come from, in words.
    how: String,
    /// Relative errors of predictions, and whether the configuration took at most twice as long as the fastest.
    errors: Vec<(f64, bool)>,
    choices: Vec<Choice>,
}

/// A column's predictions.
pub struct Predicted {
    /// Its place among the builds.
    column: usize,
    /// For each line.
    times: Vec<Option<f64>>,
    /// As [`predict::Numbers::error`] has it.
    pub error: f64,
}

impl Predicted {
    /// These, with their error by the survey.
    pub fn new(survey: &Survey, column: usize, times: Vec<Option<f64>>) -> Predicted {
        let both = survey.lines.iter().zip(&times);
        let errors = both.filter_map(|(line, time)| Some((*time)? / line.builds()[column].microseconds()? - 1.0));
        let squares: Vec<f64> = errors.map(|error| error.clamp(-0.5, 0.5).powi(2)).collect();
        let error = (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt();
        Predicted { column, times, error }
    }
}

/// What is chosen at a shape. Times are in microseconds.
struct Choice {
    shape: Shape,
    chosen: String,
    time: f64,
    best: String,
    best_time: f64,
    vendor: Option<f64>,
}

/// Ratios that are listed, from the least.
const LISTED: usize = 10;
/// From this size of M and of N on, a C is no vector and no neighbour of one.
const THIN: u32 = 16;

/// What a model's numbers predict and choose, by a survey that they were not fitted to.
pub fn by_numbers(survey: &Survey, model: &Model) -> Judged {
    let builds = survey.builds();
    let near: Vec<Near> =
        survey.lines.iter().map(|line| model.near(survey.dtype, &line.shape, survey.layout())).collect();
    let mut columns = Vec::new();
    for (column, build) in builds.iter().enumerate() {
        let Some(build) = build else { continue };
        let Some(numbers) = model.of(build) else { continue };
        let times = near.iter().map(|near| Some(numbers.microseconds(build, model.sms, near)));
        columns.push(Predicted::new(survey, column, times.collect()));
    }
    Judged::new(survey, &columns, "as this program predicts and chooses")
}

/// The same of what this program has, by a survey that it was not fitted to.
pub fn shipped(survey: &Survey, model: &Model) -> Judged {
    let builds = survey.builds();
    let mut judged = by_numbers(survey, model);
    // The choice is the library's own, by whatever it knows.
    let chooser = Chooser::new(model.architecture, model.sms);
    judged.choices.clear();
    let form = Form { layout: survey.layout(), ..Form::PLAIN };
    for line in &survey.lines {
        let chosen = chooser.best(&line.shape, survey.dtype, &form);
        let column = chosen.and_then(|chosen| builds.iter().position(|build| build.as_ref() == Some(&chosen)));
        judged.choices.extend(column.and_then(|column| Choice::of(survey, line.shape, column)));
    }
    judged
}

impl Choice {
    /// What it means to take this column at a shape; nothing, where it was not measured there.
    fn of(survey: &Survey, shape: Shape, column: usize) -> Option<Choice> {
        let line = survey.lines.iter().find(|line| line.shape == shape)?;
        let times = line.builds().iter().enumerate().filter_map(|(column, cell)| Some((column, cell.microseconds()?)));
        let (best, best_time) = times.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Choice {
            shape,
            chosen: survey.names[column].clone(),
            time: line.builds()[column].microseconds()?,
            best: survey.names[best].clone(),
            best_time,
            vendor: line.vendor(),
        })
    }

    /// The time of the best, relative to that of the chosen one.
    fn of_best(&self) -> f64 {
        self.best_time / self.time
    }

    /// That of cuBLAS.
    fn of_vendor(&self) -> Option<f64> {
        Some(self.vendor? / self.time)
    }

    fn is_thin(&self) -> bool {
        self.shape.m.min(self.shape.n) < THIN
    }
}

impl Judged {
    /// Of columns of predictions.
    pub fn new(survey: &Survey, columns: &[Predicted], how: &str) -> Judged {
        let (mut errors, mut choices) = (Vec::new(), Vec::new());
        for (place, line) in survey.lines.iter().enumerate() {
            let least = line.builds().iter().filter_map(|cell| cell.microseconds()).fold(f64::INFINITY, f64::min);
            let mut fastest: Option<(usize, f64)> = None;
            for Predicted { column, times, error } in columns {
                let (Some(time), Some(predicted)) = (line.builds()[*column].microseconds(), times[place]) else {
                    continue;
                };
                errors.push(((predicted / time - 1.0).abs(), time <= 2.0 * least));
                // As `Numbers::cautious` has it.
                let cautious = predicted * (1.0 + error / 2.0);
                if fastest.is_none_or(|(_, least)| cautious < least) {
                    fastest = Some((*column, cautious));
                }
            }
            choices.extend(fastest.and_then(|(column, _)| Choice::of(survey, line.shape, column)));
        }
        Judged { how: how.to_string(), errors, choices }
    }

    /// What is kept beside the numbers.
    pub fn off(&self, survey: &Survey) -> Off {
        let rounded = |value: f64| (1000.0 * value).round() / 1000.0;
        Off {
            dtype: survey.dtype,
            shapes: survey.lines.len(),
            median: rounded(median(self.all())),
            median_of_the_fast: rounded(median(self.fast())),
            chosen: rounded(mean(self.choices.iter().map(Choice::of_best))),
            chosen_at_worst: rounded(least(self.choices.iter().map(Choice::of_best))),
        }
    }

    fn all(&self) -> impl Iterator<Item = f64> {
        self.errors.iter().map(|(error, _)| *error)
    }

    fn fast(&self) -> impl Iterator<Item = f64> {
        self.errors.iter().filter(|(_, fast)| *fast).map(|(error, _)| *error)
    }

    /// All of it in words, with the shapes where the choice costs the most; with cuBLAS's, if it is to be compared.
    pub fn text(&self, survey: &Survey, all: bool) -> String {
        let off = self.off(survey);
        let [thin, wide] = [true, false].map(|thin| {
            let of_vendor = self.choices.iter().filter(|choice| choice.is_thin() == thin).filter_map(Choice::of_vendor);
            of_vendor.collect::<Vec<f64>>()
        });
        let both = thin.iter().chain(&wide).copied();
        let mut text = format!(
            "{}{}, {} shapes on {}, {}\n  relative error of predicted times: median {:.1} %, mean {:.1} %, {:.1} % of them within 15 %\n  of \
             what is at most twice as slow as the fastest: median {:.1} %, {:.1} % of it within 15 %\n  fastest ÷ chosen: geometric mean {:.3}, least {:.3}\n  cuBLAS ÷ chosen: \
             geometric mean {:.3}, least {:.3} where M and N are at least {THIN}, and {:.3} elsewhere\n",
            survey.dtype,
            if survey.layout().is_rows() { "" } else { ", B as N x K" },
            off.shapes,
            survey.said("gpu").unwrap_or_default(),
            self.how,
            100.0 * off.median,
            100.0 * self.all().sum::<f64>() / self.errors.len().max(1) as f64,
            100.0 * share(self.all(), 0.15),
            100.0 * off.median_of_the_fast,
            100.0 * share(self.fast(), 0.15),
            off.chosen,
            off.chosen_at_worst,
            mean(both),
            least(wide.iter().copied()),
            least(thin.iter().copied()),
        );
        let mut by_best: Vec<&Choice> = self.choices.iter().collect();
        by_best.sort_by(|a, b| a.of_best().total_cmp(&b.of_best()));
        let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_string(), |ratio| format!("{ratio:.3}"));
        text +=
            &listed(["fastest ÷ chosen", "chosen level and tiles", "fastest level and tiles"], &by_best, |choice| {
                [ratio(Some(choice.of_best())), brief(&choice.chosen), brief(&choice.best)]
            });
        if all {
            by_best.retain(|choice| choice.vendor.is_some());
            let of_vendor = |choice: &&Choice| choice.of_vendor().unwrap_or(f64::INFINITY);
            by_best.sort_by(|a, b| of_vendor(a).total_cmp(&of_vendor(b)));
            text += &listed(["cuBLAS ÷ chosen", "chosen level and tiles", "µs", "cuBLAS µs"], &by_best, |choice| {
                let vendor = choice.vendor.map_or_else(|| "-".to_string(), number);
                [ratio(choice.of_vendor()), brief(&choice.chosen), number(choice.time), vendor]
            });
        }
        text + "\n"
    }
}

/// The choices that come first, each by its shape and what `row` says of it.
fn listed<const CELLS: usize>(
    head: [&str; CELLS],
    choices: &[&Choice],
    row: impl Fn(&Choice) -> [String; CELLS],
) -> String {
    let rows =
        choices.iter().take(LISTED).map(|choice| [vec![choice.shape.to_string()], row(choice).to_vec()].concat());
    let head = [vec![String::new()], head.map(String::from).to_vec()].concat();
    format!("\n{}", table(&std::iter::once(head).chain(rows).collect::<Vec<_>>()))
}

/// A configuration with its level's number alone.
fn brief(name: &str) -> String {
    let (level, rest) = name.split_once(' ').unwrap_or((name, ""));
    format!("{} {rest}", level.trim_start_matches("level").split('-').next().unwrap_or(level))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The geometric mean.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = values.map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp()
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

/// The share of values up to a limit.
fn share(values: impl Iterator<Item = f64>, limit: f64) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().filter(|value| **value <= limit).count() as f64 / values.len().max(1) as f64
}
