//! The words of the command, grouped by launch.

use std::ffi::OsString;

use clap::{ArgMatches, CommandFactory, Parser};
use gemm::Error;

use super::Sanitize;

/// The flags alone, as a kernel's file carries them.
#[derive(Debug, Parser)]
#[command(name = "lab sanitize", args_override_self = true)]
pub struct Carried {
    #[command(flatten)]
    flags: Sanitize,
}

/// One launch, still in words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Launch {
    /// The kernel's name; without, the file's only one.
    pub entry: Option<String>,
    /// Thread blocks along x, y, z.
    pub grid: Option<String>,
    /// Threads of a block along x, y, z.
    pub block: Option<String>,
    /// Dynamic shared memory per block.
    pub shared: Option<String>,
    /// The arguments.
    pub arguments: Vec<String>,
}

/// The command's words, read: those that a file carries, then those of the command line.
#[derive(Debug)]
pub struct Words {
    /// All flags that are not a launch's own.
    pub flags: Sanitize,
    /// The launches, one at least.
    pub launches: Vec<Launch>,
}

/// Reads the words. Launches of the command line take the place of those that the file carries; without any, its `--grid` and
/// the like take the place of those of the file's only launch, and an argument that of the file's argument with this name.
pub fn read(carried: &[String], given: &[OsString]) -> Result<Words, clap::Error> {
    let program = || std::iter::once(OsString::from("lab sanitize"));
    let carried = || carried.iter().map(OsString::from);
    let all = program().chain(carried()).chain(given.iter().cloned());
    let flags = Carried::try_parse_from(all)?.flags;
    let in_file = program().chain(std::iter::once(flags.file.clone().into_os_string())).chain(carried());
    let mut launches = grouped(&Carried::command().try_get_matches_from(in_file)?);
    let on_line = grouped(&Carried::command().try_get_matches_from(program().chain(given.iter().cloned()))?);
    match on_line.as_slice() {
        [only] if launches.len() == 1 && !names_launches(given) => launches[0].take(only),
        [only] if *only == Launch::default() => (),
        _ => launches = on_line,
    }
    Ok(Words { flags, launches })
}

fn names_launches(words: &[OsString]) -> bool {
    words.iter().map(|word| word.to_string_lossy()).any(|word| word == "--launch" || word.starts_with("--launch="))
}

/// The launches' flags, each with the last `--launch` before it; those before the first one are the launches' common ones.
fn grouped(matches: &ArgMatches) -> Vec<Launch> {
    let with_places = |id: &str| -> Vec<(usize, String)> {
        let places = matches.indices_of(id).into_iter().flatten();
        places.zip(matches.get_many::<String>(id).into_iter().flatten().cloned()).collect()
    };
    let starts = with_places("launch");
    let group = |(from, to): (usize, usize)| {
        let inside = |id: &str| with_places(id).into_iter().filter(move |(at, _)| (from..to).contains(at));
        let last = |id: &str| inside(id).next_back().map(|(_, word)| word);
        let arguments = inside("arg").map(|(_, word)| word).collect();
        Launch { entry: last("entry"), grid: last("grid"), block: last("block"), shared: last("shared"), arguments }
    };
    let first_start = starts.first().map_or(usize::MAX, |(at, _)| *at);
    let common = group((0, first_start));
    if starts.is_empty() {
        return vec![common];
    }
    let ends = starts.iter().skip(1).map(|(at, _)| *at).chain([usize::MAX]);
    let launch = |((from, entry), to): (&(usize, String), usize)| {
        let own = group((*from, to));
        Launch {
            entry: Some(entry.clone()),
            grid: own.grid.or_else(|| common.grid.clone()),
            block: own.block.or_else(|| common.block.clone()),
            shared: own.shared.or_else(|| common.shared.clone()),
            arguments: common.arguments.iter().cloned().chain(own.arguments).collect(),
        }
    };
    starts.iter().zip(ends).map(launch).collect()
}

impl Launch {
    /// Takes what the other says.
    fn take(&mut self, other: &Launch) {
        let pairs = [
            (&mut self.entry, &other.entry),
            (&mut self.grid, &other.grid),
            (&mut self.block, &other.block),
            (&mut self.shared, &other.shared),
        ];
        for (mine, theirs) in pairs {
            if theirs.is_some() {
                mine.clone_from(theirs);
            }
        }
        let mine = self.arguments.len();
        for word in &other.arguments {
            match self.arguments[..mine].iter_mut().find(|mine| name(mine) == name(word)) {
                Some(mine) => mine.clone_from(word),
                None => self.arguments.push(word.clone()),
            }
        }
    }
}

/// What stands before an argument's type or value.
fn name(word: &str) -> &str {
    word.split([':', '=', '+']).next().unwrap_or(word).trim()
}

/// `NAME=VALUE`, as `--set`, `--print` and the like have it.
pub fn pair<'a>(flag: &str, word: &'a str) -> Result<(&'a str, &'a str), Error> {
    let halves = word.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
    halves.ok_or_else(|| Error::usage(format!("{flag} {word}: there is no `=`"), "a name, `=`, and a value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_string).collect()
    }

    fn launches(carried: &str, given: &str) -> Vec<Launch> {
        let given: Vec<OsString> = words(given).into_iter().map(OsString::from).collect();
        read(&words(carried), &given).unwrap().launches
    }

    #[test]
    fn flags_belong_to_the_launch_before_them() {
        let all = launches(
            "",
            "x.cu --block 32 --arg a:i32[4] --launch one --grid 2 --arg b:i32[4] --launch two --block 64 --arg b --json",
        );
        let launch = |entry: &str, grid: Option<&str>, block: &str, arguments: &str| Launch {
            entry: Some(entry.to_string()),
            grid: grid.map(str::to_string),
            block: Some(block.to_string()),
            shared: None,
            arguments: words(arguments),
        };
        let expected = [launch("one", Some("2"), "32", "a:i32[4] b:i32[4]"), launch("two", None, "64", "a:i32[4] b")];
        assert_eq!(all, expected);
    }

    #[test]
    fn the_command_line_comes_after_the_file() {
        let file = "--grid 4 --block 64 --arg in:f32[4]=range --arg n=4";
        assert_eq!(launches(file, "x.cu"), launches(file, "x.cu --json"));
        let changed = &launches(file, "x.cu --grid 5 --arg n=3")[0];
        assert_eq!(changed.grid.as_deref(), Some("5"));
        assert_eq!(changed.block.as_deref(), Some("64"));
        assert_eq!(changed.arguments, ["in:f32[4]=range", "n=3"]);
        let twice = "x.cu --arg a:i32[4] --arg a --arg a";
        assert_eq!(launches("", twice)[0].arguments, ["a:i32[4]", "a", "a"]);
        let replaced = launches(file, "x.cu --launch other --arg n=3");
        assert_eq!((replaced.len(), replaced[0].grid.as_deref(), replaced[0].arguments.len()), (1, None, 1));
    }
}
