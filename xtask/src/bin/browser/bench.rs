//! The bench of each lesson, used as a reader does: by clicks, in pages that come from a static host.
//!
//! What it shows must be what this machine answers to the same requests: reports, counters, changes, lanes' addresses. Each lesson is
//! worked through at one width in one theme, in turn; with all its results open, it is looked at in all of them.

mod turned;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::native::{Native, text};
use crate::reading::{counted, native_lines, page_lines, rows};
use crate::server::Server;
use crate::window::Window;
use crate::{THEMES, WIDTHS, save};

const READER: &str = include_str!("reader.js");
/// How long a run may take, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(240);
/// A run that must not come to its end, and how long it must have been running before it is stopped.
const LONG: u32 = 2048;
/// How long its worker may take to end.
const ENDING: Duration = Duration::from_secs(60);
const RUNNING: Duration = Duration::from_millis(300);
/// A size that no tile divides.
const ODD: [u32; 3] = [67, 45, 35];
/// A window that becomes this narrow has its list of pages over the text, until the reader closes it.
const OPEN: u32 = 620;
const CLOSE: &str =
    "{ const open = document.getElementById('mdbook-sidebar-toggle-anchor'); if (open.checked) open.click(); } ''";
/// The GPU that is modelled at first.
const GPU: &str = "h200";
/// What is loaded up to the first result, at most.
const MOST_BYTES: u64 = 1_500_000;
/// Lessons that are opened in other languages, too.
const TRANSLATED: [usize; 3] = [1, 6, 13];
/// The lessons whose benches a push works through.
const PUSHED: [usize; 4] = [1, 2, 6, 13];

/// What the numbers are, at the end.
#[derive(Default)]
pub struct Figures {
    first: f64,
    bytes: u64,
    large: f64,
}

pub struct Benches<'a> {
    pub window: &'a Window,
    pub server: &'a Server,
    pub native: Native,
    pub screenshots: Option<&'a Path>,
    pub figures: Figures,
    pub wrong: Vec<String>,
    /// The page that is open, at a width, in a theme.
    place: String,
}

impl<'a> Benches<'a> {
    pub fn new(window: &'a Window, server: &'a Server, native: Native, screenshots: Option<&'a Path>) -> Self {
        Self {
            window,
            server,
            native,
            screenshots,
            figures: Figures::default(),
            wrong: Vec::new(),
            place: String::new(),
        }
    }

    /// Works through the bench of each of these pages; what cannot be done is a finding, like what is wrong.
    pub fn run(&mut self, pages: &[String]) {
        let looks: Vec<(u32, &str)> = WIDTHS.iter().flat_map(|&width| THEMES.map(|theme| (width, theme))).collect();
        for page in pages {
            let Some(lesson) = lesson(page) else { continue };
            let is_translated = page.contains('/');
            if is_translated && !TRANSLATED.contains(&lesson) || !crate::deep() && !PUSHED.contains(&lesson) {
                continue;
            }
            let start = Instant::now();
            let (width, theme) = looks[(lesson + usize::from(is_translated)) % looks.len()];
            self.place = format!("{page} at {width} px, {theme}");
            let before = self.wrong.len();
            if let Err(error) = self.lesson(page, lesson, width, theme, is_translated) {
                self.wrong(format!("{error:#}"));
            }
            let (seconds, found) = (start.elapsed().as_secs_f64(), self.wrong.len() - before);
            eprintln!("browser: bench of {}: {seconds:.1} s, {found} findings", self.place);
        }
    }

    /// The figures in one line.
    pub fn figures(&self) -> String {
        let Figures { first, bytes, large } = self.figures;
        format!(
            "first result {first:.2} s after the first click, with {bytes} bytes; 512×512×512 by level 2 in {large:.2} s, \
             all checks on"
        )
    }

    fn wrong(&mut self, what: impl std::fmt::Display) {
        self.wrong.push(format!("{}: {what}", self.place));
    }

    fn must(&mut self, is_so: bool, what: &str, details: impl FnOnce() -> String) {
        if !is_so {
            self.wrong(format!("{what}: {}", details()));
        }
    }

    fn lesson(&mut self, page: &str, lesson: usize, width: u32, theme: &str, is_translated: bool) -> Result<()> {
        self.window.open_page(&self.server.url(page), width)?;
        self.look(page, width, theme, None)?;
        self.window.text(READER)?;
        self.server.sent();
        self.click(".bench-open")?;
        // The default runs by itself.
        let shown = self.rest()?;
        let before = self.report("the default", &shown, lesson, self.small(lesson))?;
        if self.figures.bytes == 0 {
            self.figures.bytes = self.server.sent().iter().map(|(_, bytes)| bytes).sum();
            self.figures.first = shown["first"].as_f64().unwrap_or_default();
            let bytes = self.figures.bytes;
            self.must(bytes <= MOST_BYTES, "too much is loaded for the first result", || format!("{bytes} bytes"));
        }
        if is_translated {
            self.words(&shown);
            return self.all_looks(page, "report");
        }
        let [m, n, k] = ODD;
        let odd = json!({"m": m, "n": n, "k": k});
        let shown = self.run_with(&odd)?;
        let now = self.report("a size off the tile", &shown, lesson, odd.clone())?;
        self.changes(&shown, &before, &now);
        self.turned(lesson, (page, width, theme))?;
        self.set(&json!({"level": lesson}))?;
        self.other_gpu(lesson, odd.clone())?;
        if lesson == 2 {
            self.large(lesson)?;
        }
        self.broken(page, lesson, width, theme)?;
        // All choices as they were at first.
        self.set(&json!({"level": lesson}))?;
        self.stop(lesson)?;
        let small = self.small(lesson);
        let shown = self.run_with(&small)?;
        self.report("a run after one that was stopped", &shown, lesson, small)?;
        self.steps(lesson, &shown)?;
        self.all_looks(page, "report")
    }

    /// What the page has in its form at first.
    fn small(&self, lesson: usize) -> Value {
        match lesson > 10 {
            true => json!({"m": 256, "n": 256, "k": 256}),
            false => json!({"m": 64, "n": 64, "k": 64}),
        }
    }

    fn click(&mut self, selector: &str) -> Result<()> {
        self.act(&format!("reader.click('{selector}')"))
    }

    /// Does something that answers with what is wrong.
    fn act(&self, expression: &str) -> Result<()> {
        let wrong = self.window.text(expression)?;
        ensure!(wrong.is_empty(), "{wrong}");
        Ok(())
    }

    fn state(&self) -> Result<Value> {
        serde_json::from_str(&self.window.text("reader.state()")?).context("the page's state is no JSON")
    }

    /// What the page shows when nothing is under way.
    fn rest(&self) -> Result<Value> {
        let start = Instant::now();
        while self.window.text("reader.rests()")?.is_empty() {
            ensure!(start.elapsed() < PATIENCE, "no end of it after {PATIENCE:?}: {}", self.state()?["status"]);
            std::thread::sleep(Duration::from_millis(20));
        }
        self.state()
    }

    fn set(&self, values: &Value) -> Result<()> {
        let texts: BTreeMap<&String, String> = values
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name, value.as_str().map_or_else(|| value.to_string(), str::to_string)))
            .collect();
        self.act(&format!("reader.set({})", json!(texts)))
    }

    fn run_with(&mut self, values: &Value) -> Result<Value> {
        self.set(values)?;
        self.click(".bench-run")?;
        self.rest()
    }

    /// Compares a report and the kernel's counters with this machine's; returns the latter's answer.
    fn report(&mut self, what: &str, shown: &Value, lesson: usize, request: Value) -> Result<Value> {
        let native = self.native.answer(lesson, &request)?;
        let note = native["note"].as_str().map(|note| format!("{note}\n")).unwrap_or_default();
        let expected = format!("{note}{}", text(&native, "text"));
        let place = format!("{what}: the report is another one");
        self.must(text(shown, "report") == expected, &place, || {
            format!(
                "{} for {request}\nin the page:\n{}\nhere:\n{expected}{}",
                shown["status"], shown["report"], native["error"]
            )
        });
        let is_right = native["report"]["check"]["right"] == true;
        self.must(is_right, what, || format!("is not right: {}", native["error"]));
        let marks = rows(&shown["lines"]).into_iter().filter(|row| row.iter().any(|cell| cell.contains("// ANCHOR")));
        self.must(marks.count() == 0, what, || "the book's marks stand in the source".to_string());
        let (in_page, here) = (page_lines(shown), native_lines(text(&native, "annotated")));
        self.must(!here.is_empty() && in_page == here, &format!("{what}: the kernel's counters differ"), || {
            let other = in_page.iter().zip(&here).find(|(a, b)| a != b);
            format!("{} lines in the page, {} here; first {other:?}", in_page.len(), here.len())
        });
        Ok(native)
    }

    /// What changed since the run before is what changed between this machine's.
    fn changes(&mut self, shown: &Value, before: &Value, now: &Value) {
        let [before, now] = [before, now].map(|answer| counted(&answer["report"]["numbers"]));
        let expected: Vec<Vec<String>> = now
            .iter()
            .filter(|(name, value)| before.get(*name) != Some(value))
            .map(|(name, value)| vec![name.clone(), before.get(name).cloned().unwrap_or_default(), value.clone()])
            .collect();
        let mut changes = rows(&shown["changes"]);
        changes.iter_mut().for_each(|row| row[1..].iter_mut().for_each(|number| *number = number.replace(',', "")));
        changes.sort();
        self.must(!expected.is_empty() && changes == expected, "what changed is another thing", || {
            format!("in the page {changes:?}, here {expected:?}")
        });
    }

    /// The first of the other GPUs on which the level runs, and one on which it does not, if there is one.
    fn other_gpu(&mut self, lesson: usize, odd: Value) -> Result<()> {
        let gpus: Vec<String> = serde_json::from_value(self.native.levels[lesson]["gpus"].clone())?;
        let own = gpus.iter().find(|gpu| gpu.eq_ignore_ascii_case(GPU)).context("no such GPU")?.clone();
        let (mut runs, mut fails) = (None, None);
        for gpu in gpus.iter().filter(|gpu| **gpu != own) {
            let mut request = odd.clone();
            request["gpu"] = gpu.clone().into();
            let answer = self.native.answer(lesson, &request)?;
            let slot = if answer["error"].is_null() { &mut runs } else { &mut fails };
            slot.get_or_insert((request, answer));
            if runs.is_some() && (fails.is_some() || lesson < 11) {
                break;
            }
        }
        if let Some((request, answer)) = fails {
            let shown = self.run_with(&request)?;
            let error = text(&answer["error"], "message");
            self.must(text(&shown, "report") == error, "a GPU that cannot run it", || {
                format!("{request}: in the page {}, here {error}", shown["report"])
            });
        }
        let (request, _) = runs.context("no other GPU runs this level")?;
        let shown = self.run_with(&request)?;
        self.report("another GPU", &shown, lesson, request)?;
        self.set(&json!({"gpu": own}))
    }

    fn large(&mut self, lesson: usize) -> Result<()> {
        let size = json!({"m": 512, "n": 512, "k": 512});
        let shown = self.run_with(&size)?;
        let status = text(&shown, "status");
        let seconds = status.split(' ').find_map(|word| word.parse().ok());
        self.figures.large = seconds.with_context(|| format!("no seconds in `{status}`"))?;
        self.report("a large size", &shown, lesson, size).map(drop)
    }

    /// The lesson's first kernel that is at fault: the message, and its lines marked where they can be seen.
    fn broken(&mut self, page: &str, lesson: usize, width: u32, theme: &str) -> Result<()> {
        let variants = self.native.variants.iter();
        let mut of_lesson = variants.filter(|other| other["lesson"] == lesson && other["ends"]["fault"].is_object());
        let variant = of_lesson.next().cloned().context("no kernel of the lesson is at fault")?;
        let native = self.native.broken(lesson, &variant)?;
        let shown = self.run_with(&json!({"kernel": variant["id"]}))?;
        let (place, message) = (format!("kernel {}", variant["id"]), text(&native["error"], "message"));
        let said = text(&variant["ends"]["fault"], "says");
        self.must(message.contains(said) && text(&shown, "report") == message, &format!("{place}: the fault"), || {
            format!("in the page {}, here {message}; {}", shown["report"], shown["status"])
        });
        // Each line that the message names, and what stands there.
        let mut lines: Vec<usize> = message.split("kernel.cu:").skip(1).filter_map(number).collect();
        lines.sort_unstable();
        lines.dedup();
        let source: Vec<&str> = text(&native, "source").lines().collect();
        let expected: Vec<Vec<String>> = lines
            .iter()
            .map(|&line| vec![line.to_string(), source.get(line - 1).copied().unwrap_or_default().to_string()])
            .collect();
        let marked = rows(&shown["marked"]);
        let is_there = marked.iter().any(|row| row[1].contains(text(&variant["ends"]["fault"], "at")));
        self.must(is_there && marked == expected, &format!("{place}: marked lines"), || {
            format!("in the page {marked:?}, here {expected:?}")
        });
        let start = Instant::now();
        while self.state()?["seen"] == 0 {
            ensure!(start.elapsed() < PATIENCE, "{place}: no marked line is in sight");
            std::thread::sleep(Duration::from_millis(20));
        }
        match self.screenshots {
            Some(_) => self.all_looks(page, "fault"),
            None => self.look(page, width, theme, Some("fault")),
        }
    }

    /// A long run ends when it is stopped, with its worker, and leaves what was there.
    fn stop(&mut self, lesson: usize) -> Result<()> {
        let before = self.state()?;
        self.set(&json!({"m": LONG, "n": LONG, "k": LONG}))?;
        self.click(".bench-run")?;
        let start = Instant::now();
        while start.elapsed() < RUNNING || self.window.workers()? == 0 {
            let state = self.state()?;
            ensure!(state["canStop"] == true, "a long run of level {lesson} has ended: {}", state["status"]);
            ensure!(start.elapsed() < PATIENCE, "a long run has no worker");
            std::thread::sleep(Duration::from_millis(20));
        }
        self.click(".bench-stop")?;
        let after = self.rest()?;
        self.must(after["canStop"] == false && after["status"] != before["status"], "Stop", || {
            after["status"].to_string()
        });
        self.must(after["report"] == before["report"], "Stop takes the report away", || after["report"].to_string());
        let start = Instant::now();
        while self.window.workers()? > 0 {
            ensure!(start.elapsed() < ENDING, "Stop leaves the worker running");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Steps through a warp on the first lines that access global and shared memory.
    fn steps(&mut self, lesson: usize, shown: &Value) -> Result<()> {
        let lines = rows(&shown["lines"]);
        // The first line that copies from one into the other, maybe, and the first that accesses shared memory alone.
        let is_shared = |row: &&Vec<String>| row[2].is_empty() && !row[3].is_empty();
        let picked = [lines.iter().find(|row| !row[2].is_empty()), lines.iter().find(is_shared)];
        let mut walked = 0;
        for line in picked.into_iter().flatten().map(|row| row[0].clone()) {
            // A line is shown at first by warp 0, or by the first warp of the block that is there.
            self.act(&format!("reader.clickLine('{line}')"))?;
            self.rest()?;
            let (mut native, mut place) = self.stepped(lesson, &line, [0; 4])?;
            let warps = native["warps"].as_array().into_iter().flatten().filter_map(Value::as_u64);
            let first = warps.min().unwrap_or_default();
            if native["executions"].as_array().is_none_or(Vec::is_empty) {
                (native, place) = self.stepped(lesson, &line, [0, 0, 0, first])?;
            }
            walked += self.walk(&native, &place)?;
            for at in [[1, 0, 0, first], [0, 0, 0, first + 1]] {
                self.act(&format!("reader.place({at:?})"))?;
                self.rest()?;
                let (native, place) = self.stepped(lesson, &line, at)?;
                walked += self.walk(&native, &place)?;
            }
        }
        self.must(walked > 0, "stepping", || "no access to step through".to_string());
        Ok(())
    }

    /// What a warp of a block does on a line, on this machine; and how to name it.
    fn stepped(&mut self, lesson: usize, line: &str, at: [u64; 4]) -> Result<(Value, String)> {
        let step = json!({"block": at[..3], "warp": at[3], "line": line.parse::<u32>()?});
        let place = format!("line {line}, {step}");
        let mut request = self.small(lesson);
        request["step"] = step;
        Ok((self.native.answer(lesson, &request)?, place))
    }

    /// Compares some executions with this machine's, going on and back; returns how many.
    fn walk(&mut self, native: &Value, place: &str) -> Result<usize> {
        let executions = native["executions"].as_array().cloned().unwrap_or_default();
        let seen = executions.len().min(3);
        let mut order: Vec<usize> = (0..seen).collect();
        order.extend((0..seen.saturating_sub(1)).rev());
        for (turn, &at) in order.iter().enumerate() {
            if turn > 0 {
                let is_on = at > order[turn - 1];
                self.click(&format!(
                    ".bench-step .bench-buttons button:{}",
                    if is_on { "nth-child(2)" } else { "nth-child(1)" }
                ))?;
            }
            let (shown, execution) = (self.state()?, &executions[at]);
            let lanes = execution["lanes"].as_array().into_iter().flatten().map(|lane| {
                let address = lane[3].as_u64().unwrap_or_default();
                vec![lane[0].to_string(), format!("{} + {}", text_of(&lane[1]), lane[2]), format!("{address:#x}")]
            });
            let (lanes, in_page): (Vec<_>, _) = (lanes.collect(), rows(&shown["lanes"]));
            self.must(!lanes.is_empty() && in_page == lanes, &format!("{place}: the lanes differ"), || {
                format!("in the page {in_page:?}, here {lanes:?}")
            });
            let title = text(&shown, "step");
            let is_named = title.contains(&(at + 1).to_string()) && title.contains(&native["found"].to_string());
            self.must(
                is_named && shown["opcode"] == execution["opcode"],
                &format!("{place}: another execution"),
                || format!("{title}, {} for {}", shown["opcode"], execution["opcode"]),
            );
            // As many boxes as sectors are paid for.
            let is_paid = execution["memory"] != "global"
                || execution["cost"].is_null()
                || shown["groups"] == execution["cost"][0];
            self.must(is_paid, &format!("{place}: sectors"), || {
                format!("{} for {}", shown["groups"], execution["cost"])
            });
        }
        Ok(seen)
    }

    /// Every word of the bench is of the page's language: none is of Latin letters alone.
    fn words(&mut self, shown: &Value) {
        let known = ["M", "N", "K"];
        let is_foreign = |word: &&str| {
            let has_letters = word.chars().any(|letter| letter.is_ascii_alphabetic());
            has_letters && word.is_ascii() && !known.contains(word)
        };
        let words: Vec<String> = serde_json::from_value(shown["words"].clone()).unwrap_or_default();
        let foreign: Vec<&str> = words.iter().map(String::as_str).filter(is_foreign).collect();
        self.must(!words.is_empty() && foreign.is_empty(), "words that are not translated", || format!("{foreign:?}"));
    }

    fn all_looks(&mut self, page: &str, name: &str) -> Result<()> {
        for width in WIDTHS {
            for theme in THEMES {
                self.look(page, width, theme, Some(name))?;
            }
        }
        Ok(())
    }

    /// Whether the page that is open is in order at this width in this theme; a picture of it has this name.
    fn look(&mut self, page: &str, width: u32, theme: &str, name: Option<&str>) -> Result<()> {
        self.window.resize(width)?;
        if width < OPEN {
            self.window.text(CLOSE)?;
        }
        let place = name.map(|name| format!(" ({name} at {width} px, {theme})")).unwrap_or_default();
        for what in self.window.look(theme)? {
            self.wrong(format!("{what}{place}"));
        }
        if let (Some(shots), Some(name)) = (self.screenshots, name) {
            let stem = page.trim_end_matches(".html").replace('/', "-");
            let picture = self.window.picture_of(".bench", width)?;
            save(&shots.join(format!("bench-{stem}-{width}-{theme}-{name}.png")), &picture)?;
        }
        Ok(())
    }
}

/// The number with which a text begins.
fn number(text: &str) -> Option<usize> {
    text.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// The number of the lesson that a page is, if it is one.
fn lesson(page: &str) -> Option<usize> {
    page.rsplit('/').next()?.strip_prefix("lesson")?.strip_suffix(".html")?.parse().ok()
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether the built book has a module for its benches.
pub fn has_module(folder: &Path) -> bool {
    fs::exists(folder.join("bench/page.wasm.gz")).unwrap_or(false)
}
