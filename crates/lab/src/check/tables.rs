//! What there is to check: one table per lesson, `book/checks/lessonN.json`, and one of the page on ranks, which the build lists; and a
//! skeleton of each lesson's kernel.

use archive::Archive;
use serde::Deserialize;

include!(concat!(env!("OUT_DIR"), "/lessons.rs"));

static SKELETONS: Archive = Archive::new(include_bytes!("../../../../book/checks/skeletons.cu.zst"));

/// The exercises of a lesson, or of a page beside the lessons.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// The lesson's number, which is its level's.
    pub lesson: Option<usize>,
    /// The page beside the lessons.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests look into the page"))]
    pub page: Option<String>,
    /// The exercises, in the book's order; the one whose kernel a reader writes comes last.
    pub exercises: Vec<Exercise>,
}

/// An exercise, or one of its parts, a kernel each: `3.2a`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exercise {
    /// `3.2`, or `3.2a`; `3.predict` for what the lesson asks before its run, `3.write` for its kernel.
    pub id: String,
    /// What is asked, in a few words.
    pub asks: String,
    /// What is to be predicted, or explained by a choice.
    #[serde(default)]
    pub questions: Vec<Question>,
    /// What a kernel must do.
    pub kernel: Option<Kernel>,
    /// What the plans of ranks must do.
    pub plan: Option<Planned>,
}

/// A change of the plans of ranks; what must hold of it is in the source that judges it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// What to do where something does not hold.
    pub hint: String,
}

impl Exercise {
    /// Whether something is to be changed, beside answers.
    pub fn is_work(&self) -> bool {
        self.kernel.is_some() || self.plan.is_some()
    }
}

/// A question, whose answer stands in what the book prints.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Question {
    /// The question.
    pub ask: String,
    /// What to say to a wrong answer.
    pub hint: String,
    /// The output that has the answer, below `book/outputs`.
    pub output: Option<String>,
    /// The name of the number there.
    pub read: Option<String>,
    /// The number is how much more this other output has of it.
    pub beyond: Option<String>,
    /// The number is how many times as large as in this other output.
    pub over: Option<String>,
    /// The answer is a word: does the number rise, fall or stay, from this output to the other?
    pub versus: Option<String>,
    /// The answer is a word: how the run ended.
    pub ending: bool,
    /// The number as a calculation; the lesson's text has it.
    pub compute: Option<String>,
    /// What that is divided by.
    pub per: Option<String>,
    /// The answer is yes or no; the lesson's text says why.
    pub yes: Option<bool>,
}

/// What a kernel must do, and the kernels that the tests judge.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// The reader writes it, beginning with the lesson's skeleton.
    #[serde(default)]
    pub written: bool,
    /// The run whose counters and ending are looked at: a level's own flags.
    pub run: String,
    /// Runs of which the product must be right.
    #[serde(default)]
    pub right: Vec<String>,
    /// What must hold of `run`.
    pub conditions: Vec<Condition>,
    /// What to do where something does not hold.
    pub hint: String,
    /// A change of the level's kernel that solves it, in `book`; nothing for the level's kernel as it is.
    #[serde(default)]
    #[expect(dead_code, reason = "the tests of the program read the table themselves")]
    pub solved: Option<String>,
    /// Changes that nearly do.
    #[serde(default)]
    #[expect(dead_code, reason = "the tests of the program read the table themselves")]
    pub nearly: Vec<String>,
}

/// A condition on a run.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Condition {
    /// How it must end.
    pub ending: Option<Ending>,
    /// Words that its report or its fault must have.
    pub says: Option<String>,
    /// An instruction that its PTX must have.
    pub instruction: Option<String>,
    /// A number of the report, by its name in the list of them; of a fault, by the words around it.
    pub read: Option<String>,
    /// What that number may be at most.
    pub at_most: Option<f64>,
    /// What it must be at least.
    pub at_least: Option<f64>,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// The product is right.
    Right,
    /// The product is wrong.
    Wrong,
    /// The kernel did what it must not do.
    Fault,
    /// It does not compile, or cannot be launched.
    Refused,
}

impl Ending {
    /// As an answer and as a word of a message.
    pub fn word(self) -> &'static str {
        match self {
            Ending::Right => "right",
            Ending::Wrong => "wrong",
            Ending::Fault => "fault",
            Ending::Refused => "refused",
        }
    }

    /// How a run ended that printed this.
    pub fn of(text: &str) -> Ending {
        let starts = |start: &str| text.lines().any(|line| line.starts_with(start));
        let error = text.lines().find_map(|line| line.strip_prefix("error: "));
        match (starts("check       right"), starts("check       WRONG"), error) {
            (true, ..) => Ending::Right,
            (_, true, _) => Ending::Wrong,
            // A fault says where the kernel was.
            _ if text.contains("   |  block (") => Ending::Fault,
            _ => Ending::Refused,
        }
    }
}

/// Every lesson's table.
pub fn lessons() -> Result<Vec<Lesson>, serde_json::Error> {
    LESSONS.iter().map(|table| serde_json::from_str(table)).collect()
}

/// A lesson's kernel with the idea left out.
pub fn skeleton(lesson: usize) -> Option<&'static str> {
    SKELETONS.texts().ok()?.get(&format!("lesson{lesson}.cu"))
}
