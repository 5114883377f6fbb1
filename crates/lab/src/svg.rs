//! A small SVG writer. Pictures have no background: they take the page's, and their colours suit light and dark.

use std::fmt::Write;

/// Colours of the series on light and on dark, told apart by most colour-blind readers: from Okabe and Ito's palette.
const SERIES: [(&str, &str); 8] = [
    ("#0072b2", "#4fb3ff"),
    ("#d55e00", "#ff8f4d"),
    ("#009e73", "#2fd6a5"),
    ("#cc79a7", "#ef9fca"),
    ("#b58900", "#e5c04b"),
    ("#2aa1d8", "#7fd0f5"),
    ("#7a5cc0", "#b39cf0"),
    ("#6e7781", "#b1bac4"),
];

/// The classes of a series: its colour and, from where the colours begin again, dashes and hollow dots.
pub fn series(index: usize) -> String {
    let again = if index < SERIES.len() { "" } else { " again" };
    format!("s{}{again}", index % SERIES.len())
}

const LIGHT: &str = "
  text { font: 13px system-ui, sans-serif; fill: #24292f; }
  .title { font-size: 15px; font-weight: 600; }
  .small { font-size: 11px; fill: #57606a; }
  .axis { stroke: #57606a; fill: none; }
  .grid { stroke: #8c959f; stroke-opacity: .25; fill: none; }
  .mark { stroke: #57606a; stroke-dasharray: 4 3; fill: none; }
  .line { fill: none; stroke-width: 2; }
  .dot { stroke-width: 0; }
  .again.line { stroke-dasharray: 6 4; }
  .again.dot { fill-opacity: 0; stroke-width: 2; }
  .again.bar { fill-opacity: .5; }
";
const DARK: &str = "
  text { fill: #e6edf3; } .small { fill: #9da7b3; } .axis, .mark { stroke: #9da7b3; }
";

fn style() -> String {
    let rules = |colour: fn(&(&'static str, &'static str)) -> &'static str| {
        let rule = |(index, pair)| {
            let (class, colour) = (series(index), colour(pair));
            format!(
                "  .line.{class}, .dot.{class} {{ stroke: {colour}; }} .dot.{class}, .bar.{class} {{ fill: {colour}; }}\n"
            )
        };
        SERIES.iter().enumerate().map(rule).collect::<String>()
    };
    let (light, dark) = (rules(|pair| pair.0), rules(|pair| pair.1));
    format!("{LIGHT}{light}  @media (prefers-color-scheme: dark) {{{DARK}{dark}  }}\n")
}

/// A picture that grows.
#[derive(Debug)]
pub struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// Where a text's point is.
#[derive(Debug, Clone, Copy)]
pub enum Anchor {
    /// At its start.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

impl Svg {
    /// An empty picture with a title.
    pub fn new(width: f64, height: f64, title: &str) -> Svg {
        let mut svg = Svg { width, height, body: String::new() };
        let _ = writeln!(svg.body, "<title>{}</title>", escape(title));
        svg.text(16.0, 24.0, title, "title", Anchor::Start);
        svg
    }

    /// A straight line.
    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        let _ = writeln!(self.body, r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#);
    }

    /// A line through points.
    pub fn polyline(&mut self, points: &[(f64, f64)], class: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.body, r#"<polyline class="{class}" points="{}"/>"#, points.join(" "));
    }

    /// A dot, whose `title` shows when it is pointed at.
    pub fn dot(&mut self, (x, y): (f64, f64), class: &str, title: &str) {
        let _ = writeln!(
            self.body,
            r#"<circle class="dot {class}" cx="{x:.1}" cy="{y:.1}" r="4"><title>{}</title></circle>"#,
            escape(title)
        );
    }

    /// A filled rectangle.
    pub fn bar(&mut self, (x, y): (f64, f64), width: f64, height: f64, class: &str) {
        let _ = writeln!(
            self.body,
            r#"<rect class="bar {class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        );
    }

    /// A text.
    pub fn text(&mut self, x: f64, y: f64, text: &str, class: &str, anchor: Anchor) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        let _ =
            writeln!(self.body, r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#);
    }

    /// The whole file.
    pub fn finish(self) -> String {
        let Svg { width, height, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\">\n<style>{}</style>\n{body}</svg>\n",
            style()
        )
    }
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// An axis that is logarithmic to base 2: values to places on the picture.
#[derive(Debug, Clone, Copy)]
pub struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis over positive values, from the power of two below the least to the one above the largest.
    pub fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let logs: Vec<f64> = values.filter(|v| *v > 0.0 && v.is_finite()).map(f64::log2).collect();
        let low = logs.iter().copied().fold(f64::INFINITY, f64::min).floor();
        let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max).ceil();
        let (low, high) = if low < high { (low, high) } else { (low.min(high).max(0.0), low.min(high).max(0.0) + 1.0) };
        Axis { low, high, from, to }
    }

    /// Where a value lies.
    pub fn at(&self, value: f64) -> f64 {
        let share = (value.log2() - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    /// Powers of two to label, ten at most.
    pub fn ticks(&self) -> Vec<f64> {
        let step = ((self.high - self.low) / 10.0).ceil().max(1.0) as i32;
        (self.low as i32..=self.high as i32).step_by(step as usize).map(|power| f64::from(power).exp2()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_powers_of_two() {
        let axis = Axis::over([3.0, 100.0].into_iter(), 0.0, 60.0);
        assert_eq!(axis.ticks(), [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        assert_eq!((axis.at(2.0), axis.at(128.0), axis.at(16.0)), (0.0, 60.0, 30.0));
        let none = Axis::over(std::iter::empty(), 0.0, 1.0);
        assert!(none.at(1.0).is_finite());
        let single = Axis::over([8.0].into_iter(), 0.0, 1.0);
        assert_eq!(single.ticks(), [8.0, 16.0]);
    }

    #[test]
    fn text_is_escaped() {
        let mut svg = Svg::new(10.0, 10.0, "a < b & c");
        svg.dot((1.0, 2.0), "s0", "\"x\"");
        let text = svg.finish();
        assert!(text.contains("a &lt; b &amp; c") && text.contains("&quot;x&quot;"), "{text}");
    }
}
