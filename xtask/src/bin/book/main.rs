//! Builds the book: mdBook as a library, so that nothing has to be installed.
//!
//! The English book goes to `book/book`, each translation, `book/po/<language>.po`, to a folder below it; the
//! translations are brought up to the pages on the way. A program of its own behind the
//! feature `book`: the workspace's builds and tests never compile mdBook.

#![forbid(unsafe_code)]

mod bench;
mod catalog;
mod controls;
mod generated;
mod latin;
mod links;
mod pictures;
#[path = "../../po.rs"]
mod po;
mod questions;
mod translate;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use mdbook_driver::MDBook;
use mdbook_driver::config::Config;
use polib_i18n::catalog::Catalog;

use questions::Exercise;

/// Builds the book
#[derive(Parser)]
struct Cli {
    /// Leave template and translations as they are: fail if they are not up to date, or a link of a built page is dead
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book");
    match run(&root, Cli::parse().check) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: the book does not build: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Builds every language; returns whether nothing is wrong with them.
fn run(root: &Path, check: bool) -> Result<bool> {
    let mut english = load(root)?;
    let exercises = questions::read(root)?;
    let mut template = catalog::template(&english)?;
    generated::add(&mut template, &english.book, root)?;
    pictures::add(&mut template, root)?;
    controls::add(&mut template);
    let mut stale = false;
    questions::mark(&mut english.book, &exercises)?;
    questions::fill(&mut english.book, &exercises, None);
    english.build()?;
    let mut wrong = questions::put(&root.join("book"), &exercises, None)?;
    println!("book/book/index.html");
    bench::put(root)?;
    for language in languages(root)? {
        let file = root.join(format!("po/{language}.po"));
        let mut catalog = catalog::merge(&catalog::read(&file)?, &template)?;
        stale |= catalog::put(&file, &catalog, check)?;
        let said = catalog::read(&root.join(format!("../crates/lab/po/{language}.po")))?;
        let folder = root.join("book").join(&language);
        build_translation(root, &language, &mut catalog, &exercises, &said)?;
        pictures::translate(root, &folder, &catalog)?;
        controls::translate(&folder, &catalog)?;
        wrong.extend(latin::found(&folder, &catalog)?);
        wrong.extend(questions::put(&folder, &exercises, Some(&said))?);
        println!("book/book/{language}/index.html");
    }
    if stale && check {
        eprintln!("error: translations are not up to date\nhint: `cargo x book` writes them");
    }
    wrong.extend(links::dead(&root.join("book"))?);
    for what in &wrong {
        println!("{what}");
    }
    Ok(wrong.is_empty() && !(stale && check))
}

/// The book as it is read from disk, with what only this program adds: links from each page to the same page in the other
/// languages. Plain mdBook builds one language, and so leaves them out.
fn load(root: &Path) -> Result<MDBook> {
    load_with(root, Config::from_disk(root.join("book.toml"))?)
}

fn load_with(root: &Path, mut config: Config) -> Result<MDBook> {
    // What book.toml names, the links between the languages, the lessons' benches and the fields of their questions.
    for (key, names) in [("additional-js", "js"), ("additional-css", "css")] {
        let key = format!("output.html.{key}");
        let mut files: Vec<String> = config.get(&key)?.unwrap_or_default();
        files.extend(["languages", "bench", "predict"].map(|page| format!("theme/{page}.{names}")));
        config.set(&key, files)?;
    }
    MDBook::load_with_config(root, config)
}

/// `said` has the questions' texts, which are those of `lab check`.
fn build_translation(
    root: &Path,
    language: &str,
    catalog: &mut Catalog,
    exercises: &[Exercise],
    said: &Catalog,
) -> Result<()> {
    let mut config = Config::from_disk(root.join("book.toml"))?;
    config.book.language = Some(language.to_string());
    config.book.title = config.book.title.map(|title| catalog::translated(catalog, &title).unwrap_or(title));
    config.build.build_dir = PathBuf::from("book").join(language);
    let mut book = load_with(root, config)?;
    questions::mark(&mut book.book, exercises)?;
    translate::book(&mut book.book, catalog)?;
    questions::fill(&mut book.book, exercises, Some(said));
    generated::translate(&mut book.book, root, catalog)?;
    book.build()
}

/// The languages of the translations, each known to the program on the pages that links to them.
fn languages(root: &Path) -> Result<Vec<String>> {
    let switch = root.join("theme/languages.js");
    let switch = fs::read_to_string(&switch).with_context(|| format!("cannot read {}", switch.display()))?;
    let mut languages = Vec::new();
    for entry in fs::read_dir(root.join("po")).context("cannot list book/po")? {
        if let Some(language) = entry?.file_name().to_string_lossy().strip_suffix(".po") {
            let is_known = switch.contains(&format!("\"{language}\":"));
            ensure!(is_known, "book/theme/languages.js does not know {language}\nhint: add it there with its name");
            languages.push(language.to_string());
        }
    }
    languages.sort();
    Ok(languages)
}
