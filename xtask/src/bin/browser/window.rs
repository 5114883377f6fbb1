//! One window of Chromium: what a page looks like in it, and what it complains of.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::protocol::cdp::{Emulation, Log, Page, Runtime, Target};
use headless_chrome::{Browser, LaunchOptions, Tab};

/// Finds what is wrong with the layout of the page on which it runs; one finding a line.
const INSPECT: &str = include_str!("inspect.js");
/// In CSS pixels: of a window, and the longest page that becomes a picture.
const HEIGHT: u32 = 900;
const LONGEST: u32 = 12_000;
const PART: u32 = 2600;

/// How long a page may take to come.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Window {
    tab: Arc<Tab>,
    complaints: Arc<Mutex<Vec<String>>>,
    /// Ends when it is dropped.
    _browser: Browser,
}

impl Window {
    pub fn open(chromium: PathBuf) -> Result<Self> {
        let options = LaunchOptions {
            path: Some(chromium),
            // The only pages that it opens are ours; a container's root cannot have a sandbox.
            sandbox: false,
            idle_browser_timeout: Duration::from_secs(300),
            ..LaunchOptions::default()
        };
        let browser = Browser::new(options).context("Chromium does not start")?;
        let tab = browser.new_tab()?;
        tab.set_default_timeout(PATIENCE);
        tab.enable_log()?.enable_runtime()?;
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let log = complaints.clone();
        tab.add_event_listener(Arc::new(move |event: &Event| {
            if let (Some(complaint), Ok(mut log)) = (complaint(event), log.lock()) {
                log.push(complaint);
            }
        }))?;
        Ok(Self { tab, complaints, _browser: browser })
    }

    /// Opens a page.
    pub fn open_page(&self, url: &str, width: u32) -> Result<()> {
        self.resize(width)?;
        // The crate's own wait goes on until the network has been silent for a while; and what is asked of the page
        // before stays without an answer. So the window is asked again and again.
        self.tab.navigate_to(url)?;
        let start = Instant::now();
        loop {
            let state = self.text("`${document.readyState} ${location.href}`");
            if state.as_ref().is_ok_and(|state| *state == format!("complete {url}")) {
                return Ok(());
            }
            ensure!(start.elapsed() < PATIENCE, "{url} is not opened: {state:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What is wrong with the page that is open, in this theme.
    pub fn look(&self, theme: &str) -> Result<Vec<String>> {
        let found = self.text(&format!("({INSPECT})('{theme}')"))?;
        let mut wrong: Vec<String> = found.lines().map(str::to_string).collect();
        if let Ok(mut complaints) = self.complaints.lock() {
            wrong.append(&mut complaints);
        }
        Ok(wrong)
    }

    /// Languages and targets of the links that `selector` finds.
    pub fn links(&self, selector: &str) -> Result<Vec<(String, String)>> {
        let lines = "links.map(link => `${link.hreflang} ${link.href}`).join('\\n')";
        let text = self.text(&format!("(links => {lines})([...document.querySelectorAll('{selector}')])"))?;
        let pair = |line: &str| line.split_once(' ').map(|(language, link)| (language.to_string(), link.to_string()));
        Ok(text.lines().filter_map(pair).collect())
    }

    /// Searches for a word as a reader does; returns what is wrong, if the word is not found.
    pub fn search(&self, url: &str, width: u32, word: &str) -> Result<Option<String>> {
        self.open_page(url, width)?;
        self.tab.find_element("#mdbook-search-toggle")?.click()?;
        self.tab.wait_until_visible("#mdbook-searchbar")?.click()?;
        self.tab.type_str(word)?;
        let result = self.tab.wait_for_element_with_custom_timeout("#mdbook-searchresults a", Duration::from_secs(20));
        Ok(result.is_err().then(|| format!("the search finds nothing for {word}")))
    }

    /// The whole page that is open, as PNG.
    pub fn picture(&self, width: u32) -> Result<Vec<u8>> {
        let height = self.text("String(document.documentElement.scrollHeight)")?.parse().unwrap_or(HEIGHT);
        self.resize_to(width, height.min(LONGEST))?;
        let picture = self.tab.capture_screenshot(Page::CaptureScreenshotFormatOption::Png, None, None, true)?;
        self.resize(width)?;
        Ok(picture)
    }

    /// What `selector` finds on the page that is open, and what follows it, as PNG.
    pub fn picture_of(&self, selector: &str, width: u32) -> Result<Vec<u8>> {
        self.resize_to(width, PART)?;
        self.text(&format!("document.querySelector('{selector}').scrollIntoView(), ''"))?;
        let picture = self.tab.capture_screenshot(Page::CaptureScreenshotFormatOption::Png, None, None, true)?;
        self.resize(width)?;
        Ok(picture)
    }

    /// How many workers the pages have that are open.
    pub fn workers(&self) -> Result<usize> {
        let targets = self.tab.call_method(Target::GetTargets { filter: None })?.target_infos;
        Ok(targets.iter().filter(|target| target.Type == "worker").count())
    }

    /// Gives the window this width.
    pub fn resize(&self, width: u32) -> Result<()> {
        self.resize_to(width, HEIGHT)
    }

    fn resize_to(&self, width: u32, height: u32) -> Result<()> {
        self.tab.call_method(Emulation::SetDeviceMetricsOverride {
            width,
            height,
            device_scale_factor: 1.0,
            mobile: width < 600,
            scale: None,
            screen_width: None,
            screen_height: None,
            position_x: None,
            position_y: None,
            dont_set_visible_size: None,
            screen_orientation: None,
            viewport: None,
            display_feature: None,
            device_posture: None,
        })?;
        Ok(())
    }

    /// The text that an expression, or what it promises, comes to.
    pub fn text(&self, expression: &str) -> Result<String> {
        let value = self.tab.evaluate(expression, true)?;
        let text = value.value.as_ref().and_then(|value| value.as_str()).map(str::to_string);
        text.with_context(|| format!("no text came back: {:?}", value.description))
    }
}

/// What the console shows as an error.
fn complaint(event: &Event) -> Option<String> {
    match event {
        Event::LogEntryAdded(added) if added.params.entry.level == Log::LogEntryLevel::Error => {
            let entry = &added.params.entry;
            Some(format!("console: {} {}", entry.text, entry.url.as_deref().unwrap_or_default()))
        }
        Event::RuntimeExceptionThrown(thrown) => {
            let details = &thrown.params.exception_details;
            let what = details.exception.as_ref().and_then(|exception| exception.description.clone());
            Some(format!("console: {}", what.unwrap_or_else(|| details.text.clone())))
        }
        Event::RuntimeConsoleAPICalled(called)
            if called.params.Type == Runtime::ConsoleAPICalledEventTypeOption::Error =>
        {
            let words = called.params.args.iter().filter_map(|word| word.value.as_ref());
            Some(format!("console: {}", words.map(|word| word.to_string()).collect::<Vec<_>>().join(" ")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A page with what mdBook's have, and with `text` in it.
    fn page(text: &str) -> String {
        format!(
            "<!doctype html><html lang=\"en\" class=\"light\"><link rel=\"icon\" href=\"data:,\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <body style=\"margin: 0; overflow-x: hidden\"><button id=\"mdbook-theme-light\"></button>\
             <main>{text}</main></body></html>"
        )
    }

    #[test]
    fn what_is_wrong_with_a_page_is_found() {
        let Ok(chromium) = headless_chrome::browser::default_executable() else {
            println!("skipped: no Chromium");
            return;
        };
        let folder = std::env::temp_dir().join(format!("xtask-browser-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let wide = "<div style=\"width: 500px\">wide</div>";
        let cases = [
            (format!("<div style=\"overflow-x: auto\">{wide}</div>"), ""),
            (wide.to_string(), "wider than the page: <div> \"wide\""),
            ("<img alt=\"a\" src=\"none.svg\">".to_string(), "a picture is empty"),
            ("<img src=\"none.svg\">".to_string(), "a picture has no text"),
            (
                format!("<pre><code class=\"language-console\">{}</code></pre>", "9".repeat(101)),
                "an output has 101 columns",
            ),
            (
                format!(
                    "<details><summary>a</summary><pre style=\"overflow-x: auto\"><code class=\"language-console\">{}</code></pre></details>",
                    "9".repeat(90)
                ),
                "an output scrolls",
            ),
            ("<pre><code class=\"language-console\">$ cargo run</code></pre>".to_string(), ""),
            ("<script>console.error('e')</script>".to_string(), "console: \"e\""),
            ("<script>none()</script>".to_string(), "console: ReferenceError"),
            ("<script src=\"none.js\"></script>".to_string(), "console: Failed to load resource"),
        ];
        let window = Window::open(chromium).unwrap();
        for (text, expected) in cases {
            fs::write(folder.join("page.html"), page(&text)).unwrap();
            window.open_page(&format!("file://{}/page.html", folder.display()), 390).unwrap();
            let found = window.look("light").unwrap();
            assert_eq!(found.is_empty(), expected.is_empty(), "{text}: {found:?}");
            assert!(expected.is_empty() || found.iter().any(|what| what.contains(expected)), "{text}: {found:?}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
