//! The variants of the pages' kernels do what their list says, here and in Node.

mod in_node;

use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

use archive::Texts;
use gemm::change::changed;
use in_node::{answers, difference, module, root};
use serde_json::{Value, json};

/// The list, as the pages read it.
fn list() -> Vec<Value> {
    let text = fs::read_to_string(root().join("book/variants/list.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The PTX of all variants.
fn texts() -> &'static Texts {
    static TEXTS: LazyLock<Texts> =
        LazyLock::new(|| Texts::read(&root().join("book/variants/kernels.ptx.zst")).expect("it is there"));
    &TEXTS
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// What a page asks for when a reader chooses the variant and then runs it; and the same of the level's own kernel.
fn requests(variant: &Value) -> (Value, Value) {
    let level = levels::LEVELS[variant["lesson"].as_u64().unwrap() as usize];
    let [m, n, k] = [0, 1, 2].map(|index| variant["size"][index].clone());
    let mut own =
        json!({"level": level.name, "m": m, "n": n, "k": k, "dtype": variant["dtype"], "annotate": true, "bits": true});
    if variant["tiles"].is_object() {
        own["tiles"] = variant["tiles"].clone();
    }
    let mut request = own.clone();
    let change = fs::read_to_string(root().join("book").join(text(&variant["change"]))).expect("it is there");
    request["change"] = change.into();
    request["ptx"] = texts().get(&format!("{}.ptx", text(&variant["id"]))).expect("it is in the archive").into();
    (request, own)
}

fn here(request: &Value) -> Value {
    serde_json::from_str(&page::multiply(&request.to_string())).unwrap()
}

/// The first line of the kernel's text that a fault names, as it stands in this text, and all others.
fn marked<'a>(message: &str, source: &'a str) -> Vec<&'a str> {
    let number = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok();
    let lines = message.split("kernel.cu:").skip(1).filter_map(number);
    lines.map(|line| source.lines().nth(line - 1).expect("the text has this line")).collect()
}

/// What is wrong with how it ended, if anything is.
fn verdict(variant: &Value) -> Result<(), String> {
    let (request, mut own) = requests(variant);
    let level = levels::levels(&[text(&own["level"]).to_string()]).unwrap()[0];
    let answer = here(&request);
    let source = text(&answer["source"]);
    assert_eq!(source, changed(level.source, text(&request["change"])).unwrap());
    let ends = &variant["ends"];
    let message = text(&answer["error"]["message"]);
    if ends["fault"].is_object() {
        let (says, at) = (text(&ends["fault"]["says"]), text(&ends["fault"]["at"]));
        let lines = marked(message, source);
        // Where its accesses are, each with its line's text; words name others by their numbers alone.
        let places: String =
            message.lines().filter(|line| line.contains("--> ") || line.contains("called at")).collect();
        let shown = marked(&places, source).iter().all(|line| message.contains(line.trim()));
        return match answer["error"]["kind"] == "fault" && message.contains(says) && shown {
            true if lines.iter().any(|line| line.contains(at)) => Ok(()),
            _ => Err(format!("not `{says}` at `{at}`: {message} {}", answer["text"])),
        };
    }
    if !message.is_empty() {
        return Err(message.to_string());
    }
    let right = answer["report"]["check"]["right"] == true;
    if answer["report"]["kernel"]["origin"] != "shipped" {
        return Err(format!("its PTX is not of this text: {}", answer["report"]["kernel"]));
    }
    match (ends["wrong"] == true, right) {
        (true, true) | (false, false) => return Err(format!("not as its list says: {}", answer["text"])),
        (true, false) => return Ok(()),
        (false, true) => (),
    }
    let other = |one: &&Value| one["id"] == ends["than"];
    if let Some(other) = list().iter().find(other) {
        own = requests(other).0;
    }
    let before = here(&own);
    assert_eq!(before["report"]["check"]["right"], true, "what it is compared with: {}", before["error"]);
    let [was, is] = [&before, &answer].map(|answer| {
        let place = format!("/report/facts/emulator/total/{}", text(&ends["counter"]).replace('.', "/"));
        answer.pointer(&place).and_then(Value::as_u64).ok_or(format!("no counter {}", ends["counter"]))
    });
    let (was, is) = (was?, is?);
    match text(&ends["becomes"]) {
        "more" if is > was => Ok(()),
        "fewer" if is < was => Ok(()),
        _ => Err(format!("{} {was} -> {is}", ends["counter"])),
    }
}

#[test]
fn each_variant_is_convicted_at_its_line_or_right_with_other_counters() {
    let wrong: Vec<String> = list()
        .iter()
        .filter_map(|variant| Some(format!("{}: {}", text(&variant["id"]), verdict(variant).err()?)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn each_lesson_has_a_kernel_that_is_at_fault_and_one_that_counts_otherwise() {
    let mut lessons: BTreeMap<u64, [u32; 2]> = BTreeMap::new();
    let mut names = Vec::new();
    for variant in list() {
        let lesson = variant["lesson"].as_u64().unwrap();
        let [faults, counters] = lessons.entry(lesson).or_default();
        *faults += u32::from(variant["ends"]["fault"].is_object());
        *counters += u32::from(variant["ends"]["counter"].is_string());
        assert!(text(&variant["id"]).starts_with(&format!("{lesson}.")), "{variant}");
        names.push((lesson, text(&variant["name"]).to_string()));
    }
    // A level may wait for its lesson, but no lesson for its kernels.
    assert!(lessons.len() >= 21 && lessons.keys().copied().eq(0..lessons.len() as u64), "{:?}", lessons.keys());
    for (lesson, has) in lessons {
        assert!(has.iter().all(|&count| count > 0), "lesson {lesson}: {has:?} at fault, and right");
    }
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all, "two variants of a lesson have one name");
    assert_eq!(texts().len(), all, "texts of PTX, and rows of the list");
}

#[test]
fn node_says_the_same_of_each_variant() {
    let module = match module() {
        Ok(module) => module,
        Err(why) => return level_tests::skipped(&why),
    };
    let requests: Vec<Value> = list().iter().map(|variant| requests(variant).0).collect();
    let texts: Vec<String> = requests.iter().map(Value::to_string).collect();
    for (variant, (request, answer)) in list().iter().zip(requests.iter().zip(answers(&module, &texts))) {
        assert_eq!(difference(&answer, &here(request)), None, "{}", variant["id"]);
    }
}
