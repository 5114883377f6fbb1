//! What the book's pictures are drawn on: a light sheet of its own, so that a picture looks the same on a white and on a
//! dark page.

use std::fmt::Write;

use crate::svg::{Anchor, escape};

/// Room around what is drawn, in pixels.
pub const MARGIN: f64 = 20.0;
/// The width of a timeline: narrow, so that a phone shows its words large enough.
pub const NARROW: f64 = 460.0;
/// How much larger such a picture is shown where there is room.
pub const ENLARGED: f64 = 1.35;

/// Blue is A, orange B, green C; pink is what goes wrong. Told apart by most colour-blind readers: from Okabe and Ito's
/// palette. A capital letter is the strong colour.
const STYLE: &str = "
  text { font: 14px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2933; }
  .title { font-size: 16px; font-weight: 600; } .small { font-size: 13px; fill: #46505e; } .bold { font-weight: 600; }
  .white { fill: #fff; }
  .sheet { fill: #f7f9fc; stroke: #c3ccd8; }
  .n { fill: #e9edf2; stroke: #7d8896; } .N { fill: #7d8896; stroke: #46505e; } .o { fill: #fff; stroke: #7d8896; }
  .a { fill: #cde4f5; stroke: #0072b2; } .A { fill: #0072b2; stroke: #00507d; }
  .b { fill: #fbdcc5; stroke: #d55e00; } .B { fill: #c45500; stroke: #8f3f00; }
  .c { fill: #c9ebdf; stroke: #009e73; } .C { fill: #00805d; stroke: #00593f; }
  .x { fill: #f6d3e4; stroke: #b5256e; } .X { fill: #b5256e; stroke: #7c174a; }
  .mesh { fill: none; stroke: #7d8896; stroke-opacity: .35; stroke-width: .75; }
  .frame { fill: none; stroke: #1f2933; stroke-width: 2; }
  .guide { fill: none; stroke: #46505e; stroke-dasharray: 4 3; }
  .arrow { fill: none; stroke: #46505e; stroke-width: 1.5; } .head { fill: #46505e; }
";

/// A rectangle: its left upper corner, width and height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

impl Area {
    /// A rectangle.
    pub fn new(x: f64, y: f64, width: f64, height: f64) -> Area {
        Area { x, y, width, height }
    }

    /// Its right side.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// Its lower side.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// Its middle.
    pub fn middle(&self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }
}

/// Where a matrix is drawn: its left upper corner, its rows and columns, and the side of an element.
#[derive(Debug, Clone, Copy)]
pub struct Matrix {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
    /// Its rows.
    pub rows: u32,
    /// Its columns.
    pub columns: u32,
    /// The side of an element.
    pub side: f64,
}

impl Matrix {
    /// All of it.
    pub fn area(&self) -> Area {
        self.part(0, 0, self.rows, self.columns)
    }

    /// Where `rows` × `columns` elements from this one on are.
    pub fn part(&self, row: u32, column: u32, rows: u32, columns: u32) -> Area {
        let at = |n: u32| f64::from(n) * self.side;
        Area::new(self.x + at(column), self.y + at(row), at(columns), at(rows))
    }

    /// One element.
    pub fn element(&self, row: u32, column: u32) -> Area {
        self.part(row, column, 1, 1)
    }
}

/// A picture that grows downwards.
#[derive(Debug)]
pub struct Sheet {
    width: f64,
    bottom: f64,
    /// Colours of its own, beside those of all pictures.
    style: String,
    /// How much larger than its units it is shown, where there is room.
    scale: f64,
    title: String,
    description: String,
    body: String,
    /// The texts, and about the room that they take.
    texts: Vec<(String, Area)>,
}

impl Sheet {
    /// A sheet with a heading. The description is for those who cannot see the picture.
    pub fn new(width: f64, title: &str, description: &str) -> Sheet {
        let (title, description) = (title.to_string(), description.to_string());
        let (style, body) = (String::new(), String::new());
        let mut sheet = Sheet { width, bottom: 0.0, style, scale: 1.0, title, description, body, texts: Vec::new() };
        let title = sheet.title.clone();
        sheet.text((MARGIN, 34.0), &title, "title", Anchor::Start);
        sheet
    }

    /// A rectangle.
    pub fn area(&mut self, area: Area, class: &str) {
        let Area { x, y, width, height } = area;
        self.bottom = self.bottom.max(area.bottom());
        let _ = writeln!(
            self.body,
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        );
    }

    /// Colours of its own, as lines of CSS.
    pub fn style(&mut self, rules: &str) {
        self.style.push_str(rules);
    }

    /// Shows it larger than its units, where there is room.
    pub fn enlarge(&mut self, scale: f64) {
        self.scale = scale;
    }

    /// Lines, as SVG writes them.
    pub fn path(&mut self, lines: &str, class: &str) {
        let _ = writeln!(self.body, r#"<path class="{class}" d="{lines}"/>"#);
    }

    /// A rectangle with round corners.
    pub fn round(&mut self, area: Area, class: &str) {
        let Area { x, y, width, height } = area;
        self.bottom = self.bottom.max(area.bottom());
        let _ = writeln!(
            self.body,
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="6"/>"#
        );
    }

    /// A matrix: its area, and the lines between its elements.
    pub fn matrix(&mut self, matrix: &Matrix, class: &str) {
        self.area(matrix.area(), class);
        self.mesh(matrix, 1, 1);
    }

    /// Lines through a matrix after every so many rows and columns.
    pub fn mesh(&mut self, matrix: &Matrix, rows: u32, columns: u32) {
        let Area { x, y, width, height } = matrix.area();
        let at = |n: u32| f64::from(n) * matrix.side;
        let mut path = String::new();
        for row in (rows..matrix.rows).step_by(rows as usize) {
            let _ = write!(path, "M{x:.1} {:.1}h{width:.1}", y + at(row));
        }
        for column in (columns..matrix.columns).step_by(columns as usize) {
            let _ = write!(path, "M{:.1} {y:.1}v{height:.1}", x + at(column));
        }
        let _ = writeln!(self.body, r#"<path class="mesh" d="{path}"/>"#);
    }

    /// A straight line.
    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        self.bottom = self.bottom.max(y1).max(y2);
        let _ = writeln!(self.body, r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#);
    }

    /// An arrow along one of the axes.
    pub fn arrow(&mut self, from: (f64, f64), to: (f64, f64)) {
        let length = (to.0 - from.0).hypot(to.1 - from.1).max(1.0);
        let (dx, dy) = ((to.0 - from.0) / length, (to.1 - from.1) / length);
        let (x, y) = (to.0 - 7.0 * dx, to.1 - 7.0 * dy);
        self.line(from, (x, y), "arrow");
        let corner = |side: f64| format!("{:.1},{:.1}", x - 4.0 * side * dy, y + 4.0 * side * dx);
        let tip = format!("{:.1},{:.1}", to.0, to.1);
        let _ = writeln!(self.body, r#"<polygon class="head" points="{tip} {} {}"/>"#, corner(1.0), corner(-1.0));
    }

    /// A text, its line's left end, middle or right end at a point.
    pub fn text(&mut self, (x, y): (f64, f64), text: &str, class: &str, anchor: Anchor) {
        let size = if class.contains("title") {
            16.0
        } else if class.contains("small") {
            13.0
        } else {
            14.0
        };
        let width = width(text, size, class.contains("title") || class.contains("bold"));
        let (name, left) = match anchor {
            Anchor::Start => ("start", x),
            Anchor::Middle => ("middle", x - width / 2.0),
            Anchor::End => ("end", x - width),
        };
        self.texts.push((text.to_string(), Area::new(left, y - 0.75 * size, width, 0.95 * size)));
        self.bottom = self.bottom.max(y + 0.2 * size);
        let text = escape(text);
        let _ =
            writeln!(self.body, r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{name}">{text}</text>"#);
    }

    /// A text in the middle of an area.
    pub fn label(&mut self, area: Area, text: &str, class: &str) {
        let (x, y) = area.middle();
        self.text((x, y + 5.0), text, class, Anchor::Middle);
    }

    /// A text on a patch of its own, in the middle of an area.
    pub fn chip(&mut self, area: Area, text: &str) {
        let ((x, y), width) = (area.middle(), width(text, 14.0, false) + 14.0);
        self.round(Area::new(x - width / 2.0, y - 12.0, width, 24.0), "o");
        self.label(area, text, "");
    }

    /// A small square of a colour, and what it means. Gives where the next one would be.
    pub fn legend(&mut self, (x, y): (f64, f64), class: &str, text: &str) -> f64 {
        self.area(Area::new(x, y - 11.0, 12.0, 12.0), class);
        self.text((x + 19.0, y), text, "small", Anchor::Start);
        y + 21.0
    }

    /// Lines of text, one below the other. Gives where the next one would be.
    pub fn lines(&mut self, (x, y): (f64, f64), lines: &[&str], class: &str) -> f64 {
        for (index, line) in lines.iter().enumerate() {
            self.text((x, y + 19.0 * index as f64), line, class, Anchor::Start);
        }
        y + 19.0 * lines.len() as f64
    }

    /// The whole file.
    pub fn finish(self) -> String {
        let (width, height) = (self.width, (self.bottom + MARGIN).ceil());
        let (title, description) = (escape(&self.title), escape(&self.description));
        let (wide, high) = ((width * self.scale).round(), (height * self.scale).round());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{wide}\" \
             height=\"{high}\" role=\"img\">\n<title>{title}</title>\n<desc>{description}</desc>\n\
             <style>{STYLE}{}</style>\n<rect class=\"sheet\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"10\"/>\n\
             {}</svg>\n",
            self.style,
            width - 1.0,
            height - 1.0,
            self.body
        )
    }

    /// Texts that leave the sheet, and pairs of them that meet: for tests.
    pub fn crowded(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (index, (text, area)) in self.texts.iter().enumerate() {
            if area.x < 6.0 || area.right() > self.width - 6.0 {
                found.push(format!("{text:?} leaves the sheet"));
            }
            for (other, room) in &self.texts[..index] {
                let apart = area.right() <= room.x
                    || room.right() <= area.x
                    || area.bottom() <= room.y
                    || room.bottom() <= area.y;
                if !apart {
                    found.push(format!("{text:?} meets {other:?}"));
                }
            }
        }
        found
    }
}

/// About the width of a text, in a font that is wider than most.
fn width(text: &str, size: f64, bold: bool) -> f64 {
    let one = |c: char| match c {
        'i' | 'j' | 'l' | '\'' | ' ' | '.' | ',' | ':' | ';' | '|' | 'I' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' => 0.40,
        'm' | 'w' | 'M' | 'W' => 0.97,
        '→' | '×' | '=' | '+' | '·' => 0.84,
        c if c.is_uppercase() => 0.72,
        _ => 0.62,
    };
    text.chars().map(one).sum::<f64>() * size * if bold { 1.1 } else { 1.0 }
}
