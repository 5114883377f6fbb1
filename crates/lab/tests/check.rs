//! The exercises' checks: each exercise of the book has one, and each tells what is solved from what is not.

mod lab;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use archive::Texts;
use device::nvrtc;
use lab::{command, lab, refused, root, scratch};
use rayon::prelude::*;
use serde_json::Value;

/// The tables, as they lie in the book.
fn tables() -> Vec<Value> {
    let table = |lesson: usize| fs::read_to_string(root().join(format!("book/checks/lesson{lesson}.json"))).ok();
    (0..).map_while(table).map(|text| serde_json::from_str(&text).unwrap()).collect()
}

fn exercises() -> Vec<(usize, Value)> {
    let tables = tables().into_iter().enumerate();
    tables
        .flat_map(|(n, table)| table["exercises"].as_array().unwrap().clone().into_iter().map(move |e| (n, e)))
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn every_exercise_of_the_book_has_a_check_and_every_lesson_a_kernel_to_write() {
    let mut asked = BTreeSet::new();
    for lesson in 0.. {
        let Ok(page) = fs::read_to_string(root().join(format!("book/src/lesson{lesson}.md"))) else { break };
        let exercises =
            page.split("## Exercises").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or_default();
        let numbers = exercises.lines().filter_map(|line| line.strip_prefix("**")?.split_once(".**")?.0.parse().ok());
        asked.extend(numbers.map(|number: u32| format!("{lesson}.{number}")));
        asked.extend(["predict", "write"].map(|name| format!("{lesson}.{name}")));
    }
    // `3.2a` is a part of 3.2; `3.write` is none of `3.`.
    let number = |id: &str| {
        let part = id.trim_end_matches(|c: char| c.is_ascii_lowercase());
        if part.ends_with('.') { id.to_string() } else { part.to_string() }
    };
    let checked: BTreeSet<String> = exercises().iter().map(|(_, exercise)| number(text(&exercise["id"]))).collect();
    assert!(asked.len() >= 14 * 4, "{asked:?}");
    assert_eq!(asked, checked);
}

/// The page on several GPUs has no kernel to write; one of its exercises is a change of a plan, which this program is not built with.
#[test]
fn the_exercises_on_several_gpus_have_checks_as_well() {
    let page = fs::read_to_string(root().join("book/src/ranks.md")).unwrap();
    let (_, exercises) = page.split_once("\n## Exercises\n").unwrap();
    let numbers = exercises.lines().filter_map(|line| line.strip_prefix("**")?.split_once(".**"));
    let asked: Vec<String> = numbers.map(|(number, _)| format!("ranks.{number}")).collect();
    let table: Value =
        serde_json::from_str(&fs::read_to_string(root().join("book/checks/ranks.json")).unwrap()).unwrap();
    let checked: Vec<&str> = table["exercises"].as_array().unwrap().iter().map(|one| text(&one["id"])).collect();
    assert_eq!(asked, checked);
    let record = scratch("ranks").join("done.txt");
    let check = |words: &str| lab(&format!("check {words} --record {}", record.display()));
    let nearly = check("ranks.1 --answer 469762048 268435457");
    assert!(nearly.code == 1 && nearly.stdout.contains("wrong   4 × 2: bytes into a rank"), "{nearly:?}");
    let given = check("ranks.3");
    assert!(given.code == 1 && given.stdout.contains("not solved yet: 1 of 2 conditions not met"), "{given:?}");
    assert!(
        given.stdout.ends_with("is as it was given: the exercise is to change it\n") && !record.exists(),
        "{given:?}"
    );
    assert!(check("ranks.3 --hint").stdout.contains("\nhint: take away the one line below "));
    refused("check ranks.3 --answer 1", "ranks.3 asks for no answer\nhint: it asks for a change");
    assert_eq!(check("ranks.2 --answer 28000 yes no").code, 0);
    assert!(check("").stdout.contains("\nranks.2   done "));
}

/// What the answers of exercise 2 say is what the program shows to those who ask it.
#[test]
fn products_wait_for_a_slow_link_at_the_one_size_and_not_at_the_other() {
    let waits = |size: u32| {
        let said = lab(&format!("ranks --size {size} --grid 2x1 --link 50 --json"));
        let json: Value = serde_json::from_str(&said.stdout).unwrap();
        json["variants"][2]["modelled"]["waiting_ms"].as_f64().unwrap() > 1e-6
    };
    assert_eq!([waits(24576), waits(32768)], [true, false]);
}

/// From this lesson on the compiler takes seconds for a kernel: only the checks of the written kernels are tried, unless
/// `DEEP` is set.
const LONG: usize = 6;

/// What a check is tried on, and whether it is to be solved by that.
struct Trial {
    id: String,
    what: String,
    kernel: PathBuf,
    solved: bool,
}

/// The kernel of a level, named by its folder, after a change that lies in the book.
fn changed(folder: &Path, level: &str, change: &str) -> PathBuf {
    let folder = folder.join(change.replace(['/', '.'], "-"));
    fs::create_dir_all(folder.join(level)).unwrap();
    let kernel = folder.join(level).join("kernel.cu");
    fs::copy(root().join(level).join("kernel.cu"), &kernel).unwrap();
    // Outside of any repository, as far as git can see.
    let ceiling = folder.parent().unwrap();
    let mut git = Command::new("git");
    git.current_dir(&folder).env("GIT_CEILING_DIRECTORIES", ceiling).arg("apply").arg(root().join("book").join(change));
    assert!(git.status().unwrap().success(), "{change}");
    kernel
}

fn trials(folder: &Path) -> Vec<Trial> {
    let mut trials = Vec::new();
    let all = level_tests::deep();
    let skeletons = Texts::read(&root().join("book/checks/skeletons.cu.zst")).unwrap();
    skeletons.write_below(folder).unwrap();
    for (lesson, exercise) in exercises() {
        let Some(kernel) = exercise.get("kernel") else { continue };
        let level = levels::LEVELS[lesson].path.trim_end_matches("/kernel.cu");
        let given = root().join(level).join("kernel.cu");
        let skeleton = folder.join(format!("lesson{lesson}.cu"));
        let written = kernel["written"] == true;
        if lesson >= LONG && !written && !all {
            continue;
        }
        let (answer, unsolved) = match kernel.get("solved") {
            Some(change) => (changed(folder, level, text(change)), given),
            None => (given, skeleton),
        };
        let mut add = |what: &str, kernel: PathBuf, solved: bool| {
            let id = text(&exercise["id"]).to_string();
            trials.push(Trial { id, what: what.to_string(), kernel, solved });
        };
        assert_eq!(
            written,
            kernel.get("solved").is_none(),
            "{}: only a written kernel has the level's as its answer",
            exercise["id"]
        );
        add("answer", answer, true);
        add("unsolved", unsolved, false);
        let nearly = kernel["nearly"].as_array().unwrap();
        assert!(!nearly.is_empty(), "{}", exercise["id"]);
        let most = if all { nearly.len() } else { 1 };
        for change in nearly.iter().take(most) {
            add(text(change), changed(folder, level, text(change)), false);
        }
    }
    trials
}

#[test]
fn each_check_tells_the_answer_from_what_is_unsolved_and_from_what_is_nearly_solved() {
    if nvrtc::find().is_err() {
        return level_tests::skipped("no NVRTC");
    }
    let folder = scratch("checks");
    let trials = trials(&folder);
    let failed: Vec<String> = trials
        .par_iter()
        .filter_map(|trial| {
            let mut command = command(&format!("check {}", trial.id));
            let began = Instant::now();
            let output = command.arg(&trial.kernel).arg("--record").arg(folder.join("done.txt")).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            let expected = if trial.solved { (0, "\nsolved\n") } else { (1, "\nnot solved yet: ") };
            let fits = (output.status.code(), said.contains(expected.1)) == (Some(expected.0), true);
            let took = began.elapsed().as_secs_f32();
            (!fits).then(|| {
                format!("{} {} ({took:.1} s): {said}{}", trial.id, trial.what, String::from_utf8_lossy(&output.stderr))
            })
        })
        .collect();
    assert!(failed.is_empty(), "{} of {}: {}", failed.len(), trials.len(), failed.join("\n"));
}

#[test]
fn what_was_done_is_noted() {
    let record = scratch("noted").join("mine/done.txt");
    let check = |words: &str| lab(&format!("check {words} --record {}", record.display()));
    let unanswered = check("1.1");
    assert_eq!(unanswered.code, 1, "{unanswered:?}");
    assert!(unanswered.stdout.contains("1. TILE=16: bytes of global loads (a whole number)"), "{unanswered:?}");
    let wrong = check("1.1 --answer 131,072 1024 262144 2,047");
    assert!(wrong.code == 1 && wrong.stdout.contains("wrong   TILE=8: barriers"), "{wrong:?}");
    assert!(wrong.stdout.contains("hint: ") && !record.exists(), "{wrong:?}");
    let right = check("1.1 --answer 131,072 1024 262144 2,048");
    assert!(right.code == 0 && right.stdout.ends_with("answered\n"), "{right:?}");
    let list = check("");
    assert!(list.stdout.contains("\n1.1       done "), "{list:?}");
    assert!(list.stdout.contains("\n1 of "), "{list:?}");
}

/// The hint comes after two tries, or when it is asked for; a kernel that nobody has changed is no try.
#[test]
fn a_hint_waits_for_two_tries() {
    if nvrtc::find().is_err() {
        return level_tests::skipped("no NVRTC");
    }
    let folder = scratch("hints");
    let (kernel, record) = (folder.join("kernel.cu"), folder.join("done.txt"));
    let given = fs::read_to_string(root().join("level1-tiling/kernel.cu")).unwrap();
    fs::write(&kernel, &given).unwrap();
    let check = |flags: &str| {
        let output = lab(&format!("check 1.3 {} --record {} {flags}", kernel.display(), record.display()));
        assert_eq!(output.code, 1, "{output:?}");
        output.stdout
    };
    assert!(check("").ends_with("is as it was given: the exercise is to change it\n") && !record.exists());
    fs::write(&kernel, given.replace("As[ty][tx] =", "As[tx][ty] =")).unwrap();
    for _ in 0..2 {
        assert!(check("").ends_with("`--hint` says what to do\n"));
    }
    assert!(check("").contains("\nhint: store `Bs[tx][ty]`"));
    assert_eq!(fs::read_to_string(&record).unwrap(), "1.3 tried 3\n");
    fs::remove_file(&record).unwrap();
    assert!(check("--hint").contains("\nhint: store `Bs[tx][ty]`"));
}

#[test]
fn a_watched_kernel_is_judged_again_until_it_is_solved() {
    if nvrtc::find().is_err() {
        return level_tests::skipped("no NVRTC");
    }
    let folder = scratch("watched");
    let solved = changed(&folder, "level1-tiling", "exercises/lesson1-3b.diff");
    let (kernel, record) = (folder.join("kernel.cu"), folder.join("done.txt"));
    fs::copy(root().join("level1-tiling/kernel.cu"), &kernel).unwrap();
    let mut check = command("check 1.3 --watch");
    check.arg(&kernel).arg("--record").arg(&record).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = check.spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(told.next().unwrap().unwrap().starts_with("waiting for a change of "));
    fs::copy(solved, &kernel).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && said.contains("not solved yet: 1 of 5") && said.contains("\nsolved\n"),
        "{said}"
    );
    assert!(said.ends_with("bytes of shared memory per block: yours 8,320, the level's 8,192\n"), "{said}");
    assert!(told.any(|line| line.unwrap().starts_with("1 of ")));
}

#[test]
fn the_language_is_the_environments_or_the_one_that_is_named() {
    let record = scratch("language").join("done.txt");
    let chinese = "练习 1.2：去掉一步中的第二个屏障\n正确    运行如何结束？：fault\n已答对\n";
    let words = format!("check 1.2 --answer fault --record {}", record.display());
    let named = lab(&format!("{words} --language zh-CN"));
    assert!(named.code == 0 && named.stdout.starts_with(chinese), "{named:?}");
    let of_environment = command(&words).env("LC_ALL", "zh_CN.UTF-8").output().unwrap();
    assert!(String::from_utf8_lossy(&of_environment.stdout).starts_with(chinese), "{of_environment:?}");
    let refused = lab("start 99 --language zh-CN");
    assert_eq!(refused.stderr, "错误：第 99 课没有骨架\n提示：`cargo run -p lab -- check` 列出现有的内容\n");
    let english = command(&format!("{words} --language en")).env("LC_ALL", "zh_CN.UTF-8").output().unwrap();
    assert!(String::from_utf8_lossy(&english.stdout).starts_with("exercise 1.2: "), "{english:?}");
}

#[test]
fn a_kernel_is_started_once() {
    let file = scratch("started").join("mine.cu");
    let start = format!("start 1 {}", file.display());
    let first = lab(&start);
    assert!(first.code == 0 && first.stdout.contains("check 1.write"), "{first:?}");
    fs::write(&file, "mine").unwrap();
    refused(&start, "is there already");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    refused("start 99", "no skeleton for lesson 99");
    refused("check 99.1", "no exercise `99.1`");
    refused("check 3.2", "there are 3.2a, 3.2b");
    refused(
        "check 1.1 --answer 1 2",
        "answers to 1.1: 2 given, 4 asked for\nhint: `cargo run -p lab -- check 1.1` prints the questions\n",
    );
    refused("check 1.1 --answer 1 2 3 many", "`many` is no answer");
    refused("check 1.write absent.cu", "cannot read absent.cu");
}

#[test]
fn without_a_compiler_one_line_says_so() {
    let folder = scratch("no-compiler");
    let file = folder.join("mine.cu");
    assert_eq!(lab(&format!("start 1 {}", file.display())).code, 0);
    let mut check = command("check 1.write");
    check.env_clear().arg(&file).arg("--record").arg(folder.join("done.txt"));
    let output = check.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(1) {
        return level_tests::skipped("NVRTC lies where the loader looks");
    }
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].contains("there is no compiler") && lines[1].contains("pip install"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(2));
}
