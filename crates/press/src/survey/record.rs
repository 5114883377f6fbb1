//! The file of a survey: a head that says where, when and how, a column for cuBLAS and for each build, and a line for each shape.
//!
//! ```text
//! # gpu: NVIDIA H200
//! …
//! m,n,k,cuBLAS,level0-naive coalesced 8,level0-naive coalesced 16,…
//! 300,17,4095,12.34,345.6,wrong,…
//! ```

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use gemm::form::{Form, Layout};
use gemm::{Build, Dtype, Error, Level, Shape};
use summit::kernels::KERNELS;

use lab::takers::everyone;

/// What cuBLAS's column is called.
const VENDOR: &str = "cuBLAS";
/// In a head, how B is stored, `kn` or `nk`: as K x N, where it is not said.
pub const LAYOUT: &str = "layout";
pub const NK: &str = "nk";
/// In a head, a level whose kernel has changed since: its columns say nothing any more.
const SUPERSEDED: &str = "superseded";
/// In its place: the shapes at which a build copies A or B first, as none did when the survey was made.
const COPIED_FIRST: &str = "where A or B is copied first";

/// The day on which the summit took kernels over from levels: what an earlier survey calls by a level is the summit's kernel.
const TAKEN_OVER: &str = "2026-11-26T21:00:00Z";

/// What a kernel did at a shape.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// It cannot multiply this shape, or is not there.
    Absent,
    /// Microseconds: the median of its launches.
    Time(f64),
    /// What went wrong, in a word.
    Failed(String),
}

/// What was measured at a shape: cuBLAS first, then the builds in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub shape: Shape,
    pub cells: Vec<Cell>,
}

/// A whole survey, of one type.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    /// Names and values of the head.
    pub head: Vec<(String, String)>,
    pub dtype: Dtype,
    /// The names of the builds' columns.
    pub names: Vec<String>,
    pub lines: Vec<Line>,
}

/// A build's name in a survey: `level9-split-k 16x32x64x16x32x16x4x4x3x1`.
pub fn name(build: &Build) -> String {
    let sizes: Vec<String> = build.configuration.tiles.sizes().iter().map(u32::to_string).collect();
    format!("{} {}", build.name(), sizes.join("x"))
}

/// The same by the name of the level that the kernel was taken over from.
fn taken_from(build: &Build) -> String {
    name(build).replacen(build.level.name, build.level.from.unwrap_or_default(), 1)
}

impl Cell {
    /// The time, if it has one.
    pub fn microseconds(&self) -> Option<f64> {
        match self {
            Cell::Time(time) => Some(*time),
            _ => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Cell::Absent => String::new(),
            // Three digits: clocks and launches vary by more.
            Cell::Time(time) if *time >= 1000.0 => {
                let unit = 10f64.powf(time.log10().floor() - 2.0);
                format!("{:.0}", (time / unit).round() * unit)
            }
            Cell::Time(time) if *time >= 100.0 => format!("{time:.0}"),
            Cell::Time(time) if *time >= 10.0 => format!("{time:.1}"),
            Cell::Time(time) => format!("{time:.2}"),
            Cell::Failed(why) => why.replace([',', '\n'], " "),
        }
    }

    fn of(text: &str) -> Cell {
        match (text, text.parse()) {
            ("", _) => Cell::Absent,
            (_, Ok(time)) => Cell::Time(time),
            _ => Cell::Failed(text.to_string()),
        }
    }
}

impl Line {
    /// cuBLAS's microseconds.
    pub fn vendor(&self) -> Option<f64> {
        self.cells.first().and_then(Cell::microseconds)
    }

    /// What the builds did.
    pub fn builds(&self) -> &[Cell] {
        self.cells.get(1..).unwrap_or_default()
    }

    /// As it stands in the file.
    fn text(&self) -> String {
        let Shape { m, n, k } = self.shape;
        let cells: Vec<String> = self.cells.iter().map(Cell::text).collect();
        format!("{m},{n},{k},{}\n", cells.join(","))
    }
}

impl Survey {
    /// Begins the file, in the place of what was there.
    pub fn begin(&self, file: &Path) -> Result<(), Error> {
        let mut text: String = self.head.iter().map(|(name, value)| format!("# {name}: {value}\n")).collect();
        let _ = writeln!(text, "m,n,k,{VENDOR},{}", self.names.join(","));
        self.lines.iter().for_each(|line| text += &line.text());
        fs::write(file, text).map_err(|error| unwritten(file, &error))
    }

    /// Adds a line to the file, at once.
    pub fn append(file: &Path, line: &Line) -> Result<(), Error> {
        end(file, &line.text())
    }

    /// Adds a word to the file's end: what is only known then.
    pub fn note(file: &Path, name: &str, value: &str) -> Result<(), Error> {
        end(file, &format!("# {name}: {value}\n"))
    }

    /// Reads a file.
    pub fn read(file: &Path) -> Result<Survey, Error> {
        let shown = file.display();
        let hint = "`press survey` writes such a file";
        let text =
            fs::read_to_string(file).map_err(|error| Error::usage(format!("cannot read {shown}: {error}"), hint))?;
        Survey::of(&text).map_err(|why| Error::usage(format!("{shown} is no survey: {why}"), hint))
    }

    /// What a text says.
    pub fn of(text: &str) -> Result<Survey, String> {
        let head: Vec<(String, String)> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# ")?.split_once(": "))
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        let dtype = head.iter().find(|(name, _)| name == "type").map(|(_, value)| value.parse::<Dtype>());
        let dtype = dtype.and_then(Result::ok).ok_or("its head names no type")?;
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
        let (_, columns) = lines.next().ok_or("it has no columns")?;
        let columns: Vec<&str> = columns.split(',').collect();
        if columns.get(..4) != Some(&["m", "n", "k", VENDOR]) {
            return Err(format!("its columns begin otherwise than m,n,k,{VENDOR}"));
        }
        let line = |(number, line): (usize, &str)| {
            let fields: Vec<&str> = line.split(',').collect();
            let size = |i: usize| fields[i].parse::<u32>().ok().filter(|size| *size > 0);
            match (fields.len() == columns.len()).then(|| (size(0), size(1), size(2))) {
                Some((Some(m), Some(n), Some(k))) => {
                    let cells = fields[3..].iter().map(|field| Cell::of(field)).collect();
                    Ok(Line { shape: Shape { m, n, k }, cells })
                }
                _ => Err(format!("line {} is no shape with {} times", number + 1, columns.len() - 3)),
            }
        };
        let mut lines: Vec<Line> = lines.map(line).collect::<Result<_, _>>()?;
        let names: Vec<String> = columns[4..].iter().map(|name| name.to_string()).collect();
        let superseded: Vec<String> =
            head.iter().filter(|(name, _)| name == SUPERSEDED).map(|(_, level)| format!("{level} ")).collect();
        let counts: Vec<bool> =
            names.iter().map(|name| !superseded.iter().any(|level| name.starts_with(level))).collect();
        for (column, _) in counts.iter().enumerate().filter(|(_, counts)| !**counts) {
            lines.iter_mut().for_each(|line| line.cells[column + 1] = Cell::Absent);
        }
        let mut survey = Survey { head, dtype, names, lines };
        if survey.head.iter().any(|(name, value)| name == SUPERSEDED && value == COPIED_FIRST) {
            let builds = survey.builds();
            let counted: Vec<&Build> = builds
                .iter()
                .zip(counts)
                .filter(|(_, counts)| *counts)
                .filter_map(|(build, _)| build.as_ref())
                .collect();
            let copies = |shape: &Shape| counted.iter().any(|build| !build.copies(shape, &Form::PLAIN).is_empty());
            survey.lines.retain(|line| !copies(&line.shape));
        }
        Ok(survey)
    }

    /// How its builds' B was stored.
    pub fn layout(&self) -> Layout {
        if self.said(LAYOUT) == Some(NK) { Layout::Columns } else { Layout::Rows }
    }

    /// Whether it is of the form in which products of its type are measured: what others are compared with.
    pub fn is_usual(&self) -> bool {
        self.layout() == Form::usual(self.dtype).layout
    }

    /// All surveys of a type and layout as one, in the order in which these come: with the head of the type's first, and the columns of all.
    /// A build that the summit took over has one column, of its name now.
    pub fn joined(surveys: &[Survey]) -> Vec<Survey> {
        let mut all: Vec<Survey> = Vec::new();
        for survey in surveys.iter().map(Survey::with_names_of_now) {
            let Some(known) =
                all.iter_mut().find(|known| known.dtype == survey.dtype && known.layout() == survey.layout())
            else {
                all.push(survey);
                continue;
            };
            known
                .names
                .extend(survey.names.iter().filter(|name| !known.names.contains(name)).cloned().collect::<Vec<_>>());
            known.lines.iter_mut().for_each(|line| line.cells.resize(known.names.len() + 1, Cell::Absent));
            let places: Vec<Option<usize>> =
                known.names.iter().map(|name| survey.names.iter().position(|other| other == name)).collect();
            known.lines.extend(survey.lines.iter().map(|line| {
                let of = |place: &Option<usize>| place.map_or(Cell::Absent, |place| line.cells[place + 1].clone());
                Line {
                    shape: line.shape,
                    cells: [line.cells[0].clone()].into_iter().chain(places.iter().map(of)).collect(),
                }
            }));
        }
        all
    }

    fn with_names_of_now(&self) -> Survey {
        let builds = self.builds();
        let now =
            builds.iter().zip(&self.names).map(|(build, known)| build.as_ref().map_or_else(|| known.clone(), name));
        let names = now.collect();
        Survey { names, ..self.clone() }
    }

    /// A word of the head.
    pub fn said(&self, name: &str) -> Option<&str> {
        self.head.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The builds of the columns; nothing for one that nobody ships any more. What a survey has of a level whose kernel the summit took
    /// over is the summit's, if it is from before that.
    pub fn builds(&self) -> Vec<Option<Build>> {
        let of = |kernel: &'static Level| {
            kernel.shipped_builds().into_iter().filter(|build| build.configuration.dtype == self.dtype)
        };
        let is_older = self.said("date").is_none_or(|date| date < TAKEN_OVER);
        let taken = KERNELS.into_iter().filter(|_| is_older).flat_map(of).map(|build| (taken_from(&build), build));
        let named = taken.chain(everyone().flat_map(of).map(|build| (name(&build), build)));
        let named: Vec<(String, Build)> = named.collect();
        let form = Form { layout: self.layout(), ..Form::PLAIN };
        let in_form = |build: &Build| {
            if self.layout().is_rows() { Some(build.clone()) } else { build.clone().in_form(&form).ok() }
        };
        let find =
            |wanted: &String| named.iter().find(|(name, _)| name == wanted).and_then(|(_, build)| in_form(build));
        self.names.iter().map(find).collect()
    }
}

fn end(file: &Path, text: &str) -> Result<(), Error> {
    let opened = OpenOptions::new().append(true).open(file);
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| unwritten(file, &error))
}

fn unwritten(file: &Path, error: &std::io::Error) -> Error {
    Error::usage(format!("cannot write {}: {error}", file.display()), "what was written before is still there")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey() -> Survey {
        let line = |m, cells| Line { shape: Shape { m, n: 17, k: 4095 }, cells };
        Survey {
            head: [("gpu", "NVIDIA H200"), ("type", "f32"), ("date", "today: at 9:00")]
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .to_vec(),
            dtype: Dtype::F32,
            names: vec!["level1-tiling 16".into(), "level1-tiling 12".into()],
            lines: vec![
                line(300, vec![Cell::Time(12.3), Cell::Time(346.0), Cell::Failed("wrong".into())]),
                line(1, vec![Cell::Absent, Cell::Time(1230.0), Cell::Absent]),
            ],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let file = std::env::temp_dir().join(format!("press-survey-{}.csv", std::process::id()));
        let whole = survey();
        Survey { lines: Vec::new(), ..whole.clone() }.begin(&file).unwrap();
        whole.lines.iter().for_each(|line| Survey::append(&file, line).unwrap());
        Survey::note(&file, "after", "warm").unwrap();
        let mut read = Survey::read(&file).unwrap();
        assert_eq!(read.head.pop(), Some(("after".into(), "warm".into())));
        assert_eq!(read, whole);
        let builds = read.builds();
        assert_eq!(builds[0].as_ref().map(name).as_deref(), Some("level1-tiling 16"), "it is of a day after");
        assert_eq!(builds[1], None, "no level ships it");
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn surveys_of_a_type_are_joined_by_their_columns_without_those_of_kernels_that_changed() {
        let text = |head: &str, names: &str, line: &str| format!("# type: f32\n{head}m,n,k,cuBLAS,{names}\n{line}\n");
        let old = Survey::of(&text("# superseded: level11\n", "level1 8,level11 16", "1,2,3,9,4,5")).unwrap();
        let new = Survey::of(&text("", "level11 16,level2 32", "4,5,6,8,2,1")).unwrap();
        let joined = Survey::joined(&[old, new]);
        assert_eq!(joined.len(), 1);
        assert_eq!(joined[0].names, ["level1 8", "level11 16", "level2 32"]);
        let (time, none) = (Cell::Time, Cell::Absent);
        assert_eq!(joined[0].lines[0].cells, [time(9.0), time(4.0), none.clone(), none.clone()]);
        assert_eq!(joined[0].lines[1].cells, [time(8.0), none, time(2.0), time(1.0)]);
    }

    #[test]
    fn shapes_at_which_matrices_are_copied_first_are_left_out_of_older_surveys() {
        let text = |head: &str| {
            // One that has another way to what no map describes, for small products.
            let clusters = "summit wgmma_clusters 128x256x4x2x132";
            // And one that has none.
            let columns = format!("m,n,k,cuBLAS,{clusters},level12-warpgroup 128x256x4");
            let lines = "64,64,63,9,8,7\n512,512,511,9,8,7\n512,512,512,9,8,7\n";
            Survey::of(&format!("# type: bf16\n{head}{columns}\n{lines}")).unwrap().lines.len()
        };
        let copied = "# superseded: where A or B is copied first\n";
        assert_eq!([text(""), text(copied)], [3, 1]);
        // A level that has changed since says nothing, nor of what is copied for it.
        assert_eq!(text(&format!("# superseded: level12-warpgroup\n{copied}")), 2);
    }

    #[test]
    fn what_is_no_survey_is_refused_with_its_line() {
        let refused = |text: &str| Survey::of(text).unwrap_err();
        assert_eq!(refused(""), "its head names no type");
        assert_eq!(refused("# type: f32\n"), "it has no columns");
        assert_eq!(refused("# type: f32\na,b\n"), "its columns begin otherwise than m,n,k,cuBLAS");
        assert_eq!(refused("# type: f32\nm,n,k,cuBLAS,x\n1,2,3,4\n"), "line 3 is no shape with 2 times");
        assert_eq!(refused("# type: f32\nm,n,k,cuBLAS,x\n1,0,3,4,5\n"), "line 3 is no shape with 2 times");
    }
}
