//! Builds the book: mdBook as a library, so that nothing has to be installed.
//!
//! A program of its own behind the feature `book`: the workspace's builds and tests never compile mdBook.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use mdbook_driver::MDBook;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book");
    match MDBook::load(root).and_then(|book| book.build()) {
        Ok(()) => {
            println!("book/book/index.html");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: the book does not build: {error:#}");
            ExitCode::FAILURE
        }
    }
}
