//! What a reader has done: a file with a line for each, beside the kernels that he writes.

use std::fs;
use std::path::Path;

use gemm::Error;

use crate::words::say;

/// Where a reader's own kernels lie.
pub const FOLDER: &str = "mine";

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

    /// Notes it, and writes the file.
    pub fn add(mut self, path: &Path, id: &str, what: &str) -> Result<(), Error> {
        if self.has(id, what) {
            return Ok(());
        }
        self.0.push(format!("{id} {what}"));
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        folder.and_then(|()| fs::write(path, self.0.join("\n") + "\n")).map_err(|error| {
            let message = say("cannot write {0}: {1}", &[&path.display(), &error]);
            Error::usage(message, say("it holds what was done; make its folder", &[]))
        })
    }
}
