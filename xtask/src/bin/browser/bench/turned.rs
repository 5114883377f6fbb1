//! A line of the kernel is changed by a click, as a reader does: what is said of it must be what is on record.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use archive::Texts;
use serde_json::Value;

use super::{Benches, PATIENCE};
use crate::native::text;
use crate::reading::rows;

impl Benches<'_> {
    /// Turns the lesson's first switch with which its kernel is at fault, a barrier if it has one; the page must mark its lines.
    pub(super) fn turned(&mut self, lesson: usize, (page, width, theme): (&str, u32, &str)) -> Result<()> {
        let texts = Texts::read(&self.native.root().join("book/switches/levels.zst"))?;
        let Some(own) = texts.get(&format!("level{lesson}.json")) else { return Ok(()) };
        let own: Value = serde_json::from_str(&own.replace('\n', "")).context("the switches are no JSON")?;
        let all: Vec<&Value> = own["switches"].as_array().into_iter().flatten().collect();
        let faults = || all.iter().filter(|row| row["ends"] == "fault");
        let row =
            faults().find(|row| row["rule"] == "drop a barrier").or(faults().next()).context("none is at fault")?;
        let of_line = all.iter().filter(|other| other["line"] == row["line"]);
        let at = of_line.take_while(|other| other["now"] != row["now"]).count();
        // They come after the report, and nobody waits for them.
        let (offers, start) = (format!("reader.offers('{}')", row["line"]), Instant::now());
        while !self.window.text(&offers)?.is_empty() {
            ensure!(start.elapsed() < PATIENCE, "line {} offers nothing", row["line"]);
            std::thread::sleep(Duration::from_millis(20));
        }
        self.look(page, width, theme, Some("offers"))?;
        self.act(&format!("reader.turn({at})"))?;
        let shown = self.rest()?;
        let (said, says) = (text(&shown, "report").to_string(), text(row, "says"));
        let place = format!("line {} as `{}`", row["line"], text(row, "now").trim());
        self.must(said.starts_with(says), &format!("{place}: the verdict"), || format!("{said}, not {says}"));
        self.must(!rows(&shown["marked"]).is_empty(), &place, || format!("no line is marked: {said}"));
        self.look(page, width, theme, Some("turned"))
    }
}
