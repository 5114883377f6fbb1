//! What a page's kernel can be without: each of its mutants, as a difference of PTX, gives in Node the verdict that is on record.
//!
//! `UPDATE_SWITCHES=1 cargo test -p page --test switches` compiles and runs those of kernels that have changed, and writes
//! `book/switches/levels`, which `cargo x pack book/switches/levels` packs.

mod in_node;
mod renamed;

use std::collections::BTreeMap;
use std::fs;

use archive::Texts;
use gemm::{Dtype, Level, Shape};
use in_node::{answers, module, root};
use level_tests::mutants::mutants;
use level_tests::mutations::{REFUSED, SAME_CODE, Switch, Switches, switches};
use level_tests::{deep, skipped};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// The lessons whose kernels have switches, each in one type.
const LESSONS: [(usize, Dtype); 8] = [
    (0, Dtype::F32),
    (1, Dtype::F32),
    (2, Dtype::F32),
    (3, Dtype::F32),
    (4, Dtype::F32),
    (5, Dtype::F32),
    (13, Dtype::BF16),
    (14, Dtype::BF16),
];
const ARCHIVE: &str = "book/switches/levels";
/// Of so many switches a push tries one.
const SAMPLE: usize = 12;

/// A kernel's switches, as a page reads them.
#[derive(Serialize, Deserialize)]
struct Lesson {
    lesson: usize,
    dtype: Dtype,
    /// The tile sizes in which all of them run.
    tiles: BTreeMap<String, u32>,
    /// The kernel's own PTX there.
    ptx: String,
    switches: Vec<Row>,
    /// Mutants that are no switches, because a page runs blocks in one order, and a product in one form: there, all is right.
    left_out: usize,
}

/// One of them.
#[derive(Serialize, Deserialize)]
struct Row {
    /// The rule that made it.
    rule: String,
    /// The line of kernel.cu, from 1, what it is, and what it becomes.
    line: usize,
    was: String,
    now: String,
    /// The part that is replaced, and what by.
    before: String,
    after: String,
    /// `fault`, `wrong`, `right`; `refused` by the compiler, or of the `same` code: these do not run.
    ends: String,
    /// How the message of a fault begins.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    says: String,
    /// M, N and K of a problem on which it ends so.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<[u32; 3]>,
    /// The difference of its PTX from the kernel's: each time the line from 0, how many lines go, and what comes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    edits: Vec<(usize, usize, String)>,
}

impl Lesson {
    fn level(&self) -> &'static Level {
        levels::LEVELS[self.lesson]
    }

    /// Whether its rows are the mutants of the kernel as it stands now.
    fn is_fresh(&self) -> bool {
        let source: Vec<&str> = self.level().source.lines().collect();
        let all = mutants(self.level().source);
        let rows = self.switches.iter().map(|row| (row.rule.as_str(), row.line, row.was.as_str(), row.now.as_str()));
        let made = all.iter().map(|mutant| {
            let now = mutant.source.lines().nth(mutant.line - 1).unwrap_or_default();
            (mutant.rule, mutant.line, source[mutant.line - 1], now)
        });
        if self.left_out == 0 { made.eq(rows) } else { all.len() == self.switches.len() + self.left_out }
    }

    /// What a page asks for when a reader turns this switch.
    fn request(&self, row: &Row) -> Value {
        let [m, n, k] = row.size.expect("it runs");
        let change = format!("@@ -{0},1 +{0},1 @@\n-{1}\n+{2}\n", row.line, row.was, row.now);
        json!({
            "level": self.level().name, "m": m, "n": n, "k": k, "dtype": self.dtype, "tiles": self.tiles, "annotate": true,
            "ptx": patched(&self.ptx, &row.edits), "change": change,
        })
    }
}

/// A text after edits, which are in the order of its lines.
fn patched(text: &str, edits: &[(usize, usize, String)]) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    for (at, gone, come) in edits.iter().rev() {
        lines.splice(*at..*at + *gone, come.lines());
    }
    lines.join("\n") + "\n"
}

fn edits(from: &str, to: &str) -> Vec<(usize, usize, String)> {
    let (from, to): (Vec<&str>, Vec<&str>) = (from.lines().collect(), to.lines().collect());
    let changes =
        capture_diff_slices(Algorithm::Myers, &from, &to).into_iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    let edit = |op: DiffOp| (op.old_range().start, op.old_range().len(), to[op.new_range()].join("\n"));
    changes.map(edit).collect()
}

/// How a page's answer ends.
fn ends(answer: &Value) -> (&'static str, &str) {
    match (answer["error"]["message"].as_str(), answer["error"]["kind"] == "fault") {
        (Some(message), true) => ("fault", message),
        (Some(message), false) => ("refused", message),
        (None, _) if answer["report"]["check"]["right"] == true => ("right", ""),
        (None, _) => ("wrong", ""),
    }
}

/// As many words of a message as have no number.
fn beginning(message: &str) -> String {
    let words = message
        .trim_start_matches("error: ")
        .split(' ')
        .take_while(|word| !word.contains(|c: char| c.is_ascii_digit()));
    words.take(5).collect::<Vec<_>>().join(" ")
}

fn here(request: &Value) -> Value {
    serde_json::from_str(&page::multiply(&request.to_string())).unwrap()
}

fn lesson(number: usize, dtype: Dtype, made: &Switches) -> Lesson {
    let tiles = made.build.configuration.tiles.0.iter().map(|(name, size)| (name.to_string(), *size)).collect();
    let mut lesson = Lesson { lesson: number, dtype, tiles, ptx: made.ptx.clone(), switches: Vec::new(), left_out: 0 };
    for switch in &made.all {
        match row(&lesson, switch) {
            Some(row) => lesson.switches.push(row),
            None => lesson.left_out += 1,
        }
    }
    lesson
}

/// The switch with the problem on which a page finds what the record has; nothing, where there is none.
fn row(lesson: &Lesson, switch: &Switch) -> Option<Row> {
    let Switch { mutant, how, ptx, shapes } = switch;
    let mut row = Row {
        rule: mutant.rule.to_string(),
        line: mutant.line,
        was: lesson.level().source.lines().nth(mutant.line - 1).unwrap_or_default().to_string(),
        now: mutant.source.lines().nth(mutant.line - 1).unwrap_or_default().to_string(),
        before: mutant.before.clone(),
        after: mutant.after.clone(),
        ends: match how.as_deref() {
            None => "right",
            Some(SAME_CODE) => "same",
            Some(REFUSED) => "refused",
            Some("wrong product") => "wrong",
            Some(_) => "fault",
        }
        .to_string(),
        says: String::new(),
        size: None,
        edits: Vec::new(),
    };
    let Some(ptx) = ptx else { return Some(row) };
    row.edits = edits(&lesson.ptx, &renamed::renamed(ptx, &lesson.ptx));
    // What survives shows that on a problem that has more than one tile.
    let right = [Shape { m: 70, n: 70, k: 70 }];
    for shape in if how.is_none() { &right[..] } else { shapes } {
        row.size = Some([shape.m, shape.n, shape.k]);
        let answer = here(&lesson.request(&row));
        let (ended, message) = ends(&answer);
        if ended == row.ends {
            row.says = beginning(message);
            return Some(row);
        }
    }
    None
}

#[test]
fn switches_are_the_mutants_of_the_kernels_as_they_are() {
    let stale = lessons().into_iter().filter(|lesson| !lesson.is_fresh());
    let stale: Vec<usize> = stale.map(|lesson| lesson.lesson).collect();
    assert!(
        stale.is_empty() || std::env::var_os("UPDATE_SWITCHES").is_some(),
        "the switches of lessons {stale:?} are not those of their kernels: run `UPDATE_SWITCHES=1 cargo test -p page --test \
         switches`, and `cargo x pack {ARCHIVE}`"
    );
}

#[test]
fn each_switch_gives_the_verdict_of_the_record() {
    if std::env::var_os("UPDATE_SWITCHES").is_some() {
        let compiler = device::nvrtc::find().expect("NVRTC");
        let mut texts = Vec::new();
        let kept = Texts::read(&root().join(format!("{ARCHIVE}.zst"))).unwrap_or_default();
        for (number, dtype) in LESSONS {
            let name = format!("level{number}.json");
            let known = kept.get(&name).filter(|text| read(text).is_ok_and(|lesson| lesson.is_fresh()));
            if let Some(text) = known {
                texts.push((name, text.to_string()));
                continue;
            }
            let start = std::time::Instant::now();
            let made = lesson(number, dtype, &switches(levels::LEVELS[number], dtype, compiler).unwrap());
            let text = in_lines(&serde_json::to_string(&made).unwrap());
            eprintln!(
                "lesson {number}: {} switches, {} left out, {} bytes, {:.0} s",
                made.switches.len(),
                made.left_out,
                text.len(),
                start.elapsed().as_secs_f64()
            );
            texts.push((name, text));
        }
        let texts = Texts::of(texts.iter().map(|(name, text)| (name.as_str(), text.as_str())));
        fs::create_dir_all(root().join(ARCHIVE).parent().unwrap()).unwrap();
        fs::write(root().join(ARCHIVE), texts.joined()).unwrap();
        return;
    }
    let module = match module() {
        Ok(module) => module,
        Err(why) => return skipped(&why),
    };
    let mut wrong = Vec::new();
    for lesson in lessons() {
        let runs = lesson.switches.iter().filter(|row| row.size.is_some()).enumerate();
        let asked: Vec<&Row> =
            runs.filter(|(at, _)| deep() || at % SAMPLE == lesson.lesson % SAMPLE).map(|(_, row)| row).collect();
        let requests: Vec<String> = asked.iter().map(|row| lesson.request(row).to_string()).collect();
        for (row, answer) in asked.iter().zip(answers(&module, &requests)) {
            let (ended, message) = ends(&answer);
            if ended != row.ends || beginning(message) != row.says {
                let Row { line, now, says, .. } = row;
                wrong.push(format!(
                    "lesson {} line {line}, `{now}`: not {} `{says}`: {ended} {message}",
                    lesson.lesson, row.ends
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is packed.
fn lessons() -> Vec<Lesson> {
    let texts = Texts::read(&root().join(format!("{ARCHIVE}.zst"))).expect("it is there");
    let text = |number: usize| texts.get(&format!("level{number}.json")).expect("it is packed");
    LESSONS.iter().map(|&(number, _)| read(text(number)).expect("its form")).collect()
}

/// JSON with each line of PTX on a line of its own, as archives pack PTX best. Without these ends of lines it is JSON again.
fn in_lines(json: &str) -> String {
    json.replace("\\n", "\\n\n")
}

fn read(lines: &str) -> serde_json::Result<Lesson> {
    serde_json::from_str(&lines.replace('\n', ""))
}
