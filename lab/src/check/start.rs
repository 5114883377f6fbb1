//! `lab start 1`: a lesson's kernel with the idea left out, to write it oneself.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use common::Error;

use super::done::FOLDER;
use super::tables::skeleton;
use crate::output::print;

/// A lesson's kernel with the idea left out: the file in which you write it
#[derive(Debug, Clone, Args)]
pub struct Start {
    /// The lesson's number
    #[arg(value_name = "LESSON")]
    lesson: usize,
    /// The file to write [default: mine/lessonN.cu]; one that is there is never overwritten
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Where a lesson's kernel is written.
pub fn place(lesson: usize) -> PathBuf {
    PathBuf::from(format!("{FOLDER}/lesson{lesson}.cu"))
}

/// Runs the command.
pub fn run(start: &Start) -> Result<ExitCode, Error> {
    let lesson = start.lesson;
    let text = skeleton(lesson).ok_or_else(|| {
        Error::usage(format!("there is no skeleton for lesson {lesson}"), "`lab check` lists what there is")
    })?;
    let (path, named) = match &start.file {
        Some(file) => (file.clone(), format!(" {}", file.display())),
        None => (place(lesson), String::new()),
    };
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let file = folder.and_then(|()| fs::OpenOptions::new().write(true).create_new(true).open(&path));
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Error::usage(format!("{} is there already", path.display()), "go on with it, move it, or name another file")
        }
        _ => Error::usage(format!("cannot write {}: {error}", path.display()), "name another file"),
    })?;
    print(&format!(
        "{} written: write what `TODO` says\nthen: cargo run -p lab -- check {lesson}.write{named}\n",
        path.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}
