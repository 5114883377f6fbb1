//! `lab check 1.3`: what a reader did, against what the exercise asks.
//!
//! - [`tables`]: the exercises as data; [`reading`]: numbers by the names that reports have for them
//! - [`judge`]: kernels, [`distance`]: of loads from their use; [`question`]: answers; [`done`]: what was done
//! - [`plan`]: the plans of a product over ranks
//! - [`book`]: the questions as the built book asks them
//! - [`start`]: the kernel of a lesson, to be written

pub mod book;
mod distance;
mod done;
mod judge;
mod plan;
mod question;
mod reading;
pub mod start;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::Args;
use gemm::{Error, Level, Text};
use levels::LEVELS;

use self::done::{Done, FOLDER};
use self::tables::{Exercise, Kernel, Lesson, lessons, skeleton};
use crate::output::{note, print};
use crate::words::{self, Language, say};

/// The exercises of the book: is yours solved, and what is still missing?
///
/// Without a name, the list of all exercises, with what is done. A kernel is judged on the emulator: by its product, by
/// what it must not do, and by its counters. It is FILE; without one, the level's kernel.cu as it stands now; for
/// `N.write`, where you write the kernel yourself, mine/lessonN.cu, which `lab start N` makes. After two tries it says
/// what to do, and with `--hint` at once. The exit code is 0 where it is solved, 1 where it is not, 2 where that cannot
/// be known.
#[derive(Debug, Clone, Args)]
pub struct Check {
    /// The exercise: 1.3, a part of one, 3.2a, or the lesson's own kernel, 1.write
    #[arg(value_name = "LESSON.EXERCISE")]
    exercise: Option<String>,
    /// A kernel in the place of the level's kernel.cu
    #[arg(value_name = "FILE", conflicts_with = "answer")]
    file: Option<PathBuf>,
    /// Say what to do, without trying first
    #[arg(long, conflicts_with = "answer")]
    hint: bool,
    /// Judge the kernel again whenever its file changes, until it is solved
    #[arg(long, conflicts_with = "answer")]
    watch: bool,
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
        (_, []) if exercise.plan.is_some() => {
            let hint = exercise.plan.iter().map(|plan| plan.hint.as_str()).collect::<String>();
            plan::judged(exercise, &hint, check.hint, &record)?
        }
        (Some(kernel), []) => {
            let lesson = lesson.unwrap_or(usize::MAX);
            let asked = Asked { lesson, exercise, kernel, file: check.file.as_deref(), record: &record };
            asked.judged(check.hint, check.watch)?
        }
        (None, []) => {
            print(&questions(exercise)?)?;
            return Ok(ExitCode::FAILURE);
        }
        (_, answers) => answered(exercise, answers)?,
    };
    if !right {
        return Ok(ExitCode::FAILURE);
    }
    let done =
        Done::read(&record).add(&record, &exercise.id, if check.answer.is_empty() { SOLVED } else { ANSWERED })?;
    note(&ahead(&lessons, &done, &exercise.id));
    Ok(ExitCode::SUCCESS)
}

fn find<'a>(lessons: &'a [Lesson], id: &str) -> Result<(Option<usize>, &'a Exercise), Error> {
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

/// How much is done, and what comes next.
fn ahead(lessons: &[Lesson], done: &Done, id: &str) -> String {
    let all: Vec<&Exercise> = lessons.iter().flat_map(|lesson| &lesson.exercises).collect();
    let parts = |exercise: &&Exercise| {
        let parts = [(!exercise.questions.is_empty(), ANSWERED), (exercise.is_work(), SOLVED)];
        let is = |what: &str| u32::from(done.has(&exercise.id, what));
        parts.into_iter().filter(|(there, _)| *there).fold((0, 0), |(has, of), (_, what)| (has + is(what), of + 1))
    };
    let (has, of) = all.iter().map(parts).fold((0, 0), |(a, b), (has, of)| (a + has, b + of));
    let from = all.iter().position(|exercise| exercise.id == id).unwrap_or(0);
    let open = all.iter().cycle().skip(from).take(all.len()).find(|exercise| {
        let (has, of) = parts(exercise);
        has < of
    });
    match open {
        Some(next) => say("{0} of {1} done; next: cargo run -p lab -- check {2}", &[&has, &of, &next.id]),
        None => say("{0} of {1} done: that was the last one", &[&has, &of]),
    }
}

/// All exercises, with what is done.
fn list(lessons: &[Lesson], done: &Done) -> String {
    let mut text = say("exercise  answers   kernel    \n", &[]);
    let (mut has, mut all) = (0, 0);
    for lesson in lessons {
        for exercise in &lesson.exercises {
            let Exercise { id, asks, questions, .. } = exercise;
            let mut state = |is: bool, what: &str| {
                all += u32::from(is);
                has += u32::from(is && done.has(id, what));
                match (is, done.has(id, what)) {
                    (false, _) => String::new(),
                    (_, true) => say("done", &[]),
                    _ => "-".to_string(),
                }
            };
            let (answers, kernel) = (state(!questions.is_empty(), ANSWERED), state(exercise.is_work(), SOLVED));
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
        texts.extend(exercise.plan.map(|plan| plan.hint));
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
        let hint = match exercise.plan {
            Some(_) => say("it asks for a change: `cargo run -p lab -- check {0}`", &[id]),
            None => say("it asks for a kernel: `cargo run -p lab -- check {0}`", &[id]),
        };
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

/// Tries after which the hint is said without being asked for.
const TRIES: u32 = 2;
/// How often a watched file is looked at.
const LOOK: Duration = Duration::from_millis(300);

/// A kernel's exercise, and where the kernel and the record of what was done lie.
struct Asked<'a> {
    lesson: usize,
    exercise: &'a Exercise,
    kernel: &'a Kernel,
    file: Option<&'a Path>,
    record: &'a Path,
}

impl Asked<'_> {
    /// Judges the kernel, and again when its file changes, if it is watched.
    fn judged(&self, hint: bool, watch: bool) -> Result<bool, Error> {
        if !watch {
            return self.once(hint);
        }
        loop {
            let (_, path) = self.level_and_path()?;
            let changed = || fs::metadata(&path).and_then(|data| data.modified()).ok();
            let before = changed();
            match self.once(hint) {
                Ok(true) => return Ok(true),
                Ok(false) => (),
                // A file that is half written is another one in a moment.
                Err(error) => note(&error.to_string()),
            }
            note(&say("waiting for a change of {0}; Ctrl-C ends it", &[&path.display()]));
            while changed() == before {
                thread::sleep(LOOK);
            }
        }
    }

    /// Judges the kernel, and says what is missing.
    fn once(&self, hint: bool) -> Result<bool, Error> {
        let Asked { lesson, exercise, kernel, record, .. } = *self;
        let (level, text) = self.theirs()?;
        let path = text.source().path.to_string();
        let given = if kernel.written { skeleton(lesson).unwrap_or_default() } else { level.source };
        let untouched = text.source().text == given;
        let lines = judge::judge(level, text, kernel)?;
        let missing = lines.iter().filter(|line| !line.met).count();
        let mut text = head(exercise) + &say("kernel   {0}, {1}\n", &[&path, &kernel.run]);
        for line in &lines {
            let of = [&line.text as &dyn std::fmt::Display];
            text += &if line.met { say("met      {0}\n", &of) } else { say("not met  {0}\n", &of) };
        }
        if missing == 0 {
            text += &say("solved\n", &[]);
            text += &self.beside_the_level(level, &lines)?;
            print(&text)?;
            if !exercise.questions.is_empty() {
                note(&say("its questions: cargo run -p lab -- check {0} --answer …", &[&exercise.id]));
            }
            return Ok(true);
        }
        text += &say("not solved yet: {0} of {1} conditions not met\n", &[&missing, &lines.len()]);
        let done = Done::read(record);
        let tries = done.tries(&exercise.id);
        if hint || tries >= TRIES && !untouched {
            text += &say("hint: {0}\n", &[&say(&kernel.hint, &[])]);
        } else if untouched {
            text += &say("{0} is as it was given: the exercise is to change it\n", &[&path]);
        } else {
            text += &say("`--hint` says what to do\n", &[]);
        }
        print(&text)?;
        if !untouched {
            done.tried(record, &exercise.id)?;
        }
        Ok(false)
    }

    /// The numbers that were asked for beside those of the level's own kernel, where they are others.
    fn beside_the_level(&self, level: &'static Level, lines: &[judge::Line]) -> Result<String, Error> {
        if lines.iter().all(|line| line.number.is_none()) {
            return Ok(String::new());
        }
        let own = judge::judge(level, Text::new(level.path, level.source), self.kernel)?;
        let numbers = |lines: &[judge::Line]| lines.iter().map(|line| line.number.clone()).collect::<Vec<_>>();
        let pairs = numbers(lines).into_iter().zip(numbers(&own));
        Ok(pairs.filter_map(|(yours, own)| Some((yours?, own?))).filter(|(yours, own)| yours != own).fold(
            String::new(),
            |text, ((name, yours), (_, own))| {
                text + &say("         {0}: yours {1}, the level's {2}\n", &[&name, &yours, &own])
            },
        ))
    }

    /// The level, and where the reader's kernel for it lies.
    fn level_and_path(&self) -> Result<(&'static Level, PathBuf), Error> {
        let level = LEVELS.get(self.lesson).copied().ok_or_else(|| {
            let hint = say("`cargo run -p lab -- check` lists the exercises", &[]);
            Error::usage(say("there is no level {0}", &[&self.lesson]), hint)
        })?;
        let path = match (self.file, self.kernel.written) {
            (Some(file), _) => file.to_path_buf(),
            (None, true) => start::place(self.lesson),
            (None, false) => PathBuf::from(level.path),
        };
        Ok((level, path))
    }

    /// The level, and the reader's kernel for it.
    fn theirs(&self) -> Result<(&'static Level, Text), Error> {
        let (level, path) = self.level_and_path()?;
        let hint = match (self.file, self.kernel.written) {
            (Some(_), _) => say("FILE is a kernel in CUDA C++", &[]),
            (None, true) => say("`cargo run -p lab -- start {0}` makes it; write the kernel there", &[&self.lesson]),
            (None, false) => say("run this at the root of the repository", &[]),
        };
        let name = path.display().to_string();
        let unread = |error| Error::usage(say("cannot read {0}: {1}", &[&name, &error]), hint);
        let text = fs::read_to_string(&path).map_err(unread)?;
        Ok((level, Text::new(name, text)))
    }
}
