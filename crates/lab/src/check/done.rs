//! What a reader has done: a file with a line for each, beside the kernels that he writes.

use std::fs;
use std::path::Path;

use gemm::Error;

use crate::words::say;

/// Where a reader's own kernels lie.
pub const FOLDER: &str = "mine";

/// Before the number of tries, in a line of its own.
const TRIED: &str = " tried ";

/// What was done so far.
#[derive(Debug, Default)]
pub struct Done(Vec<String>);

impl Done {
    /// From its file; nothing where there is none.
    pub fn read(path: &Path) -> Done {
        Done(fs::read_to_string(path).unwrap_or_default().lines().map(str::to_string).collect())
    }

    /// Whether this was done.
    pub fn has(&self, id: &str, what: &str) -> bool {
        self.0.contains(&format!("{id} {what}"))
    }

    /// How often a kernel was judged and was not solved.
    pub fn tries(&self, id: &str) -> u32 {
        let count = |line: &String| line.strip_prefix(id)?.strip_prefix(TRIED)?.parse().ok();
        self.0.iter().find_map(count).unwrap_or(0)
    }

    /// Counts one more, and writes the file.
    pub fn tried(mut self, path: &Path, id: &str) -> Result<(), Error> {
        let tries = self.tries(id) + 1;
        self.0.retain(|line| !line.strip_prefix(id).is_some_and(|rest| rest.starts_with(TRIED)));
        self.0.push(format!("{id}{TRIED}{tries}"));
        self.write(path)
    }

    /// Notes it, and writes the file.
    pub fn add(mut self, path: &Path, id: &str, what: &str) -> Result<Done, Error> {
        if !self.has(id, what) {
            self.0.push(format!("{id} {what}"));
            self.write(path)?;
        }
        Ok(self)
    }

    fn write(&self, path: &Path) -> Result<(), Error> {
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        folder.and_then(|()| fs::write(path, self.0.join("\n") + "\n")).map_err(|error| {
            let message = say("cannot write {0}: {1}", &[&path.display(), &error]);
            Error::usage(message, say("it holds what was done; make its folder", &[]))
        })
    }
}
