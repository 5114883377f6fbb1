//! `lab check 1.3`: what a reader did, against what the exercise asks.
//!
//! - [`tables`]: the exercises as data; [`reading`]: numbers by the names that reports have for them
//! - [`judge`]: kernels; [`question`]: answers; [`done`]: what was done
//! - [`start`]: the kernel of a lesson, to be written

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
use common::{Error, Level};
use ladder::LEVELS;

use self::done::{Done, FOLDER};
use self::tables::{Exercise, Kernel, Lesson, lessons};
use crate::output::{note, print};

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
}

const ANSWERED: &str = "answered";
const SOLVED: &str = "solved";

/// Runs the command.
pub fn run(check: &Check) -> Result<ExitCode, Error> {
    let lessons = lessons().map_err(|error| Error::usage(format!("a table of checks: {error}"), "see book/checks"))?;
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
            [] => "`lab check` lists the exercises".to_string(),
            near => format!("there are {}", near.join(", ")),
        };
        Error::usage(format!("there is no exercise `{id}`"), hint)
    })
}

/// All exercises, with what is done.
fn list(lessons: &[Lesson], done: &Done) -> String {
    let mut text = "exercise  answers   kernel    \n".to_string();
    let (mut has, mut all) = (0, 0);
    for lesson in lessons {
        for Exercise { id, asks, questions, kernel } in &lesson.exercises {
            let mut state = |is: bool, what: &str| {
                all += u32::from(is);
                has += u32::from(is && done.has(id, what));
                match (is, done.has(id, what)) {
                    (false, _) => "",
                    (_, true) => "done",
                    _ => "-",
                }
            };
            let (answers, kernel) = (state(!questions.is_empty(), ANSWERED), state(kernel.is_some(), SOLVED));
            text += &format!("{id:<9} {answers:<9} {kernel:<9} {asks}\n");
        }
    }
    text + &format!("\n{has} of {all} done; `lab check 1.1` judges one, `lab start 1` begins 1.write\n")
}

/// What is to be answered.
fn questions(exercise: &Exercise) -> Result<String, Error> {
    let mut text = format!("exercise {}: {}\n", exercise.id, exercise.asks);
    for (place, question) in exercise.questions.iter().enumerate() {
        text += &format!("  {}. {} ({})\n", place + 1, question.ask, question.truth(Path::new(""))?.form());
    }
    Ok(text
        + &format!("not answered yet: lab check {} --answer{}\n", exercise.id, " …".repeat(exercise.questions.len())))
}

/// Judges answers, and says which are right.
fn answered(exercise: &Exercise, answers: &[String]) -> Result<bool, Error> {
    let (id, asked) = (&exercise.id, exercise.questions.len());
    if asked == 0 {
        return Err(Error::usage(
            format!("{id} asks for no answer"),
            format!("it asks for a kernel: `lab check {id}`"),
        ));
    }
    if answers.len() != asked {
        let message = format!("{id} asks for {asked} answers, and here are {}", answers.len());
        return Err(Error::usage(message, questions(exercise)?.replace('\n', " ").trim().to_string()));
    }
    let mut text = format!("exercise {id}: {}\n", exercise.asks);
    let mut all = true;
    for (question, answer) in exercise.questions.iter().zip(answers) {
        let right = question.truth(Path::new(""))?.judge(answer)?;
        all &= right;
        text += &format!("{} {}: {answer}\n", if right { "right  " } else { "wrong  " }, question.ask);
        if !right {
            text += &format!("         hint: {}\n", question.hint);
        }
    }
    text += if all { "answered\n" } else { "not answered yet\n" };
    if all && exercise.kernel.is_some() {
        text += &format!("then the kernel: lab check {id}\n");
    }
    print(&text)?;
    Ok(all)
}

/// Judges a kernel, and says what is missing.
fn judged(lesson: usize, exercise: &Exercise, kernel: &Kernel, file: Option<&Path>) -> Result<bool, Error> {
    let (level, path) = theirs(lesson, kernel, file)?;
    let lines = judge::judge(level, kernel)?;
    let missing = lines.iter().filter(|line| !line.met).count();
    let mut text = format!("exercise {}: {}\nkernel   {path}, {}\n", exercise.id, exercise.asks, kernel.run);
    for line in &lines {
        text += &format!("{} {}\n", if line.met { "met     " } else { "not met " }, line.text);
    }
    match missing {
        0 => text += "solved\n",
        _ => {
            text += &format!("not solved yet: {missing} of {} conditions not met\n", lines.len());
            text += &format!("hint: {}\n", kernel.hint);
        }
    }
    print(&text)?;
    if missing == 0 && !exercise.questions.is_empty() {
        note(&format!("its questions: lab check {} --answer …", exercise.id));
    }
    Ok(missing == 0)
}

/// The level with the reader's kernel in it, and where that lies.
fn theirs(lesson: usize, kernel: &Kernel, file: Option<&Path>) -> Result<(&'static Level, String), Error> {
    let level = LEVELS
        .get(lesson)
        .copied()
        .ok_or_else(|| Error::usage(format!("there is no level {lesson}"), "`lab check` lists the exercises"))?;
    let (path, hint) = match (file, kernel.written) {
        (Some(file), _) => (file.to_path_buf(), "FILE is a kernel in CUDA C++".to_string()),
        (None, true) => (start::place(lesson), format!("`lab start {lesson}` makes it; write the kernel there")),
        (None, false) => (PathBuf::from(level.path), "run this at the root of the repository".to_string()),
    };
    let name = path.display().to_string();
    let text = fs::read_to_string(&path).map_err(|error| Error::usage(format!("cannot read {name}: {error}"), hint))?;
    // Once for each run of the program.
    let level = Level { source: leaked(text), path: leaked(name.clone()), ..*level };
    Ok((Box::leak(Box::new(level)), name))
}

fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}
