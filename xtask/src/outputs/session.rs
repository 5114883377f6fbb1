//! A session: commands as a reader types them, each with what the terminal then shows.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::shell;

/// What a session's commands are run in.
pub struct Place {
    /// The folder in which they are typed: a repository's root.
    pub folder: PathBuf,
    /// Variables for cargo, which say where and how it builds.
    pub cargo: Vec<(&'static str, String)>,
    /// Whether git may change files here.
    pub is_copy: bool,
    /// The lock of a copy that other runs use as well: it is theirs once this is dropped.
    pub _alone: Option<File>,
}

/// Columns of an output, so that a page shows it whole.
pub const COLUMNS: usize = 100;
/// Between the lines of a command that is too long for one.
const GOES_ON: &str = " \\\n    ";

/// The commands of a file, in order: its lines that begin with `$ `, of which the first is one. A line that ends with `\` goes on.
pub fn commands(text: &str) -> Result<Vec<String>> {
    let joined = text.replace(GOES_ON, " ");
    let commands: Vec<String> = joined.lines().filter_map(|line| line.strip_prefix("$ ")).map(String::from).collect();
    ensure!(
        text.starts_with("$ "),
        "line 1 is no command\nhint: `$ cargo run -p level1-tiling -- --backend emulator`, for instance"
    );
    Ok(commands)
}

/// A command as it is shown: in lines of at most [`COLUMNS`], of which each but the first begins with a flag.
fn shown(command: &str) -> String {
    let (mut text, mut width) = ("$".to_string(), 1);
    let mut words = command.split(' ').peekable();
    while let Some(word) = words.next() {
        // A flag and its value stay together.
        let value = words.next_if(|next| word.starts_with("--") && word != "--" && !next.starts_with('-'));
        let part = value.map_or_else(|| word.to_string(), |value| format!("{word} {value}"));
        let letters = part.chars().count();
        if width + 1 + letters + 2 > COLUMNS {
            text = text + GOES_ON + &part;
            width = 4 + letters;
        } else {
            text = text + " " + &part;
            width += 1 + letters;
        }
    }
    text
}

/// Whether the commands change files by git, so that they run in a copy.
pub fn changes_files(commands: &[String]) -> bool {
    commands.iter().any(|command| command.starts_with("git "))
}

/// Runs the commands in order and returns the whole session, as the terminal shows it.
pub fn play(commands: &[String], place: &Place) -> Result<String> {
    let mut session = String::new();
    for command in commands {
        let output = run(command, place).with_context(|| format!("`{command}`"))?;
        session.push_str(&format!("{}\n{output}", shown(command)));
        if !session.ends_with('\n') {
            session.push('\n');
        }
    }
    Ok(session)
}

/// Runs one command, and returns what it writes.
fn run(command: &str, place: &Place) -> Result<String> {
    let words = shell_words::split(command).context("the quotes do not match")?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    ensure!(
        !words.iter().any(|word| word.starts_with(['|', '>', '<', '&', ';']) || word.starts_with("2>")),
        "it needs a shell\nhint: an output is one program's: leave pipes and redirections out"
    );
    match words.as_slice() {
        ["cargo", "run", rest @ ..] => cargo_run(rest, place),
        ["git", "apply" | "checkout" | "restore", ..] if place.is_copy => {
            let mut git = shell::git(&place.folder);
            let (shown, succeeded) = everything(git.args(&words[1..]))?;
            ensure!(succeeded == Some(0), "git refuses: {}", shown.trim());
            Ok(shown)
        }
        _ => bail!("only `cargo run`, `git apply`, `git checkout` and `git restore` are run here"),
    }
}

/// Builds what `cargo run` runs, then runs it: cargo's own lines are no part of what is shown.
fn cargo_run(words: &[&str], place: &Place) -> Result<String> {
    let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let cargo = |first: &str| {
        let mut cargo = Command::new("cargo");
        cargo.args([first, "--quiet", "--locked"]).args(&words[..end]).current_dir(&place.folder);
        cargo.envs(place.cargo.iter().map(|(name, value)| (name, value)));
        cargo
    };
    let built = cargo("build").status().context("cannot start cargo\nhint: is it on PATH?")?;
    ensure!(built.success(), "it does not build");
    let (shown, code) = everything(cargo("run").args(&words[end..]))?;
    match code {
        None | Some(101) => bail!("it crashed:\n{shown}"),
        Some(_) => Ok(shown),
    }
}

/// What a command writes to stdout and stderr, in the order in which it does, and its exit code.
fn everything(command: &mut Command) -> Result<(String, Option<i32>)> {
    let (mut reader, writer) = std::io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    // A reader's terminal may have colours and another language: neither is part of the text.
    command.env("NO_COLOR", "1").env("LC_ALL", "C").env("COLUMNS", COLUMNS.to_string());
    let mut child = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    // `command` still holds the pipe's other end: until it closes, reading does not end.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut text = String::new();
    reader.read_to_string(&mut text).context("it writes no UTF-8")?;
    Ok((text, child.wait()?.code()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Place {
        Place { folder: shell::root().to_path_buf(), cargo: Vec::new(), is_copy: false, _alone: None }
    }

    #[test]
    fn a_file_is_its_commands() {
        let text = "$ git apply a.diff\n$ cargo run -p a -- --x\nproblem  $ 3\n";
        assert_eq!(commands(text).unwrap(), ["git apply a.diff", "cargo run -p a -- --x"]);
        assert!(changes_files(&commands(text).unwrap()));
        assert!(!changes_files(&["cargo run -p a -- git".to_string()]));
    }

    #[test]
    fn a_long_command_is_shown_in_lines_that_a_shell_takes_for_one() {
        let long = format!("cargo run -p a -- {}", ["--define TILE=16", "--json"].repeat(5).join(" "));
        let text = shown(&long);
        assert!(text.lines().count() == 2 && text.lines().all(|line| line.len() <= COLUMNS), "{text}");
        assert!(text.lines().all(|line| !line.starts_with("    TILE")), "{text}");
        assert_eq!(commands(&format!("{text}\nproblem \\\n")).unwrap(), [long.as_str()]);
        let words = |text: &str| shell_words::split(text.trim_start_matches("$ ")).unwrap();
        assert_eq!(words(&text.replace("\\\n", "")), words(&long));
        assert_eq!(shown("cargo run"), "$ cargo run");
    }

    #[test]
    fn a_file_without_a_command_is_refused() {
        for text in ["", "problem\n$ cargo run\n"] {
            assert!(commands(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_program_of_ours_is_refused() {
        for command in ["ls", "cargo test", "git push", "git checkout a", "cargo run -p a | head", "cargo run -- 'a"] {
            assert!(play(&[command.to_string()], &here()).is_err(), "{command}");
        }
    }

    #[test]
    fn both_streams_come_in_their_order() {
        let mut sh = Command::new("sh");
        sh.args(["-c", "echo a; echo b >&2; echo c; exit 3"]);
        assert_eq!(everything(&mut sh).unwrap(), ("a\nb\nc\n".to_string(), Some(3)));
    }
}
