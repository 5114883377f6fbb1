//! Answers as the module in a page does, on this machine: what a page shows can be compared with it.
//!
//! Requests from stdin, one a line, and their answers to stdout; an empty line asks which levels there are. `crates/page/run.mjs` does the
//! same with the module, in Node.

use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let line = line?;
        let answer = if line.trim().is_empty() { page::levels() } else { page::multiply(&line) };
        writeln!(io::stdout(), "{answer}")?;
    }
    Ok(())
}
