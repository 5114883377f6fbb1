//! The questions of the lessons, with fields for a reader's answers: in the page, hidden until a script shows them. What
//! the answers must be lies beside the pages, in `predict/`, and is loaded at the first click.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use mdbook_driver::book::{Book, BookItem};
use polib_i18n::catalog::Catalog;
use serde_json::{Map, Value};

use super::catalog;

/// What `lab` says of all questions.
const FILE: &str = "generated/questions.json";

/// The questions of one exercise.
pub struct Exercise {
    lesson: u64,
    id: String,
    questions: Vec<Value>,
}

/// All of them, in the book's order.
pub fn read(root: &Path) -> Result<Vec<Exercise>> {
    let text = fs::read_to_string(root.join(FILE)).with_context(|| format!("no book/{FILE}: `cargo x figures`"))?;
    let all: Vec<Value> = serde_json::from_str(&text).with_context(|| format!("book/{FILE}"))?;
    let exercise = |one: &Value| {
        let id = one["id"].as_str()?.to_string();
        Some(Exercise { lesson: one["lesson"].as_u64()?, id, questions: one["questions"].as_array()?.clone() })
    };
    all.iter().map(exercise).collect::<Option<_>>().with_context(|| format!("book/{FILE} has no exercises"))
}

/// Marks the place of each exercise in its lesson: before its first folded part. No text is changed by that.
pub fn mark(book: &mut Book, exercises: &[Exercise]) -> Result<()> {
    for exercise in exercises {
        let page = format!("lesson{}.md", exercise.lesson);
        let mut place = None;
        book.for_each_mut(|item| {
            if let BookItem::Chapter(chapter) = item
                && chapter.path.as_ref().is_some_and(|path| path.to_string_lossy() == page)
            {
                place = before_fold(&chapter.content, &exercise.id);
                if let Some(place) = place {
                    chapter.content.insert_str(place, &format!("{}\n\n", sign(&exercise.id)));
                }
            }
        });
        if place.is_none() {
            bail!("{page} has no place for the questions of {}\nhint: it is before the exercise's hint", exercise.id);
        }
    }
    Ok(())
}

/// Where the exercise's folded parts begin.
fn before_fold(page: &str, id: &str) -> Option<usize> {
    let name = id.split_once('.')?.1;
    let number = name.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let start = match name {
        "predict" => page.find("\n## Predict\n")?,
        _ => {
            let exercises = page.find("\n## Exercises\n")?;
            exercises + page[exercises..].find(&format!("\n**{number}.**"))?
        }
    };
    Some(start + page[start..].find("\n<details>\n")? + 1)
}

fn sign(id: &str) -> String {
    format!("<div class=\"predict\" id=\"predict-{id}\"></div>")
}

/// Puts the fields where the marks are, in the language of the catalog.
pub fn fill(book: &mut Book, exercises: &[Exercise], catalog: Option<&Catalog>) {
    book.for_each_mut(|item| {
        if let BookItem::Chapter(chapter) = item {
            for exercise in exercises {
                let sign = sign(&exercise.id);
                if chapter.content.contains(&sign) {
                    chapter.content = chapter.content.replace(&sign, &form(exercise, catalog));
                }
            }
        }
    });
}

fn said(question: &Value, name: &str, catalog: Option<&Catalog>) -> String {
    let text = question[name].as_str().unwrap_or_default();
    catalog.and_then(|catalog| catalog::translated(catalog, text)).unwrap_or_else(|| text.to_string())
}

/// The fields of an exercise; its buttons get their words from the script.
fn form(exercise: &Exercise, catalog: Option<&Catalog>) -> String {
    let Exercise { lesson, id, questions } = exercise;
    let mut html = format!("<form class=\"predict\" data-lesson=\"{lesson}\" data-exercise=\"{id}\" hidden>\n");
    for question in questions {
        let control = match question["words"].as_array() {
            None => {
                let digits = question["digits"].as_u64().unwrap_or(0);
                format!("<input type=\"text\" inputmode=\"decimal\" autocomplete=\"off\" data-digits=\"{digits}\">")
            }
            Some(words) => {
                let words = words.iter().filter_map(Value::as_str);
                let options: String = words.map(|word| format!("<option value=\"{word}\"></option>")).collect();
                format!("<select><option value=\"\"></option>{options}</select>")
            }
        };
        let ask = marked_up(&said(question, "ask", catalog));
        html += &format!("<label><span>{ask}</span>{control}</label><output></output>\n");
    }
    html + "<button type=\"submit\"></button><output class=\"predict-state\"></output>\n</form>"
}

/// As HTML: what stands between backticks is code.
fn marked_up(text: &str) -> String {
    let safe = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let parts = safe.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { format!("<code>{part}</code>") } else { part.to_string() }).collect()
}

/// Writes what the answers must be, one file for each lesson, and looks whether every question has its field in the built
/// pages; returns what is missing.
pub fn put(folder: &Path, exercises: &[Exercise], catalog: Option<&Catalog>) -> Result<Vec<String>> {
    let to = folder.join("predict");
    fs::create_dir_all(&to).with_context(|| format!("cannot make {}", to.display()))?;
    let mut lessons: Vec<u64> = exercises.iter().map(|exercise| exercise.lesson).collect();
    lessons.dedup();
    let mut missing = Vec::new();
    for lesson in lessons {
        let of_lesson: Vec<&Exercise> = exercises.iter().filter(|exercise| exercise.lesson == lesson).collect();
        let mut truths = Map::new();
        for exercise in &of_lesson {
            let truth = |question: &Value| {
                let mut truth = question.clone();
                truth["hint"] = said(question, "hint", catalog).replace('`', "").into();
                truth.as_object_mut().map(|truth| truth.remove("ask"));
                truth
            };
            truths.insert(exercise.id.clone(), exercise.questions.iter().map(truth).collect());
        }
        let text = format!("Object.assign(window.predictions ??= {{}}, {});\n", Value::Object(truths));
        fs::write(to.join(format!("lesson{lesson}.js")), text).context("cannot write the answers")?;
        let page = folder.join(format!("lesson{lesson}.html"));
        let html = fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
        missing.extend(of_lesson.iter().filter_map(|exercise| without_field(&html, exercise, &page)));
    }
    Ok(missing)
}

/// What an exercise lacks in a built page.
fn without_field(html: &str, exercise: &Exercise, page: &Path) -> Option<String> {
    let head = format!("data-exercise=\"{}\"", exercise.id);
    let forms: Vec<&str> =
        html.split("<form class=\"predict\"").skip(1).filter(|form| form.contains("</form>")).collect();
    let form = forms.iter().filter_map(|form| form.split("</form>").next()).find(|form| form.contains(&head));
    let fields = form.map_or(0, |form| form.matches("<label>").count());
    let asked = exercise.questions.len();
    (fields != asked).then(|| format!("{}: {} has {fields} fields for {asked} questions", page.display(), exercise.id))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PAGE: &str = "# L\n\n## Predict\n\n1. a?\n\n<details>\n\nx\n\n</details>\n\n## Exercises\n\n**1.** a\n\n\
        <details>\n\nb\n\n</details>\n\n**2.** c\n\n<details>\n\nd\n\n</details>\n";

    fn exercise(id: &str, questions: &[Value]) -> Exercise {
        Exercise { lesson: 1, id: id.to_string(), questions: questions.to_vec() }
    }

    fn book_of(page: &str) -> Book {
        let mut book = Book::new();
        book.push_item(mdbook_driver::book::Chapter::new("L", page.to_string(), "lesson1.md", Vec::new()));
        book
    }

    #[test]
    fn fields_stand_before_the_first_folded_part() {
        let number = json!({"ask": "how `many` < 3?", "hint": "h", "value": 2.5, "digits": 2});
        let word = json!({"ask": "does it?", "hint": "h", "word": "yes", "words": ["yes", "no"]});
        let all = [
            exercise("1.predict", std::slice::from_ref(&word)),
            exercise("1.2a", &[number]),
            exercise("1.2b", &[word]),
        ];
        let mut book = book_of(PAGE);
        mark(&mut book, &all).unwrap();
        fill(&mut book, &all, None);
        let BookItem::Chapter(chapter) = &book.items[0] else { panic!() };
        let page = &chapter.content;
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} in {page}"));
        assert!(at("1. a?") < at("1.predict") && at("1.predict") < at("<details>"));
        assert!(at("**2.** c") < at("1.2a") && at("1.2a") < at("1.2b") && at("1.2b") < at("<details>\n\nd"));
        assert!(
            page.contains("<span>how <code>many</code> &lt; 3?</span><input") && page.contains("data-digits=\"2\"")
        );
        assert!(page.contains("<option value=\"yes\"></option>") && !page.contains("2.5"));
        let path = Path::new("lesson1.html");
        assert!(all.iter().all(|exercise| without_field(page, exercise, path).is_none()));
        let lost = page.replacen("<label>", "<p>", 1);
        assert!(without_field(&lost, &all[0], path).unwrap().contains("1.predict has 0 fields for 1 questions"));
    }

    #[test]
    fn a_question_without_a_place_is_an_error() {
        assert!(mark(&mut book_of(PAGE), &[exercise("1.3", &[])]).is_err());
        assert!(mark(&mut book_of("# L\n"), &[exercise("1.predict", &[])]).is_err());
    }
}
