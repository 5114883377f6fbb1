//! `lab check 1.3`: what a reader did, against what the exercise asks.
//!
//! - [`tables`]: the exercises as data; [`reading`]: numbers by the names that reports have for them
//! - [`judge`]: kernels, [`distance`]: of loads from their use; [`question`]: answers; [`done`]: what was done
//! - [`book`]: the questions as the built book asks them
//! - [`start`]: the kernel of a lesson, to be written

pub mod book;
mod distance;
mod done;
mod judge;
mod question;
mod reading;
pub mod start;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use gemm::{Error, Level, Text};
use levels::LEVELS;

use self::done::{Done, FOLDER};
use self::tables::{Exercise, Kernel, Lesson, lessons};
use crate::output::{note, print};
use crate::words::{self, Language, say};

/// The exercises of the book: is yours solved, and what is still missing?
///
/// Without a name, the list of all exercises, with what is done. A kernel is judged on the emulator: by its product, by
/// what it must not do, and by its counters. It is FILE; without one, the level's kernel.cu as it stands now; for
/// `N.write`, where you write the kernel yourself, mine/lessonN.cu, which `lab start N` makes. The exit code is 0 where
/// it is solved, 1 where it is not, 2 where that cannot be known.
#[derive(Debug, Clone, Args)]
pub struct Check {
    /// The exercise: 1.3, a part of one, 3.2a, or the lesson's own kernel, 1.write
    #[arg(value_name = "LESSON.EXERCISE")]
    exercise: Option<String>,
    /// A kernel in the place of the level's kernel.cu
    #[arg(value_name = "FILE", conflicts_with = "answer")]
    file: Option<PathBuf>,
    /// Your answers, in the order of the questions: --answer 2.50 4.00
    #[arg(long, value_name = "ANSWER", num_args = 1..)]
    answer: Vec<String>,
    /// The file that holds what was done [default: mine/done.txt]
    #[arg(long, value_name = "FILE", hide = true)]
    record: Option<PathBuf>,
    /// The language of the messages [default: the environment's]
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<Language>,
}

const ANSWERED: &str = "answered";
const SOLVED: &str = "solved";

/// Runs the command.
pub fn run(check: &Check) -> Result<ExitCode, Error> {
    words::speak(check.language);
    let lessons = lessons()
        .map_err(|error| Error::usage(say("a table of checks: {0}", &[&error]), say("see `book/checks`", &[])))?;
    let record = check.record.clone().unwrap_or_else(|| Path::new(FOLDER).join("done.txt"));
    let done = Done::read(&record);
    let Some(id) = &check.exercise else {
        print(&list(&lessons, &done))?;
        return Ok(ExitCode::SUCCESS);
    };
    let (lesson, exercise) = find(&lessons, id)?;
    let right = match (&exercise.kernel, check.answer.as_slice()) {
        (Some(kernel), []) => judged(lesson, exercise, kernel, check.file.as_deref())?,
        (None, []) => {
            print(&questions(exercise)?)?;
            return Ok(ExitCode::FAILURE);
        }
        (_, answers) => answered(exercise, answers)?,
    };
    if !right {
        return Ok(ExitCode::FAILURE);
    }
    done.add(&record, &exercise.id, if check.answer.is_empty() { SOLVED } else { ANSWERED })?;
    Ok(ExitCode::SUCCESS)
}

fn find<'a>(lessons: &'a [Lesson], id: &str) -> Result<(usize, &'a Exercise), Error> {
    let mut all = lessons.iter().flat_map(|lesson| lesson.exercises.iter().map(|exercise| (lesson.lesson, exercise)));
    all.find(|(_, exercise)| exercise.id == id).ok_or_else(|| {
        let all = || lessons.iter().flat_map(|lesson| &lesson.exercises);
        let near: Vec<&str> = all().map(|one| one.id.as_str()).filter(|one| one.starts_with(id)).collect();
        let hint = match near.as_slice() {
            [] => say("`cargo run -p lab -- check` lists the exercises", &[]),
            near => say("there are {0}", &[&near.join(", ")]),
        };
        Error::usage(say("there is no exercise `{0}`", &[&id]), hint)
    })
}

/// All exercises, with what is done.
fn list(lessons: &[Lesson], done: &Done) -> String {
    let mut text = say("exercise  answers   kernel    \n", &[]);
    let (mut has, mut all) = (0, 0);
    for lesson in lessons {
        for Exercise { id, asks, questions, kernel } in &lesson.exercises {
            let mut state = |is: bool, what: &str| {
                all += u32::from(is);
                has += u32::from(is && done.has(id, what));
                match (is, done.has(id, what)) {
                    (false, _) => String::new(),
                    (_, true) => say("done", &[]),
                    _ => "-".to_string(),
                }
            };
            let (answers, kernel) = (state(!questions.is_empty(), ANSWERED), state(kernel.is_some(), SOLVED));
            text += &format!("{id:<9} {} {} {}\n", wide(&answers), wide(&kernel), say(asks, &[]));
        }
    }
    text + &say(
        "\n{0} of {1} done\n`cargo run -p lab -- check 1.1` judges one, `cargo run -p lab -- start 1` begins 1.write\n",
        &[&has, &all],
    )
}

/// A word in a column of nine cells; a Chinese character takes two.
fn wide(word: &str) -> String {
    let cells: usize = word.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum();
    format!("{word}{}", " ".repeat(9usize.saturating_sub(cells)))
}

/// Every text of the tables.
#[cfg(test)]
pub fn texts() -> std::collections::BTreeSet<String> {
    let mut texts = std::collections::BTreeSet::new();
    for exercise in lessons().unwrap_or_default().into_iter().flat_map(|lesson| lesson.exercises) {
        texts.extend(exercise.questions.into_iter().flat_map(|question| [question.ask, question.hint]));
        texts.extend(exercise.kernel.map(|kernel| kernel.hint));
        texts.insert(exercise.asks);
    }
    texts
}

/// What is to be answered.
fn questions(exercise: &Exercise) -> Result<String, Error> {
    let mut text = head(exercise);
    for (place, question) in exercise.questions.iter().enumerate() {
        let (ask, form) = (say(&question.ask, &[]), question.truth(Path::new(""))?.form());
        text += &say("  {0}. {1} ({2})\n", &[&(place + 1), &ask, &form]);
    }
    let places = " …".repeat(exercise.questions.len());
    Ok(text + &say("not answered yet: cargo run -p lab -- check {0} --answer{1}\n", &[&exercise.id, &places]))
}

fn head(exercise: &Exercise) -> String {
    say("exercise {0}: {1}\n", &[&exercise.id, &say(&exercise.asks, &[])])
}

/// Judges answers, and says which are right.
fn answered(exercise: &Exercise, answers: &[String]) -> Result<bool, Error> {
    let (id, asked) = (&exercise.id, exercise.questions.len());
    if asked == 0 {
        let hint = say("it asks for a kernel: `cargo run -p lab -- check {0}`", &[id]);
        return Err(Error::usage(say("{0} asks for no answer", &[id]), hint));
    }
    if answers.len() != asked {
        let hint = say("`cargo run -p lab -- check {0}` prints the questions", &[id]);
        return Err(Error::usage(say("answers to {0}: {1} given, {2} asked for", &[id, &answers.len(), &asked]), hint));
    }
    let mut text = head(exercise);
    let mut all = true;
    for (question, answer) in exercise.questions.iter().zip(answers) {
        let right = question.truth(Path::new(""))?.judge(answer)?;
        all &= right;
        let values: [&dyn std::fmt::Display; 2] = [&say(&question.ask, &[]), answer];
        text += &if right { say("right   {0}: {1}\n", &values) } else { say("wrong   {0}: {1}\n", &values) };
        if !right {
            text += &say("         hint: {0}\n", &[&say(&question.hint, &[])]);
        }
    }
    text += &if all { say("answered\n", &[]) } else { say("not answered yet\n", &[]) };
    if all && exercise.kernel.is_some() {
        text += &say("then the kernel: cargo run -p lab -- check {0}\n", &[id]);
    }
    print(&text)?;
    Ok(all)
}

/// Judges a kernel, and says what is missing.
fn judged(lesson: usize, exercise: &Exercise, kernel: &Kernel, file: Option<&Path>) -> Result<bool, Error> {
    let (level, text) = theirs(lesson, kernel, file)?;
    let path = text.source().path.to_string();
    let lines = judge::judge(level, text, kernel)?;
    let missing = lines.iter().filter(|line| !line.met).count();
    let mut text = head(exercise) + &say("kernel   {0}, {1}\n", &[&path, &kernel.run]);
    for line in &lines {
        let of = [&line.text as &dyn std::fmt::Display];
        text += &if line.met { say("met      {0}\n", &of) } else { say("not met  {0}\n", &of) };
    }
    match missing {
        0 => text += &say("solved\n", &[]),
        _ => {
            text += &say("not solved yet: {0} of {1} conditions not met\n", &[&missing, &lines.len()]);
            text += &say("hint: {0}\n", &[&say(&kernel.hint, &[])]);
        }
    }
    print(&text)?;
    if missing == 0 && !exercise.questions.is_empty() {
        note(&say("its questions: cargo run -p lab -- check {0} --answer …", &[&exercise.id]));
    }
    Ok(missing == 0)
}

/// The level, and the reader's kernel for it.
fn theirs(lesson: usize, kernel: &Kernel, file: Option<&Path>) -> Result<(&'static Level, Text), Error> {
    let level = LEVELS.get(lesson).copied().ok_or_else(|| {
        let hint = say("`cargo run -p lab -- check` lists the exercises", &[]);
        Error::usage(say("there is no level {0}", &[&lesson]), hint)
    })?;
    let (path, hint) = match (file, kernel.written) {
        (Some(file), _) => (file.to_path_buf(), say("FILE is a kernel in CUDA C++", &[])),
        (None, true) => {
            (start::place(lesson), say("`cargo run -p lab -- start {0}` makes it; write the kernel there", &[&lesson]))
        }
        (None, false) => (PathBuf::from(level.path), say("run this at the root of the repository", &[])),
    };
    let name = path.display().to_string();
    let unread = |error| Error::usage(say("cannot read {0}: {1}", &[&name, &error]), hint);
    let text = fs::read_to_string(&path).map_err(unread)?;
    Ok((level, Text::new(name, text)))
}
