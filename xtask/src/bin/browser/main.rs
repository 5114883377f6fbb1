//! Opens every page of the built book in headless Chromium, as a reader sees it on a desk and on a phone, light and dark.
//!
//! On each page: nothing is wider than the page (code and tables scroll within their own box), every picture is there, no
//! request fails, nothing complains in the console, and each link to another language leads to a page. In each language, the
//! search finds a word. Each lesson's bench is worked through, in a page that comes from a static host. A program of its own behind the feature `browser`: the workspace's builds and tests never compile it.

#![forbid(unsafe_code)]

mod bench;
mod native;
mod reading;
mod server;
mod window;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use clap::Parser;

use bench::Benches;
use native::Native;
use server::Server;
use window::Window;

/// Widths in CSS pixels: a desk's window, and a phone's.
const WIDTHS: [u32; 2] = [1280, 390];
/// mdBook's themes that stand for light and dark.
const THEMES: [&str; 2] = ["light", "navy"];
/// Of so many pages there is a word while it runs.
const PROGRESS: usize = 10;
/// A word that the introduction has in every language.
const SEARCHED: &str = "PTX";
/// What mdBook makes beside the pages: the first page again, all pages in one for a printer, and parts.
const ASIDE: [&str; 4] = ["index.html", "print.html", "404.html", "toc.html"];

/// Whether all is looked at, and not what a push has the time for.
pub fn deep() -> bool {
    env::var_os("DEEP").is_some()
}

/// Opens every page of the built book in headless Chromium
#[derive(Parser)]
struct Cli {
    /// Write a picture of each page into this folder
    #[arg(long, value_name = "DIR")]
    screenshots: Option<PathBuf>,
    /// Only pages whose path contains one of these: lesson2.html, zh-CN/
    patterns: Vec<String>,
    /// Only the lessons' benches
    #[arg(long)]
    benches: bool,
}

fn main() -> ExitCode {
    let Ok(chromium) = headless_chrome::browser::default_executable() else {
        if env::var("REQUIRE").is_ok_and(|required| required.contains("no Chromium")) {
            eprintln!("error: no Chromium, and REQUIRE has `no Chromium`\nhint: on Debian, `apt install chromium`");
            return ExitCode::from(2);
        }
        println!("skipped: no Chromium");
        return ExitCode::SUCCESS;
    };
    match run(chromium, &Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: the book cannot be looked at: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Looks at every page in every way, and works through the benches; returns whether nothing is wrong.
fn run(chromium: PathBuf, root: &Path, cli: &Cli) -> Result<bool> {
    let folder = root.join("book/book");
    let folder = &folder.canonicalize().with_context(|| format!("cannot find {}", folder.display()))?;
    // Before the window, which closes where nothing is asked of it for long: cargo may have to wait for another one.
    let native = bench::has_module(folder).then(|| Native::start(root)).transpose()?;
    let window = Window::open(chromium)?;
    let mut pages = pages(folder)?;
    pages.retain(|page| cli.patterns.is_empty() || cli.patterns.iter().any(|pattern| page.contains(pattern)));
    ensure!(!pages.is_empty(), "no page in {}\nhint: `cargo x book` builds it", folder.display());
    let mut wrong = Vec::new();
    if !cli.benches {
        wrong.append(&mut looks(&window, folder, &pages, cli.screenshots.as_deref())?);
    }
    if let Some(native) = native {
        let server = Server::start(folder)?;
        let mut benches = Benches::new(&window, &server, native, cli.screenshots.as_deref());
        benches.run(&pages);
        eprintln!("browser: {}", benches.figures());
        wrong.append(&mut benches.wrong);
    } else {
        println!("skipped: no module for the benches");
    }
    for what in &wrong {
        println!("{what}");
    }
    eprintln!("browser: {} pages, {} findings", pages.len(), wrong.len());
    Ok(wrong.is_empty())
}

/// Looks at every page in every way, opened from its file; returns what is wrong.
fn looks(window: &Window, folder: &Path, pages: &[String], screenshots: Option<&Path>) -> Result<Vec<String>> {
    let url = |page: &str| format!("file://{}/{page}", folder.display());
    let mut wrong = Vec::new();
    for (index, page) in pages.iter().enumerate() {
        for (turn, width) in WIDTHS.into_iter().enumerate() {
            window.open_page(&url(page), width).with_context(|| format!("{page} at {width} px"))?;
            wrong.extend(languages(window)?.into_iter().map(|what| format!("{page}: {what}")));
            // On a push, a page is seen in each width and in each theme, but not in each of both.
            let one = THEMES[(index + turn) % THEMES.len()];
            for theme in THEMES.into_iter().filter(|theme| deep() || screenshots.is_some() || *theme == one) {
                let place = format!("{page} at {width} px, {theme}");
                let found = window.look(theme).with_context(|| place.clone())?;
                wrong.extend(found.into_iter().map(|what| format!("{place}: {what}")));
                if let Some(shots) = screenshots {
                    let name = format!("{}-{width}-{theme}.png", page.trim_end_matches(".html").replace('/', "-"));
                    let picture = window.picture(width).with_context(|| format!("{place}: no picture"))?;
                    save(&shots.join(name), &picture)?;
                }
            }
        }
        if (index + 1) % PROGRESS == 0 || index + 1 == pages.len() {
            eprintln!("browser: {} of {} pages, {} findings", index + 1, pages.len(), wrong.len());
        }
    }
    for page in pages.iter().filter(|page| page.ends_with("lesson1.html")) {
        wrong.extend(from_a_file(window, &url(page))?.map(|what| format!("{page}: {what}")));
    }
    for page in pages.iter().filter(|page| page.ends_with("introduction.html")) {
        for width in WIDTHS {
            let found = window.search(&url(page), width, SEARCHED).with_context(|| format!("{page}: search"))?;
            wrong.extend(found.map(|what| format!("{page} at {width} px: {what}")));
        }
    }
    Ok(wrong)
}

/// What is wrong where a bench is opened in a page that comes from a file, and so has no worker: it must say what to do.
fn from_a_file(window: &Window, url: &str) -> Result<Option<String>> {
    window.open_page(url, WIDTHS[0])?;
    window.text("document.querySelector('.bench-open').click(); ''")?;
    let said = window.text("document.querySelector('.bench-status').textContent")?;
    Ok((!said.contains("python3 -m http.server")).then(|| format!("opened from a file, the bench says `{said}`")))
}

/// What is wrong with the links to the other languages, on the page that is open.
fn languages(window: &Window) -> Result<Vec<String>> {
    let others = window.links(".right-buttons a.language")?;
    let mut wrong = Vec::new();
    if others.is_empty() {
        wrong.push("no link to another language".to_string());
    }
    for (language, link) in others {
        let file = link.trim_start_matches("file://");
        let page = fs::read_to_string(file).unwrap_or_default();
        if !page.contains(&format!("<html lang=\"{language}\"")) {
            wrong.push(format!("{file} is no page in {language}"));
        }
    }
    Ok(wrong)
}

fn save(file: &Path, picture: &[u8]) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(file, picture).with_context(|| format!("cannot write {}", file.display()))
}

/// The pages below `folder`, with `/` between folders, sorted.
fn pages(folder: &Path) -> Result<Vec<String>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            pages.extend(self::pages(&path)?.into_iter().map(|page| format!("{name}/{page}")));
        } else if name.ends_with(".html") && !ASIDE.contains(&name.as_str()) {
            pages.push(name);
        }
    }
    pages.sort();
    Ok(pages)
}
