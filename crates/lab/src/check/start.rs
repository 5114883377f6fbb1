//! `lab start 1`: a lesson's kernel with the idea left out, to write it oneself.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use gemm::Error;

use super::done::FOLDER;
use super::tables::skeleton;
use crate::output::print;
use crate::words::{self, Language, say};

/// A lesson's kernel with the idea left out: the file in which you write it
#[derive(Debug, Clone, Args)]
pub struct Start {
    /// The lesson's number
    #[arg(value_name = "LESSON")]
    lesson: usize,
    /// The file to write [default: mine/lessonN.cu]; one that is there is never overwritten
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The language of the messages [default: the environment's]
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<Language>,
}

/// Where a lesson's kernel is written.
pub fn place(lesson: usize) -> PathBuf {
    PathBuf::from(format!("{FOLDER}/lesson{lesson}.cu"))
}

/// Runs the command.
pub fn run(start: &Start) -> Result<ExitCode, Error> {
    words::speak(start.language);
    let lesson = start.lesson;
    let text = skeleton(lesson).ok_or_else(|| {
        Error::usage(
            say("there is no skeleton for lesson {0}", &[&lesson]),
            say("`cargo run -p lab -- check` lists what there is", &[]),
        )
    })?;
    let (path, named) = match &start.file {
        Some(file) => (file.clone(), format!(" {}", file.display())),
        None => (place(lesson), String::new()),
    };
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let file = folder.and_then(|()| fs::OpenOptions::new().write(true).create_new(true).open(&path));
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            let hint = say("go on with it, move it, or name another file", &[]);
            Error::usage(say("{0} is there already", &[&path.display()]), hint)
        }
        _ => {
            let message = say("cannot write {0}: {1}", &[&path.display(), &error]);
            Error::usage(message, say("name another file", &[]))
        }
    })?;
    let values: [&dyn std::fmt::Display; 3] = [&path.display(), &lesson, &named];
    print(&say("{0} written: write what `TODO` says\nthen: cargo run -p lab -- check {1}.write{2}\n", &values))?;
    Ok(ExitCode::SUCCESS)
}
